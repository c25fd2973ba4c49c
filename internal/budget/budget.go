// Package budget bounds the memory that all requests of a server take together.
//
//	memory := budget.New(512 << 20)
//	answer := memory.Reservation()
//	defer answer.Release()
//	if err := answer.Grow(4 << 20); err != nil {
//		// The budget is exhausted: drop what was made, and either refuse the request or Wait and begin again.
//	}
//
// A caller reserves bytes before it allocates them, in steps of any size, and releases them when they are no longer needed: for an
// answer, when it was sent or its connection died. Each request may use Unreserved bytes without a reservation.
//
// A holder of memory must not wait for more, or all holders could wait for each other. So Grow never waits, and Wait releases the
// reservation before it waits.
package budget

import (
	"context"
	"errors"
	"slices"
	"sync"
)

// Unreserved is how many bytes each request may use without a reservation. Package admission bounds the number of requests.
const Unreserved = 128 << 10

// ordinary is how large a reservation may be to have all of the budget for itself. Larger ones leave a quarter of it to the
// others, so that a few huge answers to slow readers do not turn everybody away.
const ordinary = 1 << 20

// ErrExhausted says that other requests have reserved too much for a reservation to grow.
var ErrExhausted = errors.New("the memory for requests is used up")

// A Budget is a number of bytes that reservations share. Any number of goroutines may use it. A nil Budget is not bounded.
type Budget struct {
	limit int64

	mu      sync.Mutex
	stats   Stats
	tide    int64 // the most that was reserved since Ebb was last told
	waiting []*waiter
	ebb     chan struct{}
}

// Stats are the counters of a Budget.
type Stats struct {
	Limit    int64 `json:"limit"`
	Reserved int64 `json:"reserved"` // bytes reserved now
	Peak     int64 `json:"peak"`     // the most that ever were
	Denied   int64 `json:"denied"`   // how often a reservation could not grow
	Refused  int64 `json:"refused"`  // how often nothing was free after waiting
}

type waiter struct {
	bytes   int64
	granted chan struct{} // closed when the bytes are reserved
}

// New returns a budget of limit bytes.
func New(limit int64) *Budget {
	return &Budget{limit: limit, stats: Stats{Limit: limit}, ebb: make(chan struct{}, 1)}
}

// Limit returns how many bytes may be reserved in all, 0 for a nil Budget.
func (b *Budget) Limit() int64 {
	if b == nil {
		return 0
	}
	return b.limit
}

// Fits reports whether so many bytes can ever be reserved.
func (b *Budget) Fits(bytes int64) bool { return b == nil || bytes <= b.room(bytes) }

// Stats returns the counters.
func (b *Budget) Stats() Stats {
	if b == nil {
		return Stats{}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.stats
}

// Ebb returns a channel that receives when much memory was reserved and little is now: a good time to return memory to the system.
func (b *Budget) Ebb() <-chan struct{} { return b.ebb }

// room is how much may be reserved in all for a reservation of so many bytes to be made.
func (b *Budget) room(bytes int64) int64 {
	if bytes > ordinary {
		return b.limit - b.limit/4
	}
	return b.limit
}

// reserve is called with mu held. It reports whether more bytes were added to a reservation, which then has total.
func (b *Budget) reserve(more, total int64) bool {
	if b.stats.Reserved+more > b.room(total) {
		return false
	}
	b.stats.Reserved += more
	b.stats.Peak = max(b.stats.Peak, b.stats.Reserved)
	b.tide = max(b.tide, b.stats.Reserved)
	return true
}

// ebbFrom is how much must have been reserved before Ebb tells that little is.
const ebbFrom = 32 << 20

// free is called with mu held. It gives bytes back, and to those who wait for them in the order in which they came, each as
// soon as what it needs is there.
func (b *Budget) free(bytes int64) {
	b.stats.Reserved -= bytes
	b.waiting = slices.DeleteFunc(b.waiting, func(w *waiter) bool {
		if !b.reserve(w.bytes, w.bytes) {
			return false
		}
		close(w.granted)
		return true
	})
	if b.tide >= ebbFrom && b.stats.Reserved < b.tide/8 {
		b.tide = b.stats.Reserved
		select {
		case b.ebb <- struct{}{}:
		default: // it was told already, and nobody has listened yet
		}
	}
}

// A Reservation is one request's share of a Budget, for one goroutine at a time. The zero Reservation is not bounded. It must not
// be copied once it has grown.
type Reservation struct {
	budget *Budget
	bytes  int64
}

// Reservation returns one that holds nothing yet.
func (b *Budget) Reservation() Reservation { return Reservation{budget: b} }

// Bytes returns how many bytes are reserved.
func (r *Reservation) Bytes() int64 { return r.bytes }

// Grow makes the reservation hold at least so many bytes. When they are not free it fails with ErrExhausted at once, and the
// reservation stays what it was.
func (r *Reservation) Grow(bytes int64) error {
	if bytes <= r.bytes {
		return nil
	}
	if b := r.budget; b != nil && !b.grow(bytes-r.bytes, bytes) {
		return ErrExhausted
	}
	r.bytes = bytes
	return nil
}

func (b *Budget) grow(more, total int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.reserve(more, total) {
		return true
	}
	b.stats.Denied++
	return false
}

// Wait gives back what is reserved, waits until so many bytes are free, and reserves them. When ctx ends first, or so many never
// can be free, the error is ErrExhausted and nothing is reserved. The caller must hold nothing that others need in order to
// release theirs: no snapshot, no lock.
func (r *Reservation) Wait(ctx context.Context, bytes int64) error {
	r.Release()
	if b := r.budget; b != nil && !b.wait(ctx, bytes) {
		return ErrExhausted
	}
	r.bytes = bytes
	return nil
}

func (b *Budget) wait(ctx context.Context, bytes int64) bool {
	w := b.enqueue(bytes)
	if w == nil {
		return false
	}
	select {
	case <-w.granted:
		return true
	case <-ctx.Done():
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	i := slices.Index(b.waiting, w)
	if i < 0 { // granted at the moment at which ctx ended
		return true
	}
	b.waiting = slices.Delete(b.waiting, i, i+1)
	b.stats.Refused++
	return false
}

// enqueue returns a waiter, granted already when the bytes are free; nil when they never can be.
func (b *Budget) enqueue(bytes int64) *waiter {
	b.mu.Lock()
	defer b.mu.Unlock()
	w := &waiter{bytes: bytes, granted: make(chan struct{})}
	switch {
	case b.reserve(bytes, bytes):
		close(w.granted)
	case bytes > b.room(bytes):
		b.stats.Refused++
		return nil
	default:
		b.waiting = append(b.waiting, w)
	}
	return w
}

// Release gives the reserved bytes back. It may be called more than once.
func (r *Reservation) Release() {
	if r.bytes == 0 {
		return
	}
	if b := r.budget; b != nil {
		b.mu.Lock()
		b.free(r.bytes)
		b.mu.Unlock()
	}
	r.bytes = 0
}
