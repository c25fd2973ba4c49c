package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"time"

	"lectern/documents/apierror"
	"lectern/gateway/internal/replication"
	"lectern/jsontree"
	"lectern/store"
)

// forwardedHeader is the header of an answer to a write that was forwarded and succeeded. It says whether reads of the replica show what was
// written.
const (
	forwardedHeader = "Lectern-Forwarded"
	applied         = "applied"
	pending         = "pending" // not yet
)

const (
	// maxCatchUp is how long the answer to a forwarded write waits until the replica has applied it.
	maxCatchUp = 2 * time.Second
	// maxStall is how long the origin may take no byte of a request, or send none of an answer that has begun.
	maxStall = 15 * time.Second
	// maxOverhead is how much longer than timeouts.request may take what waits for another request: a forwarded request until its answer
	// begins, and a message of MCP.
	maxOverhead = 5 * time.Second
)

// A forwarder sends the writes that clients send to a replica to its origin, with the credentials of the clients. It is safe for concurrent
// use.
type forwarder struct {
	origin    *replication.Origin
	project   *Project
	transport *http.Transport
	base      *url.URL // of the origin; its path is what goes before the path of a request
	via       string   // names this replica in the header Via
}

// newForwarder returns a forwarder to the origin that a project follows. prefix is the path of the REST API of both, answer is the longest
// time that the origin may take for an answer.
func newForwarder(p *Project, prefix string, answer time.Duration) (*forwarder, error) {
	origin, err := p.options.Follow.origin()
	if err != nil {
		return nil, err
	}
	base := *origin.URL
	base.Path = strings.TrimSuffix(base.Path, prefix)
	dial := p.options.Follow.dial
	if dial == nil {
		dial = (&net.Dialer{Timeout: 5 * time.Second}).DialContext
	}
	return &forwarder{
		origin: origin, project: p, base: &base, via: "1.1 lectern-" + p.follower.id,
		transport: &http.Transport{
			Proxy:                 http.ProxyFromEnvironment,
			DialContext:           dial,
			TLSHandshakeTimeout:   5 * time.Second,
			ResponseHeaderTimeout: answer + maxOverhead,
			IdleConnTimeout:       30 * time.Second,
			MaxIdleConnsPerHost:   16,
			DisableCompression:    true,
		},
	}, nil
}

// close closes the connections that are not in use.
func (f *forwarder) close() {
	f.transport.CloseIdleConnections()
	f.origin.Close()
}

// takes reports whether a request of a content route may write, so that it is for the origin. Logins write nothing; the GraphQL endpoint
// itself forwards mutations, and the tools of MCP make requests of their own.
func (f *forwarder) takes(r *http.Request, rt *Runtime) bool {
	path := strings.TrimSuffix(r.URL.Path, "/")
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		return strings.EqualFold(path, rt.Prefix+"/auth/email-confirmation")
	}
	return !strings.EqualFold(path, rt.Prefix+"/auth/local") && !strings.EqualFold(path, rt.graphql) && !strings.EqualFold(path, mcpPath)
}

