package store

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	bolt "go.etcd.io/bbolt"

	"lectern/internal/durable"
	"lectern/store/internal/format"
)

// A State says what a store can do. A greater state is worse.
type State uint8

const (
	// Sound: reads and writes succeed.
	Sound State = iota
	// Full: there is no space to write to. Reads succeed, and so do writes that only remove. Other writes fail until
	// there is space again, which the store notices by itself.
	Full
	// Lost: the path of the store leads to no file any more, or to another one. Reads of the open file succeed. Writes
	// are refused, because the next start would not find them.
	Lost
	// Damaged: the file differs from what was written into it, or may differ. Reads of undamaged pages succeed. Writes
	// are refused until the store is opened again.
	Damaged
)

func (s State) String() string { return [...]string{"sound", "full", "lost", "damaged"}[s] }

// Errors of writes that a store refuses because of its state. They wrap the cause.
var (
	ErrFull    = errors.New("there is no space left to write to the store")
	ErrLost    = errors.New("the file of the store is gone or was replaced")
	ErrDamaged = errors.New(
		"the store takes no more writes since it is damaged, or a write failed to reach the disk; restart to go on")
)

// err returns the error of writes in a state, nil for Sound.
func (s State) err() error { return [...]error{nil, ErrFull, ErrLost, ErrDamaged}[s] }

// A Health is the state of a store.
type Health struct {
	State State
	Err   error     // the cause; it wraps the error of the state. nil if Sound
	Since time.Time // zero if the store has been Sound since it was opened
}

// Health returns the state of the store, which all Stores of a file share.
func (s *Store) Health() Health { return s.health.load() }

// A health holds the state of a file. The state changes nowhere else.
type health struct {
	mu      sync.Mutex
	now     atomic.Pointer[Health] // nil: sound since it was opened
	changed func(Health)           // may be nil
}

func (h *health) load() Health {
	if now := h.now.Load(); now != nil {
		return *now
	}
	return Health{}
}

// err returns the error of writes in the present state, nil if it is Sound.
func (h *health) err() error { return h.load().Err }

// fail changes the state if the new one is worse. It returns an error that wraps the error of the state and the cause.
func (h *health) fail(to State, cause error) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	err := fmt.Errorf("%w: %w", to.err(), cause)
	if to > h.load().State {
		h.set(Health{to, err, time.Now()})
	}
	return err
}

// mend changes the state back to Sound, if it is from. A Damaged store cannot be mended; it must be opened again.
func (h *health) mend(from State) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.load().State == from && from != Damaged && from != Sound {
		h.set(Health{Since: time.Now()})
	}
}

func (h *health) set(now Health) {
	h.now.Store(&now)
	if h.changed != nil {
		h.changed(now)
	}
}

// ErrCorrupt is the error of a read that met a damaged page. Reads of other pages succeed; writes return ErrDamaged
// from then on.
var ErrCorrupt = errors.New("the store is damaged")

// A corruption is the panic by which a snapshot stops its user at a damaged page, since results without that page would
// be incomplete. guard turns it into an error.
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

// guard calls do, and turns the panics that a damaged file causes into errors. These are the corruption of a snapshot,
// an assertion of bbolt, and a memory fault in the mapping, which happens when the file was cut off or the disk cannot
// be read. Other panics pass through unchanged.
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

// doubtAll has every page checked again when it is next read, since a disk may fail at any time. It also replaces the
// relation cache, which leads reads to rows without a look at their pages, and closes the idle snapshots that use the
// cache.
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

// panicOrigin returns the name of the function that raised the present panic if a damaged file causes it, otherwise "".
// A deferred function must call it. It reads the stack instead of recovering, because a panic that is recovered and
// raised again loses its stack.
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

// checkPathEvery is how often a store checks its file while nobody writes.
var checkPathEvery = 2 * time.Second

// Causes of the state Lost.
var (
	errRemoved     = errors.New("it was removed or moved away while it was open")
	errReplaced    = errors.New("another file was put in its place while it was open")
	errOverwritten = errors.New("another program wrote into it")
)

// checkPath checks that the path of the store still leads to the open file, and that the file was not cut off.
// Otherwise the next start would not find later writes.
func (f *file) checkPath() error {
	info, err := os.Stat(f.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return f.health.fail(Lost, fmt.Errorf("%s: %w", f.path, errRemoved))
	case err != nil:
		return f.health.fail(Lost, err)
	case !os.SameFile(info, f.db().info):
		return f.health.fail(Lost, fmt.Errorf("%s: %w", f.path, errReplaced))
	case info.Size() < f.used:
		return f.health.fail(Damaged, fmt.Errorf("%s: %w", f.path, errCutOff))
	}
	return nil
}

// checkState checks the file, and sets the state back to Sound if the store was Lost or Full and no longer is. The
// writer goroutine calls it every checkPathEvery.
func (f *file) checkState() error {
	if err := f.checkPath(); err != nil {
		return err
	}
	f.health.mend(Lost)
	if f.health.load().State != Full {
		return nil
	}
	return f.probe()
}

