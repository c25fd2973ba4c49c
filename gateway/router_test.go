package gateway_test

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/gorilla/mux"

	"lectern/documents/apierror"
	"lectern/gateway"
)

// vars is a handler that answers with a text and the path variables.
func vars(text string) gateway.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		answer := text
		for _, name := range slices.Sorted(maps.Keys(mux.Vars(r))) {
			answer += fmt.Sprintf(" %s=%s", name, mux.Vars(r)[name])
		}
		_, err := io.WriteString(w, answer)
		return err
	}
}

// TestMountedHandlersServeTheirPaths mounts routers of a program that use the features of mux: regular expressions,
// subrouters, middlewares and the current route.
func TestMountedHandlersServeTheirPaths(t *testing.T) {
	const (
		failed    = `403 {"data":null,"error":{"status":403,"name":"PolicyError","message":"Policy Failed","details":{}}}`
		forbidden = `403 {"data":null,"error":{"status":403,"name":"ForbiddenError","message":"Forbidden","details":{}}}`
		unknown   = `401 {"data":null,"error":{"status":401,"name":"UnauthorizedError","message":"Missing or invalid credentials","details":{}}}`
		internal  = `500 {"data":null,"error":{"status":500,"name":"InternalServerError","message":"Internal Server Error"}}`
		missing   = "404 " + notFound
	)
	tr := &trace{}
	x := &gateway.Extensions{}
	x.Action("api::article.article.seen", "api::stats.stats.count") // the actions that extendedFiles grant
	x.Policy("pass", tr.policy("pass", true, nil))
	x.Policy("fail", tr.policy("fail", false, nil))
	x.Middleware("one", tr.middleware("one"))
	named := func(name string) gateway.RouteConfig {
		return gateway.RouteConfig{Policies: []gateway.PolicyUse{{Name: name}},
			Middlewares: []gateway.MiddlewareUse{{Name: "one"}}}
	}
	current := func(next http.Handler) http.Handler { // a middleware may need this, for example to count requests by route
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			template, err := mux.CurrentRoute(r).GetPathTemplate()
			tr.add("%s %v", template, err)
			next.ServeHTTP(w, r)
		})
	}
	x.Mount("/shop", named("pass"), func(r *mux.Router) {
		r.Use(current)
		r.Handle("", vars("shop"))
		r.Handle("/items/{id:[0-9]+}", vars("item")).Methods("GET")
		r.Handle("/items/{name}.{ext}", vars("file"))
		r.Handle("/error", gateway.HandlerFunc(func(http.ResponseWriter,
			*http.Request) error {
			return apierror.Application("no")
		}))
		r.Handle("/broken", gateway.HandlerFunc(func(http.ResponseWriter,
			*http.Request) error {
			return errors.New("the secret")
		}))
		r.HandleFunc("/who", func(w http.ResponseWriter, r *http.Request) {
			caller := gateway.CallerOf(r.Context())
			fmt.Fprint(w, caller.Access.AllowsAction("api::article.article.create"), caller.Server.Documents() != nil,
				caller.HTTP != nil)
		})
		sub := r.PathPrefix("/sub").Subrouter()
		sub.Use(func(http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
		})
		sub.Handle("/x", vars("not reached"))
	})
	x.Mount("/shut", named("fail"), func(r *mux.Router) { r.Handle("/x", vars("not reached")) })
	x.Mount("/scoped", gateway.RouteConfig{Scopes: []string{"api::article.article.create"}},
		func(r *mux.Router) { r.Handle("/x", vars("x")) })
	x.Mount("/open", gateway.RouteConfig{Open: true}, func(r *mux.Router) { r.Handle("/x", vars("x")) })
	x.Mount("/api/articles/", gateway.RouteConfig{}, func(r *mux.Router) {
		r.Handle("/{id}", vars("not reached")) // the server itself has this route
		r.Handle("/{id}/pages/{page}", vars("page"))
	})
	x.Mount("/", gateway.RouteConfig{}, func(r *mux.Router) {
		r.Handle("/", vars("home"))
		r.Handle("/api/articles", vars("not reached"))
		r.Handle("/pages/{path:.*}", vars("site"))
	})
	ready, _ := run(t, writeProject(t, extendedFiles), gateway.Options{Ephemeral: true, Extensions: x}, nil)
	tr.expect(t, ready, []routeCall{
		{"GET", "/shop", "", "200 shop", "pass(<nil>), one(<nil>), /shop <nil>, one saw 0"},
		{"GET", "/shop/items/7", "", "200 item id=7",
			"pass(<nil>), one(<nil>), /shop/items/{id:[0-9]+} <nil>, one saw 0"},
		{"GET", "/shop/items/a%20b.txt", "", "200 file ext=txt name=a b",
			"pass(<nil>), one(<nil>), /shop/items/{name}.{ext} <nil>, one saw 0"},
		{"DELETE", "/shop/items/7", "", "405 " + notAllowed, ""},
		{"GET", "/shop/items/seven", "", missing, ""},
		{"GET", "/shop/error", "",
			`400 {"data":null,"error":{"status":400,"name":"ApplicationError","message":"no","details":{}}}`,
			"pass(<nil>), one(<nil>), /shop/error <nil>, one saw 400"},
		{"GET", "/shop/broken", "", internal, "pass(<nil>), one(<nil>), /shop/broken <nil>, one saw 500"},
		{"GET", "/shop/who", "writer", "200 true true true", "pass(<nil>), one(<nil>), /shop/who <nil>, one saw 0"},
		{"GET", "/shop/who", "", "200 false true true", "pass(<nil>), one(<nil>), /shop/who <nil>, one saw 0"},
		{"GET", "/shop/who", "wrong", unknown, ""},
		{"GET", "/shop/sub/x", "", "418 ", "pass(<nil>), one(<nil>), /shop/sub/x <nil>, one saw 418"},
		{"GET", "/shopping", "", missing, ""},
		{"GET", "/shut/x", "", failed, "fail(<nil>)"},
		{"GET", "/scoped/x", "readonly", forbidden, ""},
		{"GET", "/scoped/x", "writer", "200 x", ""},
		{"GET", "/open/x", "wrong", "200 x", ""},
		{"GET", "/api/articles/7", "full", missing, ""},
		{"GET", "/api/articles/7/pages/9", "", "200 page id=7 page=9", ""},
		{"GET", "/api/articles", "full",
			`200 {"data":[],"meta":{"pagination":{"page":1,"pageSize":25,"pageCount":0,"total":0}}}`, ""},
		{"GET", "/", "", "200 home", ""},
		{"GET", "/pages/a/b", "", "200 site path=a/b", ""},
		{"GET", "/nothing", "", missing, ""},
		{"POST", "/api/upload/nothing", "", "405 " + notAllowed, ""},
		{"GET", "/_health", "wrong", "204 ", ""},
	})
}

