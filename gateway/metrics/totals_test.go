package metrics_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"lectern/gateway/metrics"
)

func TestTotals(t *testing.T) {
	m := metrics.New("v1", func() metrics.Reading { return metrics.Reading{} })
	for i := range 100 {
		m.Request(metrics.Request{Route: "/api/notes", Method: "GET", Status: 200, Took: time.Duration(i) * time.Millisecond})
	}
	m.Request(metrics.Request{Route: "/api/notes", Method: "GET", Status: 404, Took: time.Millisecond})
	m.Request(metrics.Request{Route: "/api/notes", Method: "GET", Status: 503, Took: time.Minute})
	m.Request(metrics.Request{Route: "/api/notes", Method: "POST", Status: 201, Took: time.Millisecond})
	m.Request(metrics.Request{Route: "none", Method: "GET", Status: 999})
	type total struct {
		route, method            string
		requests, client, server uint64
	}
	var got []total
	all := m.Totals()
	for _, of := range all {
		got = append(got, total{of.Route, of.Method, of.Requests, of.ClientErrors, of.ServerErrors})
	}
	want := []total{{"/api/notes", "GET", 102, 1, 1}, {"/api/notes", "POST", 1, 0, 0}, {"none", "GET", 1, 0, 0}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(total{})); diff != "" {
		t.Fatal(diff)
	}
	took := all[0].Took
	for q, want := range map[float64][2]time.Duration{
		.5: {45 * time.Millisecond, 55 * time.Millisecond}, .95: {90 * time.Millisecond, 100 * time.Millisecond},
		1: {30 * time.Second, 30 * time.Second}, // the request of a minute is above all buckets
	} {
		if at, ok := took.Quantile(q); !ok || at < want[0] || at > want[1] {
			t.Errorf("quantile %g is %s (%v), want %s to %s", q, at, ok, want[0], want[1])
		}
	}
	took.Subtract(&all[0].Took)
	if at, ok := took.Quantile(.5); ok {
		t.Errorf("the median of no request is %s", at)
	}
}
