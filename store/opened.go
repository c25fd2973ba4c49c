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
)

// An opened is the file as bbolt has it open. When a commit has failed, the file is opened anew, and another opened takes its
// place (see file.reopen).
type opened struct {
	*bolt.DB
	handle *os.File    // bbolt's own
	info   fs.FileInfo // of the handle: says which file it is

	inUse sync.RWMutex // held shared by snapshots, and exclusively from when another has taken its place
}

// mapSize is how much address space is reserved for the file, so that a growing file seldom needs a new mapping, for which
// all readers would have to end. It costs no memory.
const mapSize = 1 << 30

// openBolt opens a file of bbolt, and says of one that cannot be opened why. openFile opens it for bbolt, which must find it
// there.
func openBolt(path string, o bolt.Options, openFile func(path string) (*os.File, error)) (*opened, error) {
	if err := checkWhole(path); err != nil {
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
		// The space that the file grows by is taken before a commit (see space.go), no more by bbolt in the midst of one.
		open.AllocSize = 0
		return open, nil
	case errors.Is(err, bolterrors.ErrTimeout):
		return nil, fmt.Errorf("open %s: %w", path, ErrLocked)
	case errors.Is(err, bolterrors.ErrInvalid), errors.Is(err, bolterrors.ErrChecksum), errors.Is(err, bolterrors.ErrVersionMismatch):
		return nil, fmt.Errorf("open store %s: the file is damaged, or was never a store; put back a whole one, from a backup (%w)", path, err)
	}
	return nil, fmt.Errorf("open store %s: %w", path, err)
}

// boltOpen is bolt.Open with its panic over a damaged list of free pages turned into an error. bbolt does not close the file then.
func boltOpen(path string, o *bolt.Options) (db *bolt.DB, err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			db, err = nil, fmt.Errorf("%w: %v", bolterrors.ErrInvalid, p)
		}
	}()
	return bolt.Open(path, 0o600, o)
}

// toWrite are the options under which a store is open to be written.
func toWrite() bolt.Options {
	return bolt.Options{FreelistType: bolt.FreelistMapType, InitialMmapSize: mapSize}
}

// openThere opens an existing file to read and write.
func openThere(path string) (*os.File, error) { return os.OpenFile(path, os.O_RDWR, 0) }

// begin begins a read transaction on the file as it is open now. Whoever ends the transaction unlocks in.inUse.
func (f *file) begin() (tx *bolt.Tx, in *opened, err error) {
	for {
		in = f.db()
		if !in.inUse.TryRLock() {
			continue // another has taken its place
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

// close ends the transaction of a snapshot.
func (s *Snapshot) close() {
	rollback(s.tx)
	if s.in != nil {
		s.in.inUse.RUnlock()
	}
}

// rollback ends a transaction without its changes. After a commit it does nothing. The error of bbolt can be ignored: it only says that the
// transaction has ended already.
func rollback(tx *bolt.Tx) { _ = tx.Rollback() }

// db is the file as it is open now.
func (f *file) db() *opened { return f.open.Load() }
