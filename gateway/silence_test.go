package gateway

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"lectern/auth"
	"lectern/gateway/internal/replica"
	"lectern/gateway/internal/server"
	"lectern/internal/silentnet"
	"lectern/store"
)

// A node is a project with a server.
type node struct {
	*testing.T
	project *Project
	server  *server.Server
	key     string
}

// openNode opens a project with its server, which does not listen yet.
func openNode(t *testing.T, dir string, o Options) *node {
	t.Helper()
	o.Production, o.Log = true, slog.New(slog.DiscardHandler)
	n := &node{T: t}
	if o.Follow != nil {
		n.must(replica.Prepare(t.Context(), o.replicaOptions(dir)))
	}
	var err error
	n.project, err = Open(dir, o)
	n.must(err)
	t.Cleanup(func() { n.must(n.project.Close()) })
	n.server, err = server.New(n.project.serverConfig(), server.API{})
	n.must(err)
	n.project.server.Store(n.server)
	n.must(n.project.generation.Load().serveBy(n.server))
	return n
}

// positionIn returns the position behind the last entry of a store.
func positionIn(st *store.Store) (store.Position, error) { return replica.PositionOf(st) }

// replica returns the role of the server, which must be a replica.
func (n *node) replica() *replicaRole { return n.project.role.(*replicaRole) }

func (n *node) must(err error) {
	n.Helper()
	if err != nil {
		n.Fatal(err)
	}
}

// background runs f until the test ends.
func (n *node) background(f func(context.Context)) {
	ctx, cancel := context.WithCancel(context.Background())
	var ended sync.WaitGroup
	ended.Go(func() { f(ctx) })
	n.Cleanup(func() { cancel(); ended.Wait() })
}

// ask sends a request to the server without a network.
func (n *node) ask(method, path, key, body string) (int, string) {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+key)
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	n.server.Handler().ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

// write creates a document.
func (n *node) write(title string) {
	n.Helper()
	if status, answer := n.ask("POST", "/api/notes", n.key,
		fmt.Sprintf(`{"data":{"title":%q}}`, title)); status != 201 {
		n.Fatal(status, answer)
	}
}

// projectOfNotes returns the directory of a project with one type.
func projectOfNotes(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "content-types", "note.yaml")
	text := "kind: collectionType\ninfo: {singularName: note, pluralName: notes, displayName: Note}\nattributes:\n  title: {type: string}\n  text: {type: text}\n"
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// makeKey makes a token with full access.
func (n *node) makeKey() {
	n.Helper()
	_, key, err := n.project.CreateToken(n.Context(), auth.Declaration{Name: "sync", Kind: auth.FullAccess})
	n.must(err)
	n.key = key
}

// newOrigin opens an origin with a few documents, and serves it on a network.
func newOrigin(t *testing.T) (*node, *silentnet.Network) {
	n, over := openNode(t, projectOfNotes(t), Options{}), silentnet.New()
	n.makeKey()
	n.background(func(ctx context.Context) { n.must(n.server.Serve(ctx, over)) })
	n.background(func(ctx context.Context) { n.project.subscribers.Run(ctx) })
	for i := range 5 {
		n.write(fmt.Sprint("before ", i))
	}
	return n, over
}

// pass lets time pass in a bubble of synctest, whose clock goes on when all goroutines of the bubble wait: it takes no
// real time.
func pass(d time.Duration) {
	// Everything that is due in this time, by the clock of the bubble, is awaited.
	time.Sleep(d)
}

// TestReplicaRecoversFromSilence lets a network between a replica and its origin fall silent for an hour: no byte
// arrives and no connection ends, neither then nor later. The replica must give its connections up by itself, serve
// what it has, and end with the content of its origin.
func TestReplicaRecoversFromSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		origin, over := newOrigin(t)
		replica := openNode(
			t, t.TempDir(), Options{Follow: &Follow{URL: "http://origin.example", Token: origin.key, dial: over.Dial}})
		replica.background(replica.replica().Run)
		same := func() bool {
			const read = "/api/notes?sort=title&pagination[pageSize]=100"
			_, want := origin.ask("GET", read, origin.key, "")
			status, got := replica.ask("GET", read, origin.key, "")
			return status == 200 && got == want && strings.Contains(got, "before 4")
		}
		pass(time.Minute)
		if age := replica.replica().Age(); !same() || age > 10*time.Second {
			t.Fatalf("before the silence the replica is %v old, equal: %v", age, same())
		}

		over.FallSilent(false)
		for i := range 60 {
			origin.write(fmt.Sprint("meanwhile ", i))
			pass(time.Minute)
		}
		if age := replica.replica().Age(); same() || age < time.Hour {
			t.Errorf("after an hour of silence the replica is %v old, equal: %v", age, same())
		}
		if held := origin.server.Stats().Connections.Held; held > 2 {
			t.Errorf("the origin keeps %d connections after an hour of silence", held)
		}
		over.ComeBack()
		pass(2 * time.Minute)
		if age := replica.replica().Age(); !same() || age > 10*time.Second {
			t.Errorf("two minutes after the silence the replica is %v old, equal: %v", age, same())
		}
	})
}

