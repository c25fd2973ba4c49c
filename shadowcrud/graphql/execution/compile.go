package execution

import (
	"slices"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"

	"lectern/contenttypes"
	"lectern/shadowcrud/graphql/language"
	"lectern/shadowcrud/graphql/schema"
	"lectern/store"
)

// A compiler compiles an operation to a plan.
type compiler struct {
	engine *Engine
	doc    *language.Document
	vars   language.Variables // the compiler reads only those of @include and @skip
	plan   *plan

	selections map[*schema.Object][]sharedSelection // of fields that resolvers answer
}

// compile compiles an operation for the values of the variables in @include and @skip.
func compile(e *Engine, p *prepared, vars language.Variables) *plan {
	c := compiler{engine: e, doc: p.doc, vars: vars, plan: &plan{doc: p.doc, op: p.op, static: true}}
	root := e.language.Roots[p.op.Operation]
	c.plan.root = c.selection(root, e.rootObject(p.op.Operation), []ast.SelectionSet{p.op.SelectionSet})
	if c.plan.custom {
		c.plan.fragments, c.plan.operation = fragmentSyntax(p.doc.Fragments), operationSyntax(p.op)
	}
	return c.plan
}

// rootObject returns the object type with the root fields of an operation.
func (e *Engine) rootObject(op ast.Operation) *schema.Object {
	switch op {
	case ast.Mutation:
		return e.schema.Mutation
	case ast.Subscription:
		return e.schema.Subscription
	}
	return e.schema.Query
}

// A group holds all selections with one response name, which are merged into one field of the answer.
type group struct {
	name  string
	nodes []*ast.Field
}

// collect groups the selections on a type by response name, in the order in which each first appears.
func (c *compiler) collect(on *language.Type, sets []ast.SelectionSet) []*group {
	var groups []*group
	byName := map[string]*group{}
	spread := map[string]bool{}
	var visit func(set ast.SelectionSet)
	visit = func(set ast.SelectionSet) {
		for _, sel := range set {
			switch sel := sel.(type) {
			case *ast.Field:
				if !c.included(sel.Directives) {
					continue
				}
				g := byName[sel.Alias]
				if g == nil {
					g = &group{name: sel.Alias}
					byName[sel.Alias] = g
					groups = append(groups, g)
				}
				g.nodes = append(g.nodes, sel)
			case *ast.InlineFragment:
				if c.included(sel.Directives) && c.applies(sel.TypeCondition, on) {
					visit(sel.SelectionSet)
				}
			case *ast.FragmentSpread:
				f := c.doc.Fragments[sel.Name]
				if f == nil || spread[sel.Name] || !c.included(sel.Directives) {
					continue
				}
				spread[sel.Name] = true
				if c.applies(f.TypeCondition, on) {
					visit(f.SelectionSet)
				}
			}
		}
	}
	for _, set := range sets {
		visit(set)
	}
	return groups
}

// included reports whether @include and @skip keep a selection.
func (c *compiler) included(list ast.DirectiveList) bool {
	for _, d := range list {
		v := condition(d)
		if v == nil {
			continue
		}
		holds := v.Raw == "true"
		if v.Kind == ast.Variable {
			holds, _ = c.vars[v.Raw].(bool)
		}
		if holds != (d.Name == "include") {
			return false
		}
	}
	return true
}

func (c *compiler) applies(condition string, to *language.Type) bool {
	return condition == "" || condition == to.Name || c.engine.language.Type(condition).Includes(to)
}

// selection compiles the selections on a type; object is nil for types of introspection.
func (c *compiler) selection(on *language.Type, object *schema.Object, sets []ast.SelectionSet) *selection {
	s := &selection{typ: on, object: object}
	for _, g := range c.collect(on, sets) {
		s.fields = append(s.fields, c.field(s, g))
	}
	s.findRuns()
	return s
}

