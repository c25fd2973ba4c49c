package consensus

import (
	"crypto/rand"
	"errors"
	"io"
	"time"

	"github.com/hashicorp/raft"

	"lectern/store"
)

// A proposalID distinguishes a transaction that this node waits for from others. It stands before the transaction in
// Raft's log.
type proposalID [16]byte

// A proposal is a transaction of this node to which the nodes may agree.
type proposal struct {
	id        proposalID
	agreed    chan uint64   // gets its index
	committed chan error    // gets the error of the machine's commit
	abandoned chan struct{} // closed when the node does not wait for it any more

	after uint64        // an index before that of the proposal
	ended chan struct{} // closed when reads of this node show the transaction, or the node has given it up
}

// Propose implements store.Propose.
func (n *Raft) Propose(transaction []byte) (store.Agreement, error) {
	n.proposals.Add(1)
	p := &proposal{agreed: make(chan uint64, 1), committed: make(chan error, 1), abandoned: make(chan struct{}),
		after: n.raft.LastIndex(), ended: make(chan struct{})}
	_, _ = rand.Read(p.id[:]) // never fails
	n.mu.Lock()
	if n.restoring || !n.backlog.empty() { // see enqueue
		n.mu.Unlock()
		n.failed.Add(1)
		return store.Agreement{}, store.ErrNotLeader
	}
	n.pending, n.latest = p, p
	n.mu.Unlock()
	agreement, err := n.propose(p, transaction)
	if err != nil {
		n.failed.Add(1)
		close(p.ended)
		n.leadAgain()
	}
	return agreement, err
}

// leadAgain has Machine.Lead called again if the node is still the leader after a proposal failed, or leads again. Raft
// refuses proposals during a transfer of leadership, and the transfer may fail. Lead finishes the conversion that the
// refused proposal may have been a part of.
func (n *Raft) leadAgain() {
	n.mu.Lock()
	n.lose()
	n.mu.Unlock()
	n.wake()
}

func (n *Raft) propose(p *proposal, transaction []byte) (store.Agreement, error) {
	failed := make(chan error, 1)
	// Apply waits while Raft receives a copy, and the machine takes the copy over only when nothing is proposed any
	// more. The goroutine ends when Raft knows the outcome, or is shut down.
	go func() { failed <- n.raft.Apply(append(p.id[:], transaction...), 0).Error() }()
	var err error
	select {
	case index := <-p.agreed:
		return p.agreement(index), nil
	case <-p.abandoned:
		return store.Agreement{}, store.ErrOutcome
	case err = <-failed:
	}
	if errors.Is(err, raft.ErrLeadershipLost) {
		if index, ok := n.awaitNextLeader(p); ok {
			n.leadAgain() // it may lead again by now
			return p.agreement(index), nil
		}
	}
	if n.claim(p.id) == nil { // another goroutine has claimed it at the same time
		select {
		case index := <-p.agreed:
			return p.agreement(index), nil
		case <-p.abandoned:
			return store.Agreement{}, store.ErrOutcome
		}
	}
	return store.Agreement{}, n.outcome(err)
}

// awaitNextLeader waits until the nodes have agreed to a proposal under another leader, and returns its index. Raft
// gives a proposal up when the node loses the lead, but other nodes may have it already. That happens on a busy
// machine, where their answers are late. The wait ends when the node gives the proposal up because it has got another
// transaction, and after electionHeartbeats: the machine can stop leading only when nothing is proposed.
func (n *Raft) awaitNextLeader(p *proposal) (index uint64, agreed bool) {
	late := time.NewTimer(electionHeartbeats * n.config.heartbeat())
	defer late.Stop()
	select {
	case index := <-p.agreed:
		return index, true
	case <-p.abandoned:
	case <-late.C:
	case <-n.stopped:
	}
	return 0, false
}

func (p *proposal) agreement(index uint64) store.Agreement {
	return store.Agreement{Index: index, Committed: func(err error) { p.committed <- err }}
}

