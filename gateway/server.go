// Package gateway is the server: it listens, keeps every request within its bounds, finds the route that answers it, asks
// who is asking, and turns errors into what a client may see of them.
//
// A Server carries requests; what it answers with is its Runtime: the API generated from one Model and what belongs to it.
// When the definitions of a project change, the Runtime is replaced as a whole (Server.Swap); a request meets one of them and
// never parts of two.
package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync/atomic"
	"time"

	"lectern/internal/admission"
	"lectern/internal/budget"
	"lectern/shadowcrud/rest"
)

// Config is what a Server is built from. Zero values mean the defaults of DefaultLimits, any origin and slog.Default.
type Config struct {
	Limits   Limits
	CORS     CORS
	HTTPS    bool // clients reach the server by https, through a proxy that ends TLS
	Compress bool // gzip or zstd answers, for clients that accept them
	// Memory is that of all requests together; nil is Limits.Memory. It may be shared with what works for requests elsewhere.
	Memory *budget.Budget
	// TrustedProxies are those whose word on a client's address is taken. Their connections are not counted as those of one client.
	TrustedProxies []netip.Prefix
	Log            *slog.Logger
}

// Limits bound what a request may cost.
type Limits struct {
	ReadHeader  time.Duration // to send the head of a request
	Read        time.Duration // to send all of a request
	Write       time.Duration // to take the answer, from the end of the request's head
	Idle        time.Duration // a connection may wait for its next request
	Handle      time.Duration // the work on a request: its context ends then
	Shutdown    time.Duration // requests may go on after Serve was told to stop
	HeaderBytes int           // head of a request
	JSONBytes   int64         // JSON body, inflated
	FormBytes   int64         // form or text body, inflated
	BodyRate    int64         // bytes a second at which a client must at least send a body
	Links       int           // documents that the body of a write names in relations
	Components  int           // components in the body of a write
	Memory      int64         // bytes that all requests may reserve together; 0 is a quarter of what the process may have
	AnswerBytes int64         // of one answer
	AnswerRate  int64         // bytes a second at which a client must at least take a long answer

	// Requests at work at one time, and those of them from one address. Others are answered 503. A request that waits for its client
	// is not at work.
	Concurrent, ConcurrentPerAddress int
	// Connections at one time, and those of them from one address. Others are closed. They are fewer where the process may not have so
	// many descriptors.
	Connections, ConnectionsPerAddress int
}

// DefaultLimits are the limits where nothing is said.
var DefaultLimits = Limits{
	ReadHeader:  10 * time.Second,
	Read:        60 * time.Second,
	Write:       120 * time.Second,
	Idle:        120 * time.Second,
	Handle:      30 * time.Second,
	Shutdown:    20 * time.Second,
	HeaderBytes: 64 << 10,
	JSONBytes:   1 << 20,
	FormBytes:   56 << 10,
	BodyRate:    1 << 10,
	Concurrent:  1024,
	Connections: 8192,
	Links:       10_000,
	Components:  5_000,
	AnswerBytes: rest.DefaultAnswerBytes,
	AnswerRate:  32 << 10,
}

// leastMemory is to how many of the longest answers all requests must at least be able to get memory.
const leastMemory = 2

// orDefaults fills in what is zero.
func (l Limits) orDefaults() Limits {
	fill(&l.ReadHeader, DefaultLimits.ReadHeader)
	fill(&l.Read, DefaultLimits.Read)
	fill(&l.Write, DefaultLimits.Write)
	fill(&l.Idle, DefaultLimits.Idle)
	fill(&l.Handle, DefaultLimits.Handle)
	fill(&l.Shutdown, DefaultLimits.Shutdown)
	fill(&l.HeaderBytes, DefaultLimits.HeaderBytes)
	fill(&l.JSONBytes, DefaultLimits.JSONBytes)
	fill(&l.FormBytes, DefaultLimits.FormBytes)
	fill(&l.BodyRate, DefaultLimits.BodyRate)
	fill(&l.Concurrent, DefaultLimits.Concurrent)
	fill(&l.Connections, DefaultLimits.Connections)
	l.Connections = min(l.Connections, mostConnections())
	fill(&l.ConcurrentPerAddress, shareOf(l.Concurrent))
	fill(&l.ConnectionsPerAddress, shareOf(l.Connections))
	fill(&l.Links, DefaultLimits.Links)
	fill(&l.Components, DefaultLimits.Components)
	fill(&l.AnswerBytes, DefaultLimits.AnswerBytes)
	fill(&l.AnswerRate, DefaultLimits.AnswerRate)
	if l.Memory == 0 {
		l.Memory = max(budget.Default(budget.MachineMemory()), leastMemory*l.AnswerBytes)
	}
	return l
}

