package execution_test

import (
	"fmt"
	"testing"

	"lectern/shadowcrud/graphql/execution"
)

// What an operation allocates does not grow with the values that it prints, and little with the rows.
func TestAllocations(t *testing.T) {
	if raceDetector {
		t.Skip("counts nothing under the race detector")
	}
	s := newServer(t, execution.Limits{})
	s.fill(45)
	for _, tt := range []struct {
		query string
		most  float64 // that the long answer allocates
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