// serve sends a request to the origin, and answers with what the origin answers.
func (f *forwarder) serve(w http.ResponseWriter, r *http.Request) error {
	for _, via := range r.Header["Via"] {
		if strings.Contains(via, f.via) {
			return &apierror.Error{Status: http.StatusLoopDetected, Name: "LoopDetectedError", NoDetails: true, Reason: apierror.Origin,
				Message: "the replica forwards writes to itself: give it the address of another server to follow"}
		}
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	stall := time.AfterFunc(time.Hour, func() { cancel(replication.ErrSilent) })
	stall.Stop()
	defer stall.Stop()
	body := &forwardedBody{body: r.Body, stall: stall}
	request := r.WithContext(ctx)
	if r.Body != nil && r.Body != http.NoBody {
		request.Body = body
	}
	var failed error
	proxy := httputil.ReverseProxy{
		Transport: f.transport,
		Rewrite:   func(p *httputil.ProxyRequest) { f.rewrite(p, w.Header()) },
		ModifyResponse: func(answer *http.Response) error {
			body.stop()
			f.adopt(ctx, answer, w.Header())
			answer.Body = &stallReader{answer.Body, stall}
			return nil
		},
		ErrorHandler: func(_ http.ResponseWriter, _ *http.Request, err error) {
			body.stop()
			failed = errors.Join(err, body.failed)
		},
		ErrorLog: slog.NewLogLogger(f.project.log.Handler(), slog.LevelDebug),
	}
	proxy.ServeHTTP(w, request)
	if failed == nil {
		return nil
	}
	return f.failure(w, failed, body.failed)
}

// rewrite addresses a request to the origin. given are the headers that the replica has set in its answer.
func (f *forwarder) rewrite(p *httputil.ProxyRequest, given http.Header) {
	p.SetURL(f.base)
	h := p.Out.Header
	h["X-Forwarded-For"] = p.In.Header["X-Forwarded-For"]
	p.SetXForwarded()
	h["Via"] = append(p.In.Header["Via"], f.via)
	h[requestIDHeader] = given[requestIDHeader]
	h.Del("Accept-Encoding") // the replica itself compresses answers
	h.Del("Expect")
}

// adopt prepares an answer of the origin for the client. It waits until the replica has applied what the origin has written. Headers that the
// replica has set itself, such as those of CORS, stay.
func (f *forwarder) adopt(ctx context.Context, answer *http.Response, given http.Header) {
	for name := range given {
		if name != "Vary" {
			answer.Header.Del(name)
		}
	}
	behind := answer.Header.Get(forwardedHeader) == pending // the origin is a replica itself
	answer.Header.Del(forwardedHeader)
	if answer.StatusCode >= http.StatusBadRequest {
		return
	}
	if behind || f.catchUp(ctx) != nil {
		answer.Header[forwardedHeader] = []string{pending}
	} else {
		answer.Header[forwardedHeader] = []string{applied}
	}
}

// catchUp waits until the replica has applied all that the origin has written so far.
func (f *forwarder) catchUp(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, maxCatchUp)
	defer cancel()
	want, err := f.origin.Position(ctx)
	if err != nil {
		return err
	}
	for {
		g := f.project.generation.Load()
		committed := g.store.NextCommit() // before the position is read
		at, err := positionOf(g.store)
		if err == nil && at.Epoch == want.Epoch && at.Sequence >= want.Sequence {
			return nil
		}
		select {
		case <-committed:
		case <-g.replaced:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// positionOf returns the position behind the last entry of a store.
func positionOf(st *store.Store) (at store.Position, err error) {
	err = st.View(func(s *store.Snapshot) error {
		at, err = s.Position()
		return err
	})
	return at, err
}

// failure returns the answer to a request that the origin has not answered. unread is the error of reading the request.
func (f *forwarder) failure(w http.ResponseWriter, err, unread error) error {
	var told *apierror.Error
	if errors.As(unread, &told) || errors.Is(err, context.Canceled) && !errors.Is(err, replication.ErrSilent) {
		return err
	}
	f.project.log.Warn("a write could not be forwarded", "origin", f.origin.Base(), "id", w.Header().Get(requestIDHeader), "error", err)
	w.Header()["Retry-After"] = retrySoon
	unavailable := &apierror.Error{Status: http.StatusServiceUnavailable, Name: "ServiceUnavailableError", Reason: apierror.Origin}
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "dial" {
		unavailable.Message = fmt.Sprintf("the server %s, which takes the writes, cannot be reached; nothing was written", f.origin.Base())
		unavailable.Details = jsontree.ObjectOf("outcome", "refused")
		return unavailable
	}
	unavailable.Message = fmt.Sprintf("the server %s, which takes the writes, did not answer; it may have written", f.origin.Base())
	unavailable.Details = jsontree.ObjectOf("outcome", "unknown")
	return unavailable
}

// A forwardedBody is the body of a request while it is sent to the origin. The transport reads it in a goroutine of its own. Once the answer
// begins, nothing reads it any more.
type forwardedBody struct {
	mu      sync.Mutex
	body    io.ReadCloser
	stall   *time.Timer // runs while the origin has bytes to take
	stopped bool
	failed  error // of reading from the client
}

var errAnsweredEarly = errors.New("the origin has answered before it got the whole request")

// Read implements io.Reader.
func (b *forwardedBody) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.stopped {
		return 0, errAnsweredEarly
	}
	b.stall.Stop()
	n, err := b.body.Read(p)
	switch {
	case err == nil:
		b.stall.Reset(maxStall)
	case !errors.Is(err, io.EOF):
		b.failed = err
	}
	return n, err
}

// Close implements io.Closer. The server closes the body itself.
func (b *forwardedBody) Close() error { return nil }

// stop waits for a Read that is under way, and lets no other begin.
func (b *forwardedBody) stop() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.stopped = true
	b.stall.Stop()
}

// A stallReader reads an answer of the origin. The timer runs while it waits for bytes.
type stallReader struct {
	io.ReadCloser
	stall *time.Timer
}

// Read implements io.Reader.
func (s *stallReader) Read(p []byte) (int, error) {
	s.stall.Reset(maxStall)
	defer s.stall.Stop()
	return s.ReadCloser.Read(p)
}
