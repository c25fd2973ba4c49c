package gateway

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gorilla/mux"

	"lectern/auth"
	"lectern/shadowcrud/rest"
)

// closeValue ends the connection after a request with Transfer-Encoding. If the request has a Content-Length as well, a proxy in front may have taken that
// for the length, and what follows for the body of the one or for another request; so the connection must end (RFC 9112, section 6.1). net/http takes the
// Content-Length out of such a request, so that the two kinds cannot be told apart here.
var closeValue = []string{"close"}

// serve answers a request: it gives the request an id, sets the headers that all answers have, finds the route, and answers if it gets a
// place for the request. Probes need no place.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header[requestIDHeader] = []string{s.ids.next(r)}
	s.headers.set(header, r)
	if r.TransferEncoding != nil && r.ProtoMajor == 1 {
		header["Connection"] = closeValue
	}
	if s.age != nil {
		if age := s.age(); age >= 0 {
			header[replicaAgeHeader] = []string{strconv.FormatInt(int64(age/time.Second), 10)}
		}
	}
	if s.member != nil {
		w = &revisedWriter{ResponseWriter: w, member: s.member}
	}
	h := s.serving.Load()
	var m mux.RouteMatch
	if s.observes(r) {
		o := newObservation(w)
		defer s.ended(o, r)
		h.router.Match(r, &m)
		o.matched(&m)
		r = o.trace(s.tracer, r)
		w = o
	} else {
		h.router.Match(r, &m)
	}
	if p, ok := m.Handler.(*probe); ok {
		p.ServeHTTP(w, r)
		return
	}
	s.work(w, r, h, &m)
}

// work answers a request if there is a place for it. It recovers from panics.
func (s *Server) work(w http.ResponseWriter, r *http.Request, h *handlers, m *mux.RouteMatch) {
	r, place, err := s.takePlace(r)
	defer place.end()
	defer s.recover(w, r)
	switch {
	case err != nil:
		w.Header()["Retry-After"] = retrySoon
		writeError(w, r, s.errNoPlace(err))
	case s.headers.preflight(w, r): // is answered
	case s.member != nil && asksRecent(r):
		if s.member.awaitRecent(w, r) {
			h = s.serving.Load() // definitions may have come meanwhile
			s.dispatch(w, r, h, h.match(r))
		}
	default:
		s.dispatch(w, r, h, m)
	}
}

