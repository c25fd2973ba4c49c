package store

import (
	"context"
	"sync"
	"time"
)

// A schemaLock is a read-write lock on the definitions of a file: shared locks keep them unchanged, and the exclusive lock lets one
// redefinition change them. While one waits for the exclusive lock, new shared locks wait too. Unlike sync.RWMutex, waiting ends with a
// context or after a time.
type schemaLock struct {
	mu        sync.Mutex
	shared    int           // how many shared locks are held
	unshared  chan struct{} // closed when the last shared lock ends; nil if nobody waits for that
	exclusive chan struct{} // closed when the exclusive lock ends; nil if nobody holds it or waits for it
}

// schemaLockTimeout is how long a redefinition waits for the exclusive lock, and how long new shared locks wait for it meanwhile.
const schemaLockTimeout = time.Second

// schemaLockKey is the key of a context value: the *file of which the caller has a shared lock.
type schemaLockKey struct{}

// LockSchema takes a shared lock on the definitions: they do not change until unlock is called. Use it for several writes that must be
// made under the same definitions; none of them returns ErrRedefined. LockSchema itself returns ErrRedefined if the definitions have
// changed already. With the returned context LockSchema may be called again.
//
// A redefinition waits for all shared locks, so do not hold one while waiting for a client.
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

// lockExclusive waits until no shared lock is left. After schemaLockTimeout it returns ErrSchemaLocked.
func (l *schemaLock) lockExclusive(ctx context.Context) (unlock func(), err error) {
	if err := l.lockShared(ctx); err != nil { // waits for another exclusive lock to end
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.shared--
	if l.exclusive != nil { // another has taken it in between
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
	late := time.NewTimer(schemaLockTimeout)
	defer late.Stop()
	select {
	case <-unshared:
	case <-late.C:
		err = ErrSchemaLocked
	case <-ctx.Done():
		err = ctx.Err()
	}
	l.mu.Lock()
	if err == nil || l.unshared == nil { // if nil, the last shared lock has ended just now
		return unlock, nil
	}
	l.unshared = nil
	close(ended)
	l.exclusive = nil
	return nil, err
}
