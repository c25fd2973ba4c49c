package execution

import (
	"slices"

	"github.com/vektah/gqlparser/v2/ast"

	"lectern/contenttypes"
	"lectern/documents/apierror"
	"lectern/documents/permission"
	"lectern/jsontree"
	"lectern/shadowcrud/graphql/language"
	"lectern/shadowcrud/graphql/schema"
	"lectern/shadowcrud/params"
	"lectern/store"
)

// A bound is a field of a plan bound to a request: what it asks for, with the values of its variables and what its caller may see.
type bound struct {
	err *apierror.Error // why the field has no value
	// query finds the documents of a root field; for a field that leads from rows to others it filters, sorts and cuts these.
	query store.Query
	state *store.PublicationState
	page  paging
	given arguments // of fields that look at them when they run
}

// boundFor holds the bindings of a plan for one caller.
type boundFor struct {
	access *permission.Access
	bounds []bound
}

// maxBoundFor is how many callers a plan keeps bindings for.
const maxBoundFor = 8

// bind binds all fields of the plan. The error says that the operation asks for too much.
func (x *execution) bind(vars language.Variables) *language.Error {
	x.vars = vars
	if x.plan.static {
		if x.bounds = x.plan.boundFor(x.access); x.bounds != nil {
			return nil
		}
		x.bounds = make([]bound, x.plan.slots)
	} else {
		x.memory = slices.Grow(x.memory[:0], x.plan.slots)[:x.plan.slots]
		x.bounds = x.memory
	}
	limits, op := &x.engine.limits, x.plan.op.Operation
	if x.plan.introspections > limits.Introspections {
		return tooManyIntrospections(limits.Introspections)
	}
	most := shareOf(op, limits.Cost)
	b := binder{engine: x.engine, vars: vars, access: x.access, bounds: x.bounds, cost: x.plan.cost, most: most}
	b.selection(x.plan.root, scope{objects: 1})
	if b.tooExpensive() {
		return tooExpensive(op, limits.Cost)
	}
	if x.plan.static {
		x.plan.keepBound(x.access, x.bounds)
	}
	return nil
}

// boundFor returns the bindings of a caller, nil where none are kept.
func (p *plan) boundFor(access *permission.Access) []bound {
	if list := p.bindings.Load(); list != nil {
		for _, k := range *list {
			if k.access == access {
				return k.bounds
			}
		}
	}
	return nil
}

// keepBound keeps the bindings of a static plan for a caller.
func (p *plan) keepBound(access *permission.Access, bounds []bound) {
	list := []boundFor{{access, bounds}}
	if known := p.bindings.Load(); known != nil {
		list = append(list, (*known)[:min(len(*known), maxBoundFor-1)]...)
	}
	p.bindings.Store(&list)
}

// A binder binds the fields of a plan.
type binder struct {
	engine *Engine
	vars   language.Variables
	access *permission.Access
	bounds []bound
	cost   int             // see Limits.Cost
	most   int             // the limit of cost; 0: cost is not estimated
	asked  *conditionCount // of all filters; nil until there are any

	shared map[*selection]int // selections that several fields share: the most objects that each was bound for

	// changed is a field whose arguments a middleware changed; instead are those that it has now.
	changed *field
	instead arguments
}

// A scope holds what a root field decides for all fields below it.
type scope struct {
	state   *store.PublicationState
	objects int // how many there may be here; 1 where nothing is estimated
}

// selection binds the fields of a selection.
func (b *binder) selection(s *selection, in scope) {
	for _, f := range s.fields {
		b.field(f, in)
	}
}

// field binds a field and all fields below it, and adds the objects that they may lead to to the cost.
func (b *binder) field(f *field, in scope) {
	as := f.unhooked()
	if f.slot < 0 {
		if as == asNodes || as == asPart { // of a page or payload that a resolver makes
			b.selection(f.subs[0], in)
		}
		if f.of != nil {
			b.parts(f, in)
		}
		return
	}
	to := &b.bounds[f.slot]
	below := in
	switch as {
	case asRootOne, asRootSingle:
		b.root(f, to)
	case asRootList, asRootConnection:
		b.root(f, to)
		below.objects = b.times(in.objects, to.page.limit)
	case asOne, asUnion:
		b.target(f, to, in)
	case asList, asConnection:
		b.target(f, to, in)
		below.objects = b.times(in.objects, to.page.limit)
	case asUnionList:
		b.target(f, to, in)
		below.objects = b.times(in.objects, zoneItems)
	case asMutation:
		b.mutation(f, to)
	case asMe:
		if to.page.limit = 1; !b.allowed(f.spec) {
			to.err = errForbidden
		}
	case asCustom:
		if to.given, to.err = b.arguments(f); f.spec.List {
			below.objects = b.times(in.objects, b.engine.limits.DefaultLimit)
		}
	default:
		to.given, to.err = b.arguments(f)
		return
	}
	if b.cost = min(b.cost+below.objects, maxCost); b.tooExpensive() {
		return
	}
	below.state = to.state
	if f.slot >= 0 && f.load >= 0 {
		below.state = in.state
	}
	for _, sub := range f.subs {
		if as != asCustom || b.more(sub, below.objects) {
			b.selection(sub, below)
		}
	}
	b.parts(f, below)
}