// maxShortInt is how many digits every 32-bit integer may have.
const maxShortInt = 9

// findRuns sets plain and runs, by which the store prints neighbouring stored fields in one call.
func (s *selection) findRuns() {
	s.plain, s.runs = make([]store.Member, len(s.fields)), make([]int, len(s.fields)+1)
	for i := len(s.fields) - 1; i >= 0; i-- {
		f := s.fields[i]
		if f.as != asStored && f.as != asInteger {
			continue
		}
		s.plain[i] = store.Member{Key: string(f.key), Attr: f.attr, NonNull: f.nonNull}
		if f.as == asInteger {
			s.plain[i].Max = maxShortInt
		}
		s.runs[i] = s.runs[i+1] + 1
	}
}

// below returns the selection sets of a group's nodes.
func (g *group) below() []ast.SelectionSet {
	sets := make([]ast.SelectionSet, len(g.nodes))
	for i, n := range g.nodes {
		sets[i] = n.SelectionSet
	}
	return sets
}

func (c *compiler) field(s *selection, g *group) *field {
	node := g.nodes[0]
	f := &field{name: g.name, key: []byte(`"` + g.name + `":`), node: node, slot: -1, load: -1}
	if node.Name == "__typename" {
		f.as = asTypename
		return f
	}
	f.def = s.typ.Field(node.Name)
	f.nonNull = f.def.Type.NonNull
	if strings.HasPrefix(s.typ.Name, "__") || strings.HasPrefix(node.Name, "__") {
		c.introspection(f, g)
		return f
	}
	f.items = f.def.Type.Elem != nil && f.def.Type.Elem.NonNull
	f.spec = s.object.Field(node.Name)
	if f.spec == nil {
		return f
	}
	f.attr = f.spec.Attr
	c.arguments(f)
	if f.spec.Resolve != nil {
		c.custom(f, g)
	} else {
		c.generatedField(s, f, g)
	}
	c.hook(s, f, g)
	return f
}

// arguments compiles the arguments of a field. Values without variables are computed once.
func (c *compiler) arguments(f *field) {
	b := binder{engine: c.engine}
	for _, def := range f.def.Arguments {
		a := argument{def: def}
		if given := f.node.Arguments.ForName(def.Name); given != nil {
			a.value = given.Value
		}
		if a.value != nil && language.UsesVariables(a.value) {
			c.plan.static = false
		} else if v, ok, wrong := b.argument(a); wrong == "" {
			if a.isFixed = true; ok {
				a.fixed = arguments{{def.Name, v}}
			}
		}
		f.args = append(f.args, a)
	}
	if slices.ContainsFunc(f.args, func(a argument) bool { return !a.isFixed }) {
		return
	}
	if args, err := b.arguments(f); err == nil {
		f.fixed, f.isFixed = args, true
	}
}

// assignSlot reserves an entry of execution.bindings for a field.
func (c *compiler) assignSlot(f *field) {
	f.slot = c.plan.slots
	c.plan.slots++
}

// leaves maps each kind of field without fields of its own to its printing.
var leaves = map[schema.Kind]printing{
	schema.PageTotal: asPageTotal, schema.PageNumber: asPageNumber, schema.PageSize: asPageSize, schema.PageCount: asPageCount,
	schema.DeletedID: asDeletedID, schema.OK: asOK, schema.QueryOK: asOK, schema.JWT: asJWT,
	schema.ChangeKind: asChangeKind, schema.ChangeDocumentID: asChangeDocumentID, schema.ChangeLocale: asChangeLocale, schema.ChangeSeq: asChangeSeq,
	schema.ChangeTime: asChangeTime,
}

