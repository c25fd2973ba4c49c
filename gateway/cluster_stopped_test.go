package gateway_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lectern/auth"
	"lectern/gateway"
	"lectern/gateway/admin"
	"lectern/store"
)

// TestNodeIsNotChangedAlone opens the data directory of a stopped node: it can be read, and not be changed apart from
// the cluster.
func TestNodeIsNotChangedAlone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "site")
	if _, err := gateway.Init(context.Background(), dir, gateway.Options{}); err != nil {
		t.Fatal(err)
	}
	files := filepath.Join(dir, "data", admin.ClusterName, "project")
	if err := os.MkdirAll(filepath.Join(dir, "data", admin.ClusterName, "log"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"content-types", "components", "config"} {
		if err := os.CopyFS(filepath.Join(files, name), os.DirFS(filepath.Join(dir, name))); err != nil {
			t.Fatal(err)
		}
	}
	// The files beside the node differ from those of the cluster: nobody may convert the content to them.
	if err := os.Remove(filepath.Join(dir, "content-types", "article.yaml")); err != nil {
		t.Fatal(err)
	}
	sequence := func() (n uint64) {
		t.Helper()
		p, err := gateway.Open(dir, gateway.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		if p.Definition().Model.Type("api::article.article") == nil {
			t.Error("the project does not have the definitions of the cluster")
		}
		if err := p.Store().View(func(s *store.Snapshot) error { n = s.Sequence(); return nil }); err != nil {
			t.Fatal(err)
		}
		if err := p.Run(context.Background()); err == nil || !strings.Contains(err.Error(), "node of a cluster") {
			t.Errorf("the node was served alone: %v", err)
		}
		if _, _, err := p.CreateToken(context.Background(),
			auth.Declaration{Name: "t", Kind: auth.FullAccess}); err == nil {
			t.Error("a token was made on a node alone")
		}
		return n
	}
	if before, after := sequence(), sequence(); before != after {
		t.Errorf("opening the node has written: entry %d, then %d", before, after)
	}
	d := gateway.Directory(dir, gateway.Options{})
	if err := d.RefuseChanges(); err == nil || !strings.Contains(err.Error(), "node of a cluster") {
		t.Errorf("RefuseChanges: %v", err)
	}
}

// TestReplicaIsNoNode serves the directory of a replica as a node of a cluster, which is refused: the content of a
// replica has no epoch of its own, by which it could be told from that of its origin.
func TestReplicaIsNoNode(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "site")
	if _, err := gateway.Init(t.Context(), dir, gateway.Options{}); err != nil {
		t.Fatal(err)
	}
	mark := filepath.Join(dir, "data", admin.ReplicaName, admin.ReplicaMarkName)
	if err := os.MkdirAll(filepath.Dir(mark), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(mark, []byte(`{"origin":"http://origin.example"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	err := gateway.Serve(t.Context(), dir,
		gateway.Options{Cluster: &gateway.Cluster{Name: "n1", Address: "127.0.0.1:21100"}})
	if err == nil || !strings.Contains(err.Error(), "is a replica of http://origin.example") {
		t.Errorf("the replica is served as a node: %v", err)
	}
}
