package gateway_test

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"lectern/gateway"
	"lectern/gateway/admin"
)

// TestNodeGetsACopyThatIsHalfConverted has a node get a copy of content that is half converted to other definitions:
// the conversion stops in the middle, since the leader loses its majority, and goes on when another node has come back
// and got a copy. That node must serve the content once all of it is converted. Raft's logs no longer have the
// transactions of the first half, so the copy must have them, although readers of the leader see the content as it was
// before the conversion.
func TestNodeGetsACopyThatIsHalfConverted(t *testing.T) {
	nodes := newStoppedCluster(t, 3)
	var stop sync.Once
	var written, half atomic.Bool
	var writtenGone, halfGone sync.WaitGroup // from Raft's logs
	halfGone.Add(1)
	halfOnce := sync.OnceFunc(halfGone.Done)
	for i, n := range nodes[:2] { // either may lead when definitions are deployed
		writtenGone.Add(1)
		writtenOnce := sync.OnceFunc(writtenGone.Done)
		other := nodes[1-i]
		n.options.Log = slog.New(slog.NewTextHandler(io.MultiWriter(
			&logTrigger{text: "the definitions have changed: indexing", found: func() {
				stop.Do(func() {
					half.Store(true)
					if err := other.stop(); err != nil {
						t.Error(err)
					}
				})
			}},
			&logTrigger{text: "raft: compacting logs", found: func() {
				if written.Load() {
					writtenOnce()
				}
				if half.Load() {
					halfOnce()
				}
			}},
		), &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	for _, n := range nodes {
		n.options.Cluster.Trailing = 2
		n.start()
	}
	token := nodes[0].token("writer")
	if err := nodes[2].stop(); err != nil {
		t.Fatal(err)
	}
	nodes[0].createArticles(token, 5)
	written.Store(true)
	nodes[0].write("POST", "/api/articles", token, `{"data":{"title":"one more","slug":"more"}}`, `"more"`)
	writtenGone.Wait()
	if _, err := repeats(func() error {
		err := nodes[0].deployArticle("added: {type: integer}")
		switch {
		case err == nil:
			return errors.New("definitions were deployed without a majority")
		case half.Load():
			return nil
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	halfGone.Wait()
	nodes[2].start()
	nodes[2].serves(token, "added")
}

// TestNodeStartsHalfConverted stops a node while the content is converted to other definitions, of which it then has a
// part. Before it is started again, the cluster deploys definitions once more. The node must convert what it has to
// these, or take a copy in its place, and serve it.
func TestNodeStartsHalfConverted(t *testing.T) {
	for _, test := range []struct {
		name     string
		trailing uint64
	}{
		{"it gets the transactions that it lacks", 1000},
		{"it gets a copy", 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			nodes := newStoppedCluster(t, 3)
			var stop sync.Once
			var stopped *clusterNode
			half := logTrigger{text: "the definitions have changed: indexing",
				found: func() { // the leader has made a part
					stop.Do(func() { stopped = nodes[0].stopFollower(nodes[1:]) })
				}}
			for _, n := range nodes {
				n.options.Log = slog.New(slog.NewTextHandler(&half, nil))
				n.options.Cluster.Trailing, n.options.Cluster.Heartbeat = test.trailing,
					time.Second // a busy machine must not move the lead
				n.start()
			}
			token := nodes[0].token("writer")
			nodes[0].createArticles(token, 5)
			if err := nodes[0].deployArticle("added: {type: integer}"); err != nil {
				t.Fatal(err)
			}
			if stopped == nil {
				t.Fatalf("the content was not converted:\n%s", half.String())
			}
			if _, err := gateway.Open(stopped.dir, gateway.Options{LogTo: io.Discard}); err == nil ||
				!strings.Contains(err.Error(), "half converted") {
				t.Fatalf("the stopped node has other content than this test wants: %v", err)
			}
			if err := nodes[0].deployArticle("added: {type: integer}", "more: {type: integer}"); err != nil {
				t.Fatal(err)
			}
			stopped.start()
			stopped.serves(token, "more")
			if !strings.Contains(half.String(), "until the leader has converted the content") {
				t.Errorf("the node does not say what it waits for:\n%s", half.String())
			}
		})
	}
}

// stopFollower stops one of others that does not lead, once it has what the leader has.
func (n *clusterNode) stopFollower(others []*clusterNode) *clusterNode {
	for n.t.Context().Err() == nil {
		status, err := gateway.Directory(n.dir, gateway.Options{}).Cluster(n.t.Context())
		if err != nil {
			n.t.Error(err)
			return nil
		}
		i := slices.IndexFunc(status.Nodes, func(s admin.NodeStatus) bool {
			return s.Name != n.options.Cluster.Name && !s.Leader && s.Error == "" && s.Behind == 0
		})
		if status.Leader == "" || i < 0 {
			continue
		}
		for _, o := range others {
			if o.options.Cluster.Name == status.Nodes[i].Name {
				if err := o.stop(); err != nil {
					n.t.Error(err)
				}
				return o
			}
		}
	}
	return nil
}

// serves waits until a linearizable read at the node shows articles with an attribute that was added.
func (n *clusterNode) serves(token, attribute string) {
	n.t.Helper()
	path := fmt.Sprintf("/api/articles?filters[%s][$null]=true&pagination[pageSize]=1&status=draft", attribute)
	for late := time.Now().Add(clusterPatience); ; {
		status, _, text := n.ask("GET", path, token, "", "Lectern-Consistency", "linearizable")
		if status == http.StatusOK && strings.Contains(text, fmt.Sprintf(`"%s":null`, attribute)) {
			return
		}
		if time.Now().After(late) {
			n.t.Fatalf("%s does not serve %s: %d %.500s", n.dir, attribute, status, text)
		}
	}
}
