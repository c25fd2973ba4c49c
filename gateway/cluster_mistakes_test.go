package gateway_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"lectern/gateway"
	"lectern/gateway/admin"
	"lectern/internal/servertest"
)

// TestNodeRefusesToStartAfterMistakes starts a node in whose directory somebody has done something wrong. It must end
// at once, and say what to do.
func TestNodeRefusesToStartAfterMistakes(t *testing.T) {
	nodes := newCluster(t, 2)
	node := nodes[1]
	if err := node.stop(); err != nil {
		t.Fatal(err)
	}
	if _, err := gateway.Directory(node.dir, gateway.Options{}).Salvage(t.Context(), io.Discard); err != nil {
		t.Errorf("salvage the store of a node: %v", err)
	}
	other := t.TempDir()
	if _, err := gateway.Init(t.Context(), other, gateway.Options{}); err != nil {
		t.Fatal(err)
	}
	content := filepath.Join(node.dir, "data", admin.StoreName)
	for _, c := range []struct {
		name    string
		mistake func(*gateway.Options) error
		want    string
	}{
		{"the store is gone", func(*gateway.Options) error { return os.Remove(content) },
			"is gone: put it back, or remove the node by `lectern cluster remove DIR n2`"},
		{"the store is another",
			func(*gateway.Options) error { return os.Rename(filepath.Join(other, "data", admin.StoreName), content) },
			"has not the content of the cluster"},
		{"nothing to join", func(o *gateway.Options) error {
			o.Cluster.Join = nil
			return os.RemoveAll(filepath.Join(node.dir, "data"))
		}, "has no definitions to begin a cluster with: serve it with --join"},
	} {
		if err := c.mistake(&node.options); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), clusterPatience)
		if err := gateway.Serve(ctx, node.dir, node.options); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
		cancel()
	}
}

// TestCopyOfNodeIsNotTakenForIt serves a copy of a node's directory at another address beside the node. The cluster
// must go on with the node, and the copy say so.
func TestCopyOfNodeIsNotTakenForIt(t *testing.T) {
	nodes := newCluster(t, 3)
	node := nodes[2]
	if err := node.stop(); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(node.dir)); err != nil {
		t.Fatal(err)
	}
	node.start()
	var logged servertest.LogBuffer
	o, c := node.options, *node.options.Cluster
	c.Address = servertest.FreeAddress(t)
	o.Cluster, o.Log, o.Ready = &c, slog.New(slog.NewTextHandler(&logged, nil)), nil
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- gateway.Serve(ctx, dir, o) }()
	servertest.Until(t, "the copy says that there are two", func() bool {
		return strings.Contains(logged.String(), "another server runs as this node")
	})
	status, err := gateway.Directory(nodes[0].dir, gateway.Options{}).Cluster(t.Context())
	if err != nil || !slices.ContainsFunc(
		status.Nodes, func(s admin.NodeStatus) bool { return s.Address == node.options.Cluster.Address }) {
		t.Errorf("the cluster has taken the copy for the node: %+v, %v", status, err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestClusterBeginsWithBackupOfAnother begins a cluster with a backup of one that had another cluster.key.
func TestClusterBeginsWithBackupOfAnother(t *testing.T) {
	former, next := newCluster(t, 1)[0], newStoppedCluster(t, 1)[0]
	token := former.token("writer")
	p, err := gateway.Directory(former.dir, gateway.Options{}).Administer(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	var backup bytes.Buffer
	if err := p.Backup(t.Context(), &backup); err != nil {
		t.Fatal(err)
	}
	if _, err := gateway.Directory(next.dir, gateway.Options{}).Restore(&backup); err != nil {
		t.Fatal(err)
	}
	next.start()
	next.write("POST", "/api/articles", token, `{"data": {"title": "new", "slug": "new"}}`, "new")
	if _, err := gateway.Directory(former.dir, gateway.Options{}).Restore(&backup); err == nil ||
		!strings.Contains(err.Error(), "in use by another process") {
		t.Errorf("restored at a node that runs: %v", err)
	}
	if err := former.stop(); err != nil {
		t.Fatal(err)
	}
	if _, err := gateway.Directory(former.dir, gateway.Options{}).Restore(&backup); err == nil ||
		!strings.Contains(err.Error(), "stop all of them, move everything out of ") {
		t.Errorf("restored at a node alone: %v", err)
	}
}
