package admission

import (
	"context"
	"errors"
	"slices"
	"sync"
)

// The reasons why a place is refused.
var (
	ErrFull    = errors.New("all places are taken")
	ErrShare   = errors.New("the client holds as many places as one may")
	ErrWaiting = errors.New("as many of the client as may wait are waiting")
)

// Limits are the bounds of a Semaphore. Only Places is required. Share and Waiting do not apply to the zero Client.
type Limits struct {
	Places  int // places that all clients together may hold
	Share   int // places that one client may hold; 0 means all of them
	Waiting int // requests of one client that may wait; 0 means any number
}

// A Semaphore is a counting semaphore whose places are shared fairly among clients. Any number of goroutines may use
// it.
type Semaphore struct {
	limits Limits

	mu     sync.Mutex
	shares map[Client]*Share // those in use
	turns  []*Share          // the shares with waiters, in the order in which they get the next free places
	stats  Stats
}

// Stats are the counters of a Semaphore.
type Stats struct {
	Held    int   // places held now
	Waiting int   // waiters now
	Clients int   // shares in use now
	Refused int64 // requests for a place that were not granted
}

// New returns a semaphore with all places free.
func New(l Limits) *Semaphore {
	return &Semaphore{limits: l, shares: map[Client]*Share{}}
}

// Limits returns the limits that New was given.
func (s *Semaphore) Limits() Limits { return s.limits }

// Stats returns the counters.
func (s *Semaphore) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	stats := s.stats
	stats.Clients = len(s.shares)
	return stats
}

// A Share is the access of one client to a Semaphore. Several goroutines may use it.
type Share struct {
	semaphore *Semaphore
	client    Client

	// Guarded by the semaphore's mu.
	users   int // callers of Semaphore.Share that have not called Close
	held    int
	waiting []chan struct{} // one for each waiter, closed when the waiter has a place
	inTurns bool            // whether the share is in Semaphore.turns
}

// Share returns the share of a client. The caller must call Close when it needs the share no more.
func (s *Semaphore) Share(c Client) *Share {
	s.mu.Lock()
	defer s.mu.Unlock()
	sh := s.shares[c]
	if sh == nil {
		sh = &Share{semaphore: s, client: c}
		s.shares[c] = sh
	}
	sh.users++
	return sh
}

// Close ends the use of a share. Release may still be called for places that are held.
func (sh *Share) Close() {
	s := sh.semaphore
	s.mu.Lock()
	defer s.mu.Unlock()
	sh.users--
	s.forget(sh)
}

// forget drops a share that is not in use. It is called with mu held.
func (s *Semaphore) forget(sh *Share) {
	if sh.users == 0 && sh.held == 0 && len(sh.waiting) == 0 {
		delete(s.shares, sh.client)
	}
}

// Client returns the client whose share it is.
func (sh *Share) Client() Client { return sh.client }

// TryAcquire takes a place without waiting; the error is ErrFull or ErrShare when there is none.
func (sh *Share) TryAcquire() error { return sh.TryAcquireN(1) }

// TryAcquireN takes n places without waiting, or none of them; the error is ErrFull or ErrShare then.
func (sh *Share) TryAcquireN(n int) error {
	s := sh.semaphore
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.take(sh, n)
	if err != nil {
		s.stats.Refused++
	}
	return err
}

// Acquire takes a place, and waits for one until ctx ends, in which case it returns the error of ctx. It returns
// ErrWaiting at once when too many requests of the client are waiting already.
func (sh *Share) Acquire(ctx context.Context) error {
	s := sh.semaphore
	s.mu.Lock()
	if s.take(sh, 1) == nil {
		s.mu.Unlock()
		return nil
	}
	if most := s.limits.Waiting; most > 0 && len(sh.waiting) >= most && sh.client != (Client{}) {
		s.stats.Refused++
		s.mu.Unlock()
		return ErrWaiting
	}
	granted := s.wait(sh)
	s.mu.Unlock()
	return sh.await(ctx, granted)
}

// Yield lets every client that waits have its turn: it gives back a place and takes one again, unless nobody waits.
// When ctx ends before, Yield returns the error of ctx, and the place is not held any more. Limits.Waiting does not
// apply.
func (sh *Share) Yield(ctx context.Context) error {
	s := sh.semaphore
	s.mu.Lock()
	if len(s.turns) == 0 {
		s.mu.Unlock()
		return nil
	}
	s.stats.Held--
	sh.held--
	granted := s.wait(sh)
	s.grant()
	s.mu.Unlock()
	return sh.await(ctx, granted)
}

// wait adds a waiter of a share. It is called with mu held.
func (s *Semaphore) wait(sh *Share) (granted chan struct{}) {
	granted = make(chan struct{})
	sh.waiting = append(sh.waiting, granted)
	s.stats.Waiting++
	s.queue(sh)
	return granted
}

// await waits until a waiter has its place or ctx ends, in which case it returns the error of ctx.
func (sh *Share) await(ctx context.Context, granted chan struct{}) error {
	s := sh.semaphore
	select {
	case <-granted:
		return nil
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.Index(sh.waiting, granted)
	if i < 0 { // the place was granted when ctx ended
		return nil
	}
	sh.waiting = slices.Delete(sh.waiting, i, i+1)
	s.stats.Waiting--
	s.stats.Refused++
	return ctx.Err()
}

// Release gives back a place.
func (sh *Share) Release() { sh.ReleaseN(1) }

// ReleaseN gives back n places.
func (sh *Share) ReleaseN(n int) {
	s := sh.semaphore
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stats.Held -= n
	sh.held -= n
	s.queue(sh)
	s.grant()
	s.forget(sh)
}

// take takes n free places. It is called with mu held. Taking a place overtakes no waiter: while a place is free, only
// clients that hold as many as they may are waiting.
func (s *Semaphore) take(sh *Share, n int) error {
	if s.stats.Held+n > s.limits.Places {
		return ErrFull
	}
	if s.limits.Share > 0 && sh.held+n > s.limits.Share && sh.client != (Client{}) {
		return ErrShare
	}
	s.stats.Held += n
	sh.held += n
	return nil
}

// queue adds a share with waiters to the turns. It is called with mu held.
func (s *Semaphore) queue(sh *Share) {
	if !sh.inTurns && len(sh.waiting) > 0 {
		sh.inTurns = true
		s.turns = append(s.turns, sh)
	}
}

// grant gives free places to waiters, one client after the other. It is called with mu held.
func (s *Semaphore) grant() {
	for len(s.turns) > 0 && s.stats.Held < s.limits.Places {
		sh := s.turns[0]
		s.turns = slices.Delete(s.turns, 0, 1)
		sh.inTurns = false
		if len(sh.waiting) == 0 || s.take(sh, 1) != nil { // its next turn comes when it gives a place back
			continue
		}
		close(sh.waiting[0])
		sh.waiting = slices.Delete(sh.waiting, 0, 1)
		s.stats.Waiting--
		s.queue(sh)
	}
}
