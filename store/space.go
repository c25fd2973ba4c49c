package store

import (
	"errors"
	"fmt"
	"math"
	"syscall"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// The store allocates disk space for its file before a commit needs it. A full disk is then noticed before anything is written, and not
// between two pages of a commit. A part of that space is a reserve for writes that only remove, so that space can always be freed.
//
//	0 ............ used ............ taken
//	  pages in use      allocated ahead     more, if the file system has it
//
// A write that fits into free pages of the file needs no more space, and succeeds on a full disk too.
const (
	spaceReserve = 4 << 20
	minGrowth    = 1 << 20
	maxGrowth    = 16 << 20
)

// errNoRoom is the cause of ErrFull when a write needs more space than there is.
var errNoRoom = errors.New("the file cannot grow by what the write needs")

// noSpace reports whether an error says that a disk is full or a quota is used up.
func noSpace(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// prepareSpace allocates the space for the next commit. It must be called after the file was opened and after each commit. It sets the
// state of the store to Full if there is no space, and back to Sound if there is some again.
func (f *file) prepareSpace() {
	size, err := f.db().size()
	if err == nil {
		f.used = size
		err = f.takeSpace()
	}
	if err == nil {
		f.health.mend(Full)
	}
}

// size returns the length of the file up to its last page in use.
func (o *opened) size() (n int64, err error) {
	err = o.View(func(tx *bolt.Tx) error { n = tx.Size(); return nil })
	return n, err
}

// takeSpace makes sure that the reserve is allocated beyond the pages in use, and allocates more if it is not. If the store is Full it
// asks for more than the reserve, so that the store becomes Sound only when writes will succeed again. The error wraps ErrFull if there
// is no space.
func (f *file) takeSpace() error {
	if f.health.load().State == Full {
		return f.takeAhead(spaceReserve + minGrowth)
	}
	return f.takeAhead(spaceReserve)
}

// takeAhead makes sure that at least so many bytes are allocated beyond the pages in use.
func (f *file) takeAhead(least int64) error {
	taken := f.space()
	if taken-f.used >= least {
		return nil
	}
	step := min(max(f.used/8, minGrowth), maxGrowth)
	var err error
	for _, to := range []int64{f.used + spaceReserve + step, f.used + least} {
		if err = f.allocate(taken, to); err == nil {
			f.taken = to
			return nil
		}
		if !noSpace(err) {
			return f.health.fail(Damaged, fmt.Errorf("take space: %w", err))
		}
	}
	return f.health.fail(Full, fmt.Errorf("take space: %w", err))
}

// space returns how many bytes of the file are allocated on the disk, by this process or a former one.
func (f *file) space() int64 {
	if f.taken == 0 {
		db := f.db()
		if info, err := db.handle.Stat(); err == nil && info.Size() > f.used && reallocate(db.handle, f.used, info.Size()) == nil {
			f.taken = info.Size() // if it fails, the file has holes and the disk has no space for them
		}
	}
	f.taken = max(f.taken, f.used)
	return f.taken
}

func (f *file) allocate(from, to int64) error {
	db := f.db()
	if err := allocate(db.handle, from, to); err != nil {
		return err
	}
	return db.handle.Sync() // bbolt syncs data only, not the length of the file
}

// limit returns how large a commit may make the file: what is allocated and what the file system still has. The reserve is left out
// unless the commit only removes.
func (f *file) limit(removes bool) int {
	most, taken := available(f.db().handle), f.space()
	if most > math.MaxInt64-taken {
		return math.MaxInt
	}
	most += taken
	if !removes {
		most -= spaceReserve
	}
	return int(min(max(most, 1), math.MaxInt)) // to bbolt 0 means no limit
}

// commitTx commits a transaction. If the error wraps ErrFull nothing has changed. After any other error it is unknown what is on the
// disk, and the store is Damaged.
func (f *file) commitTx(tx *bolt.Tx, removes bool) error {
	id := tx.ID()
	f.db().MaxSize = f.limit(removes)
	err := tx.Commit()
	switch {
	case err == nil:
		f.committed = id
		f.prepareSpace()
		return f.checkPath() // before the write is acknowledged
	case errors.Is(err, bolterrors.ErrMaxSizeReached):
		if err := f.takeAhead(spaceReserve + minGrowth); err != nil {
			return err
		}
		return fmt.Errorf("%w: %w", ErrFull, errNoRoom) // a smaller write may succeed
	case noSpace(err):
		return f.reopen(fmt.Errorf("commit: %w", err))
	}
	// It is unknown what the disk holds now. Reading it would not tell: the page cache may return a page that was never written. Later
	// writes could refer to lost pages.
	return f.health.fail(Damaged, fmt.Errorf("commit: %w", err))
}

// reopen opens the file again after a commit ran out of space half way, which happens on file systems that cannot allocate ahead. The
// last committed state uses none of the pages that the commit has written, so it is intact. Readers continue on the former open file, and
// new readers use the new one. Writes wait until the former readers have ended, because the new open file does not know which pages they
// read.
func (f *file) reopen(cause error) error {
	old := f.db()
	next, err := openBolt(f.path, toWrite(), old.duplicate)
	if err != nil {
		return f.health.fail(Damaged, errors.Join(cause, err))
	}
	var newest int
	if err = next.View(func(tx *bolt.Tx) error { newest = tx.ID(); return nil }); err == nil && newest != f.committed {
		err = fmt.Errorf("the file is in the state of transaction %d, and %d was the last that was acknowledged", newest, f.committed)
	}
	if err != nil {
		return f.health.fail(Damaged, errors.Join(cause, err, next.Close()))
	}
	f.open.Store(next)
	f.cache.Store(nil)
	f.taken = 0
	f.drained = old.retire(next.lock)
	return f.health.fail(Full, cause)
}

// isDrained reports whether all readers of the former open file have ended.
func (f *file) isDrained() (bool, error) {
	if f.drained == nil {
		return true, nil
	}
	select {
	case err := <-f.drained:
		f.drained = nil
		return true, err
	default:
		return false, nil
	}
}
