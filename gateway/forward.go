package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"time"

	"lectern/documents/apierror"
	"lectern/gateway/internal/replication"
	"lectern/gateway/internal/server"
	"lectern/jsontree"
	"lectern/store"
)

// forwardedHeader is the header of an answer to a write that was forwarded and succeeded. It says whether reads of this server show what was
// written.
const (
	forwardedHeader = "Lectern-Forwarded"
	applied         = "applied"
	pending         = "pending" // not yet
)

const (
	// maxCatchUp is how long the answer to a forwarded write waits until this server has applied it.
	maxCatchUp = 2 * time.Second
	// maxStall is how long the upstream may take no byte of a request, or send none of an answer that has begun.
	maxStall = 15 * time.Second
	// maxOverhead is how much longer than timeouts.request may take what waits for another request: a forwarded request until its answer
	// begins, and a message of MCP.
	maxOverhead = 5 * time.Second
	// originIdle is how long a replica keeps a connection to its origin without a request. The origin closes one over which none has come for timeouts.header
	// or timeouts.idle, and what is sent just then has an unknown outcome.
	originIdle = 5 * time.Second
)

// An upstream is the server that takes the writes of this one: the origin of a replica, or the leader of a cluster.
type upstream interface {
	// begin returns who carries out a write that begins now: the server at an address, whose path is what goes before the path of a request, or, if at is nil,
	// this server itself. The caller must call end after the write, unless there is an error. begin waits for a server that takes writes.
	begin(context.Context) (end func(), at *url.URL, err error)
	// instead waits for a server that takes the writes, after one could not be reached, and returns its address as begin does; nil if there is none. It may be
	// the same one, after a while. since is when a server could not be reached first.
	instead(ctx context.Context, unreached *url.URL, since time.Time) *url.URL
	// awaitLoss returns once the server at an address, as begin returned it, has not taken the writes for so long that it is not expected to answer any
	// more. It returns an error if ctx ends before.
	awaitLoss(ctx context.Context, at *url.URL) error
	// catchUp waits until reads of this server show what the upstream has written when it gave an answer.
	catchUp(context.Context, *http.Response) error
	// looped returns the answer to a request that this server has forwarded so many times before; nil if it is to be forwarded again.
	looped(times int) *apierror.Error
	// name returns how clients are told of the server.
	name() string
	close()
}

// A forwarder sends the writes that clients send to this server to another, with the credentials of the clients. It is safe for concurrent
// use.
type forwarder struct {
	upstreamLink
	log     *slog.Logger
	prefix  string // of the content API
	graphql string // the path of the GraphQL endpoint
}

// An upstreamLink is how requests reach an upstream.
type upstreamLink struct {
	to        upstream
	via       string // names this server in the header Via
	transport *http.Transport
}

// newForwarder returns the forwarder of a replica that forwards writes, or of a node in a cluster; nil for other servers.
func (g *generation) newForwarder() (*forwarder, error) {
	link, err := g.project.role.Upstream(g.Settings.REST.Prefix)
	if err != nil || link == nil {
		return nil, err
	}
	f := &forwarder{*link, g.project.log, g.Settings.REST.Prefix, g.Settings.GraphQL.Endpoint}
	f.transport.ResponseHeaderTimeout = g.Settings.Server.Limits.WithDefaults().Handle + maxOverhead
	f.transport.DialContext = counting(f.transport.DialContext)
	return f, nil
}

// close closes the connections that are not in use.
func (f *forwarder) close() {
	f.transport.CloseIdleConnections()
	f.to.close()
}

// takes reports whether a request of a content route may write, so that it is for the upstream. Logins write nothing; the GraphQL endpoint
// itself forwards mutations, and the tools of MCP make requests of their own.
func (f *forwarder) takes(r *http.Request) bool {
	path := strings.TrimSuffix(r.URL.Path, "/")
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		return strings.EqualFold(path, f.prefix+"/auth/email-confirmation")
	}
	return !strings.EqualFold(path, f.prefix+"/auth/local") && !strings.EqualFold(path, f.graphql) && !strings.EqualFold(path, mcpPath)
}