// generatedField compiles a field of the generated schema by its kind.
func (c *compiler) generatedField(s *selection, f *field, g *group) {
	m := f.spec
	if as, ok := leaves[m.Kind]; ok {
		f.as = as
		return
	}
	switch m.Kind {
	case schema.Custom:
		c.custom(f, g)
	case schema.Nodes:
		f.as = asNodes
		f.subs = []*selection{c.object(m.Object, g)}
	case schema.LoginUser, schema.UserData, schema.ChangeDocument:
		f.as = asPart
		f.subs = []*selection{c.object(m.Object, g)}
	case schema.RootOne:
		c.root(f, g, asRootOne)
	case schema.RootSingle:
		c.root(f, g, asRootSingle)
	case schema.RootList:
		c.root(f, g, asRootList)
	case schema.RootConnection:
		f.as = asRootConnection
		c.assignSlot(f)
		c.envelope(f, g, asNodes)
	case schema.Value:
		f.as = valuePrinting(f)
	case schema.Relation, schema.File, schema.ComponentOne, schema.MeRole:
		c.loads(s, f, asOne)
		f.subs = []*selection{c.object(m.Object, g)}
	case schema.RelationList, schema.FileList, schema.ComponentList:
		c.loads(s, f, asList)
		f.subs = []*selection{c.object(m.Object, g)}
	case schema.RelationConnection, schema.FileConnection:
		c.loads(s, f, asConnection)
		c.envelope(f, g, asNodes)
	case schema.Zone, schema.MorphList, schema.Related:
		c.loads(s, f, asUnionList)
		c.union(f, g)
	case schema.MorphOne:
		c.loads(s, f, asUnion)
		c.union(f, g)
	case schema.PageInfo:
		f.as = asPageInfo
		f.of = c.object(m.Object, g)
	case schema.Me:
		c.root(f, g, asMe)
	case schema.Create, schema.Update, schema.Publish, schema.Unpublish, schema.DiscardDraft, schema.UpdateFile, schema.DeleteFile:
		c.root(f, g, asMutation)
	case schema.Delete, schema.CancelSchedule, schema.CreateRole, schema.UpdateRole, schema.DeleteRole, schema.CreateUser, schema.UpdateUser, schema.DeleteUser,
		schema.Login, schema.Register, schema.ForgotPassword, schema.ResetPassword, schema.ChangePassword, schema.EmailConfirmation:
		f.as = asMutation
		c.assignSlot(f)
		c.envelope(f, g, asPart)
	case schema.Changed:
		f.as = asChange
		c.assignSlot(f)
		c.envelope(f, g, asPart)
	}
}

// envelope compiles the fields of a connection, of the payload of a mutation or of a change: an object that is not a row but has fields with
// rows. The rows are loaded for f, so each of its fields that is printed as rows gets a selection in f.subs.
func (c *compiler) envelope(f *field, g *group, rows printing) {
	object := f.spec.Object
	f.of = &selection{typ: c.engine.language.Type(object.Name), object: object}
	for _, part := range c.collect(f.of.typ, g.below()) {
		p := c.field(f.of, part)
		if p.unhooked() == rows {
			p.sub = len(f.subs)
			f.subs = append(f.subs, p.subs[0])
		}
		f.of.fields = append(f.of.fields, p)
	}
}

// root compiles a field of Query or Mutation that returns one object or a list.
func (c *compiler) root(f *field, g *group, as printing) {
	f.as = as
	c.assignSlot(f)
	f.subs = []*selection{c.object(f.spec.Object, g)}
}

// loads makes f a field with related rows, so that the loader reads them.
func (c *compiler) loads(s *selection, f *field, as printing) {
	f.as = as
	f.load = len(s.loads)
	s.loads = append(s.loads, f)
	c.assignSlot(f)
}

func (c *compiler) object(o *schema.Object, g *group) *selection {
	return c.selection(c.engine.language.Type(o.Name), o, g.below())
}

