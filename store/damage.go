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

// ErrCorrupt: what was to be read is damaged in the file. Other reads go on; writes are told ErrDamaged from then on.
var ErrCorrupt = errors.New("the store is damaged")

// A corruption is the panic by which a snapshot ends what is done with it where it comes to a damaged page: nothing that was made of
// what could be read may be taken for all there is. guard turns it into an error.
type corruption struct{ error }

// fail ends what is done with the snapshot, since a bucket cannot be read.
func (s *Snapshot) fail(n bucket, cause error) {
	s.failed = s.store.corrupt(fmt.Errorf("%s: %w", bucketNames[n], cause))
	panic(corruption{s.failed})
}

// corrupt marks the store as damaged and returns the error for whoever came upon it.
func (f *file) corrupt(cause error) error {
	err := fmt.Errorf("%w: %w", ErrCorrupt, cause)
	f.sound.Clear()
	f.health.fail(Damaged, err)
	return err
}

// guard calls do, which reads or writes the file, and returns as an error what a damaged file makes it panic with: a page that this
// package does not believe, an assertion of bbolt, or a fault of the memory that the file is mapped to, as where it was cut off or the
// disk cannot be read. Any other panic goes on as it came.
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

// doubtAll has every page checked again when it is read next: disks do not fail at the start alone. Places that are remembered, through
// which reads come to rows without looking at their pages, are forgotten for it.
func (f *file) doubtAll() {
	f.sound.Clear()
	f.places.Store(nil)
	f.resting.bar() // those that rest have places, and stand on pages
	f.resting.open()
}

// read calls do with a transaction that only reads.
func (f *file) read(do func(*bolt.Tx) error) error {
	return f.db().View(func(tx *bolt.Tx) error {
		return f.guard(func() error { return do(tx) })
	})
}

// meta is the bucket meta as a transaction sees it.
func (f *file) meta(tx *bolt.Tx) *tree { return newSnapshot(&Store{file: f}, tx).bucket(metas) }

// panicOrigin tells a deferred function what the panic is that runs it, when it is one that a damaged file causes; otherwise it is "".
// It looks at the stack, since a panic that was recovered to be looked at would go on without the stack of its own.
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
