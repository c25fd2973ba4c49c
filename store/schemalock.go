package store

import (
	"context"
	"sync"
	"time"
)

// A schemaLock keeps the definitions of a file as they are for any number of holders (shared), or lets one change them (exclusive).
// While somebody waits for the exclusive lock, nobody else gets a shared one.
type schemaLock struct {
	mu        sync.Mutex
	shared    int           // how many hold it
	unshared  chan struct{} // closed when the last of them unlocks; nil: nobody waits for that
	exclusive chan struct{} // closed when the exclusive lock ends; nil: nobody holds it or waits for it
}

// schemaLockPatience is how long a change of definitions waits for the exclusive lock, and keeps new shared locks waiting.
const schemaLockPatience = time.Second

// schemaLockKey is the key under which a context knows which *file it has a shared lock of.
type schemaLockKey struct{}

// LockSchema takes a shared lock on the definitions, which keeps them as they are until unlock is called: for work of several writes
// which must all be made under the same definitions. None of them then returns ErrRedefined. LockSchema itself does when the
// definitions have changed already. Under the returned context LockSchema may be called again.
//
// A change of definitions waits for all shared locks, so a lock must not be held while waiting for a client.
func (s *Store) LockSchema(ctx context.Context) (locked context.Context, unlock func(), err error) {
	if ctx.Value(schemaLockKey{}) == s.file {
		return ctx, func() {}, nil
	}
	if err := s.schema.lockShared(ctx); err != nil {
		return nil, nil, err
	}
	unlock = sync.OnceFunc(s.schema.unlockShared)
	if s.current.Load() != s {
		unlock()
		return nil, nil, ErrRedefined
	}
	return context.WithValue(ctx, schemaLockKey{}, s.file), unlock, nil
}

func (l *schemaLock) lockShared(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.exclusive != nil {
		ended := l.exclusive
		l.mu.Unlock()
		var err error
		select {
		case <-ended:
		case <-ctx.Done():
			err = ctx.Err()
		}
		l.mu.Lock()
		if err != nil {
			return err
		}
	}
	l.shared++
	return nil
}

func (l *schemaLock) unlockShared() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.shared--; l.shared == 0 && l.unshared != nil {
		close(l.unshared)
		l.unshared = nil
	}
}

// lockExclusive waits until there is no shared lock, for schemaLockPatience at most: then the error is ErrSchemaLocked.
func (l *schemaLock) lockExclusive(ctx context.Context) (unlock func(), err error) {
	if err := l.lockShared(ctx); err != nil { // not while another has the exclusive lock
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.shared--
	if l.exclusive != nil { // another was quicker
		return nil, ErrSchemaLocked
	}
	ended := make(chan struct{})
	l.exclusive = ended
	unlock = func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		close(ended)
		l.exclusive = nil
	}
	if l.shared == 0 {
		return unlock, nil
	}
	unshared := make(chan struct{})
	l.unshared = unshared
	l.mu.Unlock()
	late := time.NewTimer(schemaLockPatience)
	defer late.Stop()
	select {
	case <-unshared:
	case <-late.C:
		err = ErrSchemaLocked
	case <-ctx.Done():
		err = ctx.Err()
	}
	l.mu.Lock()
	if err == nil || l.unshared == nil { // at the last moment they unlocked
		return unlock, nil
	}
	l.unshared = nil
	close(ended)
	l.exclusive = nil
	return nil, err
}
