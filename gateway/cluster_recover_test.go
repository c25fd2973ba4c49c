package gateway_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"lectern/gateway"
	"lectern/gateway/admin"
	"lectern/internal/servertest"
)

// TestLostNodeComesBack recovers a cluster from a node that lacks writes of the nodes that are lost, and adds one of
// these nodes after all. It must get the content of the recovered cluster in place of its own. A client that has a
// position of the former cluster's change feed is told to start again.
func TestLostNodeComesBack(t *testing.T) {
	nodes := newCluster(t, 3)
	lost, gone, left := nodes[0], nodes[1], nodes[2]
	token := lost.token("writer")
	create := func(n *clusterNode, slug string) {
		t.Helper()
		n.write("POST", "/api/articles", token, `{"data": {"title": "`+slug+`", "slug": "`+slug+`"}}`, slug)
	}
	create(lost, "both")
	stop := func(n *clusterNode) {
		t.Helper()
		if err := n.stop(); err != nil {
			t.Fatal(err)
		}
	}
	stop(left)
	for _, slug := range []string{"lost-1", "lost-2", "lost-3"} {
		create(lost, slug)
	}
	var changes struct {
		Last  string `json:"last_seq"`
		Reset bool
	}
	read := func(n *clusterNode, since string) {
		t.Helper()
		status, _, text := n.read("/api/_changes?limit=1&since="+since, token)
		if err := json.Unmarshal([]byte(text), &changes); err != nil || status != http.StatusOK {
			t.Fatal(status, text, err)
		}
	}
	read(lost, "now")
	stop(gone)
	stop(lost)

	if _, err := gateway.RecoverCluster(t.Context(), left.dir, left.options, nil, true); err != nil {
		t.Fatal(err)
	}
	left.start()
	slugs := []string{"new-1", "new-2", "new-3", "new-4"} // so that the node that comes back has no more writes
	for _, slug := range slugs {
		create(left, slug)
	}
	if read(left, changes.Last); !changes.Reset {
		t.Error("a client goes on with a position of the former cluster")
	}

	lost.start()
	operator := gateway.Directory(left.dir, gateway.Options{})
	if _, err := repeats(func() error { return operator.AddNode(t.Context(), lost.asNode(true)) }); err != nil {
		t.Fatal(err)
	}
	left.awaitStatus("n1", func(s admin.NodeStatus) bool { return s.Voter })
	create(left, "last")
	want := append([]string{"both"}, append(slugs, "last")...)
	servertest.Await(t, "the node that came back has the content of the cluster", func() error {
		_, _, text := lost.ask("GET", "/api/articles?fields=slug&pagination[pageSize]=100", token, "")
		missing := slices.ContainsFunc(want, func(slug string) bool { return !strings.Contains(text, `"`+slug+`"`) })
		if missing || strings.Contains(text, "lost-") {
			return errors.New(text)
		}
		return nil
	})
}
