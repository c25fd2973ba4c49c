package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime/debug"
	"sync"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"lectern/store/internal/pages"
)

// An opened is an open bbolt file. Another opened replaces it when a commit has run out of space, and the file is opened again (see
// file.reopen), and when a compacted file takes its place (see Store.Compact).
type opened struct {
	*bolt.DB
	handle *os.File    // the one that bbolt uses
	info   fs.FileInfo // of the handle, to recognise the file
	sound  pages.Marks // the pages that have passed the check

	inUse sync.RWMutex // held shared by each snapshot, and exclusively once another opened has replaced this one
}

// mapSize is how much address space is reserved for the file. A file that outgrows its mapping needs a new one, for which all readers
// have to end. Reserving costs no memory. Only tests change it.
var mapSize = 1 << 30

// openBolt opens a bbolt file, and returns an error that tells the user what to do if that fails. bbolt calls openFile to open the file,
// which must exist.
func openBolt(path string, o bolt.Options, openFile func(path string) (*os.File, error)) (*opened, error) {
	if err := checkComplete(path); err != nil {
		return nil, fmt.Errorf("open store %s: %w", path, err)
	}
	open := &opened{}
	o.OpenFile = func(path string, _ int, _ os.FileMode) (f *os.File, err error) {
		if f, err = openFile(path); err != nil {
			return nil, err
		}
		if open.info, err = f.Stat(); err != nil {
			return nil, errors.Join(err, f.Close())
		}
		open.handle = f
		return f, nil
	}
	o.NoStatistics = true
	var err error
	open.DB, err = boltOpen(path, &o)
	switch {
	case err == nil:
		// The store allocates space before a commit (see space.go), so bbolt need not do it during one.
		open.AllocSize = 0
		return open, nil
	case errors.Is(err, bolterrors.ErrTimeout):
		return nil, fmt.Errorf("open %s: %w", path, ErrLocked)
	case errors.Is(err, bolterrors.ErrInvalid), errors.Is(err, bolterrors.ErrChecksum), errors.Is(err, bolterrors.ErrVersionMismatch):
		return nil, fmt.Errorf("open store %s: the file is damaged, or was never a store; put back a whole one, from a backup (%w)", path, err)
	}
	return nil, fmt.Errorf("open store %s: %w", path, err)
}

// boltOpen is bolt.Open, but returns an error where that panics because the list of free pages is damaged. bbolt does not close the file
// then.
func boltOpen(path string, o *bolt.Options) (db *bolt.DB, err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			db, err = nil, fmt.Errorf("%w: %v", bolterrors.ErrInvalid, p)
		}
	}()
	return bolt.Open(path, 0o600, o)
}

// toWrite returns the options to open a store for writing.
func toWrite() bolt.Options {
	return bolt.Options{FreelistType: bolt.FreelistMapType, InitialMmapSize: mapSize}
}

// openThere opens an existing file for reading and writing.
func openThere(path string) (*os.File, error) { return os.OpenFile(path, os.O_RDWR, 0) }

// begin begins a read transaction on the open file. The caller must call in.inUse.RUnlock when the transaction has ended.
func (f *file) begin() (tx *bolt.Tx, in *opened, err error) {
	for {
		in = f.db()
		if !in.inUse.TryRLock() {
			continue // another opened has replaced it
		}
		tx, err = in.Begin(false)
		switch {
		case err == nil:
			return tx, in, nil
		case errors.Is(err, bolterrors.ErrDatabaseNotOpen):
			err = ErrClosed
		default:
			err = fmt.Errorf("begin snapshot: %w", err)
		}
		in.inUse.RUnlock()
		return nil, nil, err
	}
}

// retire closes a file that another opened has replaced, when the readers of it have ended, and then calls then, which may be nil. The
// channel gets the error.
func (o *opened) retire(then func() error) chan error {
	closed := make(chan error, 1)
	end := func() {
		err := o.Close()
		if then != nil {
			err = errors.Join(err, then())
		}
		closed <- err
	}
	if o.inUse.TryLock() { // never unlocked: no reader may begin on it
		end()
	} else {
		go func() { o.inUse.Lock(); end() }()
	}
	return closed
}

// close ends the transaction of a snapshot.
func (s *Snapshot) close() {
	s.store.readers.remove(s)
	rollback(s.tx)
	if s.in != nil {
		s.in.inUse.RUnlock()
	}
}

// rollback ends a transaction without its changes. After a commit it does nothing. The error of bbolt can be ignored: it only says that the
// transaction has ended already.
func rollback(tx *bolt.Tx) { _ = tx.Rollback() }

// db returns the open file.
func (f *file) db() *opened { return f.open.Load() }
