package gateway_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"lectern/gateway"
)

// A countingHook is a receiver of webhooks that counts how often each event was sent. It does not answer the next
// request when hangs is set.
type countingHook struct {
	*httptest.Server
	hangs  atomic.Bool
	mu     sync.Mutex
	events map[string]int // by id
}

func newCountingHook(t *testing.T) *countingHook {
	h := &countingHook{events: map[string]int{}}
	h.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // only then the server notices that the sender waits no more
		h.mu.Lock()
		h.events[r.Header.Get("webhook-id")]++
		h.mu.Unlock()
		if h.hangs.CompareAndSwap(true, false) {
			<-r.Context().Done()
		}
	}))
	t.Cleanup(h.Close)
	return h
}

// counts returns how many events there were, and how many of them came more than once.
func (h *countingHook) counts() (events, repeated int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, times := range h.events {
		if times > 1 {
			repeated++
		}
	}
	return len(h.events), repeated
}

// TestHandoverSendsEachEventOnce passes the lead on, by a command and by stops of the leader, while clients write and a
// webhook tells of each write: each event is sent once. A receiver that answers nothing does not keep the lead.
func TestHandoverSendsEachEventOnce(t *testing.T) {
	hook := newCountingHook(t)
	nodes := newStoppedCluster(t, 3)
	declared := fmt.Appendf(
		nil, "webhooks: [{name: all, url: %q, events: [entry.create], types: [api::article.article], allowPrivate: [127.0.0.1]}]\n", hook.URL)
	for _, n := range nodes {
		if err := os.WriteFile(filepath.Join(n.dir, "config", "webhooks.yaml"), declared, 0o644); err != nil {
			t.Fatal(err)
		}
		n.options.Cluster.Heartbeat = calmHeartbeat
		n.start()
	}
	token := nodes[0].token("writer")
	for _, n := range nodes {
		n.awaitAge(token, "0")
	}
	body := `{"data":{"title":"%[1]s","slug":"%[1]s"}}`
	writers := []*handoverWriter{
		{node: nodes[1], path: "/api/articles?status=draft", body: body, status: http.StatusCreated},
		{node: nodes[2], path: "/api/articles?status=draft", body: body, status: http.StatusCreated},
	}
	awaitWrites, end := startWriters(t, token, writers)
	operator := gateway.Directory(nodes[1].dir, gateway.Options{})
	for _, to := range []string{"n2", "n3", "n1"} {
		awaitWrites()
		if err := operator.TransferLead(t.Context(), to); err != nil {
			t.Error(err)
		}
	}
	awaitWrites()
	if err := nodes[0].stop(); err != nil {
		t.Error(err)
	}
	awaitWrites()
	nodes[0].start()
	awaitWrites()
	end()
	written := int(writers[0].writes.Load() + writers[1].writes.Load())
	until(t, "all events are sent", func() bool { events, _ := hook.counts(); return events >= written })
	if events, repeated := hook.counts(); events != written || repeated > 0 {
		t.Fatalf("%d events of %d writes, %d of them more than once", events, written, repeated)
	}

	hook.hangs.Store(true)
	if err := writers[0].write(t.Context(), token, "hanging"); err != nil {
		t.Fatal(err)
	}
	until(t, "the receiver hangs", func() bool { events, _ := hook.counts(); return events == written+1 })
	if err := operator.TransferLead(t.Context(), ""); err != nil {
		t.Error(err)
	}
	until(t, "the next leader sends the event again",
		func() bool { _, repeated := hook.counts(); return repeated == 1 })
}
