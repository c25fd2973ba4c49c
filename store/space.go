package store

import (
	"errors"
	"fmt"
	"math"
	"syscall"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// The file takes the space that it grows into ahead of the commits that need it. A disk that is full then shows where nothing has
// been written yet, and not between two pages of a commit; and some of that space is a reserve which only writes that remove
// something may use, so that there is always a way to free space.
//
//	0 ............ used ............ taken
//	  pages in use      space ahead,        as far as the file system gives more
//	                    reserve and step
//
// A write that finds room in pages that are free within the file needs none of this, and is taken on a full disk too.
const (
	spaceReserve = 4 << 20
	minSpaceStep = 1 << 20
	maxSpaceStep = 16 << 20
)

// errNoRoom is why a write is refused that needs more than there is.
var errNoRoom = errors.New("the file cannot grow by what the write needs")

// noSpace reports whether an error says that a disk or a quota is used up.
func noSpace(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// prepareSpace takes the space for the next commit, after a commit has succeeded or the file was opened. It sets the state of the store
// to Full if there is no space, and back to Sound if there is some again.
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

// size is how many bytes the pages in use reach to.
func (o *opened) size() (n int64, err error) {
	err = o.View(func(tx *bolt.Tx) error { n = tx.Size(); return nil })
	return n, err
}

// takeSpace makes sure that the file has the reserve beyond the pages in use, and otherwise takes the reserve and a step. When the store
// is Full it requires a step beyond the reserve, so that the store is Sound again only when it can go on. The error wraps ErrFull when
// there is no space.
func (f *file) takeSpace() error {
	if f.health.load().State == Full {
		return f.takeAhead(spaceReserve + minSpaceStep)
	}
	return f.takeAhead(spaceReserve)
}

// takeAhead makes sure that the file has at least so many bytes beyond the pages in use.
func (f *file) takeAhead(least int64) error {
	taken := f.space()
	if taken-f.used >= least {
		return nil
	}
	step := min(max(f.used/8, minSpaceStep), maxSpaceStep)
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

// space is how many bytes the file has on the disk: those in use at least, and those that this or a former process has taken.
func (f *file) space() int64 {
	if f.taken == 0 {
		db := f.db()
		if info, err := db.handle.Stat(); err == nil && info.Size() > f.used && reallocate(db.handle, f.used, info.Size()) == nil {
			f.taken = info.Size() // otherwise it has holes, and there is no space for them
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
	return db.handle.Sync() // bbolt does so too: its own syncs are of data
}

// limit is how large the file may become by a commit: what it has taken and what the file system still has, without the reserve
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
	return int(min(max(most, 1), math.MaxInt)) // 0 would be no limit
}

// commitTx commits a transaction. When the error wraps ErrFull nothing has changed. After any other error the content of the disk is
// unknown, and the store is Damaged.
func (f *file) commitTx(tx *bolt.Tx, removes bool) error {
	id := tx.ID()
	f.db().MaxSize = f.limit(removes)
	err := tx.Commit()
	switch {
	case err == nil:
		f.committed = id
		f.prepareSpace()
		return f.look() // before anybody is told that it is in the file
	case errors.Is(err, bolterrors.ErrMaxSizeReached):
		if err := f.takeAhead(spaceReserve + minSpaceStep); err != nil {
			return err
		}
		return fmt.Errorf("%w: %w", ErrFull, errNoRoom) // for less there is some
	case noSpace(err):
		return f.reopen(fmt.Errorf("commit: %w", err))
	}
	// What the disk holds now is unknown, and to read it again would not tell: a page that could not be written may be
	// read from memory as if it had been. Later writes could stand on pages that are lost.
	return f.health.fail(Damaged, fmt.Errorf("commit: %w", err))
}

// reopen opens the file anew after a commit found no space half way: on file systems that do not keep what was taken. The pages
// that it wrote are none that the last state uses, so that this is what must be read again. Readers go on by the file as it was
// open, and new ones by the new one; writes wait until the former readers are gone, whose pages nobody else spares.
func (f *file) reopen(cause error) error {
	old := f.db()
	next, err := openBolt(f.path, toWrite(), old.again)
	if err != nil {
		return f.health.fail(Damaged, errors.Join(cause, err))
	}
	var holds int
	if err = next.View(func(tx *bolt.Tx) error { holds = tx.ID(); return nil }); err == nil && holds != f.committed {
		err = fmt.Errorf("the file is in the state of transaction %d, and %d was the last that was acknowledged", holds, f.committed)
	}
	if err != nil {
		return f.health.fail(Damaged, errors.Join(cause, err, next.Close()))
	}
	f.open.Store(next)
	f.cache.Store(nil)
	f.sound.Clear()
	f.taken = 0
	drained := make(chan error, 1)
	f.drained = drained
	end := func() { drained <- errors.Join(old.Close(), next.lock()) }
	if old.inUse.TryLock() { // for good: nobody begins with it any more
		end()
	} else {
		go func() { old.inUse.Lock(); end() }()
	}
	return f.health.fail(Full, cause)
}

// isDrained reports whether all readers of a file that was opened anew are gone.
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
