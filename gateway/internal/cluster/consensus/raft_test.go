package consensus_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"lectern/gateway/internal/cluster/consensus"
	"lectern/store"
)

// TestNodes has three nodes agree, and go on without the leader, which then comes back.
func TestNodes(t *testing.T) {
	nodes := newNodes(t, 3)
	a := proposeSomehow(t, nodes)
	textsUpTo(t, nodes, a)
	first := checkOneLeads(t, nodes)
	first.stop()
	c := proposeSomehow(t, nodes)
	first.start()
	texts := slices.DeleteFunc(textsUpTo(t, nodes, c),
		func(text string) bool { return text != a && text != c }) // what nobody knew the outcome of
	if !slices.Equal(texts, []string{a, c}) {
		t.Errorf("of %q and %q, the nodes have %q", a, c, texts)
	}
	for _, n := range nodes {
		n.wait(t, n.name+" knows three nodes, and which of them leads", func() bool {
			peers, err := n.Peers()
			return err == nil && len(peers) == 3 && slices.ContainsFunc(peers, func(s consensus.Peer) bool {
				return s.Leader && slices.ContainsFunc(
					nodes, func(n *testNode) bool { return n.name == s.Name && n.Leading() })
			})
		})
	}
}

// checkOneLeads checks that the leader says that it leads, and that the other nodes neither say that nor propose
// anything. It returns the leader.
func checkOneLeads(t *testing.T, nodes []*testNode) (leader *testNode) {
	t.Helper()
	var problems []string
	somehow(t, nodes, func(of *testNode) error {
		leader, problems = of, nil
		before := terms(nodes)
		if err := leader.Verify(t.Context()); err != nil {
			return err
		}
		for _, n := range nodes {
			if n == leader {
				continue
			}
			if err := n.propose("b"); !errors.Is(err, store.ErrNotLeader) {
				problems = append(problems, fmt.Sprintf("%s proposes, but does not lead: %v", n.name, err))
			}
			if err := n.Verify(t.Context()); !errors.Is(err, store.ErrNotLeader) {
				problems = append(problems, fmt.Sprintf("%s leads, it says: %v", n.name, err))
			}
		}
		if after := terms(nodes); len(before) > 1 || !slices.Equal(before, after) {
			return fmt.Errorf("another node may have become the leader meanwhile: terms %v and %v", before, after)
		}
		return nil
	})
	for _, p := range problems {
		t.Error(p)
	}
	return leader
}

// terms returns the terms in which the nodes are. If there is one only, a node that leads in it is the only leader.
func terms(nodes []*testNode) (list []uint64) {
	for _, n := range nodes {
		list = append(list, n.Figures().Term)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// TestNoMajority stops all nodes but the leader, which then neither agrees to anything nor says that it leads.
func TestNoMajority(t *testing.T) {
	nodes := newNodes(t, 3)
	leader := leaderOf(t, nodes)
	for _, n := range nodes {
		if n != leader {
			n.stop()
		}
	}
	if err := leader.Verify(context.Background()); err == nil { // although the node has not noticed yet
		t.Error("a node that has just lost its majority leads, it says")
	}
	if err := leader.propose("lost"); !errors.Is(err, store.ErrOutcome) && !errors.Is(err, store.ErrNotLeader) {
		t.Fatalf("proposed alone: %v", err)
	}
	if err := leader.Verify(context.Background()); err == nil {
		t.Error("a node without a majority leads, it says")
	}
	if len(leader.state.Texts) > 0 {
		t.Errorf("a node without a majority has committed %q", leader.state.Texts)
	}
	for _, n := range nodes {
		if n != leader {
			n.start()
		}
	}
	textsUpTo(t, nodes, proposeSomehow(t,
		nodes)) // what nobody knew the outcome of was agreed to, or was not, at all nodes alike
}

// TestApplied has the machine of a node that does not lead fail for a while. Transactions that wait for the machine
// must not count as applied. Entries of Raft's own, such as the one that begins a term, are not for the machine, and
// must not count as missing.
func TestApplied(t *testing.T) {
	nodes := newNodes(t, 3)
	leader := leaderOf(t, nodes)
	other := nodes[(slices.Index(nodes, leader)+1)%len(nodes)]
	hasAll := func() bool {
		f := other.Figures()
		return f.Applied == f.Committed && f.Committed == leader.Figures().Committed
	}
	other.wait(t, "all of the beginning", hasAll)
	before := other.Figures().Applied
	other.setBroken(true)
	for i := range 3 {
		if err := leader.propose(fmt.Sprint("text ", i)); err != nil {
			t.Fatal(err)
		}
	}
	other.wait(t, "what was agreed to",
		func() bool { return other.Figures().Committed == leader.Figures().Committed })
	if f := other.Figures(); f.Applied != before || f.Committed < before+3 {
		t.Errorf("a machine has nothing after %d: %+v", before, f)
	}
	other.setBroken(false)
	other.wait(t, "the rest", hasAll)
	other.stop()
	other.start()
	other.wait(t, "all after a start", hasAll)
}
