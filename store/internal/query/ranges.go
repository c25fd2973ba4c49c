package query

import (
	"bytes"
	"slices"

	"lectern/contenttypes"
	"lectern/store/internal/format"
)

// A Range is the range of index keys with Low ≤ key < High.
type Range struct {
	Low, High []byte
	Entries   int // the number of entries in the range, once counted
}

// Conjuncts splits a filter into conditions that must all hold. It takes negations apart, too: what is left of them
// stands around single conditions that have no opposite.
func Conjuncts(f Filter) []Filter {
	switch f := f.(type) {
	case nil:
		return nil
	case And:
		var list []Filter
		for _, x := range f {
			list = append(list, Conjuncts(x)...)
		}
		return list
	case Not:
		if opposite := Opposite(f.Filter); opposite != nil {
			return Conjuncts(opposite)
		}
	}
	return []Filter{f}
}

// Opposite returns a filter that holds where f is false, and is false where f holds. It returns nil if there is none
// but the Not around f.
func Opposite(f Filter) Filter {
	switch f := f.(type) {
	case Not:
		if f.Filter == nil {
			return And{}
		}
		return f.Filter
	case And:
		either := make(Or, len(f))
		for i, x := range f {
			either[i] = Not{x}
		}
		return either
	case Or:
		all := make(And, len(f))
		for i, x := range f {
			all[i] = Not{x}
		}
		return all
	case Through:
		if limited, ok := f.Filter.(Seen); ok {
			return Through{f.Attr, Seen{Not{limited.Filter}, limited.Sight}}
		}
		return Through{f.Attr, Not{f.Filter}}
	case Compare:
		if op, ok := opposites[f.Op]; ok {
			return Compare{f.Attr, op, f.Values}
		}
	}
	return nil
}

// opposites are the operators that hold where others are false.
var opposites = map[Op]Op{Eq: Ne, Ne: Eq, EqI: NeI, NeI: EqI, In: NotIn, NotIn: In, Lt: Gte, Gte: Lt, Lte: Gt, Gt: Lte,
	Contains: NotContains, NotContains: Contains, ContainsI: NotContainsI, NotContainsI: ContainsI, Null: NotNull,
	NotNull: Null}

// A RangeBuilder turns a comparison into ranges of an index. Space, Type and Exact, which is true at first, are set
// before Add is called.
type RangeBuilder struct {
	Space []byte // with which all keys of the index begin
	Type  contenttypes.Type

	Ranges []Range
	Exact  bool              // all entries in the ranges meet the comparison, except those that Test refuses
	Sorted bool              // there is one range, and its entries are in order of id
	Test   func([]byte) bool // tests the text of an entry, nil if the ranges alone decide
}

// End returns a key after all entries of the space. The key begins with the space, as the counts of the index require.
func (b *RangeBuilder) End() []byte { return append(slices.Clone(b.Space), format.SpaceEnd...) }

func (b *RangeBuilder) values() Range {
	return Range{Low: append(slices.Clone(b.Space), format.OrdValue), High: b.End()}
}

// bounds returns the range of the entries that equal v. cut says that the range may hold other entries too.
func (b *RangeBuilder) bounds(v any) (r Range, cut, ok bool) {
	key, ok := format.AppendOrderedValue(slices.Clone(b.Space), b.Type, v)
	return Range{Low: key, High: format.Successor(key)}, format.IsCut(key[format.SpaceLen:]), ok
}

// Add adds the ranges of a comparison, and reports whether the comparison can be expressed by ranges.
func (b *RangeBuilder) Add(c Compare) bool {
	if c.Op == Null || c.Op == Eq && len(c.Values) == 1 && c.Values[0] == nil {
		null := append(slices.Clone(b.Space), format.OrdNull)
		b.Ranges, b.Sorted = []Range{{Low: null, High: format.Successor(null)}}, true
		return true
	}
	if c.Op == NotNull || c.Op == Ne && len(c.Values) == 1 && c.Values[0] == nil {
		b.Ranges = []Range{b.values()}
		return true
	}
	if slices.Contains(c.Values, nil) && c.Op != In {
		return false
	}
	if test := b.textTest(c); test != nil {
		b.Ranges, b.Test = []Range{b.values()}, test
		return c.Op != StartsWith || b.prefix(c.Values[0].(string))
	}
	switch c.Op {
	case Eq, In:
		return b.equal(c.Values)
	case Lt, Lte, Gt, Gte:
		return b.from(c.Op, c.Values[0])
	case Ne, NotIn:
		return (c.Op == NotIn || len(c.Values) == 1) && b.equal(c.Values) && b.Exact && b.invert()
	case Between:
		return len(c.Values) == 2 && b.between(c.Values[0], c.Values[1])
	}
	return false
}

// invert replaces the ranges by those of all other values.
func (b *RangeBuilder) invert() bool {
	left, ranges := b.values(), b.Ranges
	b.Ranges, b.Sorted = nil, false
	for _, r := range ranges {
		b.Ranges = append(b.Ranges, Range{Low: left.Low, High: r.Low})
		left.Low = r.High
	}
	b.Ranges = append(b.Ranges, left)
	return true
}

func (b *RangeBuilder) textTest(c Compare) func([]byte) bool {
	switch b.Type.Kind() {
	case contenttypes.TextValue, contenttypes.EnumValue, contenttypes.DateValue, contenttypes.TimeValue:
		if len(c.Values) == 1 {
			if text, ok := c.Values[0].(string); ok {
				return TextTest(c.Op, text)
			}
		}
	}
	return nil
}

// prefix limits a text test to the entries that begin with a text.
func (b *RangeBuilder) prefix(text string) bool {
	if len(text) > format.MaxIndexed {
		text = text[:format.MaxIndexed]
	}
	key := format.AppendText(append(slices.Clone(b.Space), format.OrdValue), []byte(text))
	key = key[:len(key)-2]
	b.Ranges = []Range{{Low: key, High: format.Successor(key)}}
	return true
}

func (b *RangeBuilder) equal(values []any) bool {
	for _, v := range values {
		if v == nil {
			continue // null in a list of values matches nothing
		}
		r, cut, ok := b.bounds(v)
		if !ok {
			return false
		}
		b.Exact = b.Exact && !cut
		b.Ranges = append(b.Ranges, r)
	}
	slices.SortFunc(b.Ranges, func(x, y Range) int { return bytes.Compare(x.Low, y.Low) })
	b.Ranges = slices.CompactFunc(b.Ranges, func(x, y Range) bool { return bytes.Equal(x.Low, y.Low) })
	b.Sorted = len(b.Ranges) == 1
	return true
}

func (b *RangeBuilder) from(op Op, v any) bool {
	r, cut, ok := b.bounds(v)
	if !ok {
		return false
	}
	all := b.values()
	b.Exact = !cut
	switch op {
	case Lt:
		all.High = r.Low
	case Lte:
		all.High = r.High
	case Gt:
		all.Low = r.High
	case Gte:
		all.Low = r.Low
	}
	if cut { // include all entries with the same beginning
		if op == Lt || op == Lte {
			all.High = r.High
		} else {
			all.Low = r.Low
		}
	}
	b.Ranges = []Range{all}
	return true
}

func (b *RangeBuilder) between(low, high any) bool {
	l, cutLow, ok := b.bounds(low)
	h, cutHigh, ok2 := b.bounds(high)
	b.Exact = !cutLow && !cutHigh
	b.Ranges = []Range{{Low: l.Low, High: h.High}}
	return ok && ok2
}
