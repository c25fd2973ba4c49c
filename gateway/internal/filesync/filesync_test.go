package filesync_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"lectern/documents"
	"lectern/documents/apierror"
	"lectern/gateway/internal/cluster/consensus"
	"lectern/gateway/internal/filesync"
	"lectern/gateway/internal/replication"
	"lectern/internal/storetest"
	"lectern/media"
	"lectern/store"
)

// A node is a node of a cluster of tests.
type node struct {
	*filesync.NodeFiles
	dir    string
	server *httptest.Server
	looks  chan bool // receives when Run or Scrub begins a pass
	logged chan string
}

// messages is a slog.Handler that gives each message to a channel.
type messages chan string

func (m messages) Enabled(context.Context, slog.Level) bool { return true }
func (m messages) WithAttrs([]slog.Attr) slog.Handler       { return m }
func (m messages) WithGroup(string) slog.Handler            { return m }
func (m messages) Handle(_ context.Context, r slog.Record) error {
	select {
	case m <- r.Message:
	default:
	}
	return nil
}

// newCluster starts nodes that share one store, as nodes that have applied the same log do.
func newCluster(t *testing.T, count int) (nodes []*node, st *store.Store) {
	t.Helper()
	model := storetest.Model(t, storetest.Files(map[string]string{
		"content-types/note.yaml": "kind: collectionType\ninfo: {singularName: note, pluralName: notes, displayName: Note}\nattributes: {text: {type: string}}\n",
	}))
	st = storetest.Open(t, model)
	var peers []consensus.Peer
	for i := range count {
		n := &node{dir: t.TempDir(), looks: make(chan bool), logged: make(chan string, 16)}
		var library *media.Library
		name := fmt.Sprintf("node%d", i+1)
		n.NodeFiles = filesync.NewNodeFiles(filesync.NodeFilesOptions{
			Uploads: n.dir, Name: name, Client: http.DefaultClient, Log: slog.New(messages(n.logged)),
			Peers: func() ([]consensus.Peer, error) { return peers, nil },
			Store: func() *store.Store { return st },
			Library: func() *media.Library {
				select {
				case n.looks <- true:
				case <-t.Context().Done():
				}
				return library
			},
		})
		var err error
		library, err = media.Open(media.Options{Dir: n.dir, Store: st, Documents: documents.NewService(st, model, "en"),
			Model: model, Nodes: n.NodeFiles})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { library.Close() })
		n.server = httptest.NewServer(n.NodeFiles)
		t.Cleanup(n.server.Close)
		peers = append(peers, consensus.Peer{Name: name, Address: n.server.Listener.Addr().String(), Voter: true})
		nodes = append(nodes, n)
	}
	return nodes, st
}

// stage stages a file with a content at a node. All contents have the same time, as those of a fast client may.
func (n *node) stage(t *testing.T, name, content string) ([]documents.Note, error) {
	t.Helper()
	spooled, at := filepath.Join(n.dir, ".spooled"), time.Unix(1e9, 0)
	if err := errors.Join(os.WriteFile(spooled, []byte(content), 0o600), os.Chtimes(spooled, at, at)); err != nil {
		t.Fatal(err)
	}
	return n.Stage(t.Context(), []media.Staged{{Name: name, Spooled: ".spooled"}})
}