// forward is the step of that name.
func (f *forwarder) forward(r *http.Request, serve server.Serve) server.Serve {
	if !f.takes(r) {
		return serve
	}
	return f.wrap(serve)
}

// wrap wraps what answers a write: it is sent to the server that takes the writes, unless this one does.
func (f *forwarder) wrap(serve server.Serve) server.Serve {
	return func(w http.ResponseWriter, r *http.Request, documentID string) error {
		end, at, err := f.to.begin(r.Context())
		if err != nil {
			return err
		}
		defer end() // also before the request is retried
		if at == nil {
			return serve(w, r, documentID)
		}
		r, ok := server.Unread(r)
		if !ok {
			return store.ErrNotLeader
		}
		return f.serve(w, r, at)
	}
}

// serve sends a request to the server at an address, as upstream.begin returned it, and answers with what that answers.
func (f *forwarder) serve(w http.ResponseWriter, r *http.Request, base *url.URL) error {
	if times := timesVia(r, f.via); times > 0 {
		if looped := f.to.looped(times); looped != nil {
			return looped
		}
	}
	for since := (time.Time{}); ; {
		a := f.send(w, r, base)
		if a.failed == nil {
			return nil
		}
		if !a.sent() && !a.body.begun {
			if since.IsZero() {
				since = time.Now()
			}
			if base = f.to.instead(r.Context(), base, since); base != nil {
				continue
			}
		}
		return f.failure(w, a)
	}
}

// timesVia returns how often a request was forwarded by the server that a value of the header Via names.
func timesVia(r *http.Request, via string) (times int) {
	for _, all := range r.Header["Via"] {
		times += strings.Count(all, via)
	}
	return times
}

// send sends a request to a server, and answers with what that answers, unless it fails.
func (f *forwarder) send(w http.ResponseWriter, r *http.Request, base *url.URL) *attempt {
	a := &attempt{}
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	unanswered, answered := context.WithCancel(ctx)
	defer answered()
	go func() {
		if f.to.awaitLoss(unanswered, base) == nil {
			cancel(replication.ErrSilent)
		}
	}()
	stall := time.AfterFunc(time.Hour, func() { cancel(replication.ErrSilent) })
	stall.Stop()
	defer stall.Stop()
	a.body = forwardedBody{body: r.Body, stall: stall, over: ctx.Done()}
	request := r.WithContext(a.trace(ctx))
	switch {
	case r.Body != nil && r.Body != http.NoBody:
		request.Body = &a.body
	case r.Body != nil && r.Method == http.MethodGet: // if the connection breaks, net/http sends it again by itself, unless it may have a body
		request.Body, request.ContentLength = &a.body, -1
	}
	proxy := httputil.ReverseProxy{
		Transport: f.transport,
		Rewrite:   func(p *httputil.ProxyRequest) { f.rewrite(p, base, w.Header()) },
		ModifyResponse: func(answer *http.Response) error {
			answered()
			a.body.stop()
			f.adopt(ctx, answer, w.Header())
			answer.Body = &stallReader{answer.Body, stall}
			return nil
		},
		ErrorHandler: func(_ http.ResponseWriter, _ *http.Request, err error) {
			a.body.stop()
			a.failed = errors.Join(err, a.body.failed)
		},
		ErrorLog: slog.NewLogLogger(f.log.Handler(), slog.LevelDebug),
	}
	proxy.ServeHTTP(w, request)
	return a
}

// rewrite addresses a request to the upstream. given are the headers that this server has set in its answer.
func (f *forwarder) rewrite(p *httputil.ProxyRequest, base *url.URL, given http.Header) {
	p.SetURL(base)
	h := p.Out.Header
	h["X-Forwarded-For"] = p.In.Header["X-Forwarded-For"]
	p.SetXForwarded()
	h["Via"] = append(p.In.Header["Via"], f.via)
	h[server.RequestID] = given[server.RequestID]
	h.Del("Accept-Encoding") // this server compresses answers itself
	h.Del("Expect")
	// By these names net/http knows a request that it may send again by itself, if it has no body and the connection breaks. The outcome would be told wrongly then.
	for _, name := range []string{server.IdempotencyKey, "X-Idempotency-Key"} {
		if values, ok := h[name]; ok {
			delete(h, name)
			h[strings.ToLower(name)] = values
		}
	}
}

