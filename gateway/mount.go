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

// A mount is a part of a program's own router, below a path of the server.
type mount struct {
	path   string
	config RouteConfig
	routes func(*mux.Router)
}

// Mount has routes of a program's own served at path and below it, as far as no other route matches there. define adds them to r,
// which knows all that gorilla/mux knows: templates such as /items/{id:[0-9]+}, methods, subrouters, and middlewares by Use. Any
// http.Handler and any mux.MiddlewareFunc fits:
//
//	x.Mount("/shop", gateway.RouteConfig{Scopes: []string{"api::shop.shop.use"}}, func(r *mux.Router) {
//		r.Use(handlers.CompressHandler)
//		r.HandleFunc("/items/{id:[0-9]+}", showItem).Methods("GET")
//	})
//
// c holds for all of them: a request is authenticated, has the permissions and passes the policies before a middleware or handler of r
// sees it. CallerOf tells who sent it. Handlers that return errors are made by HandlerFunc. Like a route, define is called again when
// the definitions change.
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

// pattern returns what matches the path of the mount and all below it.
func (m *mount) pattern() (pattern, error) {
	p, err := parsePattern(m.path)
	if err == nil && slices.ContainsFunc(p, func(part patternPart) bool { return part.kind != literalPart }) {
		err = errors.New("the path of a mount has no variables; those of its routes may")
	}
	return append(p, patternPart{kind: mountPart}), err
}

// where names the mount in a message.
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

// addMount adds what a program mounts.
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
	t.resources = append(t.resources, &resource{handlers: t.handlers, pattern: p, mount: &mountedMux{router, g}})
	return nil
}

// A HandlerFunc is an http.Handler whose error becomes the answer, as that of a Route does: an *apierror.Error as it is, any other is
// logged and shown as a 500 without its text. It answers requests to what a program mounts.
type HandlerFunc func(w http.ResponseWriter, r *http.Request) error

// ServeHTTP implements http.Handler.
func (f HandlerFunc) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	state := stateOf(r.Context())
	if state == nil {
		panic("gateway: a HandlerFunc was called without the context of the request that the server answers")
	}
	state.settle(w, r, f.untilBegun(w, r))
}

// untilBegun calls f. A request that f has begun to answer is not retried.
func (f HandlerFunc) untilBegun(w http.ResponseWriter, r *http.Request) error {
	seen := &loggedWriter{ResponseWriter: w}
	err := f(seen, r)
	if seen.status != 0 && errors.Is(err, store.ErrRedefined) {
		return fmt.Errorf("after the answer was begun: %s", err)
	}
	return err
}
