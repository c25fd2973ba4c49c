package store

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	bolt "go.etcd.io/bbolt"
)

// ErrCorrupt: a read came upon damage in the file. Other reads go on; writes return ErrDamaged from then on.
var ErrCorrupt = errors.New("the store is damaged")

// A corruption is the panic with which a snapshot stops its user when it reads a damaged page: results that were made without that page
// would be taken for complete. guard turns the panic into an error.
type corruption struct{ error }

// fail stops the user of the snapshot, since a bucket cannot be read.
func (s *Snapshot) fail(n bucket, cause error) {
	s.failed = s.store.corrupt(fmt.Errorf("%s: %w", bucketNames[n], cause))
	panic(corruption{s.failed})
}

// corrupt marks the store as damaged and returns the error of the read that found it so.
func (f *file) corrupt(cause error) error {
	err := fmt.Errorf("%w: %w", ErrCorrupt, cause)
	f.sound.Clear()
	f.health.fail(Damaged, err)
	return err
}

// guard calls do, which reads or writes the file, and turns the panics that a damaged file causes into errors: the corruption of a
// snapshot, an assertion of bbolt, and a memory fault of the mapping, when the file was cut off or the disk cannot be read. Other panics
// pass through unchanged.
func (f *file) guard(do func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	returned := false
	defer func() {
		if returned {
			return
		}
		if origin := panicOrigin(); origin != "" {
			switch p := recover().(type) {
			case corruption:
				err = p.error
			default:
				err = f.corrupt(fmt.Errorf("%v (%s)", p, origin))
			}
		}
	}()
	err = do()
	returned = true
	return err
}

// checkAgainAfter is how long a page that was found whole is taken to be so.
const checkAgainAfter = time.Minute

// doubtAll has every page checked again when it is read next, since a disk may fail at any time. It also begins a new relation cache,
// by which reads reach rows without looking at their pages, and closes the snapshots that have the old one.
func (f *file) doubtAll() {
	f.sound.Clear()
	f.cache.Store(nil)
	f.snapshots.Drain()()
}

// read calls do with a transaction that only reads.
func (f *file) read(do func(*bolt.Tx) error) error {
	return f.db().View(func(tx *bolt.Tx) error {
		return f.guard(func() error { return do(tx) })
	})
}

// update calls do with a transaction that writes, and commits it.
func (f *file) update(do func(*bolt.Tx) error) error {
	return f.db().Update(func(tx *bolt.Tx) error {
		return f.guard(func() error { return do(tx) })
	})
}

// meta is the bucket meta as a transaction sees it.
func (f *file) meta(tx *bolt.Tx) *tree { return newSnapshot(&Store{file: f}, tx).bucket(metas) }

// panicOrigin tells a deferred function which function raised the panic that is under way, if that is one that a damaged file causes;
// otherwise it returns "". It reads the stack instead of recovering, because a panic that is raised again loses its stack.
func panicOrigin() string {
	var at [32]uintptr
	frames := runtime.CallersFrames(at[:runtime.Callers(2, at[:])])
	panicking := false
	for {
		f, more := frames.Next()
		switch name := f.Function; {
		case name == "runtime.gopanic":
			panicking = true
		case !panicking:
		case name == "runtime.panicmemAddr":
			return "a fault of the mapped file"
		case strings.HasPrefix(name, "runtime."):
		case strings.HasSuffix(name, "store.(*Snapshot).fail"),
			strings.HasPrefix(name, "go.etcd.io/bbolt"), strings.HasPrefix(name, "lectern/store/internal/pages."):
			return name
		default:
			return ""
		}
		if !more {
			return ""
		}
	}
}
