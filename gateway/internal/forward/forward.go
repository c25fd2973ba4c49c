// Package forward sends the writes that clients send to this server to the one that takes them: the origin of a
// replica, or the leader of a cluster.
package forward

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
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

// forwardedHeader is the header of an answer to a write that was forwarded and succeeded. It says whether reads of this
// server show what was written.
const (
	forwardedHeader = "Lectern-Forwarded"
	applied         = "applied"
	pending         = "pending" // not yet
)

const (
	// MaxStall is how long the upstream may take no byte of a request, or send none of an answer that has begun.
	MaxStall = 15 * time.Second
	// MaxOverhead is how much longer than timeouts.request may take what waits for another request: a forwarded request
	// until its answer begins, and a message of MCP.
	MaxOverhead = 5 * time.Second
)

// A Forwarder sends the writes that clients send to this server to another, with the credentials of the clients. It is
// safe for concurrent use.
type Forwarder struct {
	Link
	Takes func(*http.Request) bool // reports whether a request may write, so that it is for the upstream
	log   *slog.Logger
}

// New returns a Forwarder over a link whose transport is not used yet. takes reports whether a request may write, and
// work is how long one may take.
func New(link Link, takes func(*http.Request) bool, work time.Duration, log *slog.Logger) *Forwarder {
	link.Transport.ResponseHeaderTimeout = work + MaxOverhead
	link.Transport.DialContext = counting(link.Transport.DialContext)
	return &Forwarder{link, takes, log}
}

// Close closes the connections that are not in use.
func (f *Forwarder) Close() {
	f.Transport.CloseIdleConnections()
	f.To.Close()
}

// Step is the step Forward of server.Steps: a write is sent to the server that takes the writes, unless this one does.
func (f *Forwarder) Step(r *http.Request, serve server.Serve) server.Serve {
	if !f.Takes(r) {
		return serve
	}
	return func(w http.ResponseWriter, r *http.Request, documentID string) error {
		end, at, err := f.To.Begin(r.Context())
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
		return f.Send(w, r, at)
	}
}

// Send sends a request to the server at an address, as Upstream.Begin returned it, and answers with what that answers.
func (f *Forwarder) Send(w http.ResponseWriter, r *http.Request, base *url.URL) error {
	if times := Times(r, f.Via); times > 0 {
		if looped := f.To.Looped(times); looped != nil {
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
			if base = f.To.Instead(r.Context(), base, since); base != nil {
				continue
			}
		}
		return f.failure(w, a)
	}
}

// send sends a request to a server, and answers with what that answers, unless it fails.
func (f *Forwarder) send(w http.ResponseWriter, r *http.Request, base *url.URL) *attempt {
	a := &attempt{}
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	unanswered, answered := context.WithCancel(ctx)
	defer answered()
	go func() {
		if f.To.AwaitLoss(unanswered, base) == nil {
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
	case r.Body != nil && r.Method == http.MethodGet:
		// If the connection breaks, net/http sends it again by itself, unless it may have a body.
		request.Body, request.ContentLength = &a.body, -1
	}
	proxy := httputil.ReverseProxy{
		Transport: f.Transport,
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
func (f *Forwarder) rewrite(p *httputil.ProxyRequest, base *url.URL, given http.Header) {
	p.SetURL(base)
	h := p.Out.Header
	h["X-Forwarded-For"] = p.In.Header["X-Forwarded-For"]
	p.SetXForwarded()
	h["Via"] = append(p.In.Header["Via"], f.Via)
	h[server.RequestID] = given[server.RequestID]
	h.Del("Accept-Encoding") // this server compresses answers itself
	h.Del("Expect")
	// By these names net/http knows a request that it may send again by itself, if it has no body and the connection
	// breaks. The outcome would be told wrongly then.
	for _, name := range []string{server.IdempotencyKey, "X-Idempotency-Key"} {
		if values, ok := h[name]; ok {
			delete(h, name)
			h[strings.ToLower(name)] = values
		}
	}
}

// adopt prepares an answer of the upstream for the client. It waits until this server has applied what the upstream has
// written. Headers that this server has set itself, such as those of CORS, stay.
func (f *Forwarder) adopt(ctx context.Context, answer *http.Response, given http.Header) {
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
	ctx, cancel := context.WithTimeout(ctx, MaxCatchUp)
	defer cancel()
	if behind || f.To.CatchUp(ctx, answer) != nil {
		answer.Header[forwardedHeader] = []string{pending}
	} else {
		answer.Header[forwardedHeader] = []string{applied}
	}
}

// failure returns the answer to a request that the upstream has not answered.
func (f *Forwarder) failure(w http.ResponseWriter, a *attempt) error {
	var refused *apierror.Error
	err := a.failed
	if errors.As(a.body.failed, &refused) || errors.Is(err, context.Canceled) && !errors.Is(err,
		replication.ErrSilent) {
		return err
	}
	f.log.Warn("a write could not be forwarded", "to", f.To.Name(), "id", w.Header().Get(server.RequestID), "error",
		err)
	w.Header()["Retry-After"] = server.RetrySoon
	unavailable := &apierror.Error{Status: http.StatusServiceUnavailable, Name: "ServiceUnavailableError",
		Reason: apierror.Origin}
	if !a.sent() {
		unavailable.Message = fmt.Sprintf("%s, which takes the writes, cannot be reached; nothing was written",
			f.To.Name())
		unavailable.Details = jsontree.ObjectOf("outcome", "refused")
		return unavailable
	}
	unavailable.Message = fmt.Sprintf("%s, which takes the writes, did not answer; it may have written", f.To.Name())
	unavailable.Details = jsontree.ObjectOf("outcome", "unknown")
	return unavailable
}
