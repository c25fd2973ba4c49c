package rest_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// discard is an answer that is thrown away. Its headers are made anew for each request, as net/http does.
type discard struct {
	h     http.Header
	bytes int
}

func (d *discard) Header() http.Header { return d.h }
func (d *discard) WriteHeader(int)     {}
func (d *discard) Write(p []byte) (int, error) {
	d.bytes = len(p)
	return len(p), nil
}

// BenchmarkRead measures reads through the whole handler, without the network.
func BenchmarkRead(b *testing.B) {
	h := newHandler(b)
	send := func(method, path, body string) string {
		r := httptest.NewRequest(method, path, strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer full")
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code >= 300 {
			b.Fatalf("%s %s: %d %s", method, path, w.Code, w.Body)
		}
		return docs.FindStringSubmatch(w.Body.String())[1]
	}
	tag, other := send("POST", "/api/tags", `{"data":{"name":"go"}}`), send("POST", "/api/tags", `{"data":{"name":"db"}}`)
	var one string
	for i := range 50 {
		one = send("POST", "/api/articles", fmt.Sprintf(`{"data":{"title":"Article %d","words":%d,"tags":[%q,%q],"writer":%q,"place":{"city":"Rome"},
			"places":[{"city":"Oslo"},{"city":"Bern"}],"zone":[{"__component":"parts.quote","text":"To be or not to be"}]}}`, i, i, tag, other, tag))
	}
	for _, bench := range []struct{ name, path string }{
		{"one", "/api/articles/" + one},
		{"list of 25", "/api/articles"},
		{"list of 25, page 2", "/api/articles?pagination[page]=2"},
		{"populate=*, 25", "/api/articles?populate=*"},
	} {
		b.Run(bench.name, func(b *testing.B) {
			r := httptest.NewRequest("GET", bench.path, nil)
			r.Header.Set("Authorization", "Bearer full")
			w := &discard{}
			b.ReportAllocs()
			for b.Loop() {
				w.h = make(http.Header)
				h.ServeHTTP(w, r)
			}
			b.ReportMetric(float64(w.bytes), "bytes")
		})
	}
}
