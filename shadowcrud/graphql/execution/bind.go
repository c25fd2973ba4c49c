package execution

import (
	"math"
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

// A binding holds the query and the arguments of a field of a plan for one request. They contain the values of the variables, and are
// limited to documents that the caller may see.
type binding struct {
	err *apierror.Error // set if the field must not be answered
	// query finds the documents of a root field. For a field with related rows, it filters, sorts and pages them.
	query store.Query
	state *store.PublicationState
	page  paging
	args  arguments // set for fields that read their arguments when they run
}

// callerBindings holds the bindings of a static plan for one caller.
type callerBindings struct {
	access     *permission.Access
	bindings   []binding
	conditions int
}

// maxCachedBindings is how many callers a plan caches bindings for.
const maxCachedBindings = 8

// bind computes the bindings of all fields of the plan. It returns an error if the operation exceeds a limit.
func (x *execution) bind(vars language.Variables) *language.Error {
	x.vars = vars
	if x.plan.static {
		if k := x.plan.cachedBindings(x.access); k != nil {
			x.bindings, x.conditions = k.bindings, k.conditions
			return nil
		}
		x.bindings = make([]binding, x.plan.slots)
	} else {
		x.memory = slices.Grow(x.memory[:0], x.plan.slots)[:x.plan.slots]
		x.bindings = x.memory
	}
	limits, op := &x.engine.limits, x.plan.op.Operation
	if x.plan.introspections > limits.Introspections {
		return tooManyIntrospections(limits.Introspections)
	}
	most := shareOf(op, limits.Cost)
	b := binder{engine: x.engine, vars: vars, access: x.access, bindings: x.bindings, cost: x.plan.cost, most: most}
	b.selection(x.plan.root, scope{objects: 1})
	if b.tooExpensive() {
		return tooExpensive(op, limits.Cost)
	}
	if b.conditionCount != nil {
		x.conditions = b.conditionCount.n
	}
	if x.plan.static {
		x.plan.cacheBindings(callerBindings{x.access, x.bindings, x.conditions})
	}
	return nil
}

// cachedBindings returns the cached bindings of a caller, nil if there are none.
func (p *plan) cachedBindings(access *permission.Access) *callerBindings {
	if list := p.cached.Load(); list != nil {
		for i := range *list {
			if k := &(*list)[i]; k.access == access {
				return k
			}
		}
	}
	return nil
}

// cacheBindings caches the bindings of a static plan for a caller. If there are maxCachedBindings already, they replace the oldest.
func (p *plan) cacheBindings(k callerBindings) {
	list := []callerBindings{k}
	if known := p.cached.Load(); known != nil {
		list = append(list, (*known)[:min(len(*known), maxCachedBindings-1)]...)
	}
	p.cached.Store(&list)
}

// A binder computes the bindings of the fields of a plan, and the cost of the operation.
type binder struct {
	engine         *Engine
	vars           language.Variables
	access         *permission.Access
	bindings       []binding
	cost           int             // see Limits.Cost
	most           int             // the limit of cost; 0: cost is not estimated
	conditionCount *conditionCount // of all filters; nil until there are any

	shared map[*selection]int // for selections that several fields share: the greatest number of objects that each was bound for

	// changed is a field whose arguments a middleware changed, and changedArgs are its arguments after the change.
	changed     *field
	changedArgs arguments
}

// A scope holds the settings that a root field passes on to all fields below it.
type scope struct {
	state   *store.PublicationState
	objects int // estimate of how many objects the fields are read for; 1 where the cost is not estimated
}

// selection computes the bindings of the fields of a selection.
func (b *binder) selection(s *selection, in scope) {
	for _, f := range s.fields {
		b.field(f, in)
	}
}

// field computes the bindings of a field and of all fields below it, and adds the objects that they may return to the cost.
func (b *binder) field(f *field, in scope) {
	as := f.unhooked()
	if f.slot < 0 {
		if as == asNodes || as == asPart { // its page or payload comes from a resolver
			b.selection(f.subs[0], in)
		}
		if f.of != nil {
			b.parts(f, in)
		}
		return
	}
	to := &b.bindings[f.slot]
	below := in
	switch as {
	case asRootOne, asRootSingle, asChange:
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
		if to.page.limit = 1; !b.engine.mayUse(f.spec, b.access, false) {
			to.err = errForbidden
		}
	case asCustom:
		if to.args, to.err = b.arguments(f); f.spec.List {
			below.objects = b.times(in.objects, b.engine.limits.DefaultLimit)
		}
	default:
		to.args, to.err = b.arguments(f)
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

// more reports whether a shared selection must be bound again because this time it is read for more objects.
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

// parts binds the parts of a page or payload if one of them is customised by a program.
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

// maxCost is the greatest cost. The sum of two costs fits an int.
const maxCost = math.MaxInt / 2

// times estimates how many objects n lists of length each hold. A negative length is unlimited.
func (b *binder) times(n, each int) int {
	switch {
	case b.most == 0:
		return 1
	case each < 0:
		each = b.engine.limits.AmountLimit
	}
	if each = max(each, 1); n > maxCost/each {
		return maxCost
	}
	return n * each
}

func (b *binder) tooExpensive() bool { return b.most > 0 && b.cost > b.most }

// arguments are the values of a field's arguments. An argument that the request omits and that has no default is absent. The values must
// not be changed, since requests share those that hold no variables.
type arguments []argumentValue

type argumentValue struct {
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
		return b.changedArgs, nil
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
			args = append(args, argumentValue{a.def.Name, v})
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

// root binds a field of Query that returns documents of a content-type, or a field of Subscription for their changes.
func (b *binder) root(f *field, to *binding) {
	m := f.spec
	to.page.limit = 1
	if !b.engine.mayUse(m, b.access, false) {
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
	to.args = args
	if query.Locales.All && f.as != asChange { // one document is shown in one locale
		to.query.Locales = store.LocaleSet{Codes: []string{"*"}}
	}
}

// status returns the requested version, published by default.
func status(args arguments) store.Status {
	s, _ := schema.StatusOf(args.text("status")) // not there, or null: the zero Status, which is Published
	return s
}

// publicationState returns the publication state that the arguments ask for, or nil if documents of any state match.
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

// target binds a field that returns rows related to a row: a relation, file, component or zone.
func (b *binder) target(f *field, to *binding, in scope) {
	m := f.spec
	to.page.limit = 1
	switch m.Kind {
	case schema.MeRole, schema.Related: // users may always see their own role; rows that use a file are checked one by one
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

// items compiles the filters and the sort of a field that returns related rows.
func (b *binder) items(f *field, args arguments) (store.Filter, []store.SortKey, *apierror.Error) {
	filters, sort, err := b.conditions(f.spec, args)
	if err != nil {
		return nil, nil, err
	}
	if filters == nil && sort == nil {
		return nil, nil, b.refused(nil)
	}
	filter, keys, wrong := b.engine.params.Items(f.attr.TargetSchema(), filters, sort, b.access)
	return filter, keys, b.refused(wrong)
}

// conditions returns the filters and the sort in the arguments of a field, each nil if it is absent or empty.
func (b *binder) conditions(m *schema.FieldSpec, args arguments) (filters params.Filters, sort any, err *apierror.Error) {
	sort = sortList(args.value("sort"))
	if list, ok := sort.([]any); ok && len(list) > b.engine.limits.SortKeys {
		return nil, nil, tooMany("sort keys", b.engine.limits.SortKeys, "sortKeys", apierror.SortKeys)
	}
	given := args.object("filters")
	if given != nil && b.conditionCount == nil {
		b.conditionCount = &conditionCount{most: b.engine.limits.Conditions}
	}
	return b.conditionCount.filters(m.Filters, given), sort, nil
}

// refused returns the error for conditions that cannot be used: either there are too many, or compiling them failed with the error wrong.
func (b *binder) refused(wrong error) *apierror.Error {
	if b.conditionCount.full() {
		return tooMany("conditions", b.engine.limits.Conditions, "conditions", apierror.Conditions)
	}
	if wrong == nil {
		return nil
	}
	err, _ := clientError(wrong)
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
