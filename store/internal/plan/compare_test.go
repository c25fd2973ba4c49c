package plan_test

import (
	"testing"

	"lectern/contenttypes"
	"lectern/store/internal/plan"
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
		op     plan.Op
		values []any
		yes    []string // stored values that meet the comparison
		no     []string
	}{
		{text, plan.Eq, []any{"b"}, []string{`"b"`}, []string{`"B"`, `"ab"`, `""`}},
		{text, plan.Ne, []any{"b"}, []string{`"B"`, `""`}, []string{`"b"`}},
		{text, plan.EqI, []any{"b"}, []string{`"b"`, `"B"`}, []string{`"ab"`}},
		{text, plan.NeI, []any{"b"}, []string{`"ab"`}, []string{`"b"`, `"B"`}},
		{text, plan.Lt, []any{"b"}, []string{`"a"`, `"B"`, `""`}, []string{`"b"`, `"ba"`}},
		{text, plan.Lte, []any{"b"}, []string{`"a"`, `"b"`}, []string{`"ba"`}},
		{text, plan.Gt, []any{"b"}, []string{`"ba"`, `"c"`}, []string{`"b"`, `"a"`}},
		{text, plan.Gte, []any{"b"}, []string{`"b"`, `"c"`}, []string{`"a"`}},
		{text, plan.Contains, []any{`a"`}, []string{`"a\""`, `"xa\"x"`}, []string{`"a"`, `"A\""`}},
		{text, plan.NotContains, []any{"a"}, []string{`"b"`, `"A"`}, []string{`"ba"`}},
		{text, plan.StartsWith, []any{"a"}, []string{`"a"`, `"ab"`}, []string{`"ba"`, `"Ab"`}},
		{text, plan.EndsWith, []any{"a"}, []string{`"a"`, `"ba"`}, []string{`"ab"`, `"bA"`}},
		{text, plan.In, []any{"a", nil, "c"}, []string{`"a"`, `"c"`}, []string{`"b"`}},
		{text, plan.In, nil, nil, []string{`"b"`}},
		{text, plan.NotIn, []any{"a", "c"}, []string{`"b"`}, []string{`"a"`, `"c"`}},
		{text, plan.Between, []any{"b", "d"}, []string{`"b"`, `"c"`, `"d"`}, []string{`"a"`, `"da"`}},
		{number, plan.Eq, []any{1.5}, []string{"1.5", "1.50", "15e-1"}, []string{"1", "-1.5"}},
		{number, plan.Lt, []any{10.0}, []string{"9", "-11", "9.99"}, []string{"10", "1e2"}},
		{number, plan.Gte, []any{int64(10)}, []string{"10", "11", "1e2"}, []string{"9"}},
		{number, plan.Between, []any{2.0, 1.0}, nil, []string{"1", "1.5", "2"}},
		{number, plan.In, []any{1.0, 3.0}, []string{"1", "3"}, []string{"2"}},
		{big, plan.Eq, []any{int64(9007199254740993)}, []string{`"9007199254740993"`}, []string{`"9007199254740992"`}},
		{big, plan.Gt, []any{9.5}, []string{`"10"`}, []string{`"9"`}},
		{boolean, plan.Eq, []any{true}, []string{"true"}, []string{"false"}},
		{boolean, plan.Lt, []any{true}, []string{"false"}, []string{"true"}},
		{boolean, plan.Gte, []any{false}, []string{"false", "true"}, nil},
		{text, plan.Eq, []any{[]byte("b")}, nil, []string{`"b"`}}, // not a value of a query
	} {
		test := plan.Predicate(plan.Compare{Attr: attribute(c.kind), Op: c.op, Values: c.values})
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
	for _, c := range []plan.Compare{
		{Op: plan.Eq, Values: []any{nil}}, {Op: plan.Ne, Values: []any{nil}}, {Op: plan.NotIn, Values: []any{"a", nil}},
		{Op: plan.Between, Values: []any{"a", nil}}, {Op: plan.Between, Values: []any{"a"}}, {Op: plan.Lt},
		{Op: plan.Contains, Values: []any{nil}},
	} {
		c.Attr = attribute(text)
		if plan.Predicate(c) != nil {
			t.Errorf("operator %d with %v has a test", c.Op, c.Values)
		}
	}
}
