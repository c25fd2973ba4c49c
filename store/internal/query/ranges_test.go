package query_test

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"lectern/contenttypes"
	"lectern/store/internal/format"
	"lectern/store/internal/query"
)

// TestConjuncts expects nested Ands to be taken apart, and nothing else.
func TestConjuncts(t *testing.T) {
	a, b, c := query.Compare{Op: query.Eq}, query.Compare{Op: query.Ne}, query.Search{Text: "x"}
	for _, tc := range []struct {
		filter query.Filter
		want   []query.Filter
	}{
		{nil, nil},
		{query.And{}, nil},
		{a, []query.Filter{a}},
		{query.And{a, b, c}, []query.Filter{a, b, c}},
		{query.And{a, query.And{query.And{b}, c}}, []query.Filter{a, b, c}},
		{query.And{a, query.Or{b, c}}, []query.Filter{a, query.Or{b, c}}},
		{query.Not{Filter: query.And{a, b}}, []query.Filter{query.Or{query.Not{Filter: a}, query.Not{Filter: b}}}},
		{query.Not{Filter: query.Or{a, b}}, []query.Filter{query.Compare{Op: query.Ne}, query.Compare{Op: query.Eq}}},
		{query.Not{Filter: query.Not{Filter: query.And{a, c}}}, []query.Filter{a, c}},
		{query.Not{Filter: query.Through{Filter: a}}, []query.Filter{query.Through{Filter: query.Not{Filter: a}}}},
		{query.Not{Filter: c}, []query.Filter{query.Not{Filter: c}}},
		{query.Not{}, []query.Filter{query.Not{}}},
	} {
		if got := query.Conjuncts(tc.filter); fmt.Sprint(got) != fmt.Sprint(tc.want) {
			t.Errorf("%v: %v, want %v", tc.filter, got, tc.want)
		}
	}
}

// indexed are values of several types, as they are stored, and what a query compares them with.
func indexed() (types map[contenttypes.Type][]string, queried map[contenttypes.Type][]any) {
	long := strings.Repeat("x", format.MaxIndexed)
	texts := []string{"", "a", "ab", "b", "B", "a\x00b", long, long + "y", long + "z"}
	types, queried = map[contenttypes.Type][]string{}, map[contenttypes.Type][]any{}
	for _, text := range texts {
		types[contenttypes.String] = append(types[contenttypes.String],
			strings.ReplaceAll(strconv.Quote(text), `\x00`, `\u0000`))
		queried[contenttypes.String] = append(queried[contenttypes.String], text)
	}
	for _, n := range []float64{-2.5, -1, 0, 1, 1.5, 300} {
		types[contenttypes.Decimal] = append(types[contenttypes.Decimal], fmt.Sprint(n))
		queried[contenttypes.Decimal] = append(queried[contenttypes.Decimal], n)
	}
	for _, n := range []int64{-1 << 63, -1, 0, 9007199254740992, 9007199254740993} {
		types[contenttypes.BigInteger] = append(types[contenttypes.BigInteger], fmt.Sprintf("%q", fmt.Sprint(n)))
		queried[contenttypes.BigInteger] = append(queried[contenttypes.BigInteger], n)
	}
	types[contenttypes.Boolean], queried[contenttypes.Boolean] = []string{"false", "true"}, []any{false, true}
	return types, queried
}

// TestRangesHoldWhatComparisonFinds builds the ranges of each operator. They hold every stored value that meets the
// comparison; if they are exact, they hold no other, except those that the test refuses.
func TestRangesHoldWhatComparisonFinds(t *testing.T) {
	types, queried := indexed()
	space := []byte("space1")
	for kind, stored := range types {
		for op := query.Eq; op <= query.NotNull; op++ {
			for _, values := range operands(op, queried[kind]) {
				c := query.Compare{Attr: attribute(kind), Op: op, Values: values}
				b := query.RangeBuilder{Space: space, Type: kind, Exact: true}
				name := fmt.Sprintf("%s, operator %d with %q", kind, op, values)
				if !b.Add(c) {
					if expressible(c) {
						t.Errorf("%s: has no ranges", name)
					}
					continue
				}
				if !slices.IsSortedFunc(b.Ranges, func(x, y query.Range) int { return bytes.Compare(x.High, y.Low) }) {
					t.Errorf("%s: the ranges are not in order, or overlap: %x", name, b.Ranges)
				}
				for _, raw := range slices.Concat(stored, []string{""}) {
					var value []byte // null
					if raw != "" {
						value = []byte(raw)
					}
					entry := format.AppendOrdered(nil, kind, value)
					has := holds(b, space, entry)
					if want := meets(c, raw); want && !has || !want && has && b.Exact && !format.IsCut(entry) {
						t.Errorf("%s: the ranges hold %s: %v, want %v", name, raw, has, want)
					}
				}
			}
		}
	}
}

// expressible reports whether ranges must be able to express a comparison, since a search without them reads all rows.
func expressible(c query.Compare) bool {
	switch c.Op {
	case query.Eq, query.In, query.Null, query.NotNull:
		return true
	case query.Ne, query.NotIn: // other texts may begin like a long one
		return c.Attr.Type != contenttypes.String && !slices.Contains(c.Values, nil)
	case query.Lt, query.Lte, query.Gt, query.Gte, query.StartsWith:
		return c.Values[0] != nil && (c.Op != query.StartsWith || c.Attr.Type == contenttypes.String)
	case query.Between:
		return len(c.Values) == 2 && !slices.Contains(c.Values, nil)
	}
	return false
}

// operands returns lists of values for an operator.
func operands(op query.Op, values []any) (lists [][]any) {
	switch op {
	case query.Null, query.NotNull:
		return [][]any{nil}
	case query.Between:
		for _, low := range values {
			for _, high := range values {
				lists = append(lists, []any{low, high})
			}
		}
		return append(lists, []any{values[0]}, []any{nil, values[0]})
	case query.In, query.NotIn:
		lists = append(lists, values, nil, []any{values[1], nil, values[0], values[1]})
	}
	for _, v := range values {
		lists = append(lists, []any{v})
	}
	return append(lists, []any{nil})
}

// meets reports whether a stored value, or null if it is "", meets a comparison.
func meets(c query.Compare, raw string) bool {
	switch isNull := raw == ""; {
	case c.Op == query.Null || c.Op == query.Eq && c.Values[0] == nil:
		return isNull
	case c.Op == query.NotNull || c.Op == query.Ne && c.Values[0] == nil:
		return !isNull
	case isNull:
		return false
	}
	test := query.Predicate(c)
	return test != nil && test([]byte(raw))
}

// holds reports whether a search of the ranges finds the entry of a row.
func holds(b query.RangeBuilder, space, entry []byte) bool {
	key := append(slices.Concat(space, entry), 0, 0, 0, 0, 0, 0, 0, 7) // the id of the row
	return slices.ContainsFunc(b.Ranges, func(r query.Range) bool {
		return bytes.Compare(key, r.Low) >= 0 && bytes.Compare(key, r.High) < 0 &&
			(b.Test == nil || format.IsCut(entry) || b.Test(format.OrderedText(entry)))
	})
}
