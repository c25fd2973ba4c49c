package consensus_test

import (
	"bytes"
	"errors"
	"net"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"lectern/store"
)

// A lineTrigger is an io.Writer of a log that calls found with each line that has a text.
type lineTrigger struct {
	text  string
	found func()
}

func (l lineTrigger) Write(line []byte) (int, error) {
	if bytes.Contains(line, []byte(l.text)) {
		l.found()
	}
	return len(line), nil
}

// TestTransferBeforeLead has a new leader pass the lead on to a node that does not answer before its machine leads.
// Raft takes nothing from the leader until the transfer has failed, and tells nobody that it has. The machine must lead
// in the end.
func TestTransferBeforeLead(t *testing.T) {
	n := newNodes(t, 1)[0]
	voter := &testNode{t: t, name: "n2", dir: t.TempDir(), heartbeat: time.Minute} // it does not want the lead
	voter.start()
	t.Cleanup(func() { voter.stop() })
	silent, err := net.Listen(
		"tcp", "127.0.0.1:0") // where nobody answers, so that the transfer takes as long as it may
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = silent.Close() })
	for _, to := range [][2]string{{voter.name, voter.address},
		{"silent", silent.Addr().String()}} { // the first makes a majority with n
		somehow(t, []*testNode{n}, func(leader *testNode) error { return leader.Add(t.Context(), to[0], to[1], true) })
	}
	voter.wait(t, "the first copy", func() bool { return voter.state.Moved > 0 })
	voter.stop() // first, so that it does not get the lead
	n.stop()
	voter.start()

	n.stops = make(chan struct{})
	n.heartbeat = 10 * heartbeat // so that the machine is about to lead during the transfer
	var transfers atomic.Bool
	n.log = lineTrigger{"starting leadership transfer", func() {
		if transfers.CompareAndSwap(false, true) {
			close(n.stops)
		}
	}}
	n.start()
	for late := time.Now().Add(patience); !transfers.Load(); {
		err := n.Transfer(t.Context(), "silent") // which Raft refuses until the node is its leader
		if time.Now().After(late) {
			t.Fatal(err)
		}
	}
	n.wait(t, "the lead after a transfer that failed", n.Leading)
}

// TestFailedTransfer transfers the leadership to a node that is down, and proposes texts until one is refused. The
// machine of the leader must then be asked again to lead, since the refused proposal may have been a part of a
// conversion.
func TestFailedTransfer(t *testing.T) {
	nodes := newNodes(t, 3)
	leader := leaderOf(t, nodes)
	down := nodes[(slices.Index(nodes, leader)+1)%len(nodes)]
	down.stop()
	for refused := false; !refused; { // the transfer may fail before anything is proposed
		leader = leaderOf(t, nodes)
		led := leader.timesLed()
		transferred := make(chan struct{})
		go func() {
			defer close(transferred)
			_ = leader.Transfer(t.Context(), down.name) // fails
		}()
		refused = refuses(t, leader, transferred)
		<-transferred
		if refused {
			leader.wait(t, "Lead", func() bool { return leader.list.led > led || !leader.list.leads })
		}
	}
	proposeSomehow(t, nodes)
}

// refuses proposes texts until one is refused, and reports whether that was so before ended was closed.
func refuses(t *testing.T, leader *testNode, ended <-chan struct{}) bool {
	t.Helper()
	for {
		err := leader.propose("text")
		if errors.Is(err, store.ErrNotLeader) {
			return true
		}
		if err != nil && !errors.Is(err, store.ErrOutcome) {
			t.Fatal(err)
		}
		select {
		case <-ended:
			return false
		default:
		}
	}
}

// TestCloseUnableToLead closes a node whose machine is about to say that it cannot lead. Raft may forget what it is
// asked for when it is shut down, and nobody must wait for that.
func TestCloseUnableToLead(t *testing.T) {
	n := newNodes(t, 1)[0]
	for range 10 {
		n.stop()
		n.leading = make(chan struct{})
		n.start()
		<-n.leading
		closed := make(chan error, 1)
		go func() { closed <- n.Close() }()
		for end := time.Now().Add(patience); ; {
			c, err := net.Dial("tcp", n.address)
			if err != nil {
				break // Raft is shut down
			}
			c.Close()
			if time.Now().After(end) {
				t.Fatal("Raft is not shut down")
			}
		}
		n.leading <- struct{}{}
		select {
		case err := <-closed:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(patience):
			n.Raft = nil
			t.Fatal("the node is never closed")
		}
		n.leading = nil
		n.start()
	}
}

// TestLeadWithoutMachine transfers the lead to a node whose machine fails. The node passes it on, and its machine must
// learn who leads then, so that the node can forward writes.
func TestLeadWithoutMachine(t *testing.T) {
	nodes := newNodes(t, 3)
	leader := leaderOf(t, nodes)
	broken := nodes[(slices.Index(nodes, leader)+1)%len(nodes)]
	broken.setBroken(true)
	if err := leader.propose("a"); err != nil {
		t.Fatal(err)
	}
	broken.wait(t, "a machine that fails", func() bool { return broken.Figures().Stuck })
	before := broken.Figures().Term
	if err := leader.Transfer(t.Context(), broken.name); err != nil {
		t.Fatal(err)
	}
	others := slices.DeleteFunc(slices.Clone(nodes), func(n *testNode) bool { return n == broken })
	broken.wait(t, "the leader at a node that has passed the lead on", func() bool {
		i := slices.IndexFunc(others, func(n *testNode) bool { return n.Leading() })
		return i >= 0 && broken.leader == others[i].address && broken.Figures().Term > before+1
	})
	broken.setBroken(false)
}

// TestOneAbleToLead passes the lead to a node whose machine cannot lead. Of the others, only the last one that Raft
// would choose can. It must lead.
func TestOneAbleToLead(t *testing.T) {
	nodes := newNodes(t, 5)
	able := nodes[len(nodes)-1]
	for _, n := range nodes {
		n.setUnable(n != able)
	}
	somehow(t, nodes, func(leader *testNode) error {
		if leader == nodes[0] {
			return leader.Transfer(t.Context(), nodes[1].name)
		}
		return leader.Transfer(t.Context(), nodes[0].name)
	})
	able.wait(t, "the only node that can lead", able.Leading)
}

// TestLeadOnce passes the lead on right after a transaction, which the next leader then gets from Raft as one of the
// earlier leader. It must begin to lead once: to lead again would interrupt what it does as the leader.
func TestLeadOnce(t *testing.T) {
	nodes := newNodes(t, 2)
	for range 6 {
		proposeSomehow(t, nodes)
		somehow(t, nodes, func(leader *testNode) error {
			to := nodes[0]
			if to == leader {
				to = nodes[1]
			}
			return leader.Transfer(t.Context(), to.name)
		})
	}
	textsUpTo(t, nodes, proposeSomehow(t, nodes))
	if led, terms := nodes[0].timesLed()+nodes[1].timesLed(), int(leaderOf(t, nodes).Figures().Term); led > terms {
		t.Errorf("nodes began to lead %d times in %d terms", led, terms)
	}
}
