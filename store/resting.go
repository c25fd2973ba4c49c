package store

import (
	"runtime"
	"sync"

	bolt "go.etcd.io/bbolt"
)

// A resting keeps snapshots for the next callers of View: as long as nothing is written, a new one would see the same, and one
// that has been used has its buckets and cursors at hand. None rests while somebody writes, who needs all readers to end when
// the file outgrows its mapping, nor keeps pages from being used again that later states have left.
type resting struct {
	mu      sync.Mutex
	writers int
	era     int64 // the number of writers so far
	list    []*Snapshot
}

// maxResting is how many snapshots rest: hardly more are in use at a time, since a read does not wait for anything.
var maxResting = 2 * runtime.GOMAXPROCS(0)

// take returns a snapshot that rests, nil when none does, and since when a new one must have been begun to be put to rest;
// negative: it must not be.
func (r *resting) take() (s *Snapshot, since int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := len(r.list); n > 0 {
		s = r.list[n-1]
		r.list[n-1], r.list = nil, r.list[:n-1]
	}
	if r.writers > 0 {
		return s, -1
	}
	return s, r.era
}

// give puts a snapshot to rest, or ends its transaction.
func (r *resting) give(s *Snapshot) {
	s.forget()
	r.mu.Lock()
	rests := r.writers == 0 && s.since == r.era && len(r.list) < maxResting
	if rests {
		r.list = append(r.list, s)
	}
	r.mu.Unlock()
	if !rests {
		s.close()
	}
}

// bar ends all that rest, and keeps others from it until as many calls of open.
func (r *resting) bar() {
	r.mu.Lock()
	list := r.list
	r.writers, r.era, r.list = r.writers+1, r.era+1, nil
	r.mu.Unlock()
	for _, s := range list {
		s.close()
	}
}

func (r *resting) open() {
	r.mu.Lock()
	r.writers--
	r.mu.Unlock()
}

// rollback ends a read: it only lets go, and cannot fail.
func rollback(tx *bolt.Tx) { _ = tx.Rollback() }
