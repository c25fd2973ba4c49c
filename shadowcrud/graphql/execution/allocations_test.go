package execution_test

import (
	"fmt"
	"testing"

	"lectern/shadowcrud/graphql/limits"
	"lectern/shadowcrud/graphql/schema"
)

// TestAllocationsOfExtensions checks that extensions add no allocations to operations without custom fields. To other
// operations, each call of a resolver or middleware adds few.
func TestAllocationsOfExtensions(t *testing.T) {
	if raceDetector {
		t.Skip("counts nothing under the race detector")
	}
	var e schema.Extensions
	e.Use(schema.Extension{TypeDefs: "extend type Restaurant { one: Int }",
		Resolvers:       schema.Resolvers{"Restaurant": {"one": value(1)}},
		ResolversConfig: map[string]schema.FieldConfig{"Query.people": {Auth: schema.NoAuth}}})
	s := newServer(t, limits.Operation{})
	s.fill(45)
	count := func(query string, n int) float64 {
		vars := object(t, fmt.Sprintf(`{"n":%d}`, n))
		return testing.AllocsPerRun(50, func() { run(t, s, query, vars) })
	}
	const without = `query($n:Int){people{firstName} restaurants(pagination:{limit:$n}){name seats owner{firstName} categories{name}}}`
	const with = `query($n:Int){restaurants(pagination:{limit:$n}){name one}}`
	want := count(without, 40)
	s.engine = s.extended(limits.Operation{}, &e)
	if got := count(without, 40); got > want {
		t.Errorf("%v allocations, %v without extensions", got, want)
	}
	const most = 20 // for each call
	if few, many := count(with, 4), count(with, 40); many > few+36*most {
		t.Errorf("4 calls take %v allocations, 40 take %v", few, many)
	}
}