// adopt prepares an answer of the upstream for the client. It waits until this server has applied what the upstream has written. Headers that this
// server has set itself, such as those of CORS, stay.
func (f *forwarder) adopt(ctx context.Context, answer *http.Response, given http.Header) {
	for name, own := range given {
		if name == "Vary" {
			answer.Header[name] = server.VaryBeyond(own, answer.Header[name])
		} else {
			answer.Header.Del(name)
		}
	}
	behind := answer.Header.Get(forwardedHeader) == pending // the origin is a replica itself
	answer.Header.Del(forwardedHeader)
	if answer.StatusCode >= http.StatusBadRequest {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, maxCatchUp)
	defer cancel()
	if behind || f.to.catchUp(ctx, answer) != nil {
		answer.Header[forwardedHeader] = []string{pending}
	} else {
		answer.Header[forwardedHeader] = []string{applied}
	}
}

// originOf is the origin that a replica follows, as an upstream.
type originOf struct {
	project *Project
	origin  *replication.Origin
	url     *url.URL
	dial    dialer
}

// newOriginOf returns the origin that a project follows. prefix is the path of the REST API of both.
func newOriginOf(p *Project, prefix string) (*originOf, error) {
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
	return &originOf{p, origin, &base, dial}, nil
}

func (o *originOf) begin(context.Context) (func(), *url.URL, error) { return func() {}, o.url, nil }
func (*originOf) looped(int) *apierror.Error {
	return &apierror.Error{Status: http.StatusLoopDetected, Name: "LoopDetectedError", NoDetails: true, Reason: apierror.Origin,
		Message: "the replica forwards writes to itself: give it the address of another server to follow"}
}
func (*originOf) instead(context.Context, *url.URL, time.Time) *url.URL { return nil }
func (*originOf) awaitLoss(ctx context.Context, _ *url.URL) error {
	<-ctx.Done()
	return ctx.Err()
}
func (o *originOf) name() string { return "the server " + o.origin.Base() }
func (o *originOf) close()       { o.origin.Close() }

// catchUp waits until the replica has applied all that the origin has written so far.
func (o *originOf) catchUp(ctx context.Context, _ *http.Response) error {
	want, err := o.origin.Position(ctx)
	if err != nil {
		return err
	}
	return o.project.reach(ctx, want)
}

// reach waits until reads show all that was written up to a position.
func (p *Project) reach(ctx context.Context, want store.Position) error {
	for {
		g := p.generation.Load()
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

// failure returns the answer to a request that the upstream has not answered.
func (f *forwarder) failure(w http.ResponseWriter, a *attempt) error {
	var told *apierror.Error
	err := a.failed
	if errors.As(a.body.failed, &told) || errors.Is(err, context.Canceled) && !errors.Is(err, replication.ErrSilent) {
		return err
	}
	f.log.Warn("a write could not be forwarded", "to", f.to.name(), "id", w.Header().Get(server.RequestID), "error", err)
	w.Header()["Retry-After"] = server.RetrySoon
	unavailable := &apierror.Error{Status: http.StatusServiceUnavailable, Name: "ServiceUnavailableError", Reason: apierror.Origin}
	if !a.sent() {
		unavailable.Message = fmt.Sprintf("%s, which takes the writes, cannot be reached; nothing was written", f.to.name())
		unavailable.Details = jsontree.ObjectOf("outcome", "refused")
		return unavailable
	}
	unavailable.Message = fmt.Sprintf("%s, which takes the writes, did not answer; it may have written", f.to.name())
	unavailable.Details = jsontree.ObjectOf("outcome", "unknown")
	return unavailable
}
