package permission

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"lectern/contenttypes"
	"lectern/store"
)

// Values holds what the variables of rules stand for in the requests of one caller, by name: "role", "token", "user"
// for the id of the user, and "user.name" for an attribute of the user. A value is one of jsontree or, for a relation
// of the user, Documents. A variable that is missing has no value: no document meets a condition that uses it.
type Values map[string]any

// Documents are the documentIds of the documents to which a relation of a user leads, at least one.
type Documents []string

// theTime is the variable for the time of a request. At binds it.
const theTime = "now"

// rules are the rules of an Access, with the filters of one caller.
type rules struct {
	list      []*Rule
	variables []string // that list uses, sorted, without theTime
	timed     bool     // list uses theTime
	values    Values
	limits    map[*contenttypes.ContentType]map[string]limit // by the name of the action
}

// A limit is a Rule for one caller.
type limit struct {
	*Rule
	visible store.Filter // nil: every document
}

// nothing is a filter that no document meets.
var nothing store.Filter = store.Or{}

// newRules returns rules for callers without values. It returns nil if the list is empty.
func newRules(list []*Rule) *rules {
	if len(list) == 0 {
		return nil
	}
	r := &rules{list: slices.SortedFunc(slices.Values(list), compareRules)}
	for _, rule := range list {
		r.variables = append(r.variables, rule.Variables()...)
	}
	slices.Sort(r.variables)
	r.variables = slices.Compact(r.variables)
	if i, found := slices.BinarySearch(r.variables, theTime); found {
		r.timed, r.variables = true, slices.Delete(r.variables, i, i+1)
	}
	return r.bind(nil)
}

func compareRules(a, b *Rule) int {
	return cmp.Or(strings.Compare(a.Type.UID, b.Type.UID), strings.Compare(a.action, b.action))
}

// bind returns the rules for a caller with these values.
func (r *rules) bind(v Values) *rules {
	bound := *r
	bound.values = v
	bound.limits = make(map[*contenttypes.ContentType]map[string]limit, len(r.list))
	for _, rule := range r.list {
		l, known := r.limits[rule.Type][rule.action]
		if !known || len(rule.Variables()) > 0 {
			l = limit{rule, bindCondition(rule.where, v)}
		}
		of := bound.limits[rule.Type]
		if of == nil {
			of = map[string]limit{}
			bound.limits[rule.Type] = of
		}
		of[rule.action] = l
	}
	return &bound
}

func bindCondition(c Condition, v Values) store.Filter {
	if c == nil {
		return nil
	}
	f, ok := c.Bind(v)
	if !ok {
		return nothing
	}
	if all, ok := f.(store.And); ok {
		return slices.Clip(all) // so that nobody appends to what all requests share
	}
	return f
}

// HasRules reports whether rules limit what the Access allows.
func (a *Access) HasRules() bool { return a.rules != nil }

// Variables returns the names of the variables that the rules of the Access use, sorted. Bind gives them their values.
func (a *Access) Variables() []string {
	if a.rules == nil {
		return nil
	}
	return a.rules.variables
}

// Bind returns the Access of a caller with these values beside those that a was bound to before.
func (a *Access) Bind(v Values) *Access {
	if a.rules == nil {
		return a
	}
	all := maps.Clone(a.rules.values)
	if all == nil {
		all = Values{}
	}
	maps.Copy(all, v)
	return &Access{actions: a.actions, rules: a.rules.bind(all)}
}

// Timed reports whether what the Access allows depends on the time of the request. Answers by such an Access must not
// be kept.
func (a *Access) Timed() bool { return a.rules != nil && a.rules.timed }

// At returns the Access as it is in a request at the time of a clock; nil means time.Now.
func (a *Access) At(now func() time.Time) *Access {
	if !a.Timed() {
		return a
	}
	if now == nil {
		now = time.Now
	}
	return a.Bind(Values{theTime: now().UTC().Format(contenttypes.TimeFormat)})
}
