package cluster

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"lectern/documents/apierror"
	"lectern/gateway/internal/forward"
	"lectern/internal/silentnet"
)

// newLeader returns what a node knows about the leader, and a function that forwards a write to the leader.
func newLeader(t *testing.T, dial forward.Dialer,
	address string) (n *Node, write func(http.ResponseWriter, *http.Request) error) {
	n = &Node{options: Options{Settings: &Settings{Name: "n2"}}}
	n.leader.Store(&address)
	f := forward.New(forward.Link{To: Leader{n}, Via: via, Transport: &http.Transport{DialContext: dial}}, nil,
		time.Hour, slog.New(slog.DiscardHandler))
	t.Cleanup(f.Close)
	return n, func(w http.ResponseWriter, r *http.Request) error {
		end, at, err := f.To.Begin(r.Context())
		if err != nil {
			return err
		}
		defer end()
		return f.Send(w, r, at)
	}
}

// via names the node in the header Via.
const via = "1.1 test"

// TestForwardedWhileLeadChanges changes the leader while it carries out a write that another node has forwarded. That
// node gives the answer if there is one.
func TestForwardedWhileLeadChanges(t *testing.T) {
	const first, other = "first.example:1", "other.example:1"
	type change struct {
		after  time.Duration
		leader string
	}
	never := time.Hour
	for _, c := range []struct {
		name    string
		changes []change
		head    time.Duration // until the leader sends the headers of its answer
		rest    time.Duration // from then on until it sends the body
		unknown time.Duration // when the write fails with an unknown outcome; 0: it is known
	}{
		{name: "nothing is heard from the leader for a second",
			changes: []change{{time.Second, ""}, {time.Second, first}}, head: 20 * time.Second},
		{name: "again and again", changes: []change{{time.Second, ""}, {4 * time.Second, first}, {time.Second, ""},
			{4 * time.Second, first}}, head: 20 * time.Second},
		{name: "another leads, and the first leader answers",
			changes: []change{{time.Second, ""}, {time.Second, other}}, head: 3 * time.Second},
		{name: "another leads, and the first leader never answers",
			changes: []change{{time.Second, ""}, {time.Second, other}}, head: never, unknown: 6 * time.Second},
		{name: "nobody leads any more", changes: []change{{time.Second, ""}}, head: never, unknown: 6 * time.Second},
		{name: "another leads while the answer is sent", changes: []change{{2 * time.Second, other}}, head: time.Second,
			rest: 10 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				over := silentnet.New()
				leader := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					_, _ = io.Copy(io.Discard, r.Body) // net/http notices only then that the client is gone
					select {
					case <-time.After(c.head):
					case <-r.Context().Done():
						return
					}
					w.WriteHeader(http.StatusCreated)
					_ = http.NewResponseController(w).Flush()
					time.Sleep(c.rest)
					_, _ = io.WriteString(w, "created")
				})}
				go leader.Serve(over)
				defer leader.Close()
				n, write := newLeader(t, over.Dial, first)
				defer time.Sleep(never) // all goroutines end, also when the test fails
				go func() {
					for _, change := range c.changes {
						time.Sleep(change.after)
						n.setLeader(change.leader)
					}
				}()
				w, began := httptest.NewRecorder(), time.Now()
				err := write(w, httptest.NewRequest("POST", "/api/notes",
					strings.NewReader(`{"data":{"title":"new"}}`)))
				took := time.Since(began)
				switch {
				case c.unknown == 0:
					if err != nil || w.Code != http.StatusCreated || w.Body.String() != "created" ||
						took != c.head+c.rest {
						t.Errorf("after %v: %d %q %v", took, w.Code, w.Body, err)
					}
				case err == nil || !strings.Contains(err.Error(), "it may have written") || took != c.unknown:
					t.Errorf("after %v: %d %v", took, w.Code, err)
				}
			})
		})
	}
}