// shareOf is what one address may have of something: a quarter, but no less than a client that is a server itself needs.
func shareOf(all int) int { return min(all, max(all/4, 64)) }

func fill[T comparable](value *T, otherwise T) {
	var zero T
	if *value == zero {
		*value = otherwise
	}
}

// A Server serves a Runtime over HTTP. Any number of goroutines may use it.
type Server struct {
	limits  Limits
	log     *slog.Logger
	headers *headers
	ids     requestIDs
	proxies []netip.Prefix
	serving atomic.Pointer[handlers]
	handler http.Handler
	memory  *budget.Budget // of all requests
	answers *rest.Limits
	bodies  *budget.Budget // of the bodies that are in memory

	places, connections *admission.Semaphore
	counters            struct{ refusedConnections, acceptErrors atomic.Int64 }
}

// Stats are the counters of a Server.
type Stats struct {
	Requests           admission.Stats // at work
	Connections        admission.Stats
	RefusedConnections int64 // closed at once, since there were too many
	AcceptErrors       int64 // connections that could not be accepted, for want of descriptors or for other reasons of the system's
	Bodies             budget.Stats
}

// Stats returns the counters.
func (s *Server) Stats() Stats {
	return Stats{
		Requests: s.places.Stats(), Connections: s.connections.Stats(),
		RefusedConnections: s.counters.refusedConnections.Load(), AcceptErrors: s.counters.acceptErrors.Load(),
		Bodies: s.bodies.Stats(),
	}
}

// NewServer returns a server that answers with rt.
func NewServer(c Config, rt Runtime) (*Server, error) {
	l := c.Limits.orDefaults()
	s := &Server{
		limits: l, log: c.Log, headers: newHeaders(c.CORS, c.HTTPS), ids: newRequestIDs(), proxies: c.TrustedProxies,
		places:      admission.New(admission.Limits{Places: l.Concurrent, Share: l.ConcurrentPerAddress}),
		connections: admission.New(admission.Limits{Places: l.Connections, Share: l.ConnectionsPerAddress}),
	}
	if s.log == nil {
		s.log = slog.Default()
	}
	if s.memory = c.Memory; s.memory == nil {
		s.memory = budget.New(s.limits.Memory)
	}
	s.answers = s.limits.answers(s.memory)
	s.bodies = budget.New(s.memory.Limit() / 4)
	if err := s.Swap(rt); err != nil {
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

// Swap replaces what the server answers with, at once and without dropping a request. Requests under way finish with what
// they began with, or begin anew when the store tells them that it has been redefined.
func (s *Server) Swap(rt Runtime) error {
	h, err := s.newHandlers(rt)
	if err != nil {
		return err
	}
	if former := s.serving.Swap(h); former != nil {
		close(former.replaced)
	}
	return nil
}

// Handler answers requests. It does not bound connections: Serve does.
func (s *Server) Handler() http.Handler { return s.handler }

// Serve answers the requests that come in over ln until ctx ends. Then it takes no more, lets those under way finish for as
// long as Limits.Shutdown says, and returns nil when all of them did.
func (s *Server) Serve(ctx context.Context, ln net.Listener) error {
	srv := &http.Server{
		Handler:           s.handler,
		ReadHeaderTimeout: s.limits.ReadHeader,
		ReadTimeout:       s.limits.Read,
		WriteTimeout:      s.limits.Write,
		IdleTimeout:       s.limits.Idle,
		MaxHeaderBytes:    s.limits.HeaderBytes,
		ConnContext:       withConn,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(&listener{Listener: ln, server: s}) }()

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
