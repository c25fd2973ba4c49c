package language

import (
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
)

// maxComparisons bounds the search for conflicting fields. The search may stop there without a result, since
// findConflict has already found that there is a conflict; the search only adds its position.
const maxComparisons = 20000

// overlaps searches a document for conflicting fields.
type overlaps struct {
	v           *validator
	comparisons int
	sets        map[*ast.Field]*fieldMap // of the selection set of each field
	fragments   map[string]*fieldMap
	compared    map[fragmentPair]bool // whether they were compared as mutually exclusive
}

// A fieldMap holds the fields of one selection set by response name, and the fragments that it spreads.
type fieldMap struct {
	names     []string
	fields    map[string][]typedField
	fragments []string
}

type fragmentPair struct{ a, b string }

// A conflict says why two groups of fields conflict, and lists the fields of each.
type conflict struct {
	name   string
	reason string
	a, b   []*ast.Field
}

// fieldsMerge reports the conflicting fields of a selection set.
func (v *validator) fieldsMerge(on *Type, set ast.SelectionSet) {
	if !v.conflicting || v.silent {
		return
	}
	if v.overlaps == nil {
		v.overlaps = &overlaps{v: v, sets: map[*ast.Field]*fieldMap{}, fragments: map[string]*fieldMap{},
			compared: map[fragmentPair]bool{}}
	}
	for _, c := range v.overlaps.within(v.overlaps.gather(typedSet{on, set})) {
		at := make([]int, 0, len(c.a)+len(c.b))
		for _, f := range c.a {
			at = append(at, f.Position.Start)
		}
		for _, f := range c.b {
			at = append(at, f.Position.Start)
		}
		v.report(`Fields "`+c.name+`" conflict because `+c.reason+
			`. Use different aliases on the fields to fetch both if this was intentional.`, at...)
	}
}

// gather makes the fieldMap of a selection set, with inline fragments inlined.
func (o *overlaps) gather(p typedSet) *fieldMap {
	m := &fieldMap{fields: map[string][]typedField{}}
	seen := map[string]bool{}
	var visit func(p typedSet)
	visit = func(p typedSet) {
		for _, sel := range p.set {
			switch sel := sel.(type) {
			case *ast.Field:
				if m.fields[sel.Alias] == nil {
					m.names = append(m.names, sel.Alias)
				}
				m.fields[sel.Alias] = append(m.fields[sel.Alias], typedField{p.on, sel, o.v.fieldOf(p.on, sel.Name)})
			case *ast.FragmentSpread:
				if !seen[sel.Name] {
					seen[sel.Name] = true
					m.fragments = append(m.fragments, sel.Name)
				}
			case *ast.InlineFragment:
				on := p.on
				if sel.TypeCondition != "" {
					on = o.v.schema.types[sel.TypeCondition]
				}
				visit(typedSet{on, sel.SelectionSet})
			}
		}
	}
	visit(p)
	return m
}

// below returns the fieldMap of the selection set of a field.
func (o *overlaps) below(f typedField) *fieldMap {
	if m := o.sets[f.field]; m != nil {
		return m
	}
	places := o.v.below([]typedField{f})
	m := o.gather(places[0])
	o.sets[f.field] = m
	return m
}

// fragment returns the fieldMap of a fragment, nil if the document has no fragment of that name.
func (o *overlaps) fragment(name string) *fieldMap {
	m, known := o.fragments[name]
	if !known {
		if f := o.v.doc.Fragments[name]; f != nil {
			m = o.gather(typedSet{o.v.schema.types[f.TypeCondition], f.SelectionSet})
		}
		o.fragments[name] = m
	}
	return m
}

// within finds the conflicts among the fields of one selection set and its fragments.
func (o *overlaps) within(m *fieldMap) []conflict {
	var found []conflict
	for _, name := range m.names {
		fields := m.fields[name]
		for i := range fields {
			for j := i + 1; j < len(fields) && o.comparisons < maxComparisons; j++ {
				found = o.compare(found, false, name, fields[i], fields[j])
			}
		}
	}
	for i, name := range m.fragments {
		found = o.withFragment(found, false, m, name)
		for _, other := range m.fragments[i+1:] {
			found = o.betweenFragments(found, false, name, other)
		}
	}
	return found
}