// more reports whether a shared selection is not bound for so many objects yet.
func (b *binder) more(s *selection, objects int) bool {
	if b.shared[s] >= objects {
		return false
	}
	if b.shared == nil {
		b.shared = map[*selection]int{}
	}
	b.shared[s] = objects
	return true
}

// parts binds the parts of a page or payload, where code of a program runs for one of them.
func (b *binder) parts(f *field, in scope) {
	if f.of == nil || len(f.of.hooks) == 0 {
		return
	}
	for _, part := range f.of.fields {
		if as := part.unhooked(); as != asNodes && as != asPart {
			b.field(part, in)
		}
	}
}

// zoneItems is how many items the cost estimate expects in a dynamic zone.
const zoneItems = 5

// maxCost keeps costs from overflowing.
const maxCost = 1 << 40

// times returns how many objects n lists of that length hold; a negative length is unlimited.
func (b *binder) times(n, each int) int {
	switch {
	case b.most == 0:
		return 1
	case each < 0:
		each = b.engine.limits.AmountLimit
	}
	return min(n*max(each, 1), maxCost)
}

func (b *binder) tooExpensive() bool { return b.most > 0 && b.cost > b.most }

// arguments are the values of a field's arguments. An argument that was not given and has no default is absent. They must not be changed,
// since requests share those that are fixed.
type arguments []given

type given struct {
	name  string
	value any
}

// get returns the value of an argument, and whether it is present.
func (a arguments) get(name string) (any, bool) {
	for i := range a {
		if a[i].name == name {
			return a[i].value, true
		}
	}
	return nil, false
}

// value returns the value of an argument, nil where it is absent.
func (a arguments) value(name string) any { v, _ := a.get(name); return v }

func (b *binder) arguments(f *field) (arguments, *apierror.Error) {
	if f == b.changed {
		return b.instead, nil
	}
	if len(f.args) == 0 || f.isFixed {
		return f.fixed, nil
	}
	args := make(arguments, 0, len(f.args))
	for _, a := range f.args {
		if a.isFixed {
			args = append(args, a.fixed...)
			continue
		}
		v, ok, err := b.argument(a)
		if err != "" {
			return nil, apierror.Validation(err)
		}
		if ok {
			args = append(args, given{a.def.Name, v})
		}
	}
	return args, nil
}

func (b *binder) argument(a argument) (value any, ok bool, wrong string) {
	what := `Argument "` + a.def.Name + `"`
	given := a.value
	if given != nil && given.Kind == ast.Variable {
		if v, has := b.vars[given.Raw]; has {
			if v == nil && a.def.Type.NonNull {
				return nil, false, what + ` of non-null type "` + a.def.Type.String() + `" must not be null.`
			}
			return v, true, ""
		}
		if a.def.DefaultValue == nil && a.def.Type.NonNull {
			return nil, false, what + ` of required type "` + a.def.Type.String() + `" was provided the variable "$` + given.Raw +
				`" which was not provided a runtime value.`
		}
		given = nil
	}
	if given == nil {
		if a.def.DefaultValue == nil {
			return nil, false, ""
		}
		v, ok := b.engine.language.Literal(a.def.Type, a.def.DefaultValue, nil)
		return v, ok, ""
	}
	v, valid := b.engine.language.Literal(a.def.Type, given, b.vars)
	if !valid {
		return nil, false, what + " has invalid value " + given.String() + "."
	}
	return v, true, ""
}

// text returns the text of an argument, "" when it is null or absent.
func (a arguments) text(name string) string { s, _ := a.value(name).(string); return s }

func (a arguments) object(name string) *jsontree.Object {
	o, _ := a.value(name).(*jsontree.Object)
	return o
}

var errForbidden = &apierror.Error{Status: 403, Name: "ForbiddenError", Message: "Forbidden access"}

// allowed reports whether the caller may use a root field.
func (b *binder) allowed(m *schema.FieldSpec) bool {
	if m.Auth.IsSet() {
		return allows(b.access, m.Auth)
	}
	return m.Scope == "" || b.access.AllowsAction(m.Scope)
}

// allows reports whether a caller has the permissions that an extension demands.
func allows(access *permission.Access, a schema.Auth) bool {
	for _, scope := range a.Scopes() {
		if !access.AllowsAction(scope) {
			return false
		}
	}
	return true
}

