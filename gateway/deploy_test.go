package gateway_test

import (
	"path/filepath"
	"testing"

	"lectern/gateway"
)

// TestUnagreedDeployment deploys definitions while the leader has no majority. The files of the cluster's definitions must stay as they were.
func TestUnagreedDeployment(t *testing.T) {
	nodes := newCluster(t, 3)
	files := func() string {
		t.Helper()
		text, err := gateway.DefinitionFiles(filepath.Join(nodes[0].dir, "data", "cluster", "project"))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	before := files()
	for _, n := range nodes[1:] {
		if err := n.stop(); err != nil {
			t.Fatal(err)
		}
	}
	if err := nodes[0].deployArticle("added: {type: integer}"); err == nil {
		t.Error("definitions were deployed without a majority")
	}
	if after := files(); after != before {
		t.Errorf("files of definitions to which the nodes have not agreed:\n%s", after)
	}
}