func (o *overlaps) between(found []conflict, exclusive bool, a, b *fieldMap) []conflict {
	for _, name := range a.names {
		for _, x := range a.fields[name] {
			for _, y := range b.fields[name] {
				if o.comparisons < maxComparisons {
					found = o.compare(found, exclusive, name, x, y)
				}
			}
		}
	}
	return found
}

func (o *overlaps) withFragment(found []conflict, exclusive bool, m *fieldMap, name string) []conflict {
	other := o.fragment(name)
	if other == nil || other == m {
		return found
	}
	found = o.between(found, exclusive, m, other)
	for _, ref := range other.fragments {
		if o.done(ref, name, exclusive) {
			continue
		}
		found = o.withFragment(found, exclusive, m, ref)
	}
	return found
}

// done reports whether two fragments were compared before, and records them as compared.
func (o *overlaps) done(a, b string, exclusive bool) bool {
	if a > b {
		a, b = b, a
	}
	asExclusive, known := o.compared[fragmentPair{a, b}]
	if known && (exclusive || !asExclusive) {
		return true
	}
	o.compared[fragmentPair{a, b}] = exclusive
	return false
}

func (o *overlaps) betweenFragments(found []conflict, exclusive bool, a, b string) []conflict {
	if a == b || o.done(a, b, exclusive) {
		return found
	}
	x, y := o.fragment(a), o.fragment(b)
	if x == nil || y == nil {
		return found
	}
	found = o.between(found, exclusive, x, y)
	for _, ref := range y.fragments {
		found = o.betweenFragments(found, exclusive, a, ref)
	}
	for _, ref := range x.fragments {
		found = o.betweenFragments(found, exclusive, ref, b)
	}
	return found
}

// compare appends the conflict of two fields of one response name, if there is one.
func (o *overlaps) compare(found []conflict, exclusive bool, name string, a, b typedField) []conflict {
	o.comparisons++
	exclusive = exclusive || a.on != b.on && isObject(a.on) && isObject(b.on)
	add := func(reason string) []conflict {
		return append(found, conflict{name, reason, []*ast.Field{a.field}, []*ast.Field{b.field}})
	}
	if !exclusive {
		if a.field.Name != b.field.Name {
			return add(`"` + a.field.Name + `" and "` + b.field.Name + `" are different fields`)
		}
		if !sameArguments(a.field.Arguments, b.field.Arguments) {
			return add("they have differing arguments")
		}
	}
	if a.def != nil && b.def != nil && o.v.typesConflict(a.def.Type, b.def.Type) {
		return add(`they return conflicting types "` + a.def.Type.String() + `" and "` + b.def.Type.String() + `"`)
	}
	if len(a.field.SelectionSet) == 0 || len(b.field.SelectionSet) == 0 {
		return found
	}
	return o.compareBelow(found, exclusive, name, a, b)
}

func isObject(t *Type) bool { return t != nil && t.Kind == ast.Object }

func (o *overlaps) compareBelow(found []conflict, exclusive bool, name string, a, b typedField) []conflict {
	x, y := o.below(a), o.below(b)
	sub := o.between(nil, exclusive, x, y)
	for _, f := range y.fragments {
		sub = o.withFragment(sub, exclusive, x, f)
	}
	for _, f := range x.fragments {
		sub = o.withFragment(sub, exclusive, y, f)
	}
	for _, f := range x.fragments {
		for _, g := range y.fragments {
			sub = o.betweenFragments(sub, exclusive, f, g)
		}
	}
	if len(sub) == 0 {
		return found
	}
	c := conflict{name: name, a: []*ast.Field{a.field}, b: []*ast.Field{b.field}}
	reasons := make([]string, len(sub))
	for i, s := range sub {
		reasons[i] = `subfields "` + s.name + `" conflict because ` + s.reason
		c.a = append(c.a, s.a...)
		c.b = append(c.b, s.b...)
	}
	c.reason = strings.Join(reasons, " and ")
	return append(found, c)
}
