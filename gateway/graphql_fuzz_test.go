package gateway

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"log/slog"

	"lectern/internal/accept"
)

// FuzzGraphQLTransport sends arbitrary requests to the endpoint, and expects a status below 500 with JSON or the page.
func FuzzGraphQLTransport(f *testing.F) {
	for _, s := range []struct{ method, query, body, contentType, accept, preflight string }{
		{"POST", "", `{"query":"{__typename}"}`, "application/json", "", ""},
		{"POST", "", `{"query":"query($s:[String]){restaurants(sort:$s){name}}","variables":{"s":["name"]}}`,
			"application/json", accept.GraphQL, ""},
		{"POST", "", `query=%7B__typename%7D`, "application/x-www-form-urlencoded", "", "1"},
		{"POST", "", `[{}]`, "application/vnd.api+json", "", ""},
		{"POST", "", `{"extensions":{"persistedQuery":{"version":1,"sha256Hash":"x"}}}`, "application/json", "", ""},
		{"POST", "", `{"query":{"kind":"Document"}}`, "application/json", "", ""},
		{"POST", "", `--x`, "multipart/form-data; boundary=x", "", "1"},
		{"GET", "query={__typename}&variables={}&extensions={}&operationName=A", "", "", "", "1"},
		{"GET", "query=mutation{deleteSetting{documentId}}", "", "", "", "1"},
		{"GET", "", "", "", "text/html", ""},
		{"HEAD", "", "", "", "", "1"},
		{"DELETE", "", "", "application/json", "image/png", ""},
		{"OPTIONS", "", "", "", "", ""},
	} {
		f.Add(s.method, s.query, s.body, s.contentType, s.accept, s.preflight)
	}
	p, err := Open("../testdata/conformance/projects/kitchen",
		Options{Ephemeral: true, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { p.Close() })
	rt, err := p.generation.Load().runtime()
	if err != nil {
		f.Fatal(err)
	}
	server, err := NewServer(p.serverConfig(), rt)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, method, query, body, contentType, accepted, preflight string) {
		r := httptest.NewRequest("POST", "/graphql", strings.NewReader(body))
		switch method {
		case "GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS":
			r.Method = method
		}
		r.URL.RawQuery = query
		r.Header["Content-Type"], r.Header["Accept"] = []string{contentType}, []string{accepted}
		if preflight != "" {
			r.Header["Apollo-Require-Preflight"] = []string{preflight}
		}
		w := httptest.NewRecorder()
		server.Handler().ServeHTTP(w, r)
		switch kind := w.Header().Get("Content-Type"); {
		case w.Code >= http.StatusInternalServerError:
			t.Errorf("%d %s", w.Code, w.Body)
		case kind == "text/html":
		case !json.Valid(w.Body.Bytes()):
			t.Errorf("%d %s is no JSON: %s", w.Code, kind, w.Body)
		}
	})
}