// TestReplicaTellsHowOldItIs reads how far a replica is behind its origin from both: while it is in step, also between
// two heartbeats; when it has lost touch; and when it is in step again.
func TestReplicaTellsHowOldItIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		origin, over := newOrigin(t)
		replica := openNode(
			t, t.TempDir(), Options{Follow: &Follow{URL: "http://origin.example", Token: origin.key, dial: over.Dial}})
		replica.background(replica.replica().Run)
		inStep := func() {
			t.Helper()
			for range 30 {
				if pass(700 * time.Millisecond); replica.replica().Age() != 0 {
					t.Fatalf("in step, the replica is %v old", replica.replica().Age())
				}
			}
			head, err := positionIn(origin.project.Store())
			origin.must(err)
			want := fmt.Sprintf(`{"state":"ready","replica":{"inStep":true,"age":0,"position":%q}}`, head)
			if status, got := replica.ask("GET", "/_ready", "", ""); status != 200 || strings.TrimSpace(got) != want {
				t.Errorf("/_ready answers %d %s, want %s", status, got, want)
			}
			if r := replica.project.reading(); r.Replica == nil || !r.Replica.InStep || r.Replica.Age != 0 {
				t.Errorf("metrics of the replica: %+v", r.Replica)
			}
			list := origin.project.replicas.List()
			if len(list) != 1 || list[0].Position != head.String() || list[0].Behind != 0 || list[0].Client == "" {
				t.Errorf("the origin has these replicas: %+v", list)
			}
			if r := origin.project.reading(); r.Replicas != 1 || r.ReplicasBehind != 0 || r.Replica != nil {
				t.Errorf("metrics of the origin: %d replicas, %d entries behind, %+v", r.Replicas, r.ReplicasBehind,
					r.Replica)
			}
		}
		pass(time.Minute)
		inStep()
		origin.write("one more")
		pass(time.Second)
		inStep()

		over.FallSilent(true)
		origin.write("not arrived")
		pass(time.Minute)
		state := replica.replica().ReplicaState()
		if state.InStep || state.Age == nil || *state.Age < 50 || *state.Age > 70 {
			t.Errorf("a minute after the last contact: %s", state)
		}
		if status, got := replica.ask("GET", "/_ready", "", ""); status != 200 ||
			!strings.Contains(got, `"inStep":false`) {
			t.Errorf("/_ready answers %d %s", status, got)
		}
		over.ComeBack()
		pass(5 * time.Minute)
		inStep()
	})
}

// TestListenerInSilenceIsGivenUp lets a network between a listener to changes and the server fall silent for an hour.
// The server must give up the listener, who then goes on where it was.
func TestListenerInSilenceIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		origin, over := newOrigin(t)
		client := &http.Client{Transport: &http.Transport{DialContext: over.Dial}}
		listen := func(last string) *http.Response {
			r, err := http.NewRequestWithContext(t.Context(), "GET",
				"http://origin.example/api/_changes?feed=eventsource&since=now", nil)
			origin.must(err)
			r.Header.Set("Authorization", "Bearer "+origin.key)
			if last != "" {
				r.Header.Set("Last-Event-ID", last)
			}
			answer, err := client.Do(r)
			origin.must(err)
			t.Cleanup(func() { answer.Body.Close() })
			return answer
		}
		ids := func(stream io.Reader, n int) (last string) {
			lines := bufio.NewScanner(stream)
			for found := 0; found < n && lines.Scan(); {
				id, ok := strings.CutPrefix(lines.Text(), "id: ")
				if ok {
					last = id
				}
				if strings.HasPrefix(lines.Text(), "data: ") {
					found++
				}
			}
			return last
		}
		stream := listen("")
		pass(time.Minute)
		origin.write("seen")
		last := ids(stream.Body, 1)
		if held := origin.project.subscribers.Waiting.Stats().Held; held != 1 || last == "" {
			t.Fatalf("%d listeners before the silence, the last event is %q", held, last)
		}
		over.FallSilent(false)
		for i := range 60 {
			origin.write(fmt.Sprint("meanwhile ", i))
			pass(time.Minute)
		}
		if held := origin.project.subscribers.Waiting.Stats().Held; held != 0 {
			t.Errorf("the server has %d listeners after an hour of silence", held)
		}
		over.ComeBack()
		if last = ids(listen(last).Body, 60); last == "" {
			t.Error("the changes of the hour are not told")
		}
	})
}
