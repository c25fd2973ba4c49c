package cluster

import (
	"context"
	"sync"

	"github.com/hashicorp/raft"
)

// Verify returns nil if the node leads the cluster, and its machine has everything to which the nodes had agreed when Verify was called. It asks a
// majority of the nodes.
func (n *Node) Verify(ctx context.Context) error {
	n.mu.Lock()
	term, last := n.led, n.underway
	n.mu.Unlock()
	if term == 0 {
		return ErrNotLeader
	}
	committed := n.raft.CommitIndex()
	if err := n.verifyTerm(ctx, term); err != nil {
		return err
	}
	if last == nil || committed <= last.after { // other transactions are in the machine: a node proposes one after the other
		return nil
	}
	select { // followers may show the transaction already
	case <-last.ended:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// verifyTerm returns nil once a majority of the nodes with a vote has acknowledged the term in which this node leads, since verifyTerm was called.
//
// Raft's own verification is not enough. It counts answers to heartbeats that were sent before, which a process that was stopped for a while may read only
// after another node has become the leader, and answers of nodes without a vote.
func (n *Node) verifyTerm(ctx context.Context, term uint64) error {
	round := n.transport.acks.begin()
	for {
		verified := make(chan error, 1)
		go func() { verified <- n.raft.VerifyLeader().Error() }() // sends heartbeats at once
		select {
		case err := <-verified:
			if err != nil {
				return ErrNotLeader
			}
		case <-ctx.Done():
			return ctx.Err()
		}
		if n.acknowledged(term, round) {
			return nil
		}
	}
}

// acknowledged reports whether a majority of the nodes with a vote has acknowledged a term by answers to messages that were sent since a round began.
func (n *Node) acknowledged(term, round uint64) bool {
	voters, agreeing := 0, 0
	for _, s := range n.raft.GetConfiguration().Configuration().Servers {
		if s.Suffrage != raft.Voter {
			continue
		}
		voters++
		if s.ID == raft.ServerID(n.config.Name) || n.transport.acks.has(s.ID, term, round) {
			agreeing++
		}
	}
	return agreeing > voters/2
}

// acks are the last messages of this node, as the leader, that other nodes have acknowledged. Rounds tell which messages were sent after an event.
type acks struct {
	mu    sync.Mutex
	round uint64
	last  map[raft.ServerID]ack
}

// An ack is the term of a message that was acknowledged, and the round in which it was sent.
type ack struct{ term, round uint64 }

// begin begins a round, and returns it: messages that are sent from now on belong to it or a later one.
func (a *acks) begin() uint64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.round++
	return a.round
}

func (a *acks) current() uint64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.round
}

// add notes that a node has acknowledged a message. Answers to messages of several rounds may arrive in any order.
func (a *acks) add(id raft.ServerID, got ack) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if last := a.last[id]; got.term > last.term || got.term == last.term && got.round > last.round {
		a.last[id] = got
	}
}

// has reports whether a node has acknowledged a message of a term that was sent in a round or later.
func (a *acks) has(id raft.ServerID, term, round uint64) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	last := a.last[id]
	return last.term == term && last.round >= round
}
