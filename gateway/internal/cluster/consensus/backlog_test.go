package consensus_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"lectern/internal/servertest"
)

// TestBacklog has a node that does not lead, and whose machine takes long to apply a transaction. It must apply those
// that arrive meanwhile together, and a snapshot must wait for them: Raft takes all that is before a snapshot for
// applied, and removes it.
func TestBacklog(t *testing.T) {
	nodes := newNodes(t, 3)
	leader := leaderOf(t, nodes)
	other := nodes[(slices.Index(nodes, leader)+1)%len(nodes)]
	gate := make(chan struct{})
	other.setGate(gate)
	const more = 10
	var texts []string
	propose := func() {
		texts = append(texts, fmt.Sprint("text ", len(texts)))
		if err := leader.propose(texts[len(texts)-1]); err != nil {
			t.Fatal(err)
		}
	}
	propose()
	<-gate
	for range more {
		propose()
	}
	backlog := func(want, wantWaiting int) func() bool {
		return func() bool {
			transactions, waiting := other.Backlog()
			return transactions == want && waiting == wantWaiting
		}
	}
	other.wait(t, "the backlog", backlog(more, 0))
	snapshot := make(chan error, 1)
	go func() {
		err := other.TakeSnapshot()
		if has := other.texts(); !slices.Equal(has, texts) {
			t.Errorf("there is a snapshot, and the machine has %q", has)
		}
		snapshot <- err
	}()
	other.wait(t, "the snapshot to wait for the machine", backlog(more, 1))
	gate <- struct{}{} // the first is applied
	<-gate
	if transactions, _ := other.Backlog(); transactions != 0 {
		t.Errorf("%d transactions were not applied together with others", transactions)
	}
	gate <- struct{}{}
	if err := <-snapshot; err != nil {
		t.Error(err)
	}
	other.setGate(nil)
}

// TestPassedWhileApplying has Raft pass on an entry that is not for the machine, while the machine applies a
// transaction. A snapshot must not wait for more.
func TestPassedWhileApplying(t *testing.T) {
	nodes := newNodes(t, 3)
	leader := leaderOf(t, nodes)
	other := nodes[(slices.Index(nodes, leader)+1)%len(nodes)]
	gate := make(chan struct{})
	other.setGate(gate)
	if err := leader.propose("a"); err != nil {
		t.Fatal(err)
	}
	<-gate
	other.setGate(nil)
	if err := leader.Add(t.Context(), "n4", servertest.FreeAddress(t), false); err != nil {
		t.Fatal(err)
	}
	last := leader.Figures().Committed
	other.wait(t, "the new node", func() bool { return other.Passed() >= last })
	gate <- struct{}{}
	snapshot := make(chan error, 1)
	go func() { snapshot <- other.TakeSnapshot() }()
	select {
	case err := <-snapshot:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(patience):
		t.Error("the snapshot waits for a transaction that there is not")
	}
}

// TestCloseWithBacklog closes a node whose machine has not applied everything, and starts it again.
func TestCloseWithBacklog(t *testing.T) {
	nodes := newNodes(t, 3)
	leader := leaderOf(t, nodes)
	other := nodes[(slices.Index(nodes, leader)+1)%len(nodes)]
	other.setBroken(true)
	for i := range 3 {
		if err := leader.propose(fmt.Sprint("text ", i)); err != nil {
			t.Fatal(err)
		}
	}
	other.wait(t, "what was agreed to",
		func() bool { return other.Figures().Committed == leader.Figures().Committed })
	other.stop()
	other.start()
	textsUpTo(t, nodes, "text 2")
}
