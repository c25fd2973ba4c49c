package store

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// A State says what a store can do. A greater state is worse.
type State uint8

const (
	// Sound: reads and writes succeed.
	Sound State = iota
	// Full: there is no space to write to. Reads succeed, and so do writes that only remove. Other writes fail until there is space again,
	// which the store notices by itself.
	Full
	// Lost: the path of the store leads to no file any more, or to another one. Reads of the open file succeed. Writes are refused,
	// because the next start would not find them.
	Lost
	// Damaged: the file differs from what was written into it, or may differ. Reads of undamaged pages succeed. Writes are refused until
	// the store is opened again.
	Damaged
)

func (s State) String() string { return [...]string{"sound", "full", "lost", "damaged"}[s] }

// Errors of writes that a store refuses because of its state. They wrap the cause.
var (
	ErrFull    = errors.New("there is no space left to write to the store")
	ErrLost    = errors.New("the file of the store is gone or was replaced")
	ErrDamaged = errors.New("the store takes no more writes since it is damaged, or a write failed to reach the disk; restart to go on")
)

// err returns the error of writes in a state, nil for Sound.
func (s State) err() error { return [...]error{nil, ErrFull, ErrLost, ErrDamaged}[s] }

// A Health is the state of a store.
type Health struct {
	State State
	Err   error     // the cause; it wraps the error of the state. nil if Sound
	Since time.Time // zero if the store has been Sound since it was opened
}

// Health returns the state of the store, which all Stores of a file share.
func (s *Store) Health() Health { return s.health.load() }

// A health holds the state of a file. The state changes nowhere else.
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

// err returns the error of writes in the present state, nil if it is Sound.
func (h *health) err() error { return h.load().Err }

// fail changes the state if the new one is worse. It returns an error that wraps the error of the state and the cause.
func (h *health) fail(to State, cause error) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	err := fmt.Errorf("%w: %w", to.err(), cause)
	if to > h.load().State {
		h.set(Health{to, err, time.Now()})
	}
	return err
}

// mend changes the state back to Sound, if it is from. A Damaged store cannot be mended; it must be opened again.
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
