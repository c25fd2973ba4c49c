// Package pool keeps values that read one state of the store, such as snapshots, for the next reader of that state.
package pool

import "sync"

// A Pool keeps values that are not in use. It keeps none during a write, because a writer may need all readers to end,
// and because an idle reader would keep pages of the file from being reused. Several goroutines may use it at the same
// time.
type Pool[T any] struct {
	// Close is called with each value that the Pool does not keep.
	Close func(T)
	// Size is the maximum number of values that the Pool keeps.
	Size int

	mu      sync.Mutex
	writers int
	epoch   Epoch
	idle    []T
}

// An Epoch is the time between two writes. A Pool keeps a value only if it is put back in the epoch in which it was
// made.
type Epoch int64

// never is the epoch of values that were made during a write. They are not kept, since they may read the state before
// or after it.
const never Epoch = -1

// Get returns a value that is not in use; ok is false if there is none. The caller then makes a value and later passes
// it to Put with the epoch that Get returned.
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

// Put keeps a value for the next Get, or closes it. made is the epoch that Get returned.
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

// Drain closes all values that are not in use; Put will close those that are in use. After a call of release, the Pool
// keeps values again, but only those made after the call.
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

// Idle returns how many values the Pool keeps now.
func (p *Pool[T]) Idle() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.idle)
}
