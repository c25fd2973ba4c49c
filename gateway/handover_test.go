package gateway_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"lectern/auth"
	"lectern/gateway"
	"lectern/gateway/admin"
)

// calmHeartbeat is so long that on a busy machine, too, there is no election but those that are asked for.
const calmHeartbeat = 3 * time.Second

// TestHandoverLosesNoWrite has all nodes in turn lead a cluster, and stops the last one, while clients write at two
// nodes all the time. In the end the lead is passed on while one node is silent. No write is refused, and all are
// there, once each.
func TestHandoverLosesNoWrite(t *testing.T) {
	nodes := newStoppedCluster(t, 3)
	for _, n := range nodes {
		n.options.Cluster.Heartbeat = calmHeartbeat
		n.start()
	}
	token := nodes[0].token("writer")
	writers := []*handoverWriter{
		{node: nodes[1], path: "/api/articles", body: `{"data":{"title":"%[1]s","slug":"%[1]s"}}`,
			status: http.StatusCreated},
		{node: nodes[2], path: "/api/articles", body: `{"data":{"title":"%[1]s","slug":"%[1]s"}}`,
			status: http.StatusCreated},
		{node: nodes[1], path: "/api/_batch",
			body:   `{"operations":[{"op":"create","type":"articles","data":{"title":"%[1]s","slug":"%[1]s"}}]}`,
			status: http.StatusOK},
		{node: nodes[2], path: "/graphql",
			body:   `{"query":"mutation{createArticle(data:{title:\"%[1]s\",slug:\"%[1]s\"}){title}}"}`,
			status: http.StatusOK},
		{node: nodes[1]},
		{node: nodes[2]},
	}
	for _, n := range nodes {
		n.awaitAge(token, "0") // it has the token
	}
	awaitWrites, end := startWriters(t, token, writers)
	operator := gateway.Directory(nodes[0].dir, gateway.Options{})
	for _, to := range []string{"n2", "n3", "n1"} {
		awaitWrites()
		if err := operator.TransferLead(t.Context(), to); err != nil {
			t.Error(err)
		}
	}
	for i := range 30 { // an operator who does not wait for the end
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(1+i%6)*time.Millisecond)
		_ = operator.TransferLead(ctx, "") // it may have been told in time
		cancel()
		before := writers[0].writes.Load()
		until(t, writers[0].name+" goes on", func() bool { return t.Failed() || writers[0].writes.Load() > before })
	}
	for again := range 4 { // a leader that stops, also if it has not led yet
		if _, err := repeats(func() error {
			return gateway.Directory(nodes[1].dir, gateway.Options{}).TransferLead(t.Context(), "n1")
		}); err != nil {
			t.Error(err)
		}
		nodes[1].awaitStatus("n1", func(s admin.NodeStatus) bool { return s.Leader })
		if again == 3 {
			awaitWrites()
		}
		if err := nodes[0].stop(); err != nil {
			t.Error(err)
		}
		if again < 3 {
			nodes[0].start()
		}
	}
	awaitWrites()
	silent, err := net.Listen("tcp", nodes[0].options.Cluster.Address) // takes connections and says nothing
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	operator = gateway.Directory(nodes[1].dir, gateway.Options{})
	if err := operator.TransferLead(t.Context(), "n1"); err == nil ||
		!strings.Contains(err.Error(), "the node n1 does not answer") {
		t.Errorf("transfer to a silent node: %v", err)
	}
	awaitWrites()
	if err := operator.TransferLead(t.Context(), ""); err != nil {
		t.Error(err)
	}
	awaitWrites()
	end()
	for _, w := range writers[:4] {
		_, _, text := nodes[1].read("/api/articles?pagination[limit]=0&filters[title][$startsWith]="+w.name+"-", token,
			"Lectern-Consistency", "linearizable")
		if want := fmt.Sprintf(`"total":%d}`, w.writes.Load()); !strings.Contains(text, want) {
			t.Errorf("%s: want %s, got %s", w.name, want, text)
		}
	}
}

// TestHandoverOfBusyNodeLosesNoWrite passes the lead to and fro between two nodes, at one of which as many clients
// write as may at a time. What it has forwarded to the former leader comes back to it.
func TestHandoverOfBusyNodeLosesNoWrite(t *testing.T) {
	const clients = 12
	nodes := newStoppedCluster(t, 2)
	limits := fmt.Appendf(nil, "limits:\n  concurrent: %d\n", clients+1)
	if err := os.WriteFile(filepath.Join(nodes[1].dir, "config", "server.yaml"), limits, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, n := range nodes {
		n.options.Cluster.Heartbeat = calmHeartbeat
		n.start()
	}
	token := nodes[0].token("writer")
	nodes[1].awaitAge(token, "0")
	var writers []*handoverWriter
	for range clients {
		writers = append(writers, &handoverWriter{node: nodes[1], path: "/api/articles",
			body: `{"data":{"title":"%[1]s","slug":"%[1]s"}}`, status: http.StatusCreated})
	}
	awaitWrites, end := startWriters(t, token, writers)
	for range 3 {
		for _, to := range []string{"n2", "n1"} {
			awaitWrites()
			if err := gateway.Directory(nodes[0].dir, gateway.Options{}).TransferLead(t.Context(), to); err != nil {
				t.Error(err)
			}
		}
	}
	awaitWrites()
	end()
}

// startWriters has writers write until end is called. awaitWrites waits until each has written something since.
func startWriters(t *testing.T, token string, writers []*handoverWriter) (awaitWrites, end func()) {
	var running sync.WaitGroup
	stop := make(chan struct{})
	for i, w := range writers {
		w.name = fmt.Sprint("writer-", i)
		running.Go(func() { w.run(t, token, stop) })
	}
	awaitWrites = func() {
		for _, w := range writers {
			enough := w.writes.Load() + 3
			until(t, w.name+" goes on", func() bool { return t.Failed() || w.writes.Load() >= enough })
		}
	}
	return awaitWrites, func() {
		close(stop)
		running.Wait()
	}
}

// A handoverWriter creates articles at a node, or API tokens by a command there.
type handoverWriter struct {
	node   *clusterNode
	path   string // "" for tokens
	body   string // with a verb for the title
	status int
	name   string
	writes atomic.Int64
}

func (w *handoverWriter) run(t *testing.T, token string, stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		default:
		}
		title := fmt.Sprint(w.name, "-", w.writes.Load())
		if err := w.write(t.Context(), token, title); err != nil {
			t.Errorf("%s at %s: %v", w.name, w.node.dir, err)
			return
		}
		w.writes.Add(1)
	}
}

// write creates an article or a token.
func (w *handoverWriter) write(ctx context.Context, token, title string) error {
	if w.path == "" {
		p, err := gateway.Directory(w.node.dir, gateway.Options{}).Administer(ctx)
		if err != nil {
			return err
		}
		defer p.Close()
		_, _, err = p.CreateToken(ctx, auth.Declaration{Name: title, Kind: auth.ReadOnly})
		return err
	}
	status, _, text, err := w.node.send("POST", w.path, token, fmt.Sprintf(w.body, title))
	if err == nil && (status != w.status || !strings.Contains(text, title)) {
		err = fmt.Errorf("%d %s", status, text)
	}
	return err
}
