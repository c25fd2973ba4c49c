// Package pool keeps what was used to read a state of the store for the next reader of that state.
package pool

import "sync"

// A Pool keeps values that are not in use. While somebody writes it keeps none: a writer may need all readers to end, and what a
// reader holds must not keep pages of the file from being used again. It may be used by any number of goroutines.
type Pool[T any] struct {
	// Close lets go of a value that the Pool does not keep.
	Close func(T)
	// Size is how many values the Pool keeps at most.
	Size int

	mu      sync.Mutex
	writers int
	epoch   Epoch
	idle    []T
}

// An Epoch is the time between two writes. A value may be given to a Pool only in the epoch in which it was made.
type Epoch int64

// never is the epoch of what was made while somebody wrote: it may have begun on the state before or after the write.
const never Epoch = -1

// Get returns a value that is not in use; ok is false if there is none. Whoever makes one then says with Put that it was made in
// this epoch.
func (p *Pool[T]) Get() (value T, epoch Epoch, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	epoch = p.epoch
	if p.writers > 0 {
		epoch = never
	}
	if n := len(p.idle); n > 0 {
		var none T
		value, p.idle[n-1], p.idle = p.idle[n-1], none, p.idle[:n-1]
		return value, epoch, true
	}
	return value, epoch, false
}

// Put keeps a value made in an epoch for the next Get, or closes it.
func (p *Pool[T]) Put(value T, made Epoch) {
	p.mu.Lock()
	keep := p.writers == 0 && made == p.epoch && len(p.idle) < p.Size
	if keep {
		p.idle = append(p.idle, value)
	}
	p.mu.Unlock()
	if !keep {
		p.Close(value)
	}
}

// Drain closes all values that are not in use, and has Put close those that are. The Pool keeps values again, made from then on,
// when release is called.
func (p *Pool[T]) Drain() (release func()) {
	p.mu.Lock()
	idle := p.idle
	p.writers, p.epoch, p.idle = p.writers+1, p.epoch+1, nil
	p.mu.Unlock()
	for _, value := range idle {
		p.Close(value)
	}
	return sync.OnceFunc(func() {
		p.mu.Lock()
		p.writers--
		p.mu.Unlock()
	})
}

// Idle is how many values the Pool keeps now.
func (p *Pool[T]) Idle() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.idle)
}
