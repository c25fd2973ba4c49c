package consensus

// Backlog returns how many transactions the machine has yet to begin to apply, and how many callers wait for it.
func (n *Raft) Backlog() (transactions, waiting int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.backlog.list), n.backlog.hurries
}

// Passed returns the index of the last entry that Raft has passed on to the machine.
func (n *Raft) Passed() uint64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.backlog.passed
}

// TakeSnapshot has Raft take a snapshot.
func (n *Raft) TakeSnapshot() error { return n.raft.Snapshot().Error() }
