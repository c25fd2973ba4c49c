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
// of the user, Documents. A variable that is missing has no value: comparisons with it are unknown, and so
// are their negations.
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
	limits    map[*contenttypes.ContentType]map[string]*Limit // by the name of the action
	shown     map[*contenttypes.Schema]*fields                // of the rules of find
}

// A Limit is a Rule for one caller. The nil Limit limits nothing.
type Limit struct {
	Where store.Filter // which documents the action touches; nil: all
	Set   []Assignment // what the server writes
	Unset bool         // a value of Set has none for the caller, who can write nothing
	Check store.Filter // what must hold for each version that was written; nil: anything

	fields *fields
	rule   *Rule
}

// An Assignment is a value that the server writes, in the form of bodies.
type Assignment struct {
	Attr  *contenttypes.Attribute
	Value any
}

// Writes reports whether the caller may send a value of an attribute.
func (l *Limit) Writes(a *contenttypes.Attribute) bool { return l == nil || l.fields.writes(a) }

// MaySend reports whether the caller may send an attribute in the data of a write that is limited by l. Private
// attributes may be sent, although no answer shows them.
func (a *Access) MaySend(attr *contenttypes.Attribute, l *Limit) bool {
	if !attr.IsInput() || !l.Writes(attr) || l.Sets(attr) || attr.Target != nil && attr.Target.Internal {
		return false
	}
	return attr.Type != contenttypes.RelationType || attr.Target == nil || a.Allows(attr.Target, "find")
}

// Sets reports whether the server writes an attribute.
func (l *Limit) Sets(a *contenttypes.Attribute) bool {
	return l != nil && slices.ContainsFunc(l.rule.set, func(s assignment) bool { return s.attr == a })
}

// nothing is a filter that no document meets.
var nothing store.Filter = store.Or{}

// newRules returns rules for callers without values. It returns nil if the list is empty.
func newRules(list []*Rule) *rules {
	if len(list) == 0 {
		return nil
	}
	r := &rules{list: slices.SortedFunc(slices.Values(list), compareRules),
		shown: map[*contenttypes.Schema]*fields{}}
	for _, rule := range list {
		if rule.action == "find" && rule.fields != nil {
			r.shown[&rule.Type.Schema] = rule.fields
		}
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
	bound.limits = make(map[*contenttypes.ContentType]map[string]*Limit, len(r.list))
	for _, rule := range r.list {
		l := r.limits[rule.Type][rule.action]
		if l == nil || len(rule.Variables()) > 0 {
			l = &Limit{Where: bindCondition(rule.where, v), Check: bindCondition(rule.check, v), fields: rule.fields,
				rule: rule}
			l.assign(rule.set, v)
		}
		of := bound.limits[rule.Type]
		if of == nil {
			of = map[string]*Limit{}
			bound.limits[rule.Type] = of
		}
		of[rule.action] = l
	}
	return &bound
}

// assign sets Set.
func (l *Limit) assign(set []assignment, v Values) {
	for _, s := range set {
		value := s.value
		if name, ok := VariableIn(value); ok {
			value, ok = v[name]
			if !ok {
				l.Unset = true
				continue
			}
			value = sent(s.attr, value)
		}
		l.Set = append(l.Set, Assignment{s.attr, value})
	}
}

// sent returns the value of a variable in the form in which a body has a value of an attribute.
func sent(a *contenttypes.Attribute, v any) any {
	documents, ok := v.(Documents)
	switch {
	case ok && !a.ToMany():
		return documents[0]
	case ok:
		list := make([]any, len(documents))
		for i, id := range documents {
			list[i] = id
		}
		return list
	}
	return v
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
	return &Access{actions: a.actions, narrow: a.narrow, rules: a.rules.bind(all), preview: a.preview}
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
