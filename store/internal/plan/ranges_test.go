package plan_test

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"lectern/contenttypes"
	"lectern/store/internal/format"
	"lectern/store/internal/plan"
)

// TestConjuncts expects nested Ands to be taken apart, and nothing else.
func TestConjuncts(t *testing.T) {
	a, b, c := plan.Compare{Op: plan.Eq}, plan.Compare{Op: plan.Ne}, plan.Search{Text: "x"}
	for _, tc := range []struct {
		filter plan.Filter
		want   []plan.Filter
	}{
		{nil, nil},
		{plan.And{}, nil},
		{a, []plan.Filter{a}},
		{plan.And{a, b, c}, []plan.Filter{a, b, c}},
		{plan.And{a, plan.And{plan.And{b}, c}}, []plan.Filter{a, b, c}},
		{plan.And{a, plan.Or{b, c}}, []plan.Filter{a, plan.Or{b, c}}},
		{plan.Not{Filter: plan.And{a, b}}, []plan.Filter{plan.Not{Filter: plan.And{a, b}}}},
	} {
		if got := plan.Conjuncts(tc.filter); fmt.Sprint(got) != fmt.Sprint(tc.want) {
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
		for op := plan.Eq; op <= plan.NotNull; op++ {
			for _, values := range operands(op, queried[kind]) {
				c := plan.Compare{Attr: attribute(kind), Op: op, Values: values}
				b := plan.RangeBuilder{Space: space, Type: kind, Exact: true}
				name := fmt.Sprintf("%s, operator %d with %q", kind, op, values)
				if !b.Add(c) {
					if expressible(c) {
						t.Errorf("%s: has no ranges", name)
					}
					continue
				}
				if !slices.IsSortedFunc(b.Ranges, func(x, y plan.Range) int { return bytes.Compare(x.High, y.Low) }) {
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
func expressible(c plan.Compare) bool {
	switch c.Op {
	case plan.Eq, plan.In, plan.Null, plan.NotNull:
		return true
	case plan.Lt, plan.Lte, plan.Gt, plan.Gte, plan.StartsWith:
		return c.Values[0] != nil && (c.Op != plan.StartsWith || c.Attr.Type == contenttypes.String)
	case plan.Between:
		return len(c.Values) == 2 && !slices.Contains(c.Values, nil)
	}
	return false
}

// operands returns lists of values for an operator.
func operands(op plan.Op, values []any) (lists [][]any) {
	switch op {
	case plan.Null, plan.NotNull:
		return [][]any{nil}
	case plan.Between:
		for _, low := range values {
			for _, high := range values {
				lists = append(lists, []any{low, high})
			}
		}
		return append(lists, []any{values[0]}, []any{nil, values[0]})
	case plan.In, plan.NotIn:
		lists = append(lists, values, nil, []any{values[1], nil, values[0], values[1]})
	}
	for _, v := range values {
		lists = append(lists, []any{v})
	}
	return append(lists, []any{nil})
}

// meets reports whether a stored value, or null if it is "", meets a comparison.
func meets(c plan.Compare, raw string) bool {
	switch isNull := raw == ""; {
	case c.Op == plan.Null || c.Op == plan.Eq && c.Values[0] == nil:
		return isNull
	case c.Op == plan.NotNull:
		return !isNull
	case isNull:
		return false
	}
	test := plan.Predicate(c)
	return test != nil && test([]byte(raw))
}

// holds reports whether a search of the ranges finds the entry of a row.
func holds(b plan.RangeBuilder, space, entry []byte) bool {
	key := append(slices.Concat(space, entry), 0, 0, 0, 0, 0, 0, 0, 7) // the id of the row
	return slices.ContainsFunc(b.Ranges, func(r plan.Range) bool {
		return bytes.Compare(key, r.Low) >= 0 && bytes.Compare(key, r.High) < 0 &&
			(b.Test == nil || format.IsCut(entry) || b.Test(format.OrderedText(entry)))
	})
}
