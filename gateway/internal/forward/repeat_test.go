package forward

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"lectern/documents/apierror"
)

// fixedUpstream is an upstream at one address.
type fixedUpstream struct{ at *url.URL }

func (u fixedUpstream) Begin(context.Context) (func(), *url.URL, error)     { return func() {}, u.at, nil }
func (fixedUpstream) Instead(context.Context, *url.URL, time.Time) *url.URL { return nil }
func (fixedUpstream) AwaitLoss(ctx context.Context, _ *url.URL) error {
	<-ctx.Done()
	return ctx.Err()
}
func (fixedUpstream) CatchUp(context.Context, *http.Response) error { return nil }
func (fixedUpstream) Looped(int) *apierror.Error                    { return nil }
func (fixedUpstream) Name() string                                  { return "the upstream" }
func (fixedUpstream) Close()                                        {}

// TestForwardedOnce forwards writes without a body over a connection that breaks after the request. net/http repeats
// some requests by itself then, which were carried out already.
func TestForwardedOnce(t *testing.T) {
	for _, c := range []struct{ method, header string }{
		{method: http.MethodGet}, // confirms an e-mail address
		{method: http.MethodDelete},
		{method: http.MethodDelete, header: "Idempotency-Key"},
		{method: http.MethodDelete, header: "X-Idempotency-Key"},
	} {
		t.Run(c.method+" "+c.header, func(t *testing.T) {
			var writes atomic.Int32
			upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.ContentLength != 0 || r.TransferEncoding != nil {
					t.Errorf("%s has a body of %d bytes, %v", r.Method, r.ContentLength, r.TransferEncoding)
				}
				if r.Method != c.method {
					return
				}
				writes.Add(1)
				reset(t, w)
			}))
			defer upstream.Close()
			at, err := url.Parse(upstream.URL)
			if err != nil {
				t.Fatal(err)
			}
			f := New(Link{fixedUpstream{at}, "1.1 test", &http.Transport{DialContext: (&net.Dialer{}).DialContext}},
				nil, time.Hour, slog.New(slog.DiscardHandler))
			defer f.Transport.CloseIdleConnections()
			for _, method := range []string{http.MethodPost, c.method} { // the second over the connection of the first
				r := httptest.NewRequest(method, "/api/notes/some", http.NoBody)
				if c.header != "" {
					r.Header.Set(c.header, "one")
				}
				if err := f.Send(httptest.NewRecorder(), r, at); (err == nil) != (method == http.MethodPost) {
					t.Errorf("%s: %v", method, err)
				}
			}
			if n := writes.Load(); n != 1 {
				t.Errorf("carried out %d times", n)
			}
		})
	}
}

// reset ends the connection of a request with a TCP reset, without an answer.
func reset(t *testing.T, w http.ResponseWriter) {
	c, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		t.Error(err)
		return
	}
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = c.Close()
}
