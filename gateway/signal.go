package gateway

import "sync"

// A signal wakes all goroutines that wait for it. The zero value is ready for use.
type signal struct {
	mu   sync.Mutex
	next chan struct{} // closed by the next give; nil if nobody waits
}

// wait returns a channel that is closed by the next give. Call it before you read what give announces.
func (s *signal) wait() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next == nil {
		s.next = make(chan struct{})
	}
	return s.next
}

// give wakes those that wait.
func (s *signal) give() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next != nil {
		close(s.next)
		s.next = nil
	}
}
