package gateway

import (
	"errors"
	"strings"

	"github.com/gorilla/mux"

	"lectern/gateway/internal/server"
)

// A mount is a router of a program that is served below a path.
type mount struct {
	path   string
	config RouteConfig
	routes func(*mux.Router)
}

// Mount serves routes of a program at path and below it, where no other route matches. define adds them to r, a router
// of gorilla/mux with all its features: templates such as /items/{id:[0-9]+}, methods, subrouters, and middlewares by
// Use. Any http.Handler and any mux.MiddlewareFunc can be used:
//
//	x.Mount("/shop", gateway.RouteConfig{Scopes: []string{"api::shop.shop.use"}}, func(r *mux.Router) {
//		r.Use(handlers.CompressHandler)
//		r.HandleFunc("/items/{id:[0-9]+}", showItem).Methods("GET")
//	})
//
// c applies to all routes of r: authentication, permissions and policies come before the middlewares and handlers of r.
// CallerOf returns the caller of a request. HandlerFunc makes a handler of a function that returns an error. define is
// called again when the definitions change.
func (x *Extensions) Mount(path string, c RouteConfig, define func(r *mux.Router)) {
	x.mounts = append(x.mounts, mount{path, c, define})
}

// router returns a router with the routes of the mount.
func (m *mount) router() (*mux.Router, error) {
	if err := (&server.Mount{Path: m.path}).Check(); err != nil {
		return nil, err
	}
	if m.routes == nil {
		return nil, errors.New("the function that defines the routes is nil")
	}
	router := mux.NewRouter().SkipClean(true)
	at := router
	if path := strings.Trim(m.path, "/"); path != "" {
		at = router.PathPrefix("/" + path).Subrouter()
	}
	m.routes(at)
	return router, router.Walk(func(route *mux.Route, _ *mux.Router, _ []*mux.Route) error { return route.GetError() })
}

// where returns the beginning of an error message about the mount.
func (m *mount) where() string { return "mount " + m.path + ": " }
