package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lectern/gateway"
	"lectern/gateway/admin"
)

// TestClusterServesTheSameOnAllNodes serves three nodes: they take writes anywhere, answer as recently as they are
// asked to, take over definitions, and go on without the leader.
func TestClusterServesTheSameOnAllNodes(t *testing.T) {
	nodes := newCluster(t, 3)
	token := nodes[1].token("writer")
	for i, n := range nodes {
		body := fmt.Sprintf(`{"data":{"title":"by node %d","slug":"by-node-%[1]d"}}`, i)
		revision := n.write("POST", "/api/articles?status=draft", token, body,
			fmt.Sprintf("%q", fmt.Sprint("create-", i))).Get("Lectern-Revision")
		for _, reader := range nodes {
			for _, header := range [][]string{{"Lectern-Revision", revision}, {"Lectern-Consistency", "linearizable"}} {
				status, answered, text := reader.read("/api/articles?status=draft&fields=title&filters[slug]=by-node-"+
					fmt.Sprint(i), token, header...)
				if status != http.StatusOK || !strings.Contains(text, fmt.Sprint("by node ", i)) {
					t.Errorf("what %s wrote, read at %s with %v: %d %s", n.dir, reader.dir, header, status, text)
				}
				if revisionOf(t, answered.Get("Lectern-Revision")) < revisionOf(t, revision) {
					t.Errorf("the answer has the revision %q, and goes up to %s", answered.Get("Lectern-Revision"),
						revision)
				}
			}
		}
	}
	if status, _, text := nodes[0].ask("GET", "/api/articles", token, "", "Lectern-Consistency",
		"strong"); status != http.StatusBadRequest {
		t.Errorf("an unknown consistency: %d %s", status, text)
	}
	if status, _, _ := nodes[2].ask("GET", "/api/articles", token, "", "Lectern-Revision",
		"999999"); status != http.StatusServiceUnavailable {
		t.Errorf("a revision that does not exist: %d", status)
	}
	testDeploy(t, nodes, token)

	if err := nodes[0].stop(); err != nil { // the leader
		t.Fatal(err)
	}
	nodes[1].write("POST", "/api/notes", token, `{"data":{"title":"without the leader"}}`, `"without"`)
	nodes[0].start()
	for _, n := range nodes {
		if status, header, text := n.read("/api/notes?fields=title", token, "Lectern-Consistency",
			"linearizable"); status != http.StatusOK || strings.Count(text, "without the leader") != 1 {
			t.Errorf("%s: %d %s %v", n.dir, status, text, header)
		}
	}
}

// TestFormerLeaderReadsWhatItWrote reads at a node that wrote as the leader, and follows another one since, while
// nobody writes any more.
func TestFormerLeaderReadsWhatItWrote(t *testing.T) {
	nodes := newCluster(t, 3)
	token := nodes[0].token("writer")
	revision := nodes[0].write("POST", "/api/articles?status=draft", token,
		`{"data":{"title":"the last","slug":"last"}}`, `"last"`).Get("Lectern-Revision")
	operator := gateway.Directory(nodes[0].dir, gateway.Options{})
	if err := operator.TransferLead(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	for _, header := range [][]string{{"Lectern-Revision", revision}, {"Lectern-Consistency", "linearizable"}} {
		if status, _, text := nodes[0].ask("GET", "/api/articles?status=draft&filters[slug]=last", token, "",
			header...); status != http.StatusOK || !strings.Contains(text, "the last") {
			t.Errorf("%v: %d %s", header, status, text)
		}
	}
	nodes[0].awaitAge(token, "0")
}

// TestNodeWithoutDataRefusesToBeginACluster serves a node that has lost its data, with the options of one that begins a
// cluster. It must refuse to start, because the other nodes still count it as a member.
func TestNodeWithoutDataRefusesToBeginACluster(t *testing.T) {
	nodes := newCluster(t, 3)
	token := nodes[0].token("writer")
	if err := nodes[0].stop(); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(nodes[0].dir, "data")); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), clusterPatience)
	defer cancel()
	if err := gateway.Serve(ctx, nodes[0].dir, nodes[0].options); err == nil ||
		!strings.Contains(err.Error(), "the cluster has a node n1 already") {
		t.Errorf("%v", err)
	}
	nodes[1].write("POST", "/api/articles?status=draft", token, `{"data":{"title":"by the others","slug":"others"}}`,
		`"others"`)
}

