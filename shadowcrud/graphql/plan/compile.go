package plan

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
	schema   *schema.Schema
	language *language.Schema
	doc      *language.Document
	vars     language.Variables // the compiler reads only those of @include and @skip
	plan     *Plan

	selections map[*schema.Object][]sharedSelection // of fields that resolvers answer
}

// Compile makes p the plan of a valid operation, for the values of the variables in @include and @skip. Other variables
// may be missing in vars.
func (p *Plan) Compile(
	s *schema.Schema, l *language.Schema, doc *language.Document, op *ast.OperationDefinition, vars language.Variables,
) {
	*p = Plan{Doc: doc, Op: op, Static: true}
	c := compiler{schema: s, language: l, doc: doc, vars: vars, plan: p}
	p.Root = c.selection(l.Roots[op.Operation], c.rootObject(), []ast.SelectionSet{op.SelectionSet})
	if p.Custom {
		p.Fragments, p.Operation = fragmentSyntax(doc.Fragments), operationSyntax(op)
	}
}

// rootObject returns the object type with the root fields of the operation.
func (c *compiler) rootObject() *schema.Object {
	switch c.plan.Op.Operation {
	case ast.Mutation:
		return c.schema.Mutation
	case ast.Subscription:
		return c.schema.Subscription
	}
	return c.schema.Query
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
	return condition == "" || condition == to.Name || c.language.Type(condition).Includes(to)
}

// selection compiles the selections on a type; object is nil for types of introspection.
func (c *compiler) selection(on *language.Type, object *schema.Object, sets []ast.SelectionSet) *Selection {
	s := &Selection{Type: on, Object: object}
	for _, g := range c.collect(on, sets) {
		s.Fields = append(s.Fields, c.field(s, g))
	}
	s.findRuns()
	return s
}

// MaxShortInt is how many digits every 32-bit integer may have.
const MaxShortInt = 9

