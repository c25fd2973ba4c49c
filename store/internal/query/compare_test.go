package query_test

import (
	"testing"

	"lectern/contenttypes"
	"lectern/store/internal/query"
)

func attribute(kind contenttypes.Type) *contenttypes.Attribute {
	return &contenttypes.Attribute{Type: kind}
}

// TestPredicate compares stored values with each operator. A comparison with null is unknown for every value, except
// that in leaves it out.
func TestPredicate(t *testing.T) {
	const text, number, big, boolean = contenttypes.String, contenttypes.Decimal, contenttypes.BigInteger,
		contenttypes.Boolean
	for _, c := range []struct {
		kind   contenttypes.Type
		op     query.Op
		values []any
		yes    []string // stored values that meet the comparison
		no     []string
	}{
		{text, query.Eq, []any{"b"}, []string{`"b"`}, []string{`"B"`, `"ab"`, `""`}},
		{text, query.Ne, []any{"b"}, []string{`"B"`, `""`}, []string{`"b"`}},
		{text, query.EqI, []any{"b"}, []string{`"b"`, `"B"`}, []string{`"ab"`}},
		{text, query.NeI, []any{"b"}, []string{`"ab"`}, []string{`"b"`, `"B"`}},
		{text, query.Lt, []any{"b"}, []string{`"a"`, `"B"`, `""`}, []string{`"b"`, `"ba"`}},
		{text, query.Lte, []any{"b"}, []string{`"a"`, `"b"`}, []string{`"ba"`}},
		{text, query.Gt, []any{"b"}, []string{`"ba"`, `"c"`}, []string{`"b"`, `"a"`}},
		{text, query.Gte, []any{"b"}, []string{`"b"`, `"c"`}, []string{`"a"`}},
		{text, query.Contains, []any{`a"`}, []string{`"a\""`, `"xa\"x"`}, []string{`"a"`, `"A\""`}},
		{text, query.NotContains, []any{"a"}, []string{`"b"`, `"A"`}, []string{`"ba"`}},
		{text, query.StartsWith, []any{"a"}, []string{`"a"`, `"ab"`}, []string{`"ba"`, `"Ab"`}},
		{text, query.EndsWith, []any{"a"}, []string{`"a"`, `"ba"`}, []string{`"ab"`, `"bA"`}},
		{text, query.In, []any{"a", nil, "c"}, []string{`"a"`, `"c"`}, []string{`"b"`}},
		{text, query.In, nil, nil, []string{`"b"`}},
		{text, query.NotIn, []any{"a", "c"}, []string{`"b"`}, []string{`"a"`, `"c"`}},
		{text, query.Between, []any{"b", "d"}, []string{`"b"`, `"c"`, `"d"`}, []string{`"a"`, `"da"`}},
		{number, query.Eq, []any{1.5}, []string{"1.5", "1.50", "15e-1"}, []string{"1", "-1.5"}},
		{number, query.Lt, []any{10.0}, []string{"9", "-11", "9.99"}, []string{"10", "1e2"}},
		{number, query.Gte, []any{int64(10)}, []string{"10", "11", "1e2"}, []string{"9"}},
		{number, query.Between, []any{2.0, 1.0}, nil, []string{"1", "1.5", "2"}},
		{number, query.In, []any{1.0, 3.0}, []string{"1", "3"}, []string{"2"}},
		{big, query.Eq, []any{int64(9007199254740993)}, []string{`"9007199254740993"`}, []string{`"9007199254740992"`}},
		{big, query.Gt, []any{9.5}, []string{`"10"`}, []string{`"9"`}},
		{boolean, query.Eq, []any{true}, []string{"true"}, []string{"false"}},
		{boolean, query.Lt, []any{true}, []string{"false"}, []string{"true"}},
		{boolean, query.Gte, []any{false}, []string{"false", "true"}, nil},
		{text, query.Eq, []any{[]byte("b")}, nil, []string{`"b"`}}, // not a value of a query
	} {
		test := query.Predicate(query.Compare{Attr: attribute(c.kind), Op: c.op, Values: c.values})
		if test == nil {
			t.Errorf("%s, operator %d with %v: nil", c.kind, c.op, c.values)
			continue
		}
		for _, stored := range c.yes {
			if !test([]byte(stored)) {
				t.Errorf("%s: %s does not meet operator %d with %v", c.kind, stored, c.op, c.values)
			}
		}
		for _, stored := range c.no {
			if test([]byte(stored)) {
				t.Errorf("%s: %s meets operator %d with %v", c.kind, stored, c.op, c.values)
			}
		}
	}
	for _, c := range []query.Compare{
		{Op: query.Eq, Values: []any{nil}}, {Op: query.Ne, Values: []any{nil}}, {Op: query.NotIn, Values: []any{"a", nil}},
		{Op: query.Between, Values: []any{"a", nil}}, {Op: query.Between, Values: []any{"a"}}, {Op: query.Lt},
		{Op: query.Contains, Values: []any{nil}},
	} {
		c.Attr = attribute(text)
		if query.Predicate(c) != nil {
			t.Errorf("operator %d with %v has a test", c.Op, c.Values)
		}
	}
}
