package documents

import (
	"slices"

	"lectern/contenttypes"
	"lectern/store"
)

// Dependencies are the types whose content decides an answer. The zero value is an answer that depends on nothing.
type Dependencies struct {
	types []*contenttypes.ContentType
	all   bool // the answer may depend on any type
}

// maxDependencies is the number of types from which an answer counts as depending on all of them.
const maxDependencies = 16

// DependenciesOf returns the types on which the answer to a query depends that shows a selection. dst is reused for the list.
func DependenciesOf(q *store.Query, shown *Selection, dst []*contenttypes.ContentType) Dependencies {
	d := Dependencies{types: dst[:0]}
	d.add(q.Type)
	d.query(q)
	d.selection(shown)
	return d
}

// Types returns the types; nil if the answer may depend on all of them.
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
	case !slices.Contains(d.types, t):
		d.types = append(d.types, t)
	}
}

// follow adds the type that an attribute leads to. The targets of a morph relation may be of any type. The items of components lie in the
// rows of their documents.
func (d *Dependencies) follow(a *contenttypes.Attribute) {
	if a.Type == contenttypes.Media || a.IsRelation() {
		d.add(a.Target)
	}
}

func (d *Dependencies) query(q *store.Query) {
	if q == nil {
		return
	}
	d.filter(q.Filter)
	for i := range q.Sort {
		for _, a := range q.Sort[i].Path {
			d.follow(a)
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
		d.follow(f.Attr)
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
		d.follow(p.Attr)
		d.query(p.Query)
		d.selection(p.Of)
		for _, v := range p.On {
			d.filter(v.Filter)
			d.selection(v.Of)
		}
	}
}
