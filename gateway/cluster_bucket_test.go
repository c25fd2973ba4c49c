package gateway_test

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"lectern/gateway"
)

// newBucket serves an in-memory bucket by the protocol of Amazon S3, and returns the settings of a project that stores
// its files there. put is called while an upload to the bucket is under way.
func newBucket(t *testing.T, put func()) (plugins string) {
	t.Helper()
	backend := s3mem.New()
	if err := backend.CreateBucket("files"); err != nil {
		t.Fatal(err)
	}
	objects := gofakes3.New(backend, gofakes3.WithLogger(gofakes3.DiscardLog())).Server()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut {
			put()
		}
		objects.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return fmt.Sprintf("upload: {config: {provider: s3, providerOptions: {endpoint: %q, bucket: files, region: eu-central-1, accessKey: key, secretKey: secret}}}\n", s.URL)
}

// TestInterruptedUploadsInBucketAreKept starts a node whose uploads to a bucket were interrupted. The cluster has the
// documents of these uploads, and the node does not: it starts while the others are down. It must neither delete the
// content of a file that the cluster has, nor put the content of an interrupted replacement over that of a later one.
func TestInterruptedUploadsInBucketAreKept(t *testing.T) {
	nodes := newStoppedCluster(t, 3)
	node := nodes[0]
	left := &leftover{node: node, incoming: filepath.Join(node.dir, "data", "uploads", ".incoming")}
	if err := os.WriteFile(filepath.Join(node.dir, "config", "plugins.yaml"), []byte(newBucket(t, left.copy)),
		0o600); err != nil {
		t.Fatal(err)
	}
	for _, n := range nodes {
		n.start()
	}
	token := node.token("writer")
	replaced := node.uploads("/api/upload", token, "first")
	servesFile(t, nodes, token, replaced, "first")

	restore := node.keepData()
	added := left.of("/api/upload", token, "added")
	replace := fmt.Sprint("/api/upload?id=", replaced.ID)
	left.of(replace, token, "interrupted")
	node.uploads(replace, token, "latest")
	unharmed := func() {
		t.Helper()
		servesFile(t, nodes, token, added, "added")
		servesFile(t, nodes, token, replaced, "latest")
	}
	unharmed()
	for _, n := range nodes {
		if err := n.stop(); err != nil {
			t.Fatal(err)
		}
	}
	restore()
	left.put()
	for _, n := range nodes {
		n.start()
	}
	unharmed()
	until(t, "the node has finished or undone what was interrupted", left.gone)
	unharmed()
}

// A leftover is what a crash of a node during uploads to a bucket would leave in the directory of incoming files.
type leftover struct {
	node     *clusterNode
	incoming string
	to       atomic.Pointer[string] // a directory for copies, nil: none are made
	files    []string               // paths of copies
}

// copy copies the incoming files. It is called while an upload to the bucket is under way.
func (l *leftover) copy() {
	to := l.to.Load()
	if to == nil {
		return
	}
	list, err := os.ReadDir(l.incoming)
	if err != nil {
		l.node.t.Error(err)
	}
	for _, e := range list {
		if e.Name() == "spare" { // space for when the disk is full
			continue
		}
		text, err := os.ReadFile(filepath.Join(l.incoming, e.Name()))
		if errors.Is(err, fs.ErrNotExist) { // of an earlier upload
			continue
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(*to, e.Name()), text, 0o600)
		}
		if err != nil {
			l.node.t.Error(err)
		}
	}
}

// of uploads a file to the node while that leads, and adds what a crash meanwhile would leave.
func (l *leftover) of(path, token, content string) nodeFile {
	t := l.node.t
	t.Helper()
	for {
		l.node.takeLead()
		to := t.TempDir()
		l.to.Store(&to)
		f := l.node.uploads(path, token, content)
		l.to.Store(nil)
		files, err := filepath.Glob(filepath.Join(to, "*"))
		if err != nil {
			t.Fatal(err)
		}
		if len(files) > 0 { // else another node has taken the lead, and the upload
			l.files = append(l.files, files...)
			return f
		}
	}
}

// put puts the files where the node finds them when it starts.
func (l *leftover) put() {
	l.node.t.Helper()
	for _, path := range l.files {
		if err := os.Rename(path, filepath.Join(l.incoming, filepath.Base(path))); err != nil {
			l.node.t.Fatal(err)
		}
	}
}

// gone reports whether the node has removed all of the files.
func (l *leftover) gone() bool {
	return !slices.ContainsFunc(l.files, func(path string) bool {
		_, err := os.Lstat(filepath.Join(l.incoming, filepath.Base(path)))
		return err == nil
	})
}

// servesFile checks that all nodes have the document of a file, and serve its content.
func servesFile(t *testing.T, nodes []*clusterNode, token string, f nodeFile, content string) {
	t.Helper()
	for _, n := range nodes {
		if status, _, text := n.read(fmt.Sprint("/api/upload/files/", f.ID), token, "Lectern-Consistency",
			"linearizable"); status != http.StatusOK {
			t.Fatalf("the document of %s at %s: %d %s", f.URL, n.dir, status, text)
		}
		if status, _, text := n.ask("GET", f.URL, token, ""); status != http.StatusOK || text != content {
			t.Errorf("%s at %s: %d %q, want %q", f.URL, n.dir, status, text, content)
		}
	}
}

// keepData copies the data of the node. restore puts the copy in place when the node is stopped, as if it had lost all
// that it has written since.
func (n *clusterNode) keepData() (restore func()) {
	n.t.Helper()
	data, kept := filepath.Join(n.dir, "data"), filepath.Join(n.t.TempDir(), "data")
	if err := n.stop(); err != nil {
		n.t.Fatal(err)
	}
	if err := os.CopyFS(kept, os.DirFS(data)); err != nil {
		n.t.Fatal(err)
	}
	n.start()
	return func() {
		n.t.Helper()
		err := os.RemoveAll(data)
		if err == nil {
			err = os.Rename(kept, data)
		}
		if err != nil {
			n.t.Fatal(err)
		}
	}
}

// takeLead has the node lead the cluster.
func (n *clusterNode) takeLead() {
	n.t.Helper()
	operator := gateway.Directory(n.dir, gateway.Options{})
	if _, err := repeats(
		func() error { return operator.TransferLead(n.t.Context(), n.options.Cluster.Name) }); err != nil {
		n.t.Fatal(err)
	}
}