// TestFaultyMountsAreReportedAtTheLoad expects faulty mounts to be reported when a project is loaded.
func TestFaultyMountsAreReportedAtTheLoad(t *testing.T) {
	define := func(r *mux.Router) { r.Handle("/x", vars("")) }
	for _, c := range []struct {
		path   string
		config gateway.RouteConfig
		define func(*mux.Router)
		want   string
	}{
		{"shop", gateway.RouteConfig{}, define, "the path must begin with a slash"},
		{"/shop/{id}", gateway.RouteConfig{}, define, "the path of a mount has no variables"},
		{"/shop", gateway.RouteConfig{}, nil, "the function that defines the routes is nil"},
		{"/shop", gateway.RouteConfig{}, func(r *mux.Router) { r.Handle("/{id", vars("")) },
			`mux: unbalanced braces in "/shop/{id"`},
		{"/shop", gateway.RouteConfig{Policies: []gateway.PolicyUse{{Name: "nope"}}}, define,
			`there is no policy "nope"`},
		{"/shop", gateway.RouteConfig{Scopes: []string{"api::article.article.nope"}}, define,
			`api::article.article has no action "nope"`},
	} {
		x := &gateway.Extensions{}
		x.Mount(c.path, c.config, c.define)
		_, err := gateway.Load(writeProject(t, map[string]string{"content-types/article.yaml": typeFile("article")}), x)
		if want := "extensions: mount " + c.path + ": " + c.want; err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v\nwant %s", err, want)
		}
	}
}