// TestSendsTo changes the leader while it carries out a write. Until that is answered, the node tells that it has sent
// it: the leader before may be about to end.
func TestSendsTo(t *testing.T) {
	const first, other = "first.example:1", "other.example:1"
	synctest.Test(t, func(t *testing.T) {
		over, carryOut := silentnet.New(), make(chan struct{})
		leader := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { <-carryOut })}
		go leader.Serve(over)
		defer leader.Close()
		n, write := newLeader(t, over.Dial, first)
		answered := make(chan error)
		go func() {
			answered <- write(httptest.NewRecorder(),
				httptest.NewRequest("POST", "/api/notes", strings.NewReader("{}")))
		}()
		synctest.Wait()
		n.setLeader(other)
		if s := n.state(); s.Leader != other || !slices.Equal(s.SendsTo, []string{first}) {
			t.Errorf("the leader is %s, and writes are sent to %q", s.Leader, s.SendsTo)
		}
		close(carryOut)
		if err := <-answered; err != nil {
			t.Error(err)
		}
		if s := n.state(); len(s.SendsTo) > 0 {
			t.Errorf("after the answer, writes are sent to %q", s.SendsTo)
		}
	})
}

// TestForwardedToUnreachedLeader forwards a write to a leader that cannot be reached, or not at once. It is sent to
// whoever leads then.
func TestForwardedToUnreachedLeader(t *testing.T) {
	const first, other = "first.example:1", "other.example:1"
	for _, c := range []struct {
		name   string
		fails  int           // connections to the first leader fail so many times
		hangs  bool          // they take for ever after that
		next   string        // who leads after a second; "": still the first leader
		took   time.Duration // until the answer
		status int           // of the answer
	}{
		{name: "a connection fails", fails: 1, took: 500 * time.Millisecond, status: http.StatusCreated},
		{name: "connections fail for a while", fails: 8, took: 4 * time.Second, status: http.StatusCreated},
		{name: "no connection succeeds", fails: 1000, took: 5 * time.Second},
		{name: "another leads", fails: 1000, next: other, took: time.Second, status: http.StatusCreated},
		{name: "another leads while the connection is opened", hangs: true, next: other, took: 6 * time.Second,
			status: http.StatusCreated},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				over := silentnet.New()
				leader := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter,
					r *http.Request) {
					w.WriteHeader(http.StatusCreated)
				})}
				go leader.Serve(over)
				defer leader.Close()
				fails := c.fails
				n, write := newLeader(t, func(ctx context.Context, network, address string) (net.Conn, error) {
					if address == first {
						if fails--; fails >= 0 {
							return nil, syscall.ECONNREFUSED
						}
						if c.hangs {
							<-ctx.Done()
							return nil, ctx.Err()
						}
					}
					return over.Dial(ctx, network, address)
				}, first)
				time.AfterFunc(time.Second, func() {
					if c.next != "" {
						n.setLeader(c.next)
					}
				})
				w, began := httptest.NewRecorder(), time.Now()
				err := write(w, httptest.NewRequest("POST", "/api/notes",
					strings.NewReader(`{"data":{"title":"new"}}`)))
				if took := time.Since(began); took != c.took {
					t.Errorf("the answer took %v, want %v", took, c.took)
				}
				if c.status == 0 {
					if err == nil || !strings.Contains(err.Error(), "nothing was written") {
						t.Errorf("%d %v", w.Code, err)
					}
				} else if err != nil || w.Code != c.status {
					t.Errorf("%d %v", w.Code, err)
				}
			})
		})
	}
}

// TestForwardedAgain forwards writes that have come back: while the lead changes, as often as it does, but not for
// ever.
func TestForwardedAgain(t *testing.T) {
	for times, status := range []int{http.StatusCreated, http.StatusCreated, http.StatusCreated,
		http.StatusServiceUnavailable} {
		synctest.Test(t, func(t *testing.T) {
			over := silentnet.New()
			leader := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter,
				r *http.Request) {
				w.WriteHeader(http.StatusCreated)
			})}
			go leader.Serve(over)
			defer leader.Close()
			_, write := newLeader(t, over.Dial, "leader.example:1")
			r, w := httptest.NewRequest("POST", "/api/notes", strings.NewReader("{}")), httptest.NewRecorder()
			for range times {
				r.Header.Add("Via", via)
				r.Header.Add("Via", "1.1 another")
			}
			err := write(w, r)
			if refused := (*apierror.Error)(nil); errors.As(err, &refused) {
				w.Code = refused.Status
			}
			if w.Code != status {
				t.Errorf("after %d times: %d %v, want %d", times, w.Code, err, status)
			}
		})
	}
}