// probe commits a transaction without changes to find out whether there is space again. If it succeeds, the store is
// Sound.
func (f *file) probe() error {
	tx, err := f.beginWrite()
	if err != nil {
		return err
	}
	defer rollback(tx)
	if err := f.takeSpace(); err != nil {
		return err
	}
	meta := f.meta(tx)
	if err := putNumber(meta, format.KeySequence, getNumber(meta, format.KeySequence)); err != nil {
		return err
	}
	return f.commitTx(tx, true)
}

// beginWrite begins a write transaction, if the path still leads to the file and no other program has written into it.
func (f *file) beginWrite() (*bolt.Tx, error) {
	switch drained, err := f.isDrained(); {
	case err != nil:
		return nil, f.health.fail(Damaged, fmt.Errorf("open the store anew: %w", err))
	case !drained:
		return nil, fmt.Errorf("%w: those who read from before that have not ended", ErrFull)
	}
	if err := f.checkPath(); err != nil {
		return nil, err
	}
	tx, err := f.db().Begin(true)
	if err != nil {
		return nil, fmt.Errorf("begin write: %w", err)
	}
	if f.committed != 0 && tx.ID() != f.committed+1 {
		err := f.health.fail(Lost, fmt.Errorf("%s: %w", f.path, errOverwritten))
		return nil, errors.Join(err, tx.Rollback())
	}
	f.committed = tx.ID() - 1
	f.used = tx.Size()
	return tx, nil
}

// watch sets the clock of readers, and has the writer goroutine check the file. Its error is not lost: it is kept in
// Health and returned by later writes.
func (f *file) watch() {
	f.readers.tick()
	_ = f.byWriter(context.Background(), f.checkState)
}

// repeat calls do at intervals until the store is closed, in a goroutine that Close waits for.
func (f *file) repeat(interval time.Duration, do func()) {
	defer f.writer.Done()
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-f.closing:
			return
		case <-tick.C:
			do()
		}
	}
}

// byWriter has the writer goroutine call do between two transactions, and returns the error.
func (f *file) byWriter(ctx context.Context, do func() error) error {
	req := &writeRequest{ctx: ctx, alone: do, done: make(chan error, 1)}
	if err := f.submit(req); err != nil {
		return err
	}
	return <-req.done
}

// A store has an identity, a random text that its copies share. It is in the file and in a marker beside the file. If
// only the marker is there, the file is lost; Open then fails, because creating an empty store would hide the loss.

// MarkerPath returns the path of the marker of the store at path.
func MarkerPath(path string) string { return path + ".id" }

const markerText = `%s
%s belongs beside this file. If it is gone, put it back, or a backup; to begin with an empty store, remove this file.
`

// CheckThere returns an error that wraps ErrLost if the store file at path is missing and its marker says that there
// was one.
func CheckThere(path string) error {
	marker := MarkerPath(path)
	switch _, err := os.Stat(marker); {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("open store: %w", err)
	}
	return fmt.Errorf("open store %s: %w: %s says that there was one; put it back, restore a backup, "+
		"or remove %s to begin with an empty store",
		path, ErrLost, filepath.Base(marker), marker)
}

func newIdentity() string {
	var random [16]byte
	_, _ = rand.Read(random[:]) // never fails
	return hex.EncodeToString(random[:])
}

// mark writes the identity of the open store into the marker, and reports whether the marker named another store
// before.
func (f *file) mark() (replaced bool, err error) {
	identity, err := f.identity()
	if err != nil {
		return false, fmt.Errorf("identify store %s: %w", f.path, err)
	}
	marker := MarkerPath(f.path)
	was, err := os.ReadFile(marker)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("identify store: %w", err)
	}
	named, _, _ := strings.Cut(string(was), "\n")
	if named == identity {
		return false, nil
	}
	if err := durable.WriteFile(marker, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, markerText, identity, filepath.Base(f.path))
		return err
	}); err != nil {
		return false, fmt.Errorf("identify store: %w", err)
	}
	return named != "", nil
}

// identity returns the identity of the open store.
func (f *file) identity() (identity string, err error) {
	err = f.read(func(tx *bolt.Tx) error {
		if identity = string(format.WithoutChecksum(f.meta(tx).Get(format.KeyIdentity))); identity == "" {
			return errors.New("it has no identity")
		}
		return nil
	})
	return identity, err
}

// tempSuffix ends the names of files that are being written beside a store, and are then renamed.
const tempSuffix = durable.Suffix

// removeUnfinished removes the files that a killed process was writing beside the store at path. The caller must have
// locked the store.
func removeUnfinished(path string) error {
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), filepath.Base(path)+".") && strings.HasSuffix(e.Name(), tempSuffix) {
			if err := os.Remove(filepath.Join(filepath.Dir(path), e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}
