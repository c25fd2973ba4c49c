package store

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// A State says what a store can do. A greater one is worse.
type State uint8

const (
	// Sound: the store takes reads and writes.
	Sound State = iota
	// Full: there is no space for what is written. Reads go on, and so do writes that only remove; the others are tried again by
	// themselves.
	Full
	// Lost: the path of the store names no file any more, or another one. Reads go on in the file that is open; no write is taken,
	// since the next start would not find it.
	Lost
	// Damaged: the file does not hold what was written into it, or nobody knows whether it does. Reads go on where they can; no
	// write is taken before the store is opened anew.
	Damaged
)

func (s State) String() string { return [...]string{"sound", "full", "lost", "damaged"}[s] }

// Errors of writes that a store does not take in its state. They wrap the cause.
var (
	ErrFull    = errors.New("there is no space left to write to the store")
	ErrLost    = errors.New("the file of the store is gone or was replaced")
	ErrDamaged = errors.New("the store takes no more writes since it is damaged, or a write failed to reach the disk; restart to go on")
)

// err is the error of writes in a state; nil when it is Sound.
func (s State) err() error { return [...]error{nil, ErrFull, ErrLost, ErrDamaged}[s] }

// A Health is the state of a store.
type Health struct {
	State State
	Err   error     // why; it wraps the error of the state. nil when Sound
	Since time.Time // zero when it has been Sound since it was opened
}

// Health says what state the store is in, whichever Store of a file it is asked of.
func (s *Store) Health() Health { return s.health.load() }

// A health is the state of a file and the one place where it changes.
type health struct {
	mu      sync.Mutex
	now     atomic.Pointer[Health] // nil: sound since it was opened
	changed func(Health)           // may be nil
}

func (h *health) load() Health {
	if now := h.now.Load(); now != nil {
		return *now
	}
	return Health{}
}

// err is the error of a write in the present state; nil when it is Sound.
func (h *health) err() error { return h.load().Err }

// fail puts the store into a state if that is worse than its present one. It returns an error that wraps the error of the state and
// the cause.
func (h *health) fail(to State, cause error) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	err := fmt.Errorf("%w: %w", to.err(), cause)
	if to > h.load().State {
		h.set(Health{to, err, time.Now()})
	}
	return err
}

// mend makes the store Sound again if it is in the given state. A Damaged store must be opened anew instead.
func (h *health) mend(from State) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.load().State == from && from != Damaged && from != Sound {
		h.set(Health{Since: time.Now()})
	}
}

func (h *health) set(now Health) {
	h.now.Store(&now)
	if h.changed != nil {
		h.changed(now)
	}
}
