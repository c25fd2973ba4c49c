// Package admission shares what there is too little of (places among the requests at work, connections, processors that hash
// passwords) among clients, so that one of them cannot take it from all others.
//
// A Semaphore has a number of places. Each client has a Share of it: it can hold only so many places at a time, and where it has
// to wait for one, clients take turns. Somebody who comes alone waits for one place of each other client, however many
// requests of theirs came before.
package admission

import (
	"context"
	"errors"
	"slices"
	"sync"
)

// Why a place cannot be had.
var (
	ErrFull    = errors.New("all places are taken")
	ErrShare   = errors.New("the client holds as many places as one may")
	ErrWaiting = errors.New("as many of the client as may wait are waiting")
)

// Limits are those of a Semaphore. Only Places must be given. Share and Waiting do not hold for the zero Client.
type Limits struct {
	Places  int // held at one time
	Share   int // of them by one client; 0 is all
	Waiting int // how many of one client may wait; 0 is any number
}

// A Semaphore has places that clients hold and give back. Any number of goroutines may use it.
type Semaphore struct {
	limits Limits

	mu     sync.Mutex
	shares map[Client]*Share // those that somebody uses
	turns  []*Share          // those with waiters and below their limit, by whose turn it is
	stats  Stats
}

// Stats are the counters of a Semaphore.
type Stats struct {
	Held    int   // places held now
	Waiting int   // waiters now
	Clients int   // shares in use now
	Refused int64 // how often a place was asked for and could not be had
}

// New returns a semaphore whose places are free.
func New(l Limits) *Semaphore {
	return &Semaphore{limits: l, shares: map[Client]*Share{}}
}

// Limits are what New was given.
func (s *Semaphore) Limits() Limits { return s.limits }

// Stats returns the counters.
func (s *Semaphore) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	stats := s.stats
	stats.Clients = len(s.shares)
	return stats
}

// A Share is what one client has of a Semaphore. Several goroutines may use it.
type Share struct {
	semaphore *Semaphore
	client    Client

	// Guarded by the semaphore's mu.
	users   int // how many have it and have not closed it
	held    int
	waiting []chan struct{} // each is closed when its waiter has got a place
	inTurns bool
}

// Share returns the share of a client, for a time: until Close.
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

// Close says that the caller needs the share no more, but to give back what he holds.
func (sh *Share) Close() {
	s := sh.semaphore
	s.mu.Lock()
	defer s.mu.Unlock()
	sh.users--
	s.forget(sh)
}

// forget is called with mu held. It lets go of a share that nobody uses.
func (s *Semaphore) forget(sh *Share) {
	if sh.users == 0 && sh.held == 0 && len(sh.waiting) == 0 {
		delete(s.shares, sh.client)
	}
}

// TryAcquire takes a place, or says at once why there is none.
func (sh *Share) TryAcquire() error {
	s := sh.semaphore
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.take(sh)
	if err != nil {
		s.stats.Refused++
	}
	return err
}

// Acquire takes a place, and waits for one until ctx ends: the error is then that of ctx. It is ErrWaiting, at once, where too many
// of the client are waiting.
func (sh *Share) Acquire(ctx context.Context) error {
	s := sh.semaphore
	s.mu.Lock()
	if s.take(sh) == nil {
		s.mu.Unlock()
		return nil
	}
	if most := s.limits.Waiting; most > 0 && len(sh.waiting) >= most && sh.client != (Client{}) {
		s.stats.Refused++
		s.mu.Unlock()
		return ErrWaiting
	}
	granted := make(chan struct{})
	sh.waiting = append(sh.waiting, granted)
	s.stats.Waiting++
	s.queue(sh)
	s.mu.Unlock()

	select {
	case <-granted:
		return nil
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.Index(sh.waiting, granted)
	if i < 0 { // granted at the moment at which ctx ended
		return nil
	}
	sh.waiting = slices.Delete(sh.waiting, i, i+1)
	s.stats.Waiting--
	s.stats.Refused++
	return ctx.Err()
}

// Release gives back a place.
func (sh *Share) Release() {
	s := sh.semaphore
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stats.Held--
	sh.held--
	s.queue(sh)
	s.grant()
	s.forget(sh)
}

// take is called with mu held. Whoever takes a free place overtakes nobody: where one is free, all who wait are of clients that
// may hold no more.
func (s *Semaphore) take(sh *Share) error {
	if s.stats.Held >= s.limits.Places {
		return ErrFull
	}
	if s.limits.Share > 0 && sh.held >= s.limits.Share && sh.client != (Client{}) {
		return ErrShare
	}
	s.stats.Held++
	sh.held++
	return nil
}

// queue is called with mu held. It gives a share a turn if somebody waits for one.
func (s *Semaphore) queue(sh *Share) {
	if !sh.inTurns && len(sh.waiting) > 0 {
		sh.inTurns = true
		s.turns = append(s.turns, sh)
	}
}

// grant is called with mu held. It gives free places to those who wait, to one of each client in turn.
func (s *Semaphore) grant() {
	for len(s.turns) > 0 && s.stats.Held < s.limits.Places {
		sh := s.turns[0]
		s.turns = slices.Delete(s.turns, 0, 1)
		sh.inTurns = false
		if len(sh.waiting) == 0 || s.take(sh) != nil { // its next turn comes when it gives a place back
			continue
		}
		close(sh.waiting[0])
		sh.waiting = slices.Delete(sh.waiting, 0, 1)
		s.stats.Waiting--
		s.queue(sh)
	}
}