// outcome returns the error of a proposal to which the nodes have not agreed so far.
func (n *Raft) outcome(err error) error {
	if errors.Is(err, raft.ErrNotLeader) || errors.Is(err, raft.ErrLeadershipTransferInProgress) {
		return store.ErrNotLeader
	}
	return store.ErrOutcome
}

// claim ends the wait for a proposal and returns it, nil if the node does not wait for the one with this id.
func (n *Raft) claim(id proposalID) *proposal {
	n.mu.Lock()
	defer n.mu.Unlock()
	p := n.pending
	if p == nil || p.id != id {
		return nil
	}
	n.pending = nil
	return p
}

// abandon ends the wait for any proposal. It must be called with n.mu held.
func (n *Raft) abandon() {
	if n.pending != nil {
		close(n.pending.abandoned)
		n.pending = nil
	}
	n.lose()
}

// setRestoring notes whether the machine takes over a copy. Meanwhile the node refuses to propose, as enqueue says.
func (n *Raft) setRestoring(restoring bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.restoring = restoring
	n.abandon()
}

// fsm is the raft.FSM of a node. It passes on to the Machine what Raft gives it.
type fsm struct{ *Raft }

// Apply implements raft.FSM.
func (f fsm) Apply(log *raft.Log) any { return f.ApplyBatch([]*raft.Log{log})[0] }

// ApplyBatch implements raft.BatchingFSM.
func (f fsm) ApplyBatch(logs []*raft.Log) []any {
	var others []store.Transaction // for Machine.Apply, of other nodes for the most part
	var agreed *proposal           // of this node, among the others
	for _, l := range logs {
		var id proposalID
		if l.Type != raft.LogCommand || copy(id[:], l.Data) < len(id) {
			continue
		}
		own := f.claim(id)
		if own != nil && len(others) == 0 {
			own.agreed <- l.Index
			if err := <-own.committed; err == nil {
				close(own.ended)
				continue
			}
			agreed = own
		} else if own != nil { // others come first: the machine applies or skips it like them
			close(own.abandoned)
		}
		others = append(others, store.Transaction{Index: l.Index, Data: l.Data[len(id):]})
	}
	f.enqueue(others, logs[len(logs)-1].Index)
	if agreed != nil && f.settle() {
		close(agreed.ended)
	}
	return make([]any, len(logs))
}

// Snapshot implements raft.FSM. It fails if the node is closed before the machine has applied all transactions that
// Raft has passed on, since Raft takes them for applied.
func (f fsm) Snapshot() (raft.FSMSnapshot, error) {
	if !f.settle() {
		return nil, raft.ErrRaftShutdown
	}
	return durableState{}, nil
}

// Restore implements raft.FSM.
func (f fsm) Restore(from io.ReadCloser) error {
	defer from.Close()
	if !f.settle() {
		return raft.ErrRaftShutdown
	}
	f.setRestoring(true)
	defer f.setRestoring(false)
	if err := f.config.Machine.Restore(from); err != nil {
		return err
	}
	if err := f.noteSnapshot(); err != nil {
		return err
	}
	return f.snapshots.taken()
}

// noteSnapshot notes that the machine has taken over the newest snapshot.
func (n *Raft) noteSnapshot() error {
	newest, err := n.snapshots.newest()
	if newest != nil {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.backlog.passed = newest.Index
		n.applied.Store(newest.Index)
	}
	return err
}

// durableState is a snapshot without content: the machine has it on disk.
type durableState struct{}

// Persist implements raft.FSMSnapshot.
func (durableState) Persist(sink raft.SnapshotSink) error { return sink.Close() }

// Release implements raft.FSMSnapshot.
func (durableState) Release() {}

// noopFSM is a raft.FSM that ignores all transactions.
type noopFSM struct{}

// Apply implements raft.FSM.
func (noopFSM) Apply(*raft.Log) any { return nil }

// Snapshot implements raft.FSM.
func (noopFSM) Snapshot() (raft.FSMSnapshot, error) { return durableState{}, nil }

// Restore implements raft.FSM.
func (noopFSM) Restore(from io.ReadCloser) error { return from.Close() }
