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

// Conjuncts splits a filter into conditions that must all hold.
func Conjuncts(f Filter) []Filter {
	and, ok := f.(And)
	if !ok {
		if f == nil {
			return nil
		}
		return []Filter{f}
	}
	var list []Filter
	for _, x := range and {
		list = append(list, Conjuncts(x)...)
	}
	return list
}

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
	if c.Op == NotNull {
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
	case Between:
		return len(c.Values) == 2 && b.between(c.Values[0], c.Values[1])
	}
	return false
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
