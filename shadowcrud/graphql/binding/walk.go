package binding

import (
	"math"

	"lectern/contenttypes"
	"lectern/documents/apierror"
	"lectern/documents/permission"
	"lectern/shadowcrud/graphql/language"
	"lectern/shadowcrud/graphql/limits"
	"lectern/shadowcrud/graphql/plan"
	"lectern/shadowcrud/graphql/schema"
	"lectern/shadowcrud/params"
	"lectern/store"
)

// A walk computes the bindings of the fields of one plan for one request, and the cost of the operation.
type walk struct {
	*Binder
	vars           language.Variables
	access         *permission.Access
	bindings       []Binding
	cost           int             // see limits.Operation.Cost
	most           int             // the limit of cost; 0: cost is not estimated
	conditionCount *conditionCount // of all filters; nil until there are any

	// shared holds, for selections that several fields share, the greatest number of objects that each was bound for.
	shared map[*plan.Selection]int

	// changed is a field whose arguments a middleware changed, and changedArgs are its arguments after the change.
	changed     *plan.Field
	changedArgs plan.Arguments
}

// A scope holds the settings that a root field passes on to all fields below it.
type scope struct {
	state   *store.PublicationState
	status  store.Status // of the documents
	objects int          // estimate of how many objects the fields are read for; 1 where the cost is not estimated
}

// selection computes the bindings of the fields of a selection.
func (w *walk) selection(s *plan.Selection, in scope) {
	for _, f := range s.Fields {
		w.field(f, in)
	}
}

// field computes the bindings of a field and of all fields below it, and adds the objects that they may return to the
// cost.
func (w *walk) field(f *plan.Field, in scope) {
	as := f.Generated()
	if f.Slot < 0 {
		if as == plan.AsNodes || as == plan.AsPart { // its page or payload comes from a resolver
			w.selection(f.Subs[0], in)
		}
		if f.Parts != nil {
			w.parts(f, in)
		}
		return
	}
	to := &w.bindings[f.Slot]
	below := in
	switch as {
	case plan.AsRootOne, plan.AsRootSingle, plan.AsChange:
		w.root(f, to)
	case plan.AsRootList, plan.AsRootConnection:
		w.root(f, to)
		below.objects = w.times(in.objects, to.Page.limit)
	case plan.AsOne, plan.AsUnion:
		w.target(f, to, in)
	case plan.AsList, plan.AsConnection:
		w.target(f, to, in)
		below.objects = w.times(in.objects, to.Page.limit)
	case plan.AsUnionList:
		w.target(f, to, in)
		below.objects = w.times(in.objects, zoneItems)
	case plan.AsMutation:
		if to.Err = w.permission(f); to.Err == nil {
			to.Args, to.Err = w.arguments(f)
		}
	case plan.AsMe:
		to.Page.limit = 1
		to.Err = w.permission(f)
	case plan.AsCustom:
		if to.Args, to.Err = w.arguments(f); f.Spec.List {
			below.objects = w.times(in.objects, w.limits.DefaultLimit)
		}
	default:
		to.Args, to.Err = w.arguments(f)
		return
	}
	if w.cost = min(w.cost+below.objects, maxCost); w.tooExpensive() {
		return
	}
	below.state, below.status = to.state, to.Query.Status
	if f.Slot >= 0 && f.Load >= 0 {
		below.state, below.status = in.state, in.status
	}
	for _, sub := range f.Subs {
		if as != plan.AsCustom || w.more(sub, below.objects) {
			w.selection(sub, below)
		}
	}
	w.parts(f, below)
}

// permission returns an error if the caller may not use a root field.
func (w *walk) permission(f *plan.Field) error {
	if !w.MayUse(f.Spec, w.access, false) {
		return ErrForbidden
	}
	return nil
}

// more reports whether a shared selection must be bound again because this time it is read for more objects.
func (w *walk) more(s *plan.Selection, objects int) bool {
	if w.shared[s] >= objects {
		return false
	}
	if w.shared == nil {
		w.shared = map[*plan.Selection]int{}
	}
	w.shared[s] = objects
	return true
}

// parts binds the parts of a page or payload if one of them is customised by a program.
func (w *walk) parts(f *plan.Field, in scope) {
	if f.Parts == nil || len(f.Parts.Custom) == 0 {
		return
	}
	for _, part := range f.Parts.Fields {
		if as := part.Generated(); as != plan.AsNodes && as != plan.AsPart {
			w.field(part, in)
		}
	}
}

// zoneItems is how many items the cost estimate expects in a dynamic zone.
const zoneItems = 5

// maxCost is the greatest cost. The sum of two costs fits an int.
const maxCost = math.MaxInt / 2

// times estimates how many objects n lists of length each hold. A negative length is unlimited.
func (w *walk) times(n, each int) int {
	switch {
	case w.most == 0:
		return 1
	case each < 0:
		each = w.limits.AmountLimit
	}
	if each = max(each, 1); n > maxCost/each {
		return maxCost
	}
	return n * each
}

func (w *walk) tooExpensive() bool { return w.most > 0 && w.cost > w.most }

