// Package binding binds the plan of an operation to a request: it decides what each field may and must read.
//
// A Binding holds the query of a field, for the values of the variables, and limited to the documents that the caller
// may see. On the way, a Binder checks the permissions of root fields and relations, and estimates the cost of the
// operation. It reads nothing from the store.
package binding

import (
	"slices"
	"sync/atomic"

	"lectern/documents/apierror"
	"lectern/documents/permission"
	"lectern/jsontree"
	"lectern/shadowcrud/graphql/language"
	"lectern/shadowcrud/graphql/limits"
	"lectern/shadowcrud/graphql/plan"
	"lectern/shadowcrud/graphql/schema"
	"lectern/shadowcrud/params"
	"lectern/store"
)

// A Binding holds the query and the arguments of a field of a plan for one request.
type Binding struct {
	Err error // set if the field must not be answered
	// Query finds the documents of a root field. For a field with related rows, it filters, sorts and pages them.
	Query store.Query
	state *store.PublicationState
	Page  Paging
	Args  plan.Arguments // set for fields that read their arguments when they run
}

// callerBindings holds the bindings of a static plan for one caller.
type callerBindings struct {
	access     *permission.Access
	bindings   []Binding
	conditions int
}

// A Plan is a compiled operation with the bindings of its last callers, which are cached if no argument holds a
// variable.
type Plan struct {
	plan.Plan
	cached atomic.Pointer[[]callerBindings]
}

// maxCachedBindings is how many callers a plan caches bindings for.
const maxCachedBindings = 8

// cachedBindings returns the cached bindings of a caller, nil if there are none.
func (p *Plan) cachedBindings(access *permission.Access) *callerBindings {
	if list := p.cached.Load(); list != nil {
		for i := range *list {
			if k := &(*list)[i]; k.access == access {
				return k
			}
		}
	}
	return nil
}

// cacheBindings caches the bindings of a static plan for a caller. If there are maxCachedBindings already, they replace
// the oldest.
func (p *Plan) cacheBindings(k callerBindings) {
	list := []callerBindings{k}
	if known := p.cached.Load(); known != nil {
		list = append(list, (*known)[:min(len(*known), maxCachedBindings-1)]...)
	}
	p.cached.Store(&list)
}

// A Binder computes the bindings of plans. Any number of goroutines may use one.
type Binder struct {
	schema   *schema.Schema
	language *language.Schema
	params   *params.Parser
	limits   *limits.Operation
}

// New makes a Binder. The number of sort keys is limited by l.SortKeys, in place of the limit of the parser.
func New(s *schema.Schema, types *language.Schema, p *params.Parser, l *limits.Operation) *Binder {
	return &Binder{schema: s, language: types, params: p.WithSortKeys(l.SortKeys, language.Settings+"sortKeys"),
		limits: l}
}

// Bind computes the bindings of all fields of a plan, and how many conditions the filters of the operation have. The
// bindings of a plan that is not static take the place of those in memory, which grows if it must; other bindings are
// shared and must not be changed. The error says that the operation exceeds a limit. A field that the caller may not
// use is no such error: it is in Binding.Err.
func (b *Binder) Bind(p *Plan, vars language.Variables, access *permission.Access, memory *[]Binding) (
	bindings []Binding, conditions int, wrong *language.Error,
) {
	if p.Static {
		if k := p.cachedBindings(access); k != nil {
			return k.bindings, k.conditions, nil
		}
		bindings = make([]Binding, p.Slots)
	} else {
		*memory = slices.Grow((*memory)[:0], p.Slots)[:p.Slots]
		bindings = *memory
	}
	if p.Introspections > b.limits.Introspections {
		return nil, 0, b.limits.TooManyIntrospections()
	}
	op := p.Op.Operation
	w := walk{Binder: b, vars: vars, access: access, bindings: bindings, cost: p.Cost,
		most: limits.Share(op, b.limits.Cost)}
	w.selection(p.Root, scope{objects: 1})
	if w.tooExpensive() {
		return nil, 0, b.limits.TooExpensive(op)
	}
	if w.conditionCount != nil {
		conditions = w.conditionCount.n
	}
	if p.Static {
		p.cacheBindings(callerBindings{access, bindings, conditions})
	}
	return bindings, conditions, nil
}

// Rebind computes the binding of a root field, and of all fields below it, for other arguments than those of the
// operation. The other bindings are copied. It returns an error if the operation then exceeds the limit of cost.
func (b *Binder) Rebind(
	p *Plan, f *plan.Field, args plan.Arguments, vars language.Variables, access *permission.Access, bindings []Binding,
) ([]Binding, error) {
	op := p.Op.Operation
	w := walk{Binder: b, vars: vars, access: access, bindings: slices.Clone(bindings), changed: f, changedArgs: args,
		most: limits.Share(op, b.limits.Cost)}
	w.field(f, scope{objects: 1})
	if w.tooExpensive() {
		return nil, apierror.Validation(b.limits.TooExpensive(op).Message)
	}
	return w.bindings, nil
}

// Filter compiles an argument filters. It returns an error if the caller may not filter by one of its attributes.
func (b *Binder) Filter(f *schema.Filters, given *jsontree.Object, access *permission.Access) (store.Filter, error) {
	w := walk{Binder: b, access: access, conditionCount: &conditionCount{most: b.limits.Conditions}}
	var q store.Query
	err := b.params.Items(&q, f.Schema, store.Draft, w.conditionCount.filters(f, given), nil, access)
	if err := w.refused(err); err != nil {
		return nil, err
	}
	return q.Filter, nil
}
