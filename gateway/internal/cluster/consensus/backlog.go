package consensus

import (
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"lectern/store"
)

// A backlog has the transactions of other nodes that the machine has yet to apply. They are applied by a goroutine of
// their own, several together: each time the machine writes the pages of its file and syncs it. So a transaction waits
// gatherTime for others, unless somebody waits for it (Raft.Hurry).
//
// Raft.mu guards the fields.
type backlog struct {
	list     []store.Transaction
	size     int    // of list, in bytes
	passed   uint64 // the index of the last entry of Raft's log that Raft has passed on; Raft.applied follows it
	applying bool   // the machine is applying transactions that were taken from list
	due      bool   // the oldest transaction of list has waited for gatherTime
	hurries  int    // calls of Raft.Hurry that were not released: list is not to wait for gatherTime
	changed  sync.Cond
}

const (
	gatherTime  = 20 * time.Millisecond
	fullBacklog = 8 << 20 // bytes: a backlog of that size does not wait for gatherTime, and takes no further transactions
)

func (b *backlog) empty() bool { return len(b.list) == 0 && !b.applying }

// ready reports whether the machine is to apply the transactions of the list.
func (b *backlog) ready() bool {
	return len(b.list) > 0 && (b.due || b.hurries > 0 || b.full())
}

func (b *backlog) full() bool { return b.size >= fullBacklog }

// closing reports whether the node is being closed.
func (n *Raft) closing() bool {
	select {
	case <-n.stopped:
		return true
	default:
		return false
	}
}

// enqueue adds transactions that Raft has passed on, up to an index. It waits while the backlog is full. The node gives
// up its own proposal, and refuses further ones until the machine has applied the transactions. Otherwise there would
// be a deadlock: the store applies them in the goroutine that waits for the proposal, and Raft passes the proposal on
// after them.
func (n *Raft) enqueue(list []store.Transaction, index uint64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	b := &n.backlog
	if len(list) > 0 {
		for b.full() && !n.closing() {
			b.changed.Wait()
		}
		n.abandon()
		if len(b.list) == 0 {
			b.due = false
			time.AfterFunc(gatherTime, n.applySoon)
		}
		b.list = append(b.list, list...)
		for _, t := range list {
			b.size += len(t.Data)
		}
		b.changed.Broadcast()
	}
	if b.passed = index; b.empty() {
		n.applied.Store(index)
	}
}

// wakeWaiting has all who wait for the machine look again whether they still have to: the node is being closed, or the
// machine has failed.
func (n *Raft) wakeWaiting() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.backlog.changed.Broadcast()
}

// applySoon has the machine apply the backlog as soon as it is free.
func (n *Raft) applySoon() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.backlog.due = true
	n.backlog.changed.Broadcast()
}

// Hurry has the machine apply transactions of other nodes without waiting for further ones, until release is called.
func (n *Raft) Hurry() (release func()) {
	n.hurry(1)
	return func() { n.hurry(-1) }
}

func (n *Raft) hurry(by int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.backlog.hurries += by
	n.backlog.changed.Broadcast()
}

// settle waits until the machine has applied all that Raft has passed on so far. It returns false if the node is closed
// before.
func (n *Raft) settle() bool { return n.settleWhile(func() bool { return true }) }

// settleWhile is settle, but also returns false once wanted does. It asks wanted whenever the machine has failed or
// applied something.
func (n *Raft) settleWhile(wanted func() bool) bool {
	defer n.Hurry()()
	n.mu.Lock()
	defer n.mu.Unlock()
	passed := n.backlog.passed
	for n.applied.Load() < passed {
		if n.closing() || !wanted() {
			return false
		}
		n.backlog.changed.Wait()
	}
	return true
}

// applyBacklog has the machine apply the backlog whenever it is ready, until the node is closed.
func (n *Raft) applyBacklog() {
	for {
		list, last := n.takeBacklog()
		if list == nil || !n.apply(list) {
			return
		}
		n.mu.Lock()
		n.backlog.applying = false
		if n.backlog.empty() {
			last = n.backlog.passed // entries that are not for the machine may have followed
		}
		n.applied.Store(last)
		n.backlog.changed.Broadcast()
		n.mu.Unlock()
		n.wake() // to lead again, if the node does
	}
}

// takeBacklog waits until the backlog is ready and empties it. It returns nil once the node is being closed. Raft
// passes all that is left on again when the node is started.
func (n *Raft) takeBacklog() (list []store.Transaction, last uint64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	b := &n.backlog
	for !b.ready() && !n.closing() {
		b.changed.Wait()
	}
	if n.closing() {
		return nil, 0
	}
	list, b.list, b.size, b.applying = b.list, nil, 0, true
	b.changed.Broadcast() // there is space in the backlog
	return list, b.passed
}

// apply has the machine apply transactions. It tries until that succeeds or the node is closed, and reports whether it
// has succeeded: nothing can be applied after a transaction that is missing.
func (n *Raft) apply(list []store.Transaction) bool {
	for {
		err := n.config.Machine.Apply(list)
		if n.stuck.Store(err != nil); err == nil {
			return true
		}
		n.config.Log.Error("the node cannot apply what the cluster has agreed to, and tries again", "index",
			list[0].Index, "error", err)
		if n.raft.State() == raft.Leader {
			_ = n.raft.LeadershipTransfer() // best effort: the node stays behind until it can go on
		}
		n.wakeWaiting()
		select {
		case <-n.stopped:
			return false
		case <-time.After(n.config.heartbeat()):
		}
	}
}
