package server_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/gorilla/mux"

	"lectern/auth"
	"lectern/gateway/internal/server"
)

// TestRoutePaths expects paths of routes to be refused if they would match other requests than they seem to.
func TestRoutePaths(t *testing.T) {
	for path, ok := range map[string]bool{
		"/": true, "/a": true, "/a/{b}": true, "/a/{b}/c/{d}": true, "/a/{b:.*}": true, "/{a}/{b:.*}": true,
		"": false, "a": false, "/:a": false, "/a/:b": false, "/a/*": false, "/a/{b": false, "/a/b}": false,
		"/a/{}": false, "/a/{b:[0-9]+}": false,
		"/a/{b}.{c}": false, "/a/x{b}": false, "/{a:.*}/b": false, "/a/{:.*}": false,
	} {
		_, err := server.New(server.Config{},
			server.API{Routes: []server.Route{{Method: "GET", Path: path,
				Handle: func(http.ResponseWriter, *http.Request, auth.Principal) error { return nil }}}})
		if (err == nil) != ok {
			t.Errorf("%q: %v", path, err)
		}
	}
}

// TestRouteChoice compares the route that a router chooses, among random ones, with the result of a simple comparison
// by parts.
func TestRouteChoice(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	words := []string{"a", "b", "c", "{v}"}
	for range 300 {
		var patterns []string
		var routes []server.Route
		for range 1 + rng.IntN(12) {
			var parts []string
			for i := range 1 + rng.IntN(4) {
				part := words[rng.IntN(len(words))]
				parts = append(parts, strings.Replace(part, "v", fmt.Sprint("v", i), 1))
			}
			if rng.IntN(5) == 0 {
				parts = append(parts, "{rest:.*}")
			}
			path := "/" + strings.Join(parts, "/")
			if slices.Contains(patterns, path) {
				continue
			}
			patterns = append(patterns, path)
			routes = append(routes, server.Route{Method: "GET", Path: path, Open: true,
				Handle: func(w http.ResponseWriter, r *http.Request, _ auth.Principal) error {
					_, err := fmt.Fprint(w, path, mux.Vars(r))
					return err
				}})
		}
		s, err := server.New(server.Config{}, server.API{Prefix: "/a", Routes: routes})
		if err != nil {
			t.Fatal(err)
		}
		for range 40 {
			var parts []string
			for range 1 + rng.IntN(5) {
				parts = append(parts, []string{"a", "b", "C", "d", "x%2Fy", "k l"}[rng.IntN(6)])
			}
			path := "/" + strings.ReplaceAll(strings.Join(parts, "/"), " ", "%20")
			w := httptest.NewRecorder()
			s.Handler().ServeHTTP(w, httptest.NewRequest("GET", path, nil))
			want := notFound
			if best, values := chosen(patterns, parts); best != "" {
				want = fmt.Sprint(best, values)
			}
			if w.Body.String() != want {
				t.Fatalf("%s of %q: got %s, want %s", path, patterns, w.Body, want)
			}
		}
	}
}

// chosen returns the most literal pattern that matches the parts of a path, and its variables.
func chosen(patterns, parts []string) (best string, values map[string]string) {
	bestRank := ""
	for _, p := range patterns {
		rank, vars, rest := "", map[string]string{}, parts
		for _, part := range strings.Split(p[1:], "/") {
			switch {
			case len(rest) == 0:
				rank = "-"
			case strings.HasSuffix(part, ":.*}"):
				vars["rest"], rest, rank = decoded(strings.Join(rest, "/")), nil, rank+"2"
			case part[0] == '{':
				vars[part[1:len(part)-1]], rest, rank = decoded(rest[0]), rest[1:], rank+"1"
			case strings.EqualFold(part, rest[0]):
				rest, rank = rest[1:], rank+"0"
			default:
				rank = "-"
			}
			if rank == "-" {
				break
			}
		}
		if rank != "-" && len(rest) == 0 && (bestRank == "" || rank < bestRank) {
			best, bestRank, values = p, rank, vars
		}
	}
	return best, values
}

func decoded(s string) string {
	if text, err := url.PathUnescape(s); err == nil {
		return text
	}
	return s
}
