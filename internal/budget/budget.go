// Package budget limits the memory of all requests of a server together.
//
//	memory := budget.New(512 << 20)
//	answer := memory.Reservation()
//	defer answer.Release()
//	if err := answer.Grow(4 << 20); err != nil {
//		// The budget is exhausted: drop what was made, and either refuse the request or Wait and begin again.
//	}
//
// A caller reserves bytes before it allocates them, in any number of calls, and releases them when they are no longer
// needed: for an answer, when it was sent or its connection was closed. Each request may use Unreserved bytes without a
// reservation.
//
// A caller that holds memory must not wait for more, or all callers could wait for each other. So Grow never waits, and
// Wait releases the reservation before it waits.
package budget

import (
	"context"
	"errors"
	"slices"
	"sync"
)

// Unreserved is how many bytes each request may use without a reservation. Package admission limits the number of
// requests.
const Unreserved = 128 << 10

// ordinary is the largest reservation that may use up the entire budget. Larger reservations leave a quarter of it
// free, so that a few huge answers to slow readers do not block all other requests.
const ordinary = 1 << 20

// ErrExhausted is returned when the budget has not enough free memory for a reservation.
var ErrExhausted = errors.New("the memory for requests is used up")

// A Budget is a number of bytes that reservations share. Any number of goroutines may use it. A nil Budget has no
// limit.
type Budget struct {
	limit int64

	mu      sync.Mutex
	stats   Stats
	tide    int64 // the most bytes reserved since Ebb last sent
	waiting []*waiter
	ebb     chan struct{}
}

// Stats are the counters of a Budget.
type Stats struct {
	Limit    int64 `json:"limit"`
	Reserved int64 `json:"reserved"` // bytes reserved now
	Waiting  int64 `json:"waiting"`  // calls of Wait that wait now
	Peak     int64 `json:"peak"`     // the most bytes reserved at any time
	Denied   int64 `json:"denied"`   // how many calls of Grow failed
	Refused  int64 `json:"refused"`  // how many calls of Wait failed
}

type waiter struct {
	bytes   int64
	granted chan struct{} // closed when the bytes are reserved
}

// New returns a budget of limit bytes.
func New(limit int64) *Budget {
	return &Budget{limit: limit, stats: Stats{Limit: limit}, ebb: make(chan struct{}, 1)}
}

// Limit returns how many bytes may be reserved in total, or 0 for a nil Budget.
func (b *Budget) Limit() int64 {
	if b == nil {
		return 0
	}
	return b.limit
}

// Fits reports whether a reservation of so many bytes is possible when the budget is otherwise unused.
func (b *Budget) Fits(bytes int64) bool { return b == nil || bytes <= b.room(bytes) }

// Stats returns the counters.
func (b *Budget) Stats() Stats {
	if b == nil {
		return Stats{}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	stats := b.stats
	stats.Waiting = int64(len(b.waiting))
	return stats
}

// Ebb returns a channel that receives when much memory was reserved and little is reserved now, which is a good time to
// return memory to the operating system.
func (b *Budget) Ebb() <-chan struct{} { return b.ebb }

// room returns how much of the budget may be in use after a reservation of so many bytes.
func (b *Budget) room(bytes int64) int64 {
	if bytes > ordinary {
		return b.limit - b.limit/4
	}
	return b.limit
}

// reserve takes more bytes for a reservation that then has total bytes. It returns false if they are not free. It is
// called with mu held.
func (b *Budget) reserve(more, total int64) bool {
	if b.stats.Reserved+more > b.room(total) {
		return false
	}
	b.stats.Reserved += more
	b.stats.Peak = max(b.stats.Peak, b.stats.Reserved)
	b.tide = max(b.tide, b.stats.Reserved)
	return true
}

// ebbFrom is how many bytes must have been reserved for Ebb to send.
const ebbFrom = 32 << 20

// free gives back bytes, and grants them to waiters in the order of arrival. It skips a waiter that needs more than is
// free. It is called with mu held.
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
		default: // the previous signal was not received yet
		}
	}
}

// A Reservation is the share of one request in a Budget. Only one goroutine at a time may use it. The zero Reservation
// has no limit. It must not be copied after the first Grow.
type Reservation struct {
	budget *Budget
	bytes  int64
}

// Reservation returns an empty reservation.
func (b *Budget) Reservation() Reservation { return Reservation{budget: b} }

// Bytes returns the number of reserved bytes.
func (r *Reservation) Bytes() int64 { return r.bytes }

// Grow extends the reservation to at least so many bytes. If they are not free it fails with ErrExhausted at once and
// leaves the reservation unchanged.
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

// Wait releases the reservation, waits until so many bytes are free, and reserves them. If ctx ends first, or the
// budget is too small, it returns ErrExhausted and nothing is reserved. The caller must hold no snapshot and no lock,
// since the requests that hold the memory must be able to finish.
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
	if i < 0 { // granted just when ctx ended
		return true
	}
	b.waiting = slices.Delete(b.waiting, i, i+1)
	b.stats.Refused++
	return false
}

// enqueue returns a waiter for so many bytes, which is granted at once if they are free. It returns nil if the budget
// is too small.
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

// Release gives back the reserved bytes. It may be called more than once.
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
