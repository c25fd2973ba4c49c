package gateway

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"lectern/auth"
	"lectern/gateway/internal/forward"
	"lectern/gateway/internal/server"
	"lectern/internal/storetest"
	"lectern/media"
	"lectern/store"
)

// fixedUpstream is an upstream at one address.
type fixedUpstream struct {
	forward.Upstream
	at *url.URL
}

func (fixedUpstream) AwaitLoss(ctx context.Context, _ *url.URL) error {
	<-ctx.Done()
	return ctx.Err()
}
func (fixedUpstream) CatchUp(context.Context, *http.Response) error { return nil }
func (fixedUpstream) Close()                                        {}

// newForward returns what forwards all writes to an upstream.
func newForward(to forward.Upstream) *forward.Forwarder {
	link := forward.Link{To: to, Via: "1.1 test", Transport: &http.Transport{DialContext: (&net.Dialer{}).DialContext}}
	return forward.New(link, func(*http.Request) bool { return true }, time.Hour, slog.New(slog.DiscardHandler))
}

// ownUpstream is the upstream of a server that takes its writes itself. It counts those that are under way.
type ownUpstream struct {
	fixedUpstream
	writes atomic.Int32
}

func (u *ownUpstream) Begin(context.Context) (func(), *url.URL, error) {
	u.writes.Add(1)
	return func() { u.writes.Add(-1) }, nil, nil
}

// TestWriteThatWaitsForARetryIsNotUnderWay sends a write while the definitions change. Until it is retried, it is not
// under way: a leader that hands the lead over need not wait for the new definitions.
func TestWriteThatWaitsForARetryIsNotUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u, tries := &ownUpstream{}, 0
		rt := server.API{Steps: server.Steps{Forward: newForward(u).Step},
			Routes: []server.Route{{Method: http.MethodPost, Path: "/notes", Open: true,
				Handle: func(w http.ResponseWriter, _ *http.Request, _ auth.Principal) error {
					if tries++; tries == 1 {
						return store.ErrRedefined
					}
					w.WriteHeader(http.StatusCreated)
					return nil
				}}}}
		s, err := server.New(server.Config{}, rt)
		if err != nil {
			t.Fatal(err)
		}
		w, answered := httptest.NewRecorder(), make(chan struct{})
		go func() {
			defer close(answered)
			s.Handler().ServeHTTP(w, httptest.NewRequest("POST", "/notes", nil))
		}()
		synctest.Wait()
		if u.writes.Load() != 0 {
			t.Error("the write is under way while it waits for the new definitions")
		}
		if err := s.Swap(rt); err != nil {
			t.Fatal(err)
		}
		<-answered
		if w.Code != http.StatusCreated || tries != 2 {
			t.Errorf("%d after %d tries", w.Code, tries)
		}
	})
}

// lostUpstream is the upstream of a server that takes a write itself, and does not when that is retried.
type lostUpstream struct {
	fixedUpstream
	begun bool
}

func (u *lostUpstream) Begin(context.Context) (func(), *url.URL, error) {
	if u.begun {
		return func() {}, u.at, nil
	}
	u.begun = true
	return func() {}, nil, nil
}

// TestRetryElsewhereSendsTheWholeBody sends a write that is to be retried after its body was read, when another server
// takes the writes. That gets the whole body.
func TestRetryElsewhereSendsTheWholeBody(t *testing.T) {
	const text = `{"data":{"title":"new"}}`
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	if _, err := io.WriteString(z, text); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	wholly := func(r *http.Request) error {
		_, err := (&server.Limits{}).ReadAll(r, 1<<10)
		return err
	}
	library, err := media.Open(media.Options{Dir: t.TempDir(), Model: storetest.Model(t, fstest.MapFS{"content-types": {Mode: fs.ModeDir}})})
	if err != nil {
		t.Fatal(err)
	}
	defer library.Close()
	for _, c := range []struct {
		name, encoding, kind, sent string
		read                       func(*http.Request) error
		status                     int
	}{
		{name: "not read", sent: text, read: func(*http.Request) error { return nil }, status: http.StatusCreated},
		{name: "read as a whole", sent: text, read: wholly, status: http.StatusCreated},
		{name: "compressed", encoding: "gzip", sent: zipped.String(), read: wholly, status: http.StatusCreated},
		{name: "begun", sent: text, read: func(r *http.Request) error {
			_, err := r.Body.Read(make([]byte, 3))
			return err
		}, status: http.StatusCreated},
		{name: "a form", kind: "multipart/form-data; boundary=x", sent: "--x--\r\n", read: func(r *http.Request) error {
			_, _, err := (&server.Limits{}).ReadForm(nil, r, library)
			return err
		}, status: http.StatusServiceUnavailable},
	} {
		t.Run(c.name, func(t *testing.T) {
			origin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				from := io.Reader(r.Body)
				if r.Header.Get("Content-Encoding") == "gzip" {
					var err error
					if from, err = gzip.NewReader(r.Body); err != nil {
						t.Error(err)
						return
					}
				}
				if got, err := io.ReadAll(from); err != nil || string(got) != text {
					t.Errorf("the other server gets %q, %v", got, err)
				}
				w.WriteHeader(http.StatusCreated)
			}))
			defer origin.Close()
			at, err := url.Parse(origin.URL)
			if err != nil {
				t.Fatal(err)
			}
			f := newForward(&lostUpstream{fixedUpstream: fixedUpstream{at: at}})
			defer f.Close()
			var s *server.Server
			rt := server.API{Steps: server.Steps{Forward: f.Step}}
			rt.Routes = []server.Route{{Method: http.MethodPost, Path: "/notes", Open: true,
				Handle: func(_ http.ResponseWriter, r *http.Request, _ auth.Principal) error {
					if err := c.read(r); err != nil {
						return err
					}
					if err := s.Swap(rt); err != nil {
						return err
					}
					return store.ErrRedefined
				}}}
			if s, err = server.New(server.Config{}, rt); err != nil {
				t.Fatal(err)
			}
			r, w := httptest.NewRequest("POST", "/notes", strings.NewReader(c.sent)), httptest.NewRecorder()
			if c.encoding != "" {
				r.Header.Set("Content-Encoding", c.encoding)
			}
			r.Header.Set("Content-Type", c.kind)
			s.Handler().ServeHTTP(w, r)
			if w.Code != c.status || c.status >= 400 && !strings.Contains(w.Body.String(), "refused") {
				t.Errorf("%d %s", w.Code, w.Body)
			}
		})
	}
}