// custom compiles a field with a resolver: a selection for each type that its value may have.
func (c *compiler) custom(f *field, g *group) {
	f.as, f.generated = asCustom, asCustom
	c.assignSlot(f)
	if f.spec.Scalar != nil || f.spec.Enum != nil {
		return
	}
	for _, t := range c.engine.language.Type(f.def.Type.Name()).Possible() {
		f.subs = append(f.subs, c.shared(c.engine.schema.Object(t.Name), g))
	}
}

// A sharedSelection is the compiled selection on a type below some nodes.
type sharedSelection struct {
	nodes []*ast.Field
	sel   *selection
}

// shared compiles the selection on a type below the nodes of a group, or returns it if it was compiled for the same nodes before. If each
// type of an interface had selections of its own, their number would grow exponentially with the depth of the operation.
func (c *compiler) shared(o *schema.Object, g *group) *selection {
	for _, known := range c.selections[o] {
		if slices.Equal(known.nodes, g.nodes) {
			return known.sel
		}
	}
	s := c.object(o, g)
	if c.selections == nil {
		c.selections = map[*schema.Object][]sharedSelection{}
	}
	c.selections[o] = append(c.selections[o], sharedSelection{g.nodes, s})
	return s
}

// hook marks f as custom if it is a custom field, or a page or payload with custom fields.
func (c *compiler) hook(s *selection, f *field, g *group) {
	m := f.spec
	root := s.object == c.engine.rootObject(c.plan.op.Operation)
	f.hooked = m.Runs() || m.Auth.IsSet() && !root || f.of != nil && len(f.of.hooks) > 0
	f.deep = f.hooked
	for _, sub := range f.subs {
		f.deep = f.deep || sub.deep
	}
	s.deep = s.deep || f.deep
	c.plan.custom = c.plan.custom || f.deep
	if !f.hooked {
		return
	}
	f.hook, f.syntax = len(s.hooks), fieldSyntax(g.nodes)
	s.hooks = append(s.hooks, f)
	if !root {
		f.generated, f.as = f.as, asCustom
	}
	if f.variants != nil { // a middleware may return an object that is not a row
		for _, member := range m.Union.Members {
			if member.Schema == nil {
				f.subs = append(f.subs, c.object(member, g))
			}
		}
	}
}

// unhooked returns the printing that a field would have if it were not custom.
func (f *field) unhooked() printing {
	if f.as == asCustom {
		return f.generated
	}
	return f.as
}

// union compiles a selection for each member of a union.
func (c *compiler) union(f *field, g *group) {
	f.variants = map[*contenttypes.Schema]int{}
	for _, member := range f.spec.Union.Members {
		if member.Schema == nil {
			continue
		}
		f.variants[member.Schema] = len(f.subs)
		f.subs = append(f.subs, c.object(member, g))
	}
}

// valuePrinting returns the printing of a scalar of a row.
func valuePrinting(f *field) printing {
	switch {
	case f.spec.Password || f.attr == nil:
		return asHidden
	case f.attr.NamesUser():
		return asUser
	case f.spec.Enum != nil:
		return asEnum
	case f.attr.Type == contenttypes.ID:
		return asID
	}
	if s := f.spec.Scalar; s != nil {
		switch s.Kind {
		case schema.LongScalar:
			return asLong
		case schema.IntScalar:
			return asInteger
		}
	}
	return asStored
}

// These constants are the cost of introspection, counted in objects.
const (
	schemaCost = 20000
	typeCost   = 500
)

// introspection compiles __schema, __type, and the fields below them.
func (c *compiler) introspection(f *field, g *group) {
	switch f.node.Name {
	case "__schema":
		f.as = asSchema
		c.plan.cost += schemaCost
		c.plan.introspections++
	case "__type":
		f.as = asType
		c.plan.cost += typeCost
	default:
		f.as = asIntrospection
	}
	c.arguments(f)
	if len(f.args) > 0 {
		c.assignSlot(f)
	}
	named := c.engine.language.Type(f.def.Type.Name())
	if !named.IsLeafType() {
		f.of = c.selection(named, nil, g.below())
	}
}
