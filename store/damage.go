package store

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	bolt "go.etcd.io/bbolt"

	"lectern/store/internal/format"
)

// ErrCorrupt is the error of a read that met a damaged page. Reads of other pages succeed; writes return ErrDamaged from then on.
var ErrCorrupt = errors.New("the store is damaged")

// A corruption is the panic by which a snapshot stops its user at a damaged page, since results without that page would be incomplete.
// guard turns it into an error.
type corruption struct{ error }

// fail panics with a corruption, because a page of a bucket is damaged.
func (s *Snapshot) fail(n format.Bucket, cause error) {
	s.failed = s.store.corrupt(fmt.Errorf("%s: %w", n.Name(), cause))
	panic(corruption{s.failed})
}

// corrupt sets the state of the store to Damaged, and returns the error of the read that met the damage.
func (f *file) corrupt(cause error) error {
	err := fmt.Errorf("%w: %w", ErrCorrupt, cause)
	f.forgetChecks()
	f.health.fail(Damaged, err)
	return err
}

// guard calls do, and turns the panics that a damaged file causes into errors. These are the corruption of a snapshot, an assertion of
// bbolt, and a memory fault in the mapping, which happens when the file was cut off or the disk cannot be read. Other panics pass through
// unchanged.
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

// recheckEvery is how often the store forgets which pages it has checked.
const recheckEvery = time.Minute

// doubtAll has every page checked again when it is next read, since a disk may fail at any time. It also replaces the relation cache,
// which leads reads to rows without a look at their pages, and closes the idle snapshots that use the cache.
func (f *file) doubtAll() {
	f.forgetChecks()
	f.cache.Store(nil)
	f.snapshots.Drain()()
}

// forgetChecks forgets which pages have passed the check.
func (f *file) forgetChecks() {
	if db := f.db(); db != nil {
		db.sound.Clear()
	}
}

// read calls do with a read transaction.
func (f *file) read(do func(*bolt.Tx) error) error {
	tx, in, err := f.begin()
	if err != nil {
		return err
	}
	defer in.inUse.RUnlock()
	defer rollback(tx)
	return f.guard(func() error { return do(tx) })
}

// update calls do with a write transaction, and commits it.
func (f *file) update(do func(*bolt.Tx) error) error {
	return f.db().Update(func(tx *bolt.Tx) error {
		return f.guard(func() error { return do(tx) })
	})
}

// meta returns the bucket meta as a transaction sees it.
func (f *file) meta(tx *bolt.Tx) *tree { return newSnapshot(&Store{file: f}, tx).bucket(format.Meta) }

// panicOrigin returns the name of the function that raised the present panic if a damaged file causes it, otherwise "". A deferred
// function must call it. It reads the stack instead of recovering, because a panic that is recovered and raised again loses its stack.
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
