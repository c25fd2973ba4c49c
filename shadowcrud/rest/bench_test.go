package rest_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// discard is a response writer that drops the answer. It creates new headers for each request, as net/http does.
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

// newLibrary serves fifty articles and returns the documentId of one of them.
func newLibrary(t testing.TB) (http.Handler, string) {
	t.Helper()
	h := newHandler(t)
	send := func(path, body string) string {
		r := httptest.NewRequest("POST", path, strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer full")
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != 201 {
			t.Fatalf("POST %s: %d %s", path, w.Code, w.Body)
		}
		return docs.FindStringSubmatch(w.Body.String())[1]
	}
	tag, other := send("/api/tags", `{"data":{"name":"go"}}`), send("/api/tags", `{"data":{"name":"db"}}`)
	var one string
	for i := range 50 {
		one = send("/api/articles",
			fmt.Sprintf(`{"data":{"title":"Article %d","words":%d,"tags":[%q,%q],"writer":%q,"place":{"city":"Rome"},
			"places":[{"city":"Oslo"},{"city":"Bern"}],"zone":[{"__component":"parts.quote","text":"To be or not to be"}]}}`, i, i, tag, other, tag))
	}
	return h, one
}

// reader returns a function that repeats one request.
func reader(h http.Handler, path string) (read func(), w *discard) {
	r := httptest.NewRequest("GET", path, nil)
	r.Header.Set("Authorization", "Bearer full")
	w = &discard{}
	return func() {
		w.h = make(http.Header)
		h.ServeHTTP(w, r)
	}, w
}

// BenchmarkRead measures reads through the whole handler, without the network.
func BenchmarkRead(b *testing.B) {
	h, one := newLibrary(b)
	for _, bench := range []struct{ name, path string }{
		{"one", "/api/articles/" + one},
		{"list of 25", "/api/articles"},
		{"list of 25, page 2", "/api/articles?pagination[page]=2"},
		{"populate=*, 25", "/api/articles?populate=*"},
		{"populate=*, one", "/api/articles/" + one + "?populate=*"},
		{"populate with filters, 25",
			"/api/articles?populate[tags][filters][name][$ne]=x&populate[tags][sort]=name:desc"},
		{"nested, 25", "/api/articles?populate[tags][populate][articles][fields]=title&populate[writer]=true&populate[places][populate]=tag&populate[zone]=true"},
	} {
		b.Run(bench.name, func(b *testing.B) {
			read, w := reader(h, bench.path)
			b.ReportAllocs()
			for b.Loop() {
				read()
			}
			b.ReportMetric(float64(w.bytes), "bytes")
		})
	}
}

// unchangedReader returns a function that repeats the request of a client that has the answer.
func unchangedReader(t testing.TB, h http.Handler, path string) func() {
	r := httptest.NewRequest("GET", path, nil)
	r.Header.Set("Authorization", "Bearer full")
	for _, want := range []int{200, 304} {
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, r); w.Code != want {
			t.Fatalf("GET %s: %d %s", path, w.Code, w.Body)
		}
		r.Header.Set("If-None-Match", w.Header().Get("Etag"))
	}
	w := &discard{}
	return func() {
		w.h = make(http.Header)
		h.ServeHTTP(w, r)
	}
}

const nestedQuery = "?populate[tags][populate][articles][fields]=title&populate[writer]=true&filters[title][$ne]=x&sort=words:desc&locale=en"

// BenchmarkUnchanged measures reads that are answered by 304.
func BenchmarkUnchanged(b *testing.B) {
	h, one := newLibrary(b)
	for name, path := range map[string]string{"one": "/api/articles/" + one, "list": "/api/articles",
		"nested": "/api/articles" + nestedQuery} {
		b.Run(name, func(b *testing.B) {
			read := unchangedReader(b, h, path)
			b.ReportAllocs()
			for b.Loop() {
				read()
			}
		})
	}
}

// TestUnchangedIsNotPlanned expects a client that has the answer to a long query to be answered with the work of a
// short one.
func TestUnchangedIsNotPlanned(t *testing.T) {
	if raceDetector {
		t.Skip("counts nothing under the race detector")
	}
	h, _ := newLibrary(t)
	short, long := unchangedReader(t, h, "/api/articles"), unchangedReader(t, h, "/api/articles"+nestedQuery)
	if a, b := testing.AllocsPerRun(100, short), testing.AllocsPerRun(100, long); b > a {
		t.Errorf("a request without a query takes %v allocations, a long one %v", a, b)
	}
	for i := range 3000 { // more than are remembered
		unchangedReader(t, h, fmt.Sprintf("/api/articles?pagination[page]=%d", i+1))()
	}
}
