package server

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"unicode/utf8"

	"github.com/gorilla/mux"
)

// closeValue ends the connection after a request with Transfer-Encoding. If the request has a Content-Length as well, a
// proxy in front may have taken that for the length, and what follows for the body of the one or for another request;
// so the connection must end (RFC 9112, section 6.1). net/http takes the Content-Length out of such a request, so that
// the two kinds cannot be distinguished here.
var closeValue = []string{"close"}

// serve answers a request: it gives the request an id, sets the headers that all answers have, finds the route, and
// answers if it gets a place for the request. Probes need no place.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	header, id := w.Header(), s.ids.next(r)
	header[RequestID] = []string{id}
	s.headers.set(header, r)
	if r.TransferEncoding != nil && r.ProtoMajor == 1 {
		header["Connection"] = closeValue
	}
	h := s.serving.Load()
	if begin := h.api.Steps.Begin; begin != nil {
		w = begin(w)
	}
	var m mux.RouteMatch
	if s.observes(r) {
		o := newObservation(w, id)
		defer s.ended(o, r)
		h.find(r, &m)
		o.matched(&m)
		r = o.trace(s.tracer, r)
		w = o
	} else {
		h.find(r, &m)
	}
	if p, ok := m.Handler.(*probe); ok {
		p.ServeHTTP(w, r)
		return
	}
	s.work(w, r, h, &m)
}

// work answers a request if there is a place for it. It recovers from panics.
func (s *Server) work(w http.ResponseWriter, r *http.Request, h *handlers, m *mux.RouteMatch) {
	r, place, err := s.takePlace(r, h.api.Steps.Placeless)
	defer place.end()
	defer s.recover(w, r)
	switch {
	case err != nil:
		w.Header()["Retry-After"] = RetrySoon
		WriteError(w, r, s.errNoPlace(err))
	case s.headers.preflight(w, r): // is answered
	case h.api.Steps.Await != nil:
		switch waited, err := h.api.Steps.Await(w, r); {
		case err != nil:
			WriteError(w, r, err)
		case waited:
			h = s.serving.Load() // definitions may have come meanwhile
			s.dispatch(w, r, h, h.match(r))
		default:
			s.dispatch(w, r, h, m)
		}
	default:
		s.dispatch(w, r, h, m)
	}
}

// dispatch calls the handler of a request, unless its path cannot be that of a document.
func (s *Server) dispatch(w http.ResponseWriter, r *http.Request, h *handlers, m *mux.RouteMatch) {
	switch path := r.URL.Path; {
	case strings.IndexByte(path, 0) >= 0:
		WriteError(w, r, errMalicious)
	case !utf8.ValidString(path):
		WriteError(w, r, errDecode)
	default:
		h.answer(w, r, m)
	}
}

// recover keeps a panic in one request from ending the server.
func (s *Server) recover(w http.ResponseWriter, r *http.Request) {
	fault := recover()
	if fault == nil {
		return
	}
	if err, ok := fault.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(fault)
	}
	s.log.LogAttrs(r.Context(), slog.LevelError, "request panicked", LogAttrs(w, r,
		slog.String("fault", fmt.Sprint(fault)), slog.String("stack", string(debug.Stack())))...)
	WriteError(w, r, ErrInternal)
}

// handlers hold the routes of an API.
type handlers struct {
	server   *Server
	api      API
	router   *mux.Router
	content  *contentRoutes // the first matcher of the router but for probes
	replaced chan struct{}  // closed when other handlers replace these
}

// newHandlers makes the routes of an API.
func (s *Server) newHandlers(api API) (*handlers, error) {
	h := &handlers{
		server: s, api: api, router: mux.NewRouter().SkipClean(true).UseEncodedPath(), replaced: make(chan struct{}),
	}
	if err := h.addProbes(); err != nil {
		return nil, err
	}
	h.router.NotFoundHandler = http.HandlerFunc(answerNotFound)
	if api.Starting {
		h.router.NotFoundHandler = http.HandlerFunc(answerStarting)
	}
	if api.Prefix == "" {
		api.Prefix = "/api"
	}
	t := &routeTable{handlers: h, byPath: map[string]*resource{}}
	content := map[string]bool{}
	for i := range api.Routes {
		route := &api.Routes[i]
		if route.Content != "" {
			content[route.Content] = true
		}
		if err := t.add(route.Method, route.Path, h.guard(route)); err != nil {
			return nil, err
		}
	}
	for i := range api.Mounts {
		if err := t.addMount(&api.Mounts[i]); err != nil {
			return nil, err
		}
	}
	var err error
	if h.content, err = t.addTo(h.router, api.Prefix, content); err != nil {
		return nil, err
	}
	return h, nil
}

// serve finds the route of a request and answers it.
func (h *handlers) serve(w http.ResponseWriter, r *http.Request) { h.answer(w, r, h.match(r)) }

// match finds the route of a request.
func (h *handlers) match(r *http.Request) *mux.RouteMatch {
	m := &mux.RouteMatch{}
	h.find(r, m)
	return m
}

// find finds the route of a request. The router would ask for content first, too, but asks the probes before it.
func (h *handlers) find(r *http.Request, m *mux.RouteMatch) {
	if !h.content.match(r, m) {
		h.router.Match(r, m)
	}
}

// answer calls the handler of a match. It calls handlers that use mux.Vars, and those of programs, through mux.Router,
// which puts the match into the context of the request and copies the request twice for that. The other handlers do not
// need it.
func (h *handlers) answer(w http.ResponseWriter, r *http.Request, m *mux.RouteMatch) {
	if res := resourceOf(m); res != nil && res.extended || len(m.Vars) > 0 {
		h.router.ServeHTTP(w, r)
		return
	}
	m.Handler.ServeHTTP(w, r)
}
