package store

import (
	"errors"
	"fmt"
	"math"
	"syscall"

	bolt "go.etcd.io/bbolt"

	"lectern/store/internal/diskfile"
)

// The store allocates disk space for its file before a commit needs it. A full disk is then noticed before anything is
// written, and not between two pages of a commit. A part of that space is a reserve for writes that only remove, so
// that space can always be freed.
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

// prepareSpace allocates the space for the next commit. It must be called after the file was opened and after each
// commit. It sets the state of the store to Full if there is no space, and back to Sound if there is some again.
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

// takeSpace makes sure that the reserve is allocated beyond the pages in use, and allocates more if it is not. If the
// store is Full it asks for more than the reserve, so that the store becomes Sound only when writes will succeed again.
// The error wraps ErrFull if there is no space.
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

// space returns how many bytes of the file are allocated on the disk, by this process or an earlier one.
func (f *file) space() int64 {
	if f.taken == 0 {
		db := f.db()
		if info, err := db.handle.Stat(); err == nil && info.Size() > f.used &&
			diskfile.Reallocate(db.handle, f.used, info.Size()) == nil {
			f.taken = info.Size() // if it fails, the file has holes and the disk has no space for them
		}
	}
	f.taken = max(f.taken, f.used)
	return f.taken
}

func (f *file) allocate(from, to int64) error {
	db := f.db()
	if err := diskfile.Allocate(db.handle, from, to); err != nil {
		return err
	}
	return db.handle.Sync() // bbolt syncs data only, not the length of the file
}

// limit returns how large a commit may make the file: what is allocated and what the file system still has. The reserve
// is left out unless the commit only removes.
func (f *file) limit(removes bool) int {
	most, taken := diskfile.Available(f.db().handle), f.space()
	if most > math.MaxInt64-taken {
		return math.MaxInt
	}
	most += taken
	if !removes {
		most -= spaceReserve
	}
	return int(min(max(most, 1), math.MaxInt)) // to bbolt 0 means no limit
}
