package gateway

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gorilla/mux"

	"lectern/documents/apierror"
	"lectern/store"
)

const healthPath = "/_health" // in any case, with or without a slash at the end

// serve is the way of every request: an id, the headers that all answers have, a place among those at work, and then the
// route that answers.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h[requestIDHeader] = []string{s.ids.next(r)}
	s.headers.set(h, r)
	if path := r.URL.Path; len(path) <= len(healthPath)+1 && strings.EqualFold(strings.TrimSuffix(path, "/"), healthPath) {
		s.serveHealth(w)
		return
	}
	if !s.log.Enabled(r.Context(), slog.LevelDebug) {
		s.work(w, r)
		return
	}
	began, logged := time.Now(), &loggedWriter{ResponseWriter: w}
	s.work(logged, r)
	s.logRequest(logged, r, began)
}

// work answers r if there is a place for it, whatever happens on the way.
func (s *Server) work(w http.ResponseWriter, r *http.Request) {
	r, done, err := s.takePlace(r)
	defer done()
	defer s.recover(w, r)
	if err != nil {
		w.Header()["Retry-After"] = retrySoon
		writeError(w, s.errNoPlace(err))
		return
	}
	s.route(w, r)
}

// route finds what answers r, or answers itself where nothing does.
func (s *Server) route(w http.ResponseWriter, r *http.Request) {
	if s.headers.preflight(w, r) {
		return
	}
	switch path := r.URL.Path; {
	case strings.IndexByte(path, 0) >= 0:
		writeError(w, errMalicious)
	case !utf8.ValidString(path):
		writeError(w, errDecode)
	default:
		s.serving.Load().serve(w, r)
	}
}

// recover keeps a fault in one request from ending the server.
func (s *Server) recover(w http.ResponseWriter, r *http.Request) {
	fault := recover()
	if fault == nil {
		return
	}
	if err, ok := fault.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(fault)
	}
	s.log.LogAttrs(r.Context(), slog.LevelError, "request panicked", requestAttrs(w, r,
		slog.String("fault", fmt.Sprint(fault)), slog.String("stack", string(debug.Stack())))...)
	writeError(w, errInternal)
}

// handlers is a Runtime made ready to serve.
type handlers struct {
	server   *Server
	rt       Runtime
	table    table
	router   *mux.Router
	replaced chan struct{} // closed when others serve
}

func (s *Server) newHandlers(rt Runtime) (*handlers, error) {
	if rt.Prefix == "" {
		rt.Prefix = "/api"
	}
	rt.Prefix = "/" + strings.Trim(rt.Prefix, "/")
	if rt.Extensions == nil {
		rt.Extensions = &Extensions{}
	}
	h := &handlers{server: s, rt: rt, router: mux.NewRouter().SkipClean(true).UseEncodedPath(), replaced: make(chan struct{})}
	for _, route := range slices.Concat(rt.Extensions.routes, rt.Routes) {
		handle, err := h.handleRoute(route)
		if err == nil {
			err = h.table.add(route.Method, route.Path, handle)
		}
		if err != nil {
			return nil, err
		}
	}
	if rt.REST != nil {
		for _, route := range rt.REST.Routes() {
			handle, err := h.handleREST(route)
			if err == nil {
				err = h.table.add(route.Method, rt.Prefix+route.Path, handle)
			}
			if err != nil {
				return nil, err
			}
		}
	}
	// mux tries its routes one after the other by regular expressions. One route for the whole table costs the same for
	// every content-type of a large project.
	h.router.NewRoute().MatcherFunc(h.match)
	h.router.NotFoundHandler = http.HandlerFunc(notFound)
	return h, nil
}

// match hands the paths that the table knows to what answers them.
func (h *handlers) match(r *http.Request, m *mux.RouteMatch) bool {
	c := &call{handlers: h}
	if !h.table.find(r.URL, &c.found) {
		return false
	}
	m.Handler = c
	return true
}

// serve does what mux.Router.ServeHTTP does, but for the two copies of the request that this makes to hand on the variables
// of a path, which only routes with variables have.
func (h *handlers) serve(w http.ResponseWriter, r *http.Request) {
	var m mux.RouteMatch
	h.router.Match(r, &m)
	if len(m.Vars) > 0 {
		r = mux.SetURLVars(r, m.Vars)
	}
	m.Handler.ServeHTTP(w, r)
}

// notFound answers paths that no route has: as if each could be read, and nothing were there.
func notFound(w http.ResponseWriter, r *http.Request) { noOperation(w, r, readOnly) }

var readOnly = []string{"HEAD, GET"}

// noOperation answers a method that a path lacks; allow lists those that it has.
func noOperation(w http.ResponseWriter, r *http.Request, allow []string) {
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		writeError(w, apierror.NotFound())
	case http.MethodOptions:
		w.Header()["Allow"] = allow
		w.WriteHeader(http.StatusOK)
	default:
		notAllowed(w, allow)
	}
}

// A call is a request whose path the table knows.
type call struct {
	handlers *handlers
	found    found
}

// ServeHTTP answers by the operation of the request's method.
func (c *call) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n := c.found.node
	handle := n.operation(r.Method)
	if handle == nil {
		noOperation(w, r, n.allow)
		return
	}
	kept, begun := r.Body.(*replayableBody)
	if !begun && r.Body != nil && r.Body != http.NoBody {
		sent := r.Body
		kept = &replayableBody{ReadCloser: sent, memory: c.handlers.server.bodies.Reservation()}
		if conn := connOf(r); conn != nil {
			conn.body = newClientBody(r, conn, &c.handlers.server.limits)
			kept.ReadCloser = conn.body
		}
		r.Body = kept
		defer func() {
			kept.discard()
			r.Body = sent // by which net/http knows whether a client still waits for leave to send it
		}()
	}
	err := handle(w, r, &c.found)
	if err == nil {
		return
	}
	if errors.Is(err, store.ErrRedefined) {
		c.retry(w, r, kept)
		return
	}
	c.handlers.server.fail(w, r, err)
}
