package consensus

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/hashicorp/raft"

	"lectern/store"
)

// Verify returns nil if the node leads the cluster, and its machine has everything to which the nodes had agreed when
// Verify was called. It asks a majority of the nodes. The error wraps store.ErrNotLeader if the node does not lead.
func (n *Raft) Verify(ctx context.Context) error {
	n.mu.Lock()
	term, last := n.led, n.latest
	n.mu.Unlock()
	if term == 0 {
		return store.ErrNotLeader
	}
	committed := n.raft.CommitIndex()
	if err := n.verifyTerm(ctx, term); err != nil {
		return err
	}
	// other transactions are in the machine: a node proposes one after the other
	if last == nil || committed <= last.after {
		return nil
	}
	select { // other nodes may show the transaction already
	case <-last.ended:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// verifyTerm returns nil once a majority of the voters has acknowledged messages of a term that this node sent after
// verifyTerm was called.
//
// VerifyLeader of Raft is not enough. It also counts answers to messages that were sent earlier. A process that was
// suspended reads such answers when it goes on, and another node may have become the leader meanwhile. It counts
// answers of nodes without a vote, too.
func (n *Raft) verifyTerm(ctx context.Context, term uint64) error {
	round := n.transport.acks.round.Add(1)
	for {
		verified := make(chan error, 1)
		go func() { verified <- n.raft.VerifyLeader().Error() }() // sends heartbeats at once
		select {
		case err := <-verified:
			if err != nil {
				return store.ErrNotLeader
			}
		case <-ctx.Done():
			return ctx.Err()
		}
		if n.acknowledged(term, round) {
			return nil
		}
		if n.raft.CurrentTerm() != term { // lost and won again, so that nobody acknowledges messages of term any more
			return store.ErrNotLeader
		}
	}
}

// acknowledged reports whether a majority of the voters has acknowledged messages of a term that this node sent in a
// round or later.
func (n *Raft) acknowledged(term, round uint64) bool {
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

// acks has the newest message of the leader that each other node has acknowledged. Messages are numbered by rounds, of
// which each Verify begins one: a message belongs to the round in which it was sent.
type acks struct {
	round atomic.Uint64 // the present one
	mu    sync.Mutex
	last  map[raft.ServerID]ack
}

// An ack is the term of a message that was acknowledged, and the round in which it was sent.
type ack struct{ term, round uint64 }

// add notes that a node has acknowledged a message. Raft sends a node several at a time, and their answers may arrive
// in any order.
func (a *acks) add(id raft.ServerID, added ack) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if last := a.last[id]; added.term > last.term || added.term == last.term && added.round > last.round {
		a.last[id] = added
	}
}

// has reports whether a node has acknowledged a message of a term that was sent in a round or later.
func (a *acks) has(id raft.ServerID, term, round uint64) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	last := a.last[id]
	return last.term == term && last.round >= round
}
