// Package server is the HTTP server: it accepts connections, limits what requests cost, routes and authenticates them,
// and turns errors into answers. It knows routes and their handlers, and nothing of projects, replicas and clusters.
//
// A Server answers requests by an API: routes, and the steps that stand between a request and its handler. When the
// definitions of a project change, the API is replaced as a whole (Server.Swap), so that each request is answered by
// one of them; a request that began with the one before and finds the store redefined is retried by the next
// (retry.go).
//
// To read it, begin with steps.go, which lists what a request passes in its order, and serve.go, which carries that
// out. router.go finds the route by gorilla/mux, guard.go is what a request must pass before its handler, and errors.go
// what becomes of errors. Below are the connections: listener.go accepts them, place.go says how many requests are at
// work, clientbody.go and body.go read bodies.
//
// # Places, memory, processors
//
//   - A request holds a place only while the server works on it. It gives the place back while its body arrives, which
//     must come at a least rate, and when the first byte of the answer leaves. So there may be far more connections
//     than places, and slow clients keep nobody out. Each client address may hold a share of the places. Connections,
//     places and the right to hash a password are shared fairly in one way (internal/admission).
//   - Long answers reserve their bytes from one budget before they allocate them (internal/budget). Parsers ask for
//     what they build while they build it, and reserve only what is large.
//   - A long read takes turns with others for few processors, inside its snapshot (Options.Processors of the store). So
//     who holds a processor must wait for nothing that could need one: a stream gives it back before it sends.
//
// # Routing
//
// The routes are those of a gorilla/mux Router. mux keeps the table of routes, hands path variables to handlers, and
// runs the routers that a program mounts, with all that mux has; those answer paths that no other route takes. mux
// tries one matcher for the paths of all content-types, which looks up the name of the type, and then one subrouter for
// each other first part of a path. A path is matched first and its method after that. The templates of mux cannot match
// paths as the reference does, in any letter case and with or without a slash at the end. So a pattern matcher of ours
// does, which also spares requests for content and GraphQL a regular expression.
//
// The guard of a route runs its steps in order: credential, permissions, limit, policies, middlewares, handler. Where
// no code of a program sees a request, the guard does not put the caller and the path variables into the context. What
// a route with policies or middlewares does cannot be done by another request, such as a batch, an upload with ref or
// the change feed.
//
// # Connections
//
// net/http alone frames answers; nothing looks at or changes the bytes that it writes. net/http writes an answer that
// is longer than its buffer (4 KB) in two pieces. For generated routes and GraphQL the connection keeps the first piece
// until the second comes, and sends both in one system call. With TLS nothing is delayed or combined. Many requests of
// HTTP/2 share a connection, so each gets deadlines and a place of its own.
//
// A list in JSON Lines is the one answer that is sent while its snapshot is open. So the client must read each block in
// time, and the answer has a deadline and a semaphore of its own.
package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"lectern/gateway/config"
	"lectern/gateway/internal/accesslog"
	"lectern/gateway/metrics"
	"lectern/gateway/tracing"
	"lectern/internal/admission"
	"lectern/internal/budget"
	"lectern/shadowcrud/rest"
)

// Config is what a Server is built from. Zero values mean config.DefaultLimits, any origin and slog.Default.
type Config struct {
	Limits config.Limits
	CORS   config.CORS
	HTTPS  bool // clients reach the server by https
	// TLS is set if the server itself speaks TLS; clients may then use HTTP/2.
	TLS      *tls.Config
	Compress bool // gzip or zstd answers, for clients that accept them
	// Memory is the budget of all requests; nil: one of Limits.Memory bytes. Other parts of the program may share it.
	Memory *budget.Budget
	// TrustedProxies are the proxies whose header X-Forwarded-For is used. Their connections are not limited by
	// address.
	TrustedProxies []netip.Prefix
	Log            *slog.Logger
	Tracer         *tracing.Tracer // nil: no request is traced
	AccessLog      AccessLog
	Metrics        *metrics.Metrics // nil: none
	// Notable, if set, is called with each request that was answered with 500 or above, and with each that took
	// SlowAfter or longer, unless it was a stream.
	Notable   func(Notable)
	SlowAfter time.Duration
	// After is time.After, by the clock by which long answers look again whether their callers may still have them;
	// nil: time.After.
	After func(time.Duration) <-chan time.Time
}

// Limits are the limits of a Server with all defaults filled in.
type Limits config.Limits

// A Server serves an API over HTTP. It is safe for concurrent use.
type Server struct {
	limits Limits
	tls    *tls.Config
	log    *slog.Logger
	tracer *tracing.Tracer
	access AccessLog
	// requests is the log of requests that belongs to log; nil: log itself has their lines.
	requests *accesslog.Log
	metrics  *metrics.Metrics // nil if metrics are off
	notable  func(Notable)    // nil: nobody wants to know
	slow     time.Duration
	headers  *headers
	ids      requestIDs
	proxies  []netip.Prefix
	after    func(time.Duration) <-chan time.Time
	serving  atomic.Pointer[handlers]
	handler  http.Handler
	memory   *budget.Budget // of all requests
	answers  *rest.AnswerLimits
	bodies   *budget.Budget // of the bodies that are in memory

	places, connections *admission.Semaphore
	streams             *admission.Semaphore // of lists in JSON Lines
	counters            struct{ refusedConnections, acceptErrors atomic.Int64 }
}

