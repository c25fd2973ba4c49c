package store

import (
	"context"
	"sync"
	"time"
)

// holders counts who holds the definitions of a file, and keeps others from beginning to while somebody waits to change them.
type holders struct {
	mu     sync.Mutex
	count  int
	free   chan struct{} // closed when the last lets go; nil: nobody waits for that
	barred chan struct{} // closed when it is open again; nil: it is open
}

// holdPatience is how long a change of definitions waits for those who hold them. Others who want to wait as long.
const holdPatience = time.Second

// heldKey is under which a context knows what it holds: a *file.
type heldKey struct{}

// Hold keeps the definitions as they are until release is called, for work of several writes which must all be made under the
// same: each of them is then certain not to be ErrRedefined. Hold itself is, when they have changed already. What is done with
// the returned context may Hold again.
//
// Whoever holds keeps changes of definitions waiting. It is not for work that waits for a client.
func (s *Store) Hold(ctx context.Context) (held context.Context, release func(), err error) {
	if ctx.Value(heldKey{}) == s.file {
		return ctx, func() {}, nil
	}
	if err := s.holds.begin(ctx); err != nil {
		return nil, nil, err
	}
	release = sync.OnceFunc(s.holds.end)
	if s.current.Load() != s {
		release()
		return nil, nil, ErrRedefined
	}
	return context.WithValue(ctx, heldKey{}, s.file), release, nil
}

func (h *holders) begin(ctx context.Context) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	for h.barred != nil {
		barred := h.barred
		h.mu.Unlock()
		var err error
		select {
		case <-barred:
		case <-ctx.Done():
			err = ctx.Err()
		}
		h.mu.Lock()
		if err != nil {
			return err
		}
	}
	h.count++
	return nil
}

func (h *holders) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.count--; h.count == 0 && h.free != nil {
		close(h.free)
		h.free = nil
	}
}

// bar waits until nobody holds, and keeps it so until open is called. Several may be at it, one after the other.
func (h *holders) bar(ctx context.Context) (open func(), err error) {
	if err := h.begin(ctx); err != nil { // not while another has barred it
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.count--
	if h.barred != nil { // another was quicker
		return nil, ErrHeld
	}
	barred := make(chan struct{})
	h.barred = barred
	open = func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		close(barred)
		h.barred = nil
	}
	if h.count == 0 {
		return open, nil
	}
	free := make(chan struct{})
	h.free = free
	h.mu.Unlock()
	late := time.NewTimer(holdPatience)
	defer late.Stop()
	select {
	case <-free:
	case <-late.C:
		err = ErrHeld
	case <-ctx.Done():
		err = ctx.Err()
	}
	h.mu.Lock()
	if err == nil || h.free == nil { // at the last moment they let go
		return open, nil
	}
	h.free = nil
	close(barred)
	h.barred = nil
	return nil, err
}
