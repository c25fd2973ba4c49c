package documents

import (
	"slices"

	"lectern/contenttypes"
	"lectern/documents/permission"
	"lectern/store"
)

// Dependencies are the types whose content decides an answer. The zero value is an answer that depends on nothing.
type Dependencies struct {
	types []*contenttypes.ContentType
	all   bool               // the answer may depend on any type
	rules *permission.Access // decides which documents of the types are in the answer; nil: nothing does
}

// maxDependencies is the number of types from which an answer counts as depending on all of them.
const maxDependencies = 16

// DependenciesOf returns the types on which the answer to a query depends that shows a caller a selection. dst is
// reused for the list.
func DependenciesOf(q *store.Query, shown *Selection, access *permission.Access,
	dst []*contenttypes.ContentType) Dependencies {
	d := Dependencies{types: dst[:0]}
	if access.HasRules() {
		d.rules = access
	}
	d.Query(q)
	d.selection(shown)
	return d
}

// All reports whether the answer may depend on all types.
func (d *Dependencies) All() bool { return d.all }

// AddAll says that the answer may depend on all types.
func (d *Dependencies) AddAll() { d.all = true }

// Types returns the types; nil if the answer may depend on all of them, or depends on none.
func (d *Dependencies) Types() []*contenttypes.ContentType {
	if d.all {
		return nil
	}
	return d.types
}

func (d *Dependencies) add(t *contenttypes.ContentType) {
	switch {
	case t == nil || len(d.types) == maxDependencies:
		d.all = true
	default:
		if !slices.Contains(d.types, t) {
			d.types = append(d.types, t)
		}
		d.rulesOf(t)
	}
}

// rulesOf adds the types that the rules of a type follow.
func (d *Dependencies) rulesOf(t *contenttypes.ContentType) {
	if rules := d.rules; rules != nil {
		d.rules = nil // rules are not limited by rules
		for _, status := range [...]store.Status{store.Published, store.Draft} {
			d.filter(rules.Visible(t, status))
		}
		d.rules = rules
	}
}

// Follow adds the type that an attribute leads to. The targets of a morph relation may be of any type. The items of
// components lie in the rows of their documents.
func (d *Dependencies) Follow(a *contenttypes.Attribute) {
	if a.IsRelation() {
		d.add(a.Target)
	}
}

// Query adds the types whose content decides what a query finds. A query that has no type finds targets of an attribute
// that was followed.
func (d *Dependencies) Query(q *store.Query) {
	if q == nil {
		return
	}
	if q.Type != nil {
		d.add(q.Type)
	}
	d.filter(q.Filter)
	for i := range q.Sort {
		for _, a := range q.Sort[i].Path {
			d.Follow(a)
		}
	}
}

func (d *Dependencies) filter(f store.Filter) {
	switch f := f.(type) {
	case store.And:
		for _, part := range f {
			d.filter(part)
		}
	case store.Or:
		for _, part := range f {
			d.filter(part)
		}
	case store.Not:
		d.filter(f.Filter)
	case store.Through:
		d.Follow(f.Attr)
		d.filter(f.Filter)
	case store.Seen:
		d.filter(f.Filter)
	}
}

func (d *Dependencies) selection(s *Selection) {
	if s == nil {
		return
	}
	for i := range s.Populate {
		p := &s.Populate[i]
		d.all = d.all || p.Related // the documents that use a file are of any type
		d.Follow(p.Attr)
		d.Query(p.Query)
		d.selection(p.Of)
		for _, v := range p.On {
			d.filter(v.Filter)
			d.selection(v.Of)
		}
	}
}
