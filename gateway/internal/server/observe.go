package server

import (
	"bufio"
	"cmp"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gorilla/mux"

	"lectern/auth"
	"lectern/documents/apierror"
	"lectern/gateway/metrics"
	"lectern/internal/accept"
	"lectern/internal/span"
	"lectern/store"
)

// An observation collects what the server tells the access log and the metrics at the end of a request. It is the
// ResponseWriter of the request. Requests have one only if something observes them.
type observation struct {
	statusWriter
	id       string // of the request
	began    time.Time
	route    string         // the pattern of the route; noRoute if there is none
	quiet    bool           // the access log leaves out the request unless it fails: a probe or a scrape
	caller   auth.Principal // zero unless identified
	known    bool           // the request was authenticated
	hijacked bool
	refusal  apierror.Reason // "" unless the request was refused
	span     span.Span       // nil unless the request is traced
}

// noRoute stands for the route of requests that match none.
const noRoute = "none"

// observes reports whether anything observes requests.
func (s *Server) observes(r *http.Request) bool {
	return s.access.On || s.metrics != nil || s.notable != nil || s.tracer != nil ||
		s.log.Enabled(r.Context(), slog.LevelDebug)
}

// newObservation begins the observation of the request with this id, which w answers.
func newObservation(w http.ResponseWriter, id string) *observation {
	return &observation{statusWriter: statusWriter{ResponseWriter: w}, id: id, began: time.Now(), route: noRoute}
}

// matched notes the route of the request.
func (o *observation) matched(m *mux.RouteMatch) {
	if res := resourceOf(m); res != nil {
		o.route = res.template
	} else if probe, ok := m.Handler.(*probe); ok {
		o.route, o.quiet = probe.path.template(), true
	}
}

// ended tells the observers that a request has ended.
func (s *Server) ended(o *observation, r *http.Request) {
	if o.hijacked {
		o.status = http.StatusSwitchingProtocols
	}
	o.status = cmp.Or(o.status, http.StatusOK) // what net/http sends for a handler that writes nothing
	took := time.Since(o.began)
	if s.metrics != nil {
		s.metrics.Request(metrics.Request{
			Route: o.route, Method: methodOf(r), Status: o.status, Bytes: o.bytes, Took: took,
			Refusal: string(o.refusal),
		})
	}
	if s.notable != nil && !o.quiet && (o.status >= http.StatusInternalServerError || took >= s.slow && !o.streamed()) {
		s.notable(o.notable(r, took))
	}
	s.logRequest(o, r, took)
	o.endTrace()
}

// A Notable is a request that was slow or failed, as the access log has it.
type Notable struct {
	ID            string
	Began         time.Time
	Method, Route string
	Status        int
	Took          time.Duration
	Principal     string // the kind of the caller; "" if the request was not authenticated
	Reason        apierror.Reason
}

func (o *observation) notable(r *http.Request, took time.Duration) Notable {
	n := Notable{
		ID: o.id, Began: o.began, Method: methodOf(r), Route: o.route, Status: o.status,
		Took: took, Reason: o.refusal,
	}
	if o.known {
		n.Principal = RecordedAs(o.caller).Kind
	}
	return n
}

// streamed reports whether the answer is one that takes long by its nature.
func (o *observation) streamed() bool {
	kind := o.Header().Get("Content-Type")
	return o.hijacked || strings.HasPrefix(kind, accept.Events) || kind == linesType
}

// observationOf returns the observation of the request that w answers; nil if nothing observes it.
func observationOf(w http.ResponseWriter) *observation {
	for {
		switch wrapped := w.(type) {
		case *observation:
			return wrapped
		case interface{ Unwrap() http.ResponseWriter }:
			w = wrapped.Unwrap()
		default:
			return nil
		}
	}
}

// identified notes who sent a request.
func (o *observation) identified(who auth.Principal) {
	if o != nil {
		o.caller, o.known = who, true
	}
}

// Identified notes who sent the request that w answers, for the access log and traces. Routes that are not Open need
// not do so.
func Identified(w http.ResponseWriter, who auth.Principal) { observationOf(w).identified(who) }

// RecordedAs returns the kind and name of a caller, as schedules, the access log and traces record them.
func RecordedAs(who auth.Principal) store.Principal {
	switch {
	case who.User.ID != 0:
		return store.Principal{Kind: "user", Name: who.User.Username}
	case who.Token != "":
		return store.Principal{Kind: "token", Name: who.Token}
	case who.Access != nil && who.Access.IsPreview():
		return store.Principal{Kind: "preview"}
	}
	return store.Principal{Kind: "public"}
}

// refused notes the reason of an error that answers the request.
func (o *observation) refused(e *apierror.Error) {
	if o == nil {
		return
	}
	o.refusal = e.Reason
	switch e.Status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusRequestEntityTooLarge, http.StatusTooManyRequests,
		http.StatusServiceUnavailable, http.StatusInsufficientStorage:
		o.refusal = cmp.Or(e.Reason, apierror.Other)
	}
}

// Hijack implements http.Hijacker.
func (o *observation) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	c, buffered, err := http.NewResponseController(o.ResponseWriter).Hijack()
	o.hijacked = err == nil
	return c, buffered, err
}

// observedMethods are the methods by which requests are counted. All others count as "other", since clients can make up
// any number.
var observedMethods = append([]string{http.MethodHead, http.MethodOptions}, RouteMethods...)

// methodOf returns the method of a request, or "other".
func methodOf(r *http.Request) string {
	if slices.Contains(observedMethods, r.Method) {
		return r.Method
	}
	return "other"
}

// A statusWriter records the status and the size of an answer.
type statusWriter struct {
	http.ResponseWriter
	status int   // 0 until the answer begins
	bytes  int64 // of the body, before compression
}

// WriteHeader implements http.ResponseWriter.
func (w *statusWriter) WriteHeader(status int) {
	if w.status == 0 && status >= http.StatusOK {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (w *statusWriter) Write(p []byte) (int, error) {
	w.begin()
	n, err := w.ResponseWriter.Write(p)
	w.bytes += int64(n)
	return n, err
}

// ReadFrom implements io.ReaderFrom, so that the connection can send a file without copying it.
func (w *statusWriter) ReadFrom(r io.Reader) (int64, error) {
	w.begin()
	n, err := io.Copy(w.ResponseWriter, r)
	w.bytes += n
	return n, err
}

// Flush implements http.Flusher. It has no effect if the connection cannot flush.
func (w *statusWriter) Flush() {
	w.begin()
	_ = http.NewResponseController(w.ResponseWriter).Flush() // an error means that the connection cannot flush
}

// Unwrap lets http.ResponseController reach the connection.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *statusWriter) begin() {
	if w.status == 0 {
		w.status = http.StatusOK
	}
}
