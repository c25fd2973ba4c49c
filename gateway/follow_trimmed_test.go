package gateway_test

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"lectern/gateway"
	"lectern/store"
)

// A gap is a proxy before a server that can be cut off.
type gap struct {
	*httptest.Server
	closed atomic.Bool
}

func newGap(t *testing.T, base string) *gap {
	t.Helper()
	u, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(u)
	proxy.FlushInterval = -1 // at once
	g := &gap{}
	g.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if g.closed.Load() {
			panic(http.ErrAbortHandler)
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(func() { g.CloseClientConnections(); g.Close() })
	return g
}

// cut breaks all connections, and lets none through.
func (g *gap) cut() {
	g.closed.Store(true)
	g.CloseClientConnections()
}

func (g *gap) mend() { g.closed.Store(false) }

// TestReplicaBeginsAnewAfterATrimmedLog cuts a replica off until the origin's log no longer has the entries that it
// lacks. The replica serves what it has meanwhile, then begins anew with a copy, and so does a replica that follows it.
// A listener at the replica is told to begin anew too.
func TestReplicaBeginsAnewAfterATrimmedLog(t *testing.T) {
	e := newEditingAt(t, writeProject(t, map[string]string{
		"content-types/note.yaml": noteFile("rank: {type: integer}"), "config/server.yaml": "log: {maxSize: 1mb}",
	}))
	random := make([]byte, 48<<10)
	write := func(title string) {
		t.Helper()
		_, _ = rand.Read(random) // never fails
		body := fmt.Sprintf(`{"data":{"title":%q,"body":%q}}`, title, hex.EncodeToString(random))
		if status, answer := send(t, http.MethodPost, e.base+"/api/notes", e.key, body); status != 201 {
			t.Fatal(status, answer)
		}
	}
	write("first")
	const reads = "/api/notes?fields[0]=title&sort=title&pagination[pageSize]=100"
	way := newGap(t, e.base)
	near := follow(t, t.TempDir(), way.URL, e.key)
	far := follow(t, t.TempDir(), near.base, e.key)
	near.equals(e.base, e.key, reads)
	far.equals(e.base, e.key, reads)
	listener := newAPI(t, gateway.Ready{Base: near.base, Tokens: map[string]string{"full": e.key}}).listenTo(
		"since=now", "full")
	told := func() string {
		t.Helper()
		select {
		case text := <-listener.events:
			return text
		case <-time.After(20 * time.Second):
			t.Fatal("the listener is told nothing")
			return ""
		}
	}
	write("second")
	far.equals(e.base, e.key, reads)
	if got := told(); !strings.HasPrefix(got, "create note.note") {
		t.Fatalf("the listener is told %q", got)
	}
	_, served := get(t, near.base+reads, e.key)

	way.cut()
	last, notes := e.project.Store().Revision(), 2
	trimmed := func() (past bool) {
		e.must(e.project.Store().View(func(s *store.Snapshot) error {
			oldest, err := s.OldestPosition()
			past = oldest.Sequence > last
			return err
		}))
		return past
	}
	for ; !trimmed(); notes++ {
		if notes > 200 {
			t.Fatal("the log is not trimmed")
		}
		write(fmt.Sprint("missed ", notes))
	}
	if _, got := get(t, near.base+reads, e.key); got != served {
		t.Errorf("while it is cut off, the replica answers %s, want %s", got, served)
	}
	way.mend()
	near.equals(e.base, e.key, reads)
	far.equals(e.base, e.key, reads)
	for name, r := range map[string]*replica{"the replica": near, "the replica of the replica": far} {
		if log := r.log.String(); strings.Count(log, "begins anew") != 1 ||
			!strings.Contains(log, "no longer has all entries") {
			t.Errorf("%s: %s", name, log)
		}
	}
	if got := told(); got != "reset" {
		t.Fatalf("the listener is told %q", got)
	}
	for range notes {
		if got := told(); !strings.HasPrefix(got, "create note.note") {
			t.Fatalf("the listener is told %q", got)
		}
	}
	write("the last one")
	near.equals(e.base, e.key, reads)
	far.equals(e.base, e.key, reads)
}