// list writes notes to a store.
func list(t *testing.T, st *store.Store, notes []documents.Note) {
	t.Helper()
	err := st.Write(t.Context(), func(tx *store.Tx) (err error) {
		for _, n := range notes {
			if n.Value == nil {
				err = errors.Join(err, tx.DeleteNote(n.Name))
			} else {
				err = errors.Join(err, tx.PutNote(n.Name, n.Value))
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// upload stages a file at a node and lists it.
func (n *node) upload(t *testing.T, st *store.Store, name, content string) {
	t.Helper()
	notes, err := n.stage(t, name, content)
	if err != nil {
		t.Fatal(err)
	}
	list(t, st, notes)
}

// has compares the content of a file of a node; "" means that there is none.
func (n *node) has(t *testing.T, name, want string) {
	t.Helper()
	got, err := os.ReadFile(filepath.Join(n.dir, name))
	if string(got) != want || err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s is %q, want %q: %v", name, got, want, err)
	}
}

func TestUploadNeedsAMajorityOfTheVoters(t *testing.T) {
	for _, test := range []struct{ nodes, down int }{{1, 0}, {2, 0}, {2, 1}, {3, 0}, {3, 1}, {3, 2}, {5, 2}, {5, 3}} {
		t.Run(fmt.Sprintf("%d of %d are down", test.down, test.nodes), func(t *testing.T) {
			nodes, _ := newCluster(t, test.nodes)
			for _, n := range nodes[test.nodes-test.down:] {
				n.server.Close()
			}
			_, err := nodes[0].stage(t, "a.txt", "content")
			if enough := test.nodes-test.down > test.nodes/2; enough != (err == nil) {
				t.Fatalf("%v", err)
			}
			if refused := (*apierror.Error)(nil); err != nil &&
				(!errors.As(err, &refused) || refused.Status != http.StatusServiceUnavailable) {
				t.Errorf("%v", err)
			}
			nodes[0].has(t, "a.txt", "") // it is not listed
		})
	}
}

func TestNodesPlaceWhatTheStoreLists(t *testing.T) {
	nodes, st := newCluster(t, 3)
	late := nodes[2]
	place := func(name string) {
		t.Helper()
		for _, n := range nodes[:2] {
			if err := n.Place(t.Context(), []string{name}); err != nil {
				t.Error(err)
			}
		}
	}
	nodes[0].upload(t, st, "a/b.txt", "first")
	place("a/b.txt")
	nodes[0].has(t, "a/b.txt", "first")
	nodes[1].has(t, "a/b.txt", "first")
	if one, two := modified(t, nodes[0], "a/b.txt"), modified(t, nodes[1], "a/b.txt"); !one.Equal(two) {
		t.Errorf("the file was modified at %s and %s", one, two)
	}
	if err := os.RemoveAll(filepath.Join(late.dir, ".staged")); err != nil { // as if it had been away
		t.Fatal(err)
	}
	if !late.Missing(t.Context(), "a/b.txt") || late.Missing(t.Context(), "other.txt") {
		t.Error("a client that asks for a file does not make the node fetch it")
	}
	late.has(t, "a/b.txt", "first")

	before := modified(t, nodes[0], "a/b.txt")
	nodes[1].upload(t, st, "a/b.txt", "other") // has the same size
	place("a/b.txt")
	nodes[0].has(t, "a/b.txt", "other")
	if !modified(t, nodes[0], "a/b.txt").After(before) {
		t.Error("a replaced file is not newer than the former one")
	}
	if err := os.Remove(filepath.Join(late.dir, "a/b.txt")); err != nil {
		t.Fatal(err)
	}
	if err := late.Complete(t.Context()); err != nil {
		t.Error(err)
	}
	late.has(t, "a/b.txt", "other")

	list(t, st, nodes[0].Unlist([]string{"a/b.txt"}))
	place("a/b.txt")
	nodes[0].has(t, "a/b.txt", "")
	nodes[1].has(t, "a/b.txt", "")
}

func modified(t *testing.T, n *node, name string) time.Time {
	t.Helper()
	info, err := os.Stat(filepath.Join(n.dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return info.ModTime()
}

func TestFileThatNoNodeHasIsAnError(t *testing.T) {
	nodes, st := newCluster(t, 2)
	nodes[0].upload(t, st, "a.txt", "content")
	for _, n := range nodes {
		if err := os.RemoveAll(filepath.Join(n.dir, ".staged")); err != nil {
			t.Fatal(err)
		}
	}
	if err := nodes[0].Place(t.Context(), []string{"a.txt"}); err == nil ||
		!strings.Contains(err.Error(), "fetch a.txt from another node: no other node has sent it (node2: ") {
		t.Error(err)
	}
}

func TestRunKeepsTheFilesOfTheStoreAndNoOthers(t *testing.T) {
	nodes, st := newCluster(t, 2)
	n := nodes[1]
	nodes[0].upload(t, st, "listed.txt", "content")
	if err := os.WriteFile(filepath.Join(n.dir, "stray.txt"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan bool)
	go func() { n.Run(ctx); close(ended) }()
	pass := func() { // ends a pass: the next one begins
		n.Wake()
		<-n.looks
	}
	<-n.looks
	pass()
	n.has(t, "listed.txt", "content")
	n.has(t, "stray.txt", "")
	list(t, st, n.Unlist([]string{"listed.txt"}))
	pass()
	pass()
	n.has(t, "listed.txt", "")
	stop()
	<-ended
}

func TestScrubReplacesWhatADiskHasDamaged(t *testing.T) {
	nodes, st := newCluster(t, 2)
	for name, content := range map[string]string{"sound.txt": "sound", "damaged.txt": "content"} {
		nodes[0].upload(t, st, name, content)
		for _, n := range nodes {
			if err := n.Place(t.Context(), []string{name}); err != nil {
				t.Fatal(err)
			}
		}
	}
	n, damaged := nodes[1], filepath.Join(nodes[1].dir, "damaged.txt")
	at := modified(t, n, "damaged.txt")
	if err := errors.Join(os.WriteFile(damaged, []byte("cOntent"), 0o600), os.Chtimes(damaged, at, at)); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan bool)
	go func() { n.Scrub(ctx); close(ended) }()
	<-n.looks
	if first, then := <-n.logged, <-n.logged; !strings.Contains(first, "is damaged") ||
		!strings.Contains(then, "was replaced") {
		t.Errorf("it logs %q, then %q", first, then)
	}
	n.has(t, "damaged.txt", "content")
	n.has(t, "sound.txt", "sound")
	if found, repaired := n.Damage.Found.Load(), n.Damage.Repaired.Load(); found != 1 || repaired != 1 {
		t.Errorf("%d found, %d repaired", found, repaired)
	}
	stop()
	<-ended
}

func TestListHasCompleteFilesAndReadsEachOnce(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string, at time.Time) {
		t.Helper()
		file := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(content), 0o600),
			os.Chtimes(file, at, at)); err != nil {
			t.Fatal(err)
		}
	}
	at := time.Unix(1e9, 0)
	write("a.txt", "one", at)
	write("b/c.txt", "two", at)
	write(".staged/d", "incomplete", at)
	var sums filesync.Sums
	names := func() (names, checksums []string) {
		t.Helper()
		list, err := sums.List(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range list {
			names, checksums = append(names, f.Name), append(checksums, f.SHA256)
		}
		return names, checksums
	}
	list, before := names()
	if !slices.Equal(list, []string{"a.txt", "b/c.txt"}) {
		t.Fatalf("%v", list)
	}
	write("a.txt", "1ne", at) // is not read again, as neither its size nor its time has changed
	if _, after := names(); !slices.Equal(after, before) {
		t.Error("a file is read again")
	}
	write("a.txt", "1ne", at.Add(time.Second))
	if _, after := names(); after[0] == before[0] || after[1] != before[1] {
		t.Error("a file that has changed has the same checksum")
	}
	if list, err := sums.List(t.Context(), filepath.Join(dir, "missing")); len(list) != 0 || err != nil {
		t.Errorf("%v, %v", list, err)
	}
}

// TestClusterBeginsWithTheFilesOfItsFirstNode also holds that files which another cluster had listed are forgotten.
func TestClusterBeginsWithTheFilesOfItsFirstNode(t *testing.T) {
	nodes, st := newCluster(t, 2)
	nodes[0].upload(t, st, "former.txt", "of another cluster")
	if err := os.WriteFile(filepath.Join(nodes[0].dir, "own.txt"), []byte("own"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := filesync.ListAll(t.Context(), st, nodes[0].dir); err != nil {
		t.Fatal(err)
	}
	if err := nodes[1].Complete(t.Context()); err != nil {
		t.Error(err)
	}
	nodes[1].has(t, "own.txt", "own")
	nodes[1].has(t, "former.txt", "")
}

func TestReplicaHasTheFilesOfItsOrigin(t *testing.T) {
	files := t.TempDir()
	for name, content := range map[string]string{"a.txt": "first", "b.txt": "second"} {
		if err := os.WriteFile(filepath.Join(files, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var sums filesync.Sums
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if name, ok := strings.CutPrefix(r.URL.Path, "/uploads/"); ok {
			http.ServeFileFS(w, r, os.DirFS(files), name)
			return
		}
		list, err := sums.List(r.Context(), files)
		if err == nil {
			err = replication.NewWriter(w).JSON(replication.FilesFrame, list)
		}
		if err != nil {
			t.Error(err)
		}
	}))
	defer server.Close()
	origin, err := replication.NewClient(server.URL, "key")
	if err != nil {
		t.Fatal(err)
	}
	defer origin.Close()

	n := &node{dir: t.TempDir()}
	for _, name := range []string{"stray.txt", "described.txt"} {
		if err := os.WriteFile(filepath.Join(n.dir, name), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	compared := make(chan bool)
	replica := filesync.NewReplicaFiles(n.dir, func() (map[string]bool, error) {
		compared <- true
		return map[string]bool{"described.txt": true}, nil
	})
	if replica.Missing(t.Context(), "a.txt") {
		t.Error("a file is there without an origin")
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan bool)
	go func() {
		replica.Run(ctx, origin, func(err error) { t.Error(err) })
		close(ended)
	}()
	replica.Wake()
	<-compared
	replica.Wake()
	<-compared // the first comparison has ended
	n.has(t, "a.txt", "first")
	n.has(t, "b.txt", "second")
	n.has(t, "stray.txt", "")
	n.has(t, "described.txt", "x") // a document describes it, so the origin has lost it
	stop()
	<-ended

	if err := os.Remove(filepath.Join(n.dir, "a.txt")); err != nil {
		t.Fatal(err)
	}
	if replica.Missing(t.Context(), "a.txt") {
		t.Error("an origin that does not answer is asked")
	}
	replica.SetInTouch(true)
	if !replica.Missing(t.Context(), "a.txt") || replica.Missing(t.Context(), "c.txt") ||
		replica.Missing(t.Context(), "../a.txt") {
		t.Error("a client that asks for a file does not make the replica fetch it")
	}
	n.has(t, "a.txt", "first")
}