// findRuns sets Stored and Runs, by which the store prints neighbouring stored fields in one call.
func (s *Selection) findRuns() {
	s.Stored, s.Runs = make([]store.Member, len(s.Fields)), make([]int, len(s.Fields)+1)
	for i := len(s.Fields) - 1; i >= 0; i-- {
		f := s.Fields[i]
		if f.As != AsStored && f.As != AsInteger {
			continue
		}
		s.Stored[i] = store.Member{Key: string(f.Key), Attr: f.Attr, NonNull: f.NonNull}
		if f.As == AsInteger {
			s.Stored[i].Max = MaxShortInt
		}
		s.Runs[i] = s.Runs[i+1] + 1
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

func (c *compiler) field(s *Selection, g *group) *Field {
	node := g.nodes[0]
	f := &Field{Name: g.name, Key: []byte(`"` + g.name + `":`), Node: node, Slot: -1, Load: -1}
	if node.Name == "__typename" {
		f.As = AsTypename
		return f
	}
	f.Def = s.Type.Field(node.Name)
	f.NonNull = f.Def.Type.NonNull
	if strings.HasPrefix(s.Type.Name, "__") || strings.HasPrefix(node.Name, "__") {
		c.introspection(f, g)
		return f
	}
	f.NonNullItems = f.Def.Type.Elem != nil && f.Def.Type.Elem.NonNull
	f.Spec = s.Object.Field(node.Name)
	if f.Spec == nil {
		return f
	}
	f.Attr = f.Spec.Attr
	c.arguments(f)
	if f.Spec.Resolve != nil {
		c.custom(f, g)
	} else {
		c.generatedField(s, f, g)
	}
	c.mark(s, f, g)
	return f
}

// arguments compiles the arguments of a field. Values without variables are computed once.
func (c *compiler) arguments(f *Field) {
	for _, def := range f.Def.Arguments {
		a := argument{def: def}
		if given := f.Node.Arguments.ForName(def.Name); given != nil {
			a.value = given.Value
		}
		if a.value != nil && language.UsesVariables(a.value) {
			c.plan.Static = false
		} else if v, ok, wrong := a.evaluate(c.language, nil); wrong == "" {
			if a.isFixed = true; ok {
				a.fixed = Arguments{{def.Name, v}}
			}
		}
		f.Args = append(f.Args, a)
	}
	if slices.ContainsFunc(f.Args, func(a argument) bool { return !a.isFixed }) {
		return
	}
	if args, err := f.Arguments(c.language, nil); err == nil {
		f.fixed, f.isFixed = args, true
	}
}

// assignSlot gives a field a binding.
func (c *compiler) assignSlot(f *Field) {
	f.Slot = c.plan.Slots
	c.plan.Slots++
}

// leaves maps each kind of field without fields of its own to its printing.
var leaves = map[schema.Kind]Printing{
	schema.PageTotal: AsPageTotal, schema.PageNumber: AsPageNumber, schema.PageSize: AsPageSize,
	schema.PageCount: AsPageCount,
	schema.DeletedID: AsDeletedID, schema.OK: AsOK, schema.QueryOK: AsOK, schema.JWT: AsJWT,
	schema.ChangeKind: AsChangeKind, schema.ChangeDocumentID: AsChangeDocumentID, schema.ChangeLocale: AsChangeLocale,
	schema.ChangeSeq: AsChangeSeq, schema.ChangeTime: AsChangeTime,
}

// generatedField compiles a field of the generated schema by its kind.
func (c *compiler) generatedField(s *Selection, f *Field, g *group) {
	m := f.Spec
	if as, ok := leaves[m.Kind]; ok {
		f.As = as
		return
	}
	switch m.Kind {
	case schema.Custom:
		c.custom(f, g)
	case schema.Nodes:
		f.As = AsNodes
		f.Subs = []*Selection{c.object(m.Object, g)}
	case schema.LoginUser, schema.UserData, schema.ChangeDocument:
		f.As = AsPart
		f.Subs = []*Selection{c.object(m.Object, g)}
	case schema.RootOne:
		c.root(f, g, AsRootOne)
	case schema.RootSingle:
		c.root(f, g, AsRootSingle)
	case schema.RootList:
		c.root(f, g, AsRootList)
	case schema.RootConnection:
		f.As = AsRootConnection
		c.assignSlot(f)
		c.envelope(f, g, AsNodes)
	case schema.Value:
		f.As = valuePrinting(f)
	case schema.Relation, schema.File, schema.ComponentOne, schema.MeRole:
		c.loads(s, f, AsOne)
		f.Subs = []*Selection{c.object(m.Object, g)}
	case schema.RelationList, schema.FileList, schema.ComponentList:
		c.loads(s, f, AsList)
		f.Subs = []*Selection{c.object(m.Object, g)}
	case schema.RelationConnection, schema.FileConnection:
		c.loads(s, f, AsConnection)
		c.envelope(f, g, AsNodes)
	case schema.Zone, schema.MorphList, schema.Related:
		c.loads(s, f, AsUnionList)
		c.union(f, g)
	case schema.MorphOne:
		c.loads(s, f, AsUnion)
		c.union(f, g)
	case schema.PageInfo:
		f.As = AsPageInfo
		f.Parts = c.object(m.Object, g)
	case schema.Me:
		c.root(f, g, AsMe)
	case schema.Create, schema.Update, schema.Publish, schema.Unpublish, schema.DiscardDraft,
		schema.UpdateFile, schema.DeleteFile:
		c.root(f, g, AsMutation)
	case schema.Delete, schema.CancelSchedule, schema.CreateRole, schema.UpdateRole, schema.DeleteRole,
		schema.CreateUser, schema.UpdateUser, schema.DeleteUser, schema.Login, schema.Register,
		schema.ForgotPassword, schema.ResetPassword, schema.ChangePassword, schema.EmailConfirmation:
		f.As = AsMutation
		c.assignSlot(f)
		c.envelope(f, g, AsPart)
	case schema.Changed:
		f.As = AsChange
		c.assignSlot(f)
		c.envelope(f, g, AsPart)
	}
}

// envelope compiles the fields of a connection, of the payload of a mutation or of a change: an object that is not a
// row but has fields with rows. The rows are loaded for f, so each of its fields that is printed as rows gets a
// selection in f.Subs.
func (c *compiler) envelope(f *Field, g *group, rows Printing) {
	object := f.Spec.Object
	f.Parts = &Selection{Type: c.language.Type(object.Name), Object: object}
	for _, part := range c.collect(f.Parts.Type, g.below()) {
		p := c.field(f.Parts, part)
		if p.Generated() == rows {
			p.Sub = len(f.Subs)
			f.Subs = append(f.Subs, p.Subs[0])
		}
		f.Parts.Fields = append(f.Parts.Fields, p)
	}
}

// root compiles a field of Query or Mutation that returns one object or a list.
func (c *compiler) root(f *Field, g *group, as Printing) {
	f.As = as
	c.assignSlot(f)
	f.Subs = []*Selection{c.object(f.Spec.Object, g)}
}

// loads makes f a field with related rows, so that the loader reads them.
func (c *compiler) loads(s *Selection, f *Field, as Printing) {
	f.As = as
	f.Load = len(s.Loads)
	s.Loads = append(s.Loads, f)
	c.assignSlot(f)
}

func (c *compiler) object(o *schema.Object, g *group) *Selection {
	return c.selection(c.language.Type(o.Name), o, g.below())
}

// custom compiles a field with a resolver: a selection for each type that its value may have.
func (c *compiler) custom(f *Field, g *group) {
	f.As, f.generated = AsCustom, AsCustom
	c.assignSlot(f)
	if f.Spec.Scalar != nil || f.Spec.Enum != nil {
		return
	}
	for _, t := range c.language.Type(f.Def.Type.Name()).Possible() {
		f.Subs = append(f.Subs, c.shared(c.schema.Object(t.Name), g))
	}
}

// A sharedSelection is the compiled selection on a type below some nodes.
type sharedSelection struct {
	nodes []*ast.Field
	sel   *Selection
}

// shared compiles the selection on a type below the nodes of a group, or returns it if it was compiled for the same
// nodes before. If each type of an interface had selections of its own, their number would grow exponentially with the
// depth of the operation.
func (c *compiler) shared(o *schema.Object, g *group) *Selection {
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

// mark marks f as custom if it is a custom field, or a page or payload with custom fields.
func (c *compiler) mark(s *Selection, f *Field, g *group) {
	m := f.Spec
	root := s.Object == c.rootObject()
	f.Custom = m.Runs() || m.Auth.IsSet() && !root || f.Parts != nil && len(f.Parts.Custom) > 0
	f.HasCustom = f.Custom
	for _, sub := range f.Subs {
		f.HasCustom = f.HasCustom || sub.HasCustom
	}
	s.HasCustom = s.HasCustom || f.HasCustom
	c.plan.Custom = c.plan.Custom || f.HasCustom
	if !f.Custom {
		return
	}
	f.CustomIndex, f.Syntax = len(s.Custom), fieldSyntax(g.nodes)
	s.Custom = append(s.Custom, f)
	if !root {
		f.generated, f.As = f.As, AsCustom
	}
	if f.Variants != nil { // a middleware may return an object that is not a row
		for _, member := range m.Union.Members {
			if member.Schema == nil {
				f.Subs = append(f.Subs, c.object(member, g))
			}
		}
	}
}

// union compiles a selection for each member of a union.
func (c *compiler) union(f *Field, g *group) {
	f.Variants = map[*contenttypes.Schema]int{}
	for _, member := range f.Spec.Union.Members {
		if member.Schema == nil {
			continue
		}
		f.Variants[member.Schema] = len(f.Subs)
		f.Subs = append(f.Subs, c.object(member, g))
	}
}

// valuePrinting returns the printing of a scalar of a row.
func valuePrinting(f *Field) Printing {
	switch {
	case f.Spec.Password || f.Attr == nil:
		return AsHidden
	case f.Attr.NamesUser():
		return AsUser
	case f.Spec.Enum != nil:
		return AsEnum
	case f.Attr.Type == contenttypes.ID:
		return AsID
	}
	if s := f.Spec.Scalar; s != nil {
		switch s.Kind {
		case schema.LongScalar:
			return AsLong
		case schema.IntScalar:
			return AsInteger
		}
	}
	return AsStored
}

// These constants are the cost of introspection, counted in objects.
const (
	schemaCost = 20000
	typeCost   = 500
)

// introspection compiles __schema, __type, and the fields below them.
func (c *compiler) introspection(f *Field, g *group) {
	switch f.Node.Name {
	case "__schema":
		f.As = AsSchema
		c.plan.Cost += schemaCost
		c.plan.Introspections++
	case "__type":
		f.As = AsType
		c.plan.Cost += typeCost
	default:
		f.As = asIntrospection
	}
	c.arguments(f)
	if len(f.Args) > 0 {
		c.assignSlot(f)
	}
	named := c.language.Type(f.Def.Type.Name())
	if !named.IsLeafType() {
		f.Parts = c.selection(named, nil, g.below())
	}
}
