package gateway

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// newLeader returns what a node with the options of a cluster knows about the leader, and a forwarder to the leader over a network.
func newLeader(over *network, address string) (*member, *forwarder) {
	m := &member{options: &Cluster{Name: "follower"}}
	m.leader.Store(&address)
	return m, &forwarder{to: leaderOf{m}, log: slog.New(slog.DiscardHandler), via: "1.1 test", transport: &http.Transport{DialContext: over.dial}}
}

// TestForwardedWhileLeadChanges changes the leader while it carries out a write that a follower has forwarded. The follower gives the answer if there is one.
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
		unknown time.Duration // when the outcome is told to be unknown; 0: it is known
	}{
		{name: "the follower hears nothing from the leader for a moment", changes: []change{{time.Second, ""}, {time.Second, first}}, head: 20 * time.Second},
		{name: "again and again", changes: []change{{time.Second, ""}, {4 * time.Second, first}, {time.Second, ""}, {4 * time.Second, first}}, head: 20 * time.Second},
		{name: "another leads, and the former leader answers", changes: []change{{time.Second, ""}, {time.Second, other}}, head: 3 * time.Second},
		{name: "another leads, and the former leader never answers", changes: []change{{time.Second, ""}, {time.Second, other}}, head: never, unknown: 6 * time.Second},
		{name: "nobody leads any more", changes: []change{{time.Second, ""}}, head: never, unknown: 6 * time.Second},
		{name: "another leads while the answer is sent", changes: []change{{2 * time.Second, other}}, head: time.Second, rest: 10 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				over := newNetwork()
				leader := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					_, _ = io.Copy(io.Discard, r.Body) // net/http notices only then that a follower is gone
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
				m, f := newLeader(over, first)
				defer f.close()
				defer time.Sleep(never) // all goroutines end, also when the test fails
				go func() {
					for _, change := range c.changes {
						time.Sleep(change.after)
						m.setLeader(change.leader)
					}
				}()
				w, began := httptest.NewRecorder(), time.Now()
				err := f.serve(w, httptest.NewRequest("POST", "/api/notes", strings.NewReader(`{"data":{"title":"new"}}`)))
				took := time.Since(began)
				switch {
				case c.unknown == 0:
					if err != nil || w.Code != http.StatusCreated || w.Body.String() != "created" || took != c.head+c.rest {
						t.Errorf("after %v: %d %q %v", took, w.Code, w.Body, err)
					}
				case err == nil || !strings.Contains(err.Error(), "it may have written") || took != c.unknown:
					t.Errorf("after %v: %d %v", took, w.Code, err)
				}
			})
		})
	}
}
