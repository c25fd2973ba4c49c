package cluster

import "sync"

// A broadcast wakes all goroutines that wait for it. The zero value is ready for use.
type broadcast struct {
	mu   sync.Mutex
	next chan struct{} // closed by the next send; nil if nobody waits
}

// wait returns a channel that is closed by the next send. Call it before you read what send announces.
func (b *broadcast) wait() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.next == nil {
		b.next = make(chan struct{})
	}
	return b.next
}

// send wakes those that wait.
func (b *broadcast) send() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.next != nil {
		close(b.next)
		b.next = nil
	}
}
