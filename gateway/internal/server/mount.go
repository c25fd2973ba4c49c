package server

import (
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/gorilla/mux"

	"lectern/shadowcrud/graphql/schema"
	"lectern/store"
)

// A Mount is a router that is served at a path and below it, where no other route matches.
type Mount struct {
	Path string
	// Router has the routes, with their whole paths.
	Router *mux.Router
	// Open, Scopes, Policies and Middlewares are as in a Route.
	Open        bool
	Scopes      []string
	Policies    []schema.PolicyUse
	Middlewares []Middleware
}

// Check returns an error if the path cannot be that of a mount.
func (m *Mount) Check() error {
	_, err := m.pattern()
	return err
}

// pattern returns the pattern of the path of the mount and all paths below it.
func (m *Mount) pattern() (pattern, error) {
	p, err := parsePattern(m.Path)
	if err == nil && slices.ContainsFunc(p, func(part patternPart) bool { return part.kind != literalPart }) {
		err = errors.New("the path of a mount has no variables; those of its routes may")
	}
	return append(p, patternPart{kind: mountPart}), err
}

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
func (t *routeTable) addMount(m *Mount) error {
	p, err := m.pattern()
	if err != nil {
		return fmt.Errorf("mount %s: %w", m.Path, err)
	}
	g := t.handlers.guard(&Route{Open: m.Open, Scopes: m.Scopes, Policies: m.Policies, Program: true, Extended: true})
	g.wrap = m.Middlewares
	g.wrapAround(m.Router)
	t.resources = append(t.resources, &resource{
		handlers: t.handlers, pattern: p, template: p.template(), mount: &mountedMux{m.Router, g},
	})
	return nil
}

// A HandlerFunc is an http.Handler for mounts whose error becomes the answer: an *apierror.Error as it is, and any
// other error is logged and answered with 500 without its text.
type HandlerFunc func(w http.ResponseWriter, r *http.Request) error

// ServeHTTP implements http.Handler.
func (f HandlerFunc) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	state := stateOf(r.Context())
	if state == nil {
		// The program has detached the request from its server. ServeHTTP cannot return an error, and without the
		// server there is no log to write one to. net/http recovers from the panic and logs it.
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
