package gateway

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"lectern/auth"
)

// FuzzChanges sends any query string to the change feed, unless that may have it wait. The answers are JSON with a
// status below 500.
func FuzzChanges(f *testing.F) {
	for _, query := range []string{
		"since=0&limit=3&types=restaurant,menu&types[1]=api::review.review&locale=en&status=draft",
		"limit=10001", "limit[]=1",
		"include=document&fields[0]=name&populate[menu][fields]=*&locale=*", "fields=name", "types=,&locale= ",
		"types[a]=b", "Since=1",
		"since=0123456789abcdef-3", "include=document&populate=*&types=restaurants&limit=10000",
	} {
		f.Add(query)
	}
	p, err := Open("../testdata/conformance/projects/kitchen",
		Options{Ephemeral: true, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { p.Close() })
	_, key, err := p.CreateToken(f.Context(), auth.Declaration{Name: "full", Kind: auth.FullAccess})
	if err != nil {
		f.Fatal(err)
	}
	rt, err := p.generation.Load().runtime()
	if err != nil {
		f.Fatal(err)
	}
	server, err := NewServer(p.serverConfig(), rt)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, query string) {
		if strings.Contains(query, "feed") {
			return // it may wait
		}
		r := httptest.NewRequest(http.MethodGet, "/api/_changes", nil)
		r.URL.RawQuery = query
		r.Header.Set("Authorization", "Bearer "+key)
		w := httptest.NewRecorder()
		server.Handler().ServeHTTP(w, r)
		if w.Code >= http.StatusInternalServerError || !json.Valid(w.Body.Bytes()) {
			t.Errorf("%q: %d %s", query, w.Code, w.Body)
		}
	})
}
