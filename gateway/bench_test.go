package gateway_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"lectern/gateway"
)

// discard is an answer that is thrown away. Its headers are made anew for each request, as net/http does.
type discard struct{ h http.Header }

func (d *discard) Header() http.Header         { return d.h }
func (d *discard) WriteHeader(int)             {}
func (d *discard) Write(p []byte) (int, error) { return len(p), nil }

// BenchmarkOverhead measures what the way of a request costs, without what the route does.
func BenchmarkOverhead(b *testing.B) {
	s, err := gateway.NewServer(gateway.Config{}, gateway.Runtime{})
	if err != nil {
		b.Fatal(err)
	}
	r := httptest.NewRequest("GET", "/api/nope", nil)
	b.ReportAllocs()
	for b.Loop() {
		s.Handler().ServeHTTP(&discard{make(http.Header)}, r)
	}
}
