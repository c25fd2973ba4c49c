package consensus_test

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"lectern/gateway/internal/cluster/consensus"
	"lectern/internal/servertest"
	"lectern/store"
)

const (
	heartbeat = 100 * time.Millisecond
	patience  = 20 * time.Second // a test that has to wait longer fails
)

// A plainPort is a consensus.Port without TLS.
type plainPort struct{ net.Listener }

func (p plainPort) Raft() net.Listener { return p.Listener }

func (p plainPort) DialRaft(address string, timeout time.Duration) (net.Conn, error) {
	return net.DialTimeout("tcp", address, timeout)
}

// A testNode is a node with its machine.
type testNode struct {
	*consensus.Raft
	*list
	t                  *testing.T
	name               string
	dir                string
	address            string                            // "" before the first start
	leading, stops     chan struct{}                     // of the list
	port               func(net.Listener) consensus.Port // nil: a plainPort
	heartbeat, silence time.Duration                     // see consensus.Config; no heartbeat: the usual one
	trailing           uint64                            // see consensus.Config
	log                io.Writer                         // nil: nothing is logged
}

func (n *testNode) config() consensus.Config {
	log := slog.New(slog.NewTextHandler(cmp.Or(n.log, io.Discard), &slog.HandlerOptions{Level: slog.LevelDebug}))
	return consensus.Config{Name: n.name, Address: n.address, Dir: n.dir, Machine: n.list, Log: log,
		Heartbeat: cmp.Or(n.heartbeat, heartbeat), Silence: n.silence, Trailing: n.trailing}
}

// start starts the node at the address that it had before, if any.
func (n *testNode) start() {
	n.t.Helper()
	first := n.address == ""
	if first {
		n.address = servertest.FreeAddress(n.t)
	}
	ln, err := net.Listen("tcp", n.address)
	if err != nil {
		n.t.Fatal(err)
	}
	n.list = openList(n.t, filepath.Join(n.dir, "list.json"))
	n.list.leading, n.list.stops = n.leading, n.stops
	if first && n.name == "n1" {
		if err := consensus.Bootstrap(n.config()); err != nil {
			n.t.Fatal(err)
		}
	}
	c := n.config()
	c.Port = plainPort{ln}
	if n.port != nil {
		c.Port = n.port(ln)
	}
	if n.Raft, err = consensus.Start(c); err != nil {
		n.t.Fatal(err)
	}
}

func (n *testNode) stop() {
	n.t.Helper()
	if err := n.Close(); err != nil {
		n.t.Error(err)
	}
	n.Raft = nil
}

// propose proposes a transaction and adds it to the list when the nodes have agreed to it, as a store does.
func (n *testNode) propose(text string) error {
	agreed, err := n.Propose([]byte(text))
	if err != nil {
		return err
	}
	n.mu.Lock()
	n.state.Index, n.state.Texts = agreed.Index, append(n.state.Texts, text)
	err = n.save()
	n.mu.Unlock()
	agreed.Committed(err)
	return err
}

// newNodes starts a cluster. The first node begins it, and adds the others.
func newNodes(t *testing.T, count int) []*testNode {
	t.Helper()
	var nodes []*testNode
	for i := range count {
		n := &testNode{t: t, name: fmt.Sprintf("n%d", i+1), dir: t.TempDir()}
		n.start()
		t.Cleanup(func() {
			if n.Raft != nil {
				n.stop()
			}
		})
		if i > 0 {
			somehow(t, nodes, func(leader *testNode) error { return leader.Add(t.Context(), n.name, n.address, true) })
			n.wait(t, "the first copy", func() bool { return n.state.Moved > 0 })
		} else {
			n.wait(t, "the first leader", n.Leading)
		}
		nodes = append(nodes, n)
	}
	return nodes
}

// leaderOf waits until one of the nodes that run leads, and returns it.
func leaderOf(t *testing.T, nodes []*testNode) (leader *testNode) {
	t.Helper()
	nodes[slices.IndexFunc(nodes, func(n *testNode) bool { return n.Raft != nil })].wait(t, "a leader", func() bool {
		i := slices.IndexFunc(nodes, func(n *testNode) bool { return n.Raft != nil && n.Leading() })
		if i >= 0 {
			leader = nodes[i]
		}
		return i >= 0
	})
	return leader
}

// somehow has the leader do something until that succeeds: the lead may pass on meanwhile.
func somehow(t *testing.T, nodes []*testNode, do func(leader *testNode) error) {
	t.Helper()
	for late := time.Now().Add(patience); ; {
		err := do(leaderOf(t, nodes))
		if err == nil {
			return
		}
		if time.Now().After(late) {
			t.Fatal(err)
		}
	}
}

// proposeSomehow proposes texts, each once, until the nodes agree to one, which it returns.
func proposeSomehow(t *testing.T, nodes []*testNode) (text string) {
	t.Helper()
	somehow(t, nodes, func(leader *testNode) error {
		text = rand.Text()
		err := leader.propose(text)
		if err != nil && !errors.Is(err, store.ErrNotLeader) && !errors.Is(err, store.ErrOutcome) {
			t.Fatal(err)
		}
		return err
	})
	return text
}

// textsUpTo waits until all nodes have a text, and returns the texts up to it, which must be the same ones at all
// nodes.
func textsUpTo(t *testing.T, nodes []*testNode, last string) (all []string) {
	t.Helper()
	for _, n := range nodes {
		n.wait(t, last+" at "+n.name, func() bool { return slices.Contains(n.state.Texts, last) })
		texts := n.texts()
		texts = texts[:slices.Index(texts, last)+1]
		if all == nil {
			all = texts
		}
		if !slices.Equal(texts, all) {
			t.Errorf("%s has %q, another node %q", n.name, texts, all)
		}
	}
	return all
}

func has(n *testNode, texts ...string) func() bool {
	return func() bool { return slices.Equal(n.state.Texts, texts) }
}
