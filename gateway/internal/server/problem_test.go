package server_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"lectern/auth"
	"lectern/documents/apierror"
	"lectern/gateway/internal/server"
)

const problemJSON = "application/problem+json"

// TestProblemIsNegotiated sends headers Accept, with which the same error comes as a problem or as an envelope.
func TestProblemIsNegotiated(t *testing.T) {
	s, _ := newServer(t, server.Config{})
	for _, c := range []struct {
		accept  []string
		problem bool
	}{
		{nil, false}, {[]string{""}, false}, {[]string{"*/*"}, false}, {[]string{"application/*"}, false},
		{[]string{"application/json"}, false},
		{[]string{"text/html"}, false}, {[]string{"application/problem+xml"}, false},
		{[]string{problemJSON}, true}, {[]string{"Application/Problem+JSON"}, true},
		{[]string{"application/json, " + problemJSON}, true}, {[]string{"application/json", problemJSON}, true},
		{[]string{problemJSON + ", */*"}, true}, {[]string{problemJSON + ";q=0.5, application/json"}, false},
		{[]string{problemJSON + ";q=0.5, application/json;q=0.4"}, true},
		{[]string{problemJSON + ";q=0.5, */*;q=0.6"}, false},
		{[]string{problemJSON + ";q=0"}, false}, {[]string{problemJSON + ";q=0, text/html"}, false},
		{[]string{problemJSON + ";q=x"}, false},
	} {
		w, r := httptest.NewRecorder(), httptest.NewRequest("GET", "/api/broken", nil)
		r.Header["Accept"] = c.accept
		s.Handler().ServeHTTP(w, r)
		if is := w.Header().Get("Content-Type") == problemJSON; is != c.problem || w.Code != 500 ||
			strings.Contains(w.Body.String(), "secret") {
			t.Errorf("%q: %v %d %s", c.accept, w.Header(), w.Code, w.Body)
		}
	}
}

// TestProblemOfProgram answers with an error whose name only a program knows, and which is long enough to be
// compressed.
func TestProblemOfProgram(t *testing.T) {
	long := strings.Repeat("no tea. ", 1000)
	fail := func(http.ResponseWriter, *http.Request, auth.Principal) error {
		return &apierror.Error{Status: 418, Name: "TeapotError", Message: long, Details: []any{"short", "stout"}}
	}
	s, err := server.New(server.Config{Compress: true},
		server.API{Routes: []server.Route{{Method: "GET", Path: "/tea", Handle: fail, Open: true}}})
	if err != nil {
		t.Fatal(err)
	}
	ask := func(headers ...string) *httptest.ResponseRecorder {
		w, r := httptest.NewRecorder(), httptest.NewRequest("GET", "/tea", nil)
		r.Header.Set("Accept", problemJSON)
		for pair := range slices.Chunk(headers, 2) {
			r.Header.Set(pair[0], pair[1])
		}
		s.Handler().ServeHTTP(w, r)
		return w
	}
	plain := ask("X-Request-Id", "7")
	want := `{"type":"about:blank","title":"I'm a teapot","status":418,"detail":"` + long +
		`","instance":"#7","name":"TeapotError","details":["short","stout"]}`
	if plain.Body.String() != want {
		t.Errorf("got %s\nwant %s", plain.Body, want)
	}
	if w := ask("Accept-Encoding", "gzip"); w.Header().Get("Content-Encoding") != "gzip" ||
		w.Header().Get("Content-Type") != problemJSON || w.Code != 418 {
		t.Errorf("%d %v", w.Code, w.Header())
	}
}
