package gateway

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

func (fixedUpstream) begin(context.Context) (func(), bool)                  { return nil, false }
func (u fixedUpstream) base(context.Context) (*url.URL, error)              { return u.at, nil }
func (fixedUpstream) instead(context.Context, *url.URL, time.Time) *url.URL { return nil }
func (fixedUpstream) awaitLoss(ctx context.Context, _ *url.URL) error {
	<-ctx.Done()
	return ctx.Err()
}
func (fixedUpstream) catchUp(context.Context, *http.Response) error { return nil }
func (fixedUpstream) looped() *apierror.Error                       { return nil }
func (fixedUpstream) name() string                                  { return "the upstream" }
func (fixedUpstream) close()                                        {}

// TestForwardedOnce forwards deletions over a connection that breaks after the request. net/http repeats some requests by itself then, which were carried
// out already.
func TestForwardedOnce(t *testing.T) {
	for _, header := range []string{"", "Idempotency-Key", "X-Idempotency-Key"} {
		var deletions atomic.Int32
		upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodDelete {
				return
			}
			deletions.Add(1)
			c, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			if tcp, ok := c.(*net.TCPConn); ok {
				_ = tcp.SetLinger(0) // a reset
			}
			_ = c.Close()
		}))
		at, err := url.Parse(upstream.URL)
		if err != nil {
			t.Fatal(err)
		}
		f := &forwarder{to: fixedUpstream{at}, log: slog.New(slog.DiscardHandler), via: "1.1 test", transport: &http.Transport{DialContext: counting((&net.Dialer{}).DialContext)}}
		for _, method := range []string{http.MethodPost, http.MethodDelete} { // the second over the connection of the first
			r := httptest.NewRequest(method, "/api/notes/some", http.NoBody)
			if header != "" {
				r.Header.Set(header, "one")
			}
			if err := f.serve(httptest.NewRecorder(), r); (err == nil) != (method == http.MethodPost) {
				t.Errorf("%s with %q: %v", method, header, err)
			}
		}
		if n := deletions.Load(); n != 1 {
			t.Errorf("with %q: carried out %d times", header, n)
		}
		f.transport.CloseIdleConnections()
		upstream.Close()
	}
}
