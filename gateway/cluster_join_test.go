package gateway_test

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"lectern/gateway"
	"lectern/gateway/admin"
	"lectern/gateway/internal/cluster/credentials"
	"lectern/gateway/internal/cluster/port"
)

// serveState answers the other nodes at the address of a node in its place, and says that it is the node with a name.
// It does nothing else that a node does.
func (n *clusterNode) serveState(name string) (stop func()) {
	n.t.Helper()
	o := n.options.Cluster
	c, err := credentials.Load(o.Certificates, slog.New(slog.DiscardHandler))
	if err != nil {
		n.t.Fatal(err)
	}
	p, err := port.Listen(
		port.Config{Listen: o.Address, Advertise: o.Address, Credentials: c, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		n.t.Fatal(err)
	}
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{"name": name}) // a test that reads it fails
	})}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = srv.Serve(p.HTTP()) // ends when the port is closed
	}()
	return func() {
		srv.Close()
		if err := p.Close(); err != nil {
			n.t.Error(err)
		}
		<-ended
	}
}

// asNode returns the node as the administration names it.
func (n *clusterNode) asNode(voter bool) admin.ClusterNode {
	return admin.ClusterNode{Name: n.options.Cluster.Name, Address: n.options.Cluster.Address, Voter: voter}
}

// TestAddedNodesDoNotStopWrites adds nodes with votes that are of no use yet, to a cluster of one node. It must go on
// taking writes.
func TestAddedNodesDoNotStopWrites(t *testing.T) {
	nodes := newStoppedCluster(t, 2)
	leader, added := nodes[0], nodes[1]
	leader.start()
	token := leader.token("writer")
	operator := gateway.Directory(leader.dir, gateway.Options{})
	add := func(want string) {
		t.Helper()
		if _, err := repeats(func() error { return operator.AddNode(t.Context(), added.asNode(true)) }); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("added: %v, want an error with %q", err, want)
		}
	}
	add("n1 does not reach the node n2")
	stop := added.serveState("n3")
	add("the node n3 answers at ")
	stop()

	stop = added.serveState("n2")
	if _, err := repeats(func() error { return operator.AddNode(t.Context(), added.asNode(true)) }); err != nil {
		t.Fatal(err)
	}
	leader.awaitStatus("n2", func(s admin.NodeStatus) bool { return s.Joining && !s.Voter })
	leader.write("POST", "/api/articles?status=draft", token, `{"data":{"title":"Alone","slug":"alone"}}`, `"alone"`)
	stop()

	if err := leader.stop(); err != nil {
		t.Fatal(err)
	}
	leader.start()
	added.start() // waits for its vote
	if err := leader.stop(); err != nil {
		t.Fatal(err)
	}
	if status, _, text := added.ask("GET", "/api/articles?status=draft&filters[slug]=alone", token,
		""); status != http.StatusOK || !strings.Contains(text, "Alone") {
		t.Errorf("the node that was added has: %d %s", status, text)
	}
}

// TestVotesThatOthersNeedAreKept wants to take votes from nodes that the others need to agree to anything, because a
// third node is down.
func TestVotesThatOthersNeedAreKept(t *testing.T) {
	nodes := newCluster(t, 3)
	token := nodes[0].token("writer")
	operator := gateway.Directory(nodes[0].dir, gateway.Options{})
	if err := nodes[2].stop(); err != nil {
		t.Fatal(err)
	}
	const want = "of the 2 nodes that would have votes, too many do not answer now (n3)"
	if err := nodes[0].remove("n2"); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("removed: %v, want an error with %q", err, want)
	}
	if _, err := repeats(func() error { return operator.AddNode(t.Context(), nodes[1].asNode(false)) }); err == nil ||
		!strings.Contains(err.Error(), want) {
		t.Errorf("without a vote: %v, want an error with %q", err, want)
	}
	nodes[1].write("POST", "/api/articles?status=draft", token, `{"data":{"title":"Two","slug":"two"}}`, `"two"`)
	for _, name := range []string{"n3", "n2"} {
		if err := nodes[0].remove(name); err != nil {
			t.Fatal(err)
		}
	}
	nodes[0].write("POST", "/api/articles?status=draft", token, `{"data":{"title":"One","slug":"one"}}`, `"one"`)
}
