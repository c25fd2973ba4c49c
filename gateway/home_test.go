package gateway_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/gorilla/mux"

	"lectern/gateway"
)

// TestHome opens / as browsers, JSON clients and others do.
func TestHome(t *testing.T) {
	const html = "text/html,application/xhtml+xml,*/*;q=0.8"
	serve := func(o gateway.Options) *api {
		o.Ephemeral, o.Version = true, "1.2.3"
		ready, _ := run(t, writeProject(t, peopleFiles), o, nil)
		return newAPI(t, ready)
	}
	a := serve(gateway.Options{})
	for range 3 {
		a.want(201, "POST", "/api/articles", "full", object{"data": object{"title": "secret-title"}})
	}
	r := a.do("GET", "/", "", nil, "Accept", html)
	for _, want := range []string{"Lectern 1.2.3", `<a href="api/articles">Article</a></td><td>3</td>`, `<a href="graphql">`,
		`<a href="api/_docs">`} {
		if r.status != 200 || !strings.Contains(r.text, want) {
			t.Errorf("no %s in %d %s", want, r.status, r.text)
		}
	}
	if strings.Contains(r.text, "secret") || !strings.Contains(strings.Join(r.header["Vary"], ","), "Accept") ||
		!strings.HasPrefix(r.header.Get("Content-Security-Policy"), "default-src 'none'") {
		t.Errorf("%v %s", r.header, r.text)
	}
	production := serve(gateway.Options{Production: true})
	if r := production.do("GET", "/", "", nil, "Accept", html); r.status != 200 || !strings.Contains(r.text, "/api") ||
		strings.Contains(r.text, "1.2.3") || strings.Contains(r.text, "Article") {
		t.Errorf("%d %s", r.status, r.text)
	}
	for _, a := range []*api{a, production} {
		for _, accept := range []string{"", "*/*", "application/json", "application/json, text/html;q=0.5"} {
			if r := a.do("GET", "/", "", nil, "Accept", accept); r.status != 404 || r.text != notFound {
				t.Errorf("Accept %q: %d %s", accept, r.status, r.text)
			}
		}
		if r := a.do("POST", "/", "", object{}); r.status != 405 || r.text != notAllowed || r.header.Get("Allow") != "HEAD, GET" {
			t.Errorf("%d %s %v", r.status, r.text, r.header)
		}
		if r := a.do("GET", "/nothing", "", nil, "Accept", html); r.status != 404 {
			t.Errorf("%d %s", r.status, r.text)
		}
	}
	x := &gateway.Extensions{}
	x.Mount("/", gateway.RouteConfig{Open: true}, func(r *mux.Router) {
		r.HandleFunc("/", answerOwn)
	})
	if r := serve(gateway.Options{Extensions: x}).do("GET", "/", "", nil, "Accept", html); r.text != "own" {
		t.Errorf("a program's own page: %d %s", r.status, r.text)
	}
}

func answerOwn(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "own") }
