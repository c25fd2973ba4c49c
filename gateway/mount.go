package gateway

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/gorilla/mux"

	"lectern/store"
)

// A mount is a router of a program that is served below a path.
type mount struct {
	path   string
	config RouteConfig
	routes func(*mux.Router)
}

// Mount serves routes of a program at path and below it, where no other route matches. define adds them to r, a router of gorilla/mux with
// all its features: templates such as /items/{id:[0-9]+}, methods, subrouters, and middlewares by Use. Any http.Handler and any
// mux.MiddlewareFunc can be used:
//
//	x.Mount("/shop", gateway.RouteConfig{Scopes: []string{"api::shop.shop.use"}}, func(r *mux.Router) {
//		r.Use(handlers.CompressHandler)
//		r.HandleFunc("/items/{id:[0-9]+}", showItem).Methods("GET")
//	})
//
// c applies to all routes of r: authentication, permissions and policies come before the middlewares and handlers of r. CallerOf returns the
// caller of a request. HandlerFunc makes a handler of a function that returns an error. define is called again when the definitions
// change.
func (x *Extensions) Mount(path string, c RouteConfig, define func(r *mux.Router)) {
	x.mounts = append(x.mounts, mount{path, c, define})
}

// router returns a router with the routes of the mount.
func (m *mount) router() (*mux.Router, error) {
	p, err := m.pattern()
	if err != nil {
		return nil, err
	}
	if m.routes == nil {
		return nil, errors.New("the function that defines the routes is nil")
	}
	router := mux.NewRouter().SkipClean(true)
	at := router
	if len(p) > 1 {
		at = router.PathPrefix("/" + strings.Trim(m.path, "/")).Subrouter()
	}
	m.routes(at)
	return router, router.Walk(func(route *mux.Route, _ *mux.Router, _ []*mux.Route) error { return route.GetError() })
}

// pattern returns the pattern of the path of the mount and all paths below it.
func (m *mount) pattern() (pattern, error) {
	p, err := parsePattern(m.path)
	if err == nil && slices.ContainsFunc(p, func(part patternPart) bool { return part.kind != literalPart }) {
		err = errors.New("the path of a mount has no variables; those of its routes may")
	}
	return append(p, patternPart{kind: mountPart}), err
}

// where returns the beginning of an error message about the mount.
func (m *mount) where() string { return "mount " + m.path + ": " }

// A mountedMux is a mount that is served.
type mountedMux struct {
	router *mux.Router
	guard  *guard
}

// matches reports whether a route of the mount matches a request.
func (m *mountedMux) matches(r *http.Request) bool {
	var match mux.RouteMatch
	return m.router.Match(r, &match)
}

// addMount adds a mount of a program.
func (t *routeTable) addMount(x *Extensions, m *mount) error {
	p, err := m.pattern()
	if err != nil {
		return fmt.Errorf("%s%w", m.where(), err)
	}
	router, err := m.router()
	if err != nil {
		return fmt.Errorf("%s%w", m.where(), err)
	}
	g, err := x.guard(t.handlers, &m.config)
	if err != nil {
		return fmt.Errorf("%s%w", m.where(), err)
	}
	g.extended = true
	g.wrapAround(router)
	t.resources = append(t.resources, &resource{handlers: t.handlers, pattern: p, template: p.template(), mount: &mountedMux{router, g}})
	return nil
}

// A HandlerFunc is an http.Handler for mounts whose error becomes the answer: an *apierror.Error as it is, and any other error is logged and
// answered with 500 without its text.
type HandlerFunc func(w http.ResponseWriter, r *http.Request) error

// ServeHTTP implements http.Handler.
func (f HandlerFunc) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	state := stateOf(r.Context())
	if state == nil {
		// The program has detached the request from its server. ServeHTTP cannot return an error, and without the server there is no log
		// to write one to. net/http recovers from the panic and logs it.
		panic("gateway: a HandlerFunc was called without the context of the request that the server answers")
	}
	state.settle(w, r, f.untilBegun(w, r))
}

// untilBegun calls f. It hides store.ErrRedefined if f has begun to answer, so that the request is not retried.
func (f HandlerFunc) untilBegun(w http.ResponseWriter, r *http.Request) error {
	seen := &statusWriter{ResponseWriter: w}
	err := f(seen, r)
	if seen.status != 0 && errors.Is(err, store.ErrRedefined) {
		return fmt.Errorf("after the answer was begun: %s", err)
	}
	return err
}