// TestDamagedLeaderLosesTheLead takes the file of the store away from the leader. Another node takes the writes.
func TestDamagedLeaderLosesTheLead(t *testing.T) {
	nodes := newCluster(t, 3)
	token := nodes[0].token("writer")
	for i, n := range nodes {
		n.write("POST", "/api/articles?status=draft", token,
			fmt.Sprintf(`{"data":{"title":"before","slug":"before-%d"}}`, i),
			fmt.Sprintf("%q", fmt.Sprint("before-", i)))
	}
	path := filepath.Join(nodes[0].dir, "data", admin.StoreName)
	if err := os.Rename(path, path+".away"); err != nil {
		t.Fatal(err)
	}
	nodes[1].write("POST", "/api/articles?status=draft", token, `{"data":{"title":"after","slug":"after"}}`, `"after"`)
	if err := os.Rename(path+".away", path); err != nil {
		t.Fatal(err)
	}
}

// TestRemovedNodeWritesNothing removes a node that goes on running, and adds it again. Clients of the node are told
// that nothing was written.
func TestRemovedNodeWritesNothing(t *testing.T) {
	nodes := newCluster(t, 3)
	token := nodes[0].token("writer")
	removed := nodes[2]
	removed.awaitAge(token, "0")
	operator := gateway.Directory(nodes[1].dir, gateway.Options{})
	if err := nodes[1].remove(removed.options.Cluster.Name); err != nil {
		t.Fatal(err)
	}
	until(t, "the removed node has an age", func() bool {
		_, header, _ := removed.ask("GET", "/api/articles", token, "")
		return revisionOf(t, header.Get("Lectern-Replica-Age")) > 0
	})
	const body = `{"data":{"title":"by the removed node","slug":"removed"}}`
	for range 2 {
		if status, _, text := removed.attempt("POST", "/api/articles", token, body,
			`"again"`); status != http.StatusServiceUnavailable || !strings.Contains(text, `"outcome":"refused"`) {
			t.Errorf("a write: %d %s", status, text)
		}
		if status, _, text := removed.ask("GET", "/api/articles", token, "", "Lectern-Consistency",
			"linearizable"); status != http.StatusServiceUnavailable {
			t.Errorf("a linearizable read: %d %s", status, text)
		}
		if status, _, text := removed.ask("GET", "/api/articles", token, ""); status != http.StatusOK {
			t.Errorf("a local read: %d %s", status, text)
		}
		if err := removed.stop(); err != nil {
			t.Fatal(err)
		}
		removed.start()
	}
	add := admin.ClusterNode{Name: removed.options.Cluster.Name, Address: removed.options.Cluster.Address, Voter: true}
	if _, err := repeats(func() error { return operator.AddNode(t.Context(), add) }); err != nil {
		t.Fatal(err)
	}
	removed.write("POST", "/api/articles", token, body, `"again"`)
	removed.awaitAge(token, "0")
	if status, _, text := nodes[0].read("/api/articles?filters[slug]=removed&status=draft", token,
		"Lectern-Consistency", "linearizable"); strings.Count(text, "by the removed node") != 1 {
		t.Errorf("in the end: %d %s", status, text)
	}
}

// TestReplacedClusterKeyKeepsUsersLoggedIn replaces cluster.key while the nodes are restarted one by one. A user stays
// logged in.
func TestReplacedClusterKeyKeepsUsersLoggedIn(t *testing.T) {
	nodes := newCluster(t, 3)
	path := func(n *clusterNode) string { return filepath.Join(n.options.Cluster.Certificates, "cluster.key") }
	text, err := os.ReadFile(path(nodes[0]))
	if err != nil {
		t.Fatal(err)
	}
	status, _, answer := nodes[0].ask("POST", "/api/auth/local/register", "",
		`{"username":"ada","email":"ada@example.com","password":"correct horse"}`)
	var user struct{ JWT string }
	if err := json.Unmarshal([]byte(answer), &user); err != nil || status != http.StatusOK {
		t.Fatalf("%d %s %v", status, answer, err)
	}
	former, next := string(text), strings.Repeat("0f", 32)+"\n"
	for _, keys := range []string{former + next, next + former, next} {
		for _, n := range nodes {
			if err := errors.Join(n.stop(), os.WriteFile(path(n), []byte(keys), 0o600)); err != nil {
				t.Fatal(err)
			}
			n.start()
			until(t, "the node knows the user", func() bool {
				status, _, _ := n.ask("GET", "/api/users/me", user.JWT, "", "Lectern-Consistency", "linearizable")
				return status != http.StatusServiceUnavailable
			})
			if status, _, answer := n.ask("GET", "/api/users/me", user.JWT, ""); status != http.StatusOK ||
				!strings.Contains(answer, "ada@example.com") {
				t.Errorf("with the keys %q: %d %s", keys, status, answer)
			}
		}
	}
}
