package consensus_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"lectern/gateway/internal/cluster/consensus"
	"lectern/store"
)

// TestSlowCommit has a leader whose machine takes long to commit, so that the others have the transaction first. The
// leader must not say meanwhile that it has everything: a read that asks it could show less than an earlier one at
// another node.
func TestSlowCommit(t *testing.T) {
	nodes := newNodes(t, 3)
	leader := leaderOf(t, nodes)
	if err := leader.propose("a"); err != nil {
		t.Fatal(err)
	}
	for i, committed := range []error{nil, errors.New("the disk is full")} {
		text := fmt.Sprint("slow ", i)
		agreed, err := leader.Propose([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range nodes {
			if n != leader {
				n.wait(t, text+" at "+n.name, func() bool { return slices.Contains(n.state.Texts, text) })
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), heartbeat)
		if err := leader.Verify(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: before the commit: %v", text, err)
		}
		cancel()
		if committed == nil {
			leader.mu.Lock()
			leader.state.Index, leader.state.Texts = agreed.Index, append(leader.state.Texts, text)
			leader.mu.Unlock()
		}
		agreed.Committed(committed)
		err = leader.Verify(t.Context())
		if err != nil && committed == nil {
			t.Errorf("%s: after the commit: %v", text, err)
		}
		leader.mu.Lock()
		if err == nil && !slices.Contains(leader.state.Texts, text) {
			t.Errorf("%s: the leader says that it has everything, and does not have it", text)
		}
		leader.mu.Unlock()
	}
}

// TestCommitFails has a leader whose machine cannot commit what the nodes have agreed to. It applies the transaction
// once it can.
func TestCommitFails(t *testing.T) {
	nodes := newNodes(t, 3)
	leader := leaderOf(t, nodes)
	leader.setBroken(true)
	agreed, err := leader.Propose([]byte("a"))
	if err != nil {
		t.Fatal(err)
	}
	agreed.Committed(errors.New("the disk is full"))
	for _, n := range nodes {
		if n != leader {
			n.wait(t, "a at "+n.name, has(n, "a"))
		}
	}
	leader.setBroken(false)
	leader.wait(t, "a at the first leader", func() bool { return len(leader.state.Texts) > 0 })
	last := proposeSomehow(t, nodes)
	for _, n := range nodes {
		n.wait(t, last+" at "+n.name,
			func() bool { return slices.Contains(n.state.Texts, last) && n.state.Texts[0] == "a" })
	}
}

// TestProposeWhileApplied has a leader propose while its machine applies a transaction that it could not commit before.
// The proposal must be refused at once: Raft would hand it to the machine after that transaction, and the machine may
// wait for the goroutine that proposes.
func TestProposeWhileApplied(t *testing.T) {
	nodes := newNodes(t, 3)
	leader := leaderOf(t, nodes)
	gate := make(chan struct{})
	leader.setGate(gate)
	agreed, err := leader.Propose([]byte("a"))
	if err != nil {
		t.Fatal(err)
	}
	agreed.Committed(errors.New("the disk is full"))
	<-gate
	leader.setGate(nil)
	refused := make(chan error, 1)
	go func() {
		_, err := leader.Propose([]byte("b"))
		refused <- err
	}()
	select {
	case err := <-refused:
		if !errors.Is(err, store.ErrNotLeader) {
			t.Errorf("proposed: %v", err)
		}
	case <-time.After(patience):
		t.Error("the proposal waits for the machine, and the machine may wait for the proposal")
	}
	gate <- struct{}{}
	last := proposeSomehow(t, nodes)
	for _, n := range nodes {
		n.wait(t, last+" at "+n.name,
			func() bool { return slices.Contains(n.state.Texts, last) && n.state.Texts[0] == "a" })
	}
}

// TestProposeWhileLeadIsLost holds up all that a leader would read, while it proposes, until it has lost the lead. The
// others have the proposal, and agree to it under another leader. The node that has lost the lead must say that they
// have agreed, and not that the outcome is unknown.
func TestProposeWhileLeadIsLost(t *testing.T) {
	var held sync.RWMutex
	nodes := newNodes(t, 2)
	loser := &testNode{t: t, name: "n3", dir: t.TempDir(), heartbeat: 20 * heartbeat,
		port: func(ln net.Listener) consensus.Port { return heldPort{plainPort{ln}, &held} }}
	loser.start()
	t.Cleanup(loser.stop)
	somehow(t, nodes, func(leader *testNode) error { return leader.Add(t.Context(), loser.name, loser.address, true) })
	loser.wait(t, "the first copy", func() bool { return loser.state.Moved > 0 })
	all := append(nodes, loser)
	for leaderOf(t, all) != loser {
		_ = leaderOf(t, all).Transfer(t.Context(), loser.name) // is tried again if it takes too long
	}
	held.Lock()
	proposed := make(chan error)
	go func() { proposed <- loser.propose("a") }()
	for _, n := range nodes {
		n.wait(t, "a at "+n.name, func() bool { return slices.Contains(n.state.Texts, "a") })
	}
	loser.wait(t, "the lead is lost", func() bool { return !loser.Leading() })
	held.Unlock()
	if err := <-proposed; err != nil {
		t.Error(err)
	}
	last := proposeSomehow(t, all)
	if texts := textsUpTo(t, all, last); !slices.Equal(texts, []string{"a", last}) {
		t.Errorf("the nodes have %q", texts)
	}
}