// Stats are the counters of a Server.
type Stats struct {
	Requests           admission.Stats // at work
	Connections        admission.Stats
	Streams            admission.Stats // of lists in JSON Lines
	RefusedConnections int64           // connections that were closed at once because there were too many
	AcceptErrors       int64           // connections that the system did not accept, as for lack of file descriptors
	Bodies             budget.Stats
}

// Stats returns the counters.
func (s *Server) Stats() Stats {
	return Stats{
		Requests: s.places.Stats(), Connections: s.connections.Stats(), Streams: s.streams.Stats(),
		RefusedConnections: s.counters.refusedConnections.Load(), AcceptErrors: s.counters.acceptErrors.Load(),
		Bodies: s.bodies.Stats(),
	}
}

// Places returns the places of requests, connections and streams, and how many are taken.
func (s *Server) Places() map[string]metrics.Places {
	of := func(places *admission.Semaphore) metrics.Places {
		return metrics.Places{Stats: places.Stats(), Limit: places.Limits().Places}
	}
	return map[string]metrics.Places{
		"requests": of(s.places), "streams": of(s.streams), "connections": of(s.connections),
	}
}

// New returns a server of an API.
func New(c Config, api API) (*Server, error) {
	l := Limits(c.Limits.WithDefaults())
	s := &Server{
		limits: l, tls: c.TLS, log: c.Log, tracer: c.Tracer, access: c.AccessLog, metrics: c.Metrics,
		notable: c.Notable, slow: c.SlowAfter,
		headers: newHeaders(c.CORS, c.HTTPS), ids: newRequestIDs(), proxies: c.TrustedProxies, after: c.After,
		places:      admission.New(admission.Limits{Places: l.Concurrent, Share: l.ConcurrentPerAddress}),
		connections: admission.New(admission.Limits{Places: l.Connections, Share: l.ConnectionsPerAddress}),
		streams:     admission.New(admission.Limits{Places: l.Streams, Share: l.StreamsPerAddress}),
	}
	if s.log == nil {
		s.log = slog.Default()
	}
	s.requests = accesslog.Of(s.log)
	if s.after == nil {
		s.after = time.After
	}
	if s.memory = c.Memory; s.memory == nil {
		s.memory = budget.New(s.limits.Memory)
	}
	s.answers = s.limits.Answers(s.memory)
	s.bodies = budget.New(s.memory.Limit() / 4)
	if err := s.Swap(api); err != nil {
		return nil, err
	}
	s.handler = http.HandlerFunc(s.serve)
	if c.Compress {
		var err error
		if s.handler, err = compressing(s.serve, s.memory); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// Swap replaces the API without dropping a request. Requests that have begun finish with the one before, or are retried
// with the new one if the store returns store.ErrRedefined.
func (s *Server) Swap(api API) error {
	h, err := s.newHandlers(api)
	if err != nil {
		return err
	}
	if before := s.serving.Swap(h); before != nil {
		close(before.replaced)
	}
	return nil
}

// Handler returns the handler of all requests. Only Serve limits connections.
func (s *Server) Handler() http.Handler { return s.handler }

// Serve answers the requests that arrive at ln until ctx ends. It then accepts no more, waits up to Limits.Shutdown for
// requests to finish, and returns nil if all of them did.
func (s *Server) Serve(ctx context.Context, ln net.Listener) error {
	defer s.requests.Flush()
	srv := &http.Server{
		Handler:           http.HandlerFunc(s.serveStream),
		TLSConfig:         s.tls,
		ReadHeaderTimeout: s.limits.ReadHeader,
		ReadTimeout:       s.limits.Read,
		WriteTimeout:      s.limits.Write,
		IdleTimeout:       s.limits.Idle,
		MaxHeaderBytes:    int(s.limits.HeaderBytes),
		ConnContext:       withConn,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
	failed := make(chan error, 1)
	go func() {
		accepts := &listener{Listener: ln, server: s, warned: rate.Sometimes{Interval: warnEvery}}
		if s.tls != nil {
			failed <- srv.ServeTLS(accepts, "", "")
		} else {
			failed <- srv.Serve(accepts)
		}
	}()

	select {
	case err := <-failed:
		return fmt.Errorf("serve %s: %w", ln.Addr(), err)
	case <-ctx.Done():
	}
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.limits.Shutdown)
	defer cancel()
	err := srv.Shutdown(drain)
	if errors.Is(err, context.DeadlineExceeded) {
		srv.Close()
		return fmt.Errorf("requests were cut off: not done %s after the server was told to stop", s.limits.Shutdown)
	}
	return err
}