// root binds a field of Query that asks for documents of a type.
func (b *binder) root(f *field, to *bound) {
	m := f.spec
	to.page.limit = 1
	if !b.allowed(m) {
		to.err = errForbidden
		return
	}
	args, err := b.arguments(f)
	if err != nil {
		to.err = err
		return
	}
	paged := f.as == asRootList || f.as == asRootConnection
	if paged {
		if to.page, to.err = b.engine.limits.paging(args.object("pagination"), b.engine.limits.most()); to.err != nil {
			return
		}
	}
	var locale any
	if m.Localized {
		locale = args.value("locale")
	}
	to.state = publicationState(args)
	filters, sort, err := b.conditions(m, args)
	if err != nil {
		to.err = err
		return
	}
	query, wrong := b.engine.params.Rows(m.Type, filters, sort, locale, to.state, b.access)
	if to.err = b.refused(wrong); to.err != nil {
		return
	}
	query.Status = status(args)
	to.query = query
	if paged {
		to.query.Offset, to.query.Limit = to.page.start, to.page.limit
		to.query.Count = f.as == asRootConnection && f.counts()
		return
	}
	to.query.Limit = 1
	to.given = args
	if query.Locales.All { // one document is shown in one locale
		to.query.Locales = store.LocaleSet{Codes: []string{"*"}}
	}
}

// status returns the requested version, published by default.
func status(args arguments) store.Status {
	s, _ := schema.StatusOf(args.text("status")) // not there, or null: the zero Status, which is Published
	return s
}

// publicationState returns the state that documents must be in; nil is any.
func publicationState(args arguments) *store.PublicationState {
	if state, ok := schema.PublicationStateOf(args.text("publicationFilter")); ok {
		return &state
	}
	has, ok := args.value("hasPublishedVersion").(bool)
	if !ok {
		return nil
	}
	state := store.NeverPublishedDocument
	if has {
		state = store.HasPublishedVersionDocument
	}
	return &state
}

// target binds a field that leads from an object to others.
func (b *binder) target(f *field, to *bound, in scope) {
	m := f.spec
	to.page.limit = 1
	switch m.Kind {
	case schema.MeRole, schema.Related: // everybody may see his own role; the users of a file are checked one by one
	default:
		if f.attr.Type == contenttypes.RelationType && !m.Auth.IsSet() && !b.access.Follows(f.attr) {
			to.err = errForbidden
			return
		}
	}
	to.query = store.Query{Type: m.Type, Limit: 1}
	q := &to.query
	switch f.unhooked() {
	case asUnionList:
		q.Limit = -1 // it cannot be paged, so it must be complete
	case asList, asConnection:
		most := b.engine.limits.most()
		if m.Kind == schema.ComponentList {
			most = b.engine.limits.MaxLimit
		}
		args, err := b.arguments(f)
		if err == nil {
			to.page, err = b.engine.limits.paging(args.object("pagination"), most)
		}
		if err == nil && m.Paged {
			q.Filter, q.Sort, err = b.items(f, args)
		}
		if err != nil {
			to.err = err
			return
		}
		q.Offset, q.Limit = to.page.start, to.page.limit
	}
	if in.state != nil && m.Type != nil && m.Type.DraftAndPublish {
		q.Filter = params.And(q.Filter, store.Publication{State: *in.state})
	}
}

// items reads the filters and the sort of the rows that a field leads to.
func (b *binder) items(f *field, args arguments) (store.Filter, []store.SortKey, *apierror.Error) {
	filters, sort, err := b.conditions(f.spec, args)
	if err != nil {
		return nil, nil, err
	}
	if filters == nil && sort == nil {
		return nil, nil, b.refused(nil)
	}
	filter, keys, wrong := b.engine.params.Items(targetSchema(f.attr), filters, sort, b.access)
	return filter, keys, b.refused(wrong)
}

// conditions returns the filters and the sort of a field, each nil where it asks nothing.
func (b *binder) conditions(m *schema.FieldSpec, args arguments) (filters params.Filters, sort any, err *apierror.Error) {
	sort = sortList(args.value("sort"))
	if list, ok := sort.([]any); ok && len(list) > b.engine.limits.SortKeys {
		return nil, nil, tooMany("sort keys", b.engine.limits.SortKeys, "sortKeys")
	}
	given := args.object("filters")
	if given != nil && b.asked == nil {
		b.asked = &conditionCount{most: b.engine.limits.Conditions}
	}
	return b.asked.filters(m.Filters, given), sort, nil
}

// refused returns why conditions are refused: there are too many, or one of them is wrong.
func (b *binder) refused(wrong error) *apierror.Error {
	if b.asked.full() {
		return tooMany("conditions", b.engine.limits.Conditions, "conditions")
	}
	if wrong == nil {
		return nil
	}
	err, _ := told(wrong)
	return err
}

// sortList returns a sort without its nulls.
func sortList(v any) any {
	items, _ := v.([]any)
	if len(items) == 0 {
		return nil
	}
	list := make([]any, 0, len(items))
	for _, item := range items {
		if item != nil {
			list = append(list, item)
		}
	}
	return list
}