// dispatch calls the handler of a request, unless its path cannot be that of a document.
func (s *Server) dispatch(w http.ResponseWriter, r *http.Request, h *handlers, m *mux.RouteMatch) {
	switch path := r.URL.Path; {
	case strings.IndexByte(path, 0) >= 0:
		writeError(w, r, errMalicious)
	case !utf8.ValidString(path):
		writeError(w, r, errDecode)
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
	s.log.LogAttrs(r.Context(), slog.LevelError, "request panicked", requestAttrs(w, r,
		slog.String("fault", fmt.Sprint(fault)), slog.String("stack", string(debug.Stack())))...)
	writeError(w, r, errInternal)
}

// handlers hold the routes that are made of a Runtime.
type handlers struct {
	server   *Server
	rt       Runtime
	router   *mux.Router
	replaced chan struct{} // closed when other handlers replace these
}

// newHandlers makes the routes of a Runtime. If several routes have the same method and path, one of extensions goes before the other routes
// of the Runtime, and these before generated ones.
func (s *Server) newHandlers(rt Runtime) (*handlers, error) {
	if rt.Prefix == "" {
		rt.Prefix = "/api"
	}
	rt.Prefix = "/" + strings.Trim(rt.Prefix, "/")
	if rt.Extensions == nil {
		rt.Extensions = &Extensions{}
	}
	h := &handlers{server: s, rt: rt, router: mux.NewRouter().SkipClean(true).UseEncodedPath(), replaced: make(chan struct{})}
	h.addProbes()
	h.router.NotFoundHandler = http.HandlerFunc(answerNotFound)
	if rt.starting {
		h.router.NotFoundHandler = http.HandlerFunc(answerStarting)
	}
	t := &routeTable{handlers: h, byPath: map[string]*resource{}}
	for _, route := range slices.Concat(rt.Extensions.routes, rt.Routes) {
		if err := h.addRoute(t, &route); err != nil {
			return nil, err
		}
	}
	names := map[string]bool{}
	if rt.REST != nil {
		for _, route := range rt.REST.Routes() {
			names[route.Type.PathName()] = true
			if err := h.addGenerated(t, route); err != nil {
				return nil, err
			}
		}
	}
	for i := range rt.Extensions.mounts {
		if err := t.addMount(rt.Extensions, &rt.Extensions.mounts[i]); err != nil {
			return nil, err
		}
	}
	return h, t.addTo(h.router, rt.Prefix, names)
}

// addGenerated adds the route of a content-type.
func (h *handlers) addGenerated(t *routeTable, route *rest.Route) error {
	x := h.rt.Extensions
	config, configured := x.configured(nameOfGenerated(h.rt.Prefix, route))
	g, err := x.guard(h, &config)
	if err != nil {
		return err
	}
	if len(g.scopes) == 0 {
		g.scopes = []string{route.Type.UID + "." + route.Action}
	}
	readBody, answers, cached := h.server.limits.readBody, h.server.answers, h.rt.Cache[route.Type]
	g.answer = func(w http.ResponseWriter, r *http.Request, who auth.Principal, documentID string) error {
		call := rest.Call{Access: who.Access, By: recordedAs(who), DocumentID: documentID, ReadBody: readBody, Limits: answers,
			Untagged: g.extended, CacheControl: cached[roleOf(who)]}
		if prefersLines(r) {
			return g.whileAllowed(w, r, who, func(w http.ResponseWriter, r *http.Request, l *longAnswer) error {
				call.Lines = h.server.lines(w, r, l)
				return route.Serve(w, r, call)
			})
		}
		if route.Writes() && h.rt.idempotency != nil && r.Header[idempotencyKeyHeader] != nil {
			return h.serveOnce(w, r, who, route, call)
		}
		return route.Serve(w, r, call)
	}
	g.generated, g.whole = true, true
	g.extended = configured || route.Writes() && len(x.hooks) > 0
	g.streams = !route.Writes() && !g.extended // a read bounds its own time
	g.wrapAnswer()
	return t.add(route.Method, h.rt.Prefix+route.Path, g)
}

// roleOf returns the role of a caller: public for requests without a credential, and none for API tokens.
func roleOf(who auth.Principal) string {
	switch {
	case who.User.ID != 0:
		return who.User.Role
	case who.Token != "":
		return ""
	}
	return auth.PublicRole
}

// addRoute adds a route of Runtime.Routes, or of a program.
func (h *handlers) addRoute(t *routeTable, route *Route) error {
	config, configured, err := h.rt.Extensions.configOf(route)
	if err != nil {
		return err
	}
	g, err := h.rt.Extensions.guard(h, &config)
	if err != nil {
		return err
	}
	g.metered = g.metered && !route.unmetered
	g.streams, g.whole, g.limit, g.answer = route.Streams, route.Whole, route.limit, route.answers(g)
	g.keyless, g.absent = route.keyless, route.absent
	g.writes = !route.own && route.Method != http.MethodGet && route.Method != http.MethodHead
	g.extended = configured || len(h.rt.Extensions.hooks) > 0 && !route.Open
	g.wrapAnswer()
	return t.add(route.Method, route.Path, g)
}

// serve finds the route of a request and answers it.
func (h *handlers) serve(w http.ResponseWriter, r *http.Request) { h.answer(w, r, h.match(r)) }

// match finds the route of a request.
func (h *handlers) match(r *http.Request) *mux.RouteMatch {
	m := &mux.RouteMatch{}
	h.router.Match(r, m)
	return m
}

// answer calls the handler of a match. It calls handlers that use mux.Vars, and those of programs, through mux.Router, which puts the match
// into the context of the request and copies the request twice for that. The other handlers do not need it.
func (h *handlers) answer(w http.ResponseWriter, r *http.Request, m *mux.RouteMatch) {
	if res := resourceOf(m); res != nil && res.extended || len(m.Vars) > 0 {
		h.router.ServeHTTP(w, r)
		return
	}
	m.Handler.ServeHTTP(w, r)
}
