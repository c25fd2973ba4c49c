package conformance

import (
	"encoding/json"
	"runtime"
	"strings"
	"testing"
)

// suiteRequests calls yield with every REST request of the suites.
func suiteRequests(f *testing.F, yield func(*Step)) {
	suites, err := LoadSuites("../../testdata/conformance/suites")
	if err != nil {
		f.Fatal(err)
	}
	for _, s := range suites {
		for i := range s.Steps {
			if s.Steps[i].REST() {
				yield(&s.Steps[i])
			}
		}
	}
}

// verbatim breaks up the tokens of suites, so that random text is sent unchanged.
var verbatim = strings.NewReplacer("{{", "{ { ", "<repeat:", "<repeat ")

// FuzzQuery sends random query strings. The response must be a list or an explanation, the same for a second request,
// and must not count or show more entries than exist.
func FuzzQuery(f *testing.F) {
	suiteRequests(f, func(s *Step) {
		if path, query, ok := strings.Cut(s.Request.Path, "?"); ok && path == "/api/restaurants" &&
			s.Method() == "GET" {
			f.Add(query)
		}
	})
	b := newBench(f)
	b.fill()
	f.Fuzz(func(t *testing.T, query string) {
		c := badRequest{method: "GET", path: "/api/restaurants?" + verbatim.Replace(query)}
		status, body := b.send(t, c)
		switch status {
		case 200:
		case 400, 431:
			return
		default:
			t.Fatalf("answered %d: %v", status, body)
		}
		rows, _ := dig(body, "data").([]any)
		if len(rows) > 4 { // two documents, one of which has two locales and two versions
			t.Errorf("%d entries are shown", len(rows))
		}
		if total, ok := dig(body, "meta.pagination.total").(json.Number); ok {
			if n, err := total.Int64(); err != nil || int(n) < len(rows) || n > 4 {
				t.Errorf("%d entries are shown and %s counted", len(rows), total)
			}
		}
		if _, again := b.send(t, c); brief(again) != brief(body) {
			t.Errorf("answered\n%s\nand then\n%s", brief(body), brief(again))
		}
	})
}

// FuzzBody sends random bodies. The server must refuse the body or create a document, and a read must then return what
// the response has shown.
func FuzzBody(f *testing.F) {
	if testing.Short() {
		f.Skip("one goroutine")
	}
	suiteRequests(f, func(s *Step) {
		path, _, _ := strings.Cut(s.Request.Path, "?")
		if s.Method() != "POST" || path != "/api/restaurants" {
			return
		}
		if s.Request.JSON != nil {
			f.Add("application/json", []byte(s.Request.JSON))
		}
		if s.Request.Raw != nil && len(*s.Request.Raw) < 4096 {
			f.Add(s.Request.Headers["content-type"], []byte(*s.Request.Raw))
		}
	})
	b := newBench(f)
	f.Fuzz(func(t *testing.T, contentType string, body []byte) {
		if strings.ContainsFunc(contentType, func(r rune) bool { return r < ' ' || r > '~' }) {
			t.Skip("no header")
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		status, made := b.send(
			t, badRequest{method: "POST", path: "/api/restaurants", body: verbatim.Replace(string(body)),
				headers: map[string]string{"Content-Type": verbatim.Replace(contentType)}})
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > 8<<20+1000*uint64(len(body)) {
			t.Errorf("%d bytes take %d bytes of memory", len(body), used)
		}
		switch status {
		case 201:
		case 400, 413, 415:
			return
		default:
			t.Fatalf("answered %d: %v", status, made)
		}
		path := "/api/restaurants/" + text(dig(made, "data.documentId"))
		if status, read := b.send(t, badRequest{path: path}); status != 200 || brief(read) != brief(made) {
			t.Errorf("made\n%s\nand read %d\n%s", brief(made), status, brief(read))
		}
		if status, body := b.send(t, badRequest{method: "DELETE", path: path}); status != 204 {
			t.Errorf("deleting it answers %d: %v", status, body)
		}
	})
}