// arguments returns the values of the arguments of a field.
func (w *walk) arguments(f *plan.Field) (plan.Arguments, error) {
	if f == w.changed {
		return w.changedArgs, nil
	}
	return f.Arguments(w.language, w.vars)
}

// root binds a field of Query that returns documents of a content-type, or a field of Subscription for their changes.
func (w *walk) root(f *plan.Field, to *Binding) {
	m := f.Spec
	to.Page.limit = 1
	if to.Err = w.permission(f); to.Err != nil {
		return
	}
	args, err := w.arguments(f)
	if err != nil {
		to.Err = err
		return
	}
	paged := f.As == plan.AsRootList || f.As == plan.AsRootConnection
	if paged {
		if to.Page, to.Err = w.paging(args.Object("pagination"), w.longest()); to.Err != nil {
			return
		}
	}
	var locale any
	if m.Localized {
		locale = args.Value("locale")
	}
	to.state = publicationState(args)
	status := Status(args)
	if !w.access.Reads(m.Type, status, to.state) {
		to.Err = ErrForbidden
		return
	}
	filters, sort, err := w.conditions(m, args)
	if err != nil {
		to.Err = err
		return
	}
	to.Query, err = w.params.Rows(m.Type, params.Rows{Filters: filters, Sort: sort, Locale: locale, Status: status,
		State: to.state, Alone: !paged}, w.access)
	if to.Err = w.refused(err); to.Err != nil {
		return
	}
	if paged {
		to.Query.Offset, to.Query.Limit = to.Page.start, to.Page.limit
		to.Query.Count = f.As == plan.AsRootConnection && f.Counts()
		return
	}
	to.Query.Limit = 1
	to.Args = args
	if to.Query.Locales.All && f.As != plan.AsChange { // one document is shown in one locale
		to.Query.Locales = store.LocaleSet{Codes: []string{"*"}}
	}
}

// Status returns the requested version, published by default.
func Status(args plan.Arguments) store.Status {
	s, _ := schema.StatusOf(args.Text("status")) // not there, or null: the zero Status, which is Published
	return s
}

// publicationState returns the publication state that the arguments ask for, or nil if documents of any state match.
func publicationState(args plan.Arguments) *store.PublicationState {
	if state, ok := schema.PublicationStateOf(args.Text("publicationFilter")); ok {
		return &state
	}
	has, ok := args.Value("hasPublishedVersion").(bool)
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
func (w *walk) target(f *plan.Field, to *Binding, in scope) {
	m := f.Spec
	to.Page.limit = 1
	switch m.Kind {
	case schema.MeRole, schema.Related: // users may always see their own role; rows that use a file are checked one by one
	default:
		needs := f.Attr.Type == contenttypes.RelationType || w.access.LimitsFields(f.Attr.Owner)
		if needs && !m.Auth.IsSet() && !w.access.Follows(f.Attr) {
			to.Err = ErrForbidden
			return
		}
	}
	to.Query = store.Query{Type: m.Type, Limit: 1}
	q := &to.Query
	switch f.Generated() {
	case plan.AsUnionList:
		q.Limit = -1 // it cannot be paged, so it must be complete
	case plan.AsList, plan.AsConnection:
		most := w.longest()
		if m.Kind == schema.ComponentList {
			most = w.limits.MaxLimit
		}
		args, err := w.arguments(f)
		if err == nil {
			to.Page, err = w.paging(args.Object("pagination"), most)
		}
		if err == nil && m.Paged {
			err = w.items(q, f, in.status, args)
		}
		if err != nil {
			to.Err = err
			return
		}
		q.Offset, q.Limit = to.Page.start, to.Page.limit
	}
	if in.state != nil && m.Type != nil && m.Type.DraftAndPublish {
		q.Filter = params.And(q.Filter, w.access.InState(*in.state))
	}
}

// items sets the filters and the sort of a field that returns rows related to versions of a status.
func (w *walk) items(q *store.Query, f *plan.Field, status store.Status, args plan.Arguments) error {
	filters, sort, err := w.conditions(f.Spec, args)
	if err != nil {
		return err
	}
	if filters == nil && sort == nil {
		return w.refused(nil)
	}
	return w.refused(w.params.Items(q, f.Attr.TargetSchema(), status, filters, sort, w.access))
}

// conditions returns the filters and the sort in the arguments of a field, each nil if it is absent or empty.
func (w *walk) conditions(m *schema.FieldSpec, args plan.Arguments) (filters params.Filters, sort any, err error) {
	sort = sortList(args.Value("sort"))
	if list, ok := sort.([]any); ok && len(list) > w.limits.SortKeys {
		return nil, nil, limits.TooMany("sort keys", w.limits.SortKeys, "sortKeys", apierror.SortKeys)
	}
	given := args.Object("filters")
	if given != nil && w.conditionCount == nil {
		w.conditionCount = &conditionCount{most: w.limits.Conditions}
	}
	return w.conditionCount.filters(m.Filters, given), sort, nil
}

// refused returns the error for conditions that cannot be used: either there are too many, or compiling them failed
// with the error wrong.
func (w *walk) refused(wrong error) error {
	if w.conditionCount.full() {
		return limits.TooMany("conditions", w.limits.Conditions, "conditions", apierror.Conditions)
	}
	return wrong
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
