package execution_test

import (
	"fmt"
	"testing"

	"lectern/shadowcrud/graphql/execution"
	"lectern/shadowcrud/graphql/schema"
)

// TestAllocations checks that the allocations of an operation do not grow with the values that it prints, and little with the rows.
func TestAllocations(t *testing.T) {
	if raceDetector {
		t.Skip("counts nothing under the race detector")
	}
	s := newServer(t, execution.Limits{})
	s.fill(45)
	for _, tt := range []struct {
		query string
		most  float64 // allocations of the long answer
	}{
		{`query($n:Int){restaurants(pagination:{limit:$n}){documentId name slug seats price tier createdAt}}`, 60},
		{`query($n:Int){restaurants(pagination:{limit:$n}){name owner{firstName restaurants{name}} categories{name} reviews{stars} address{city geo{lat}} dz{__typename}}}`, 110},
		{`query($n:Int){restaurants_connection(pagination:{limit:$n}){nodes{name categories_connection{nodes{name}}} pageInfo{total}}}`, 90},
	} {
		count := func(n int) float64 {
			vars := object(t, fmt.Sprintf(`{"n":%d}`, n))
			return testing.AllocsPerRun(50, func() { run(t, s, tt.query, vars) })
		}
		few, many := count(4), count(40)
		if many > few+25 || many > tt.most {
			t.Errorf("%s: 4 documents take %v allocations, 40 take %v", tt.query, few, many)
		}
	}
}

// TestAllocationsOfExtensions checks that extensions add no allocations to operations without custom fields. To other operations, each call
// of a resolver or middleware adds few.
func TestAllocationsOfExtensions(t *testing.T) {
	if raceDetector {
		t.Skip("counts nothing under the race detector")
	}
	var e schema.Extensions
	e.Use(schema.Extension{TypeDefs: "extend type Restaurant { one: Int }", Resolvers: schema.Resolvers{"Restaurant": {"one": value(1)}},
		ResolversConfig: map[string]schema.FieldConfig{"Query.people": {Auth: schema.NoAuth}}})
	s := newServer(t, execution.Limits{})
	s.fill(45)
	count := func(query string, n int) float64 {
		vars := object(t, fmt.Sprintf(`{"n":%d}`, n))
		return testing.AllocsPerRun(50, func() { run(t, s, query, vars) })
	}
	const without = `query($n:Int){people{firstName} restaurants(pagination:{limit:$n}){name seats owner{firstName} categories{name}}}`
	const with = `query($n:Int){restaurants(pagination:{limit:$n}){name one}}`
	want := count(without, 40)
	s.engine = s.extended(execution.Limits{}, &e)
	if got := count(without, 40); got > want {
		t.Errorf("%v allocations, %v without extensions", got, want)
	}
	const most = 20 // for each call
	if few, many := count(with, 4), count(with, 40); many > few+36*most {
		t.Errorf("4 calls take %v allocations, 40 take %v", few, many)
	}
}
