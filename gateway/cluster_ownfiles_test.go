package gateway_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lectern/gateway"
)

// TestBrokenOwnFilesLeaveNodesServing writes a file with a problem beside each node of a cluster that runs. The nodes
// must go on with the former files: take over new definitions, and lead. A node that is started says what is wrong.
func TestBrokenOwnFilesLeaveNodesServing(t *testing.T) {
	nodes := newCluster(t, 3)
	token := nodes[0].token("writer")
	for _, n := range nodes {
		if err := os.WriteFile(filepath.Join(n.dir, "config", "webhooks.yaml"),
			[]byte("webhooks: [{name: h, url: nowhere}]\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := repeats(func() error { return nodes[0].deployArticle("added: {type: string}") }); err != nil {
		t.Fatal(err)
	}
	for _, n := range nodes {
		n.serves(token, "added")
	}
	if err := nodes[0].stop(); err != nil {
		t.Fatal(err)
	}
	for _, n := range nodes[1:] {
		n.takeLead()
		n.write("POST", "/api/articles", token, `{"data": {"title": "`+n.options.Cluster.Name+`", "slug": "`+
			n.options.Cluster.Name+`"}}`, n.dir)
	}
	if err := gateway.Serve(t.Context(), nodes[0].dir, nodes[0].options); err == nil ||
		!strings.Contains(err.Error(), "config/webhooks.yaml:1") {
		t.Errorf("a node starts with a file that has a problem: %v", err)
	}
}
