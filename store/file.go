package store

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync"
	"syscall"
	"time"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"lectern/internal/durable"
	"lectern/store/internal/diskfile"
	"lectern/store/internal/format"
	"lectern/store/internal/logentry"
	"lectern/store/internal/pages"
)

// An opened is an open bbolt file. Another opened replaces it when a commit has run out of space, and the file is
// opened again (see file.reopen), and when a compacted file takes its place (see Store.Compact).
type opened struct {
	*bolt.DB
	handle *os.File    // the one that bbolt uses
	info   fs.FileInfo // of the handle, to recognise the file
	sound  pages.Marks // the pages that have passed the check

	inUse sync.RWMutex // held shared by each snapshot, and exclusively once another opened has replaced this one
}

// mapSize is how much address space is reserved for the file. A file that outgrows its mapping needs a new one, for
// which all readers have to end. Reserving costs no memory. Only tests change it.
var mapSize = 1 << 30

// openBolt opens a bbolt file, and returns an error that tells the user what to do if that fails. bbolt calls openFile
// to open the file, which must exist.
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
		// The store allocates space before a commit, so bbolt need not do it during one.
		open.AllocSize = 0
		return open, nil
	case errors.Is(err, bolterrors.ErrTimeout):
		return nil, fmt.Errorf("open %s: %w", path, ErrLocked)
	case errors.Is(err, bolterrors.ErrInvalid), errors.Is(err, bolterrors.ErrChecksum),
		errors.Is(err, bolterrors.ErrVersionMismatch):
		return nil, fmt.Errorf(
			"open store %s: the file is damaged, or was never a store; put back a whole one, from a backup (%w)", path,
			err)
	}
	return nil, fmt.Errorf("open store %s: %w", path, err)
}

// boltOpen is bolt.Open, but returns an error where that panics because the list of free pages is damaged. bbolt does
// not close the file then.
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

// begin begins a read transaction on the open file. The caller must call in.inUse.RUnlock when the transaction has
// ended.
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

// retire closes a file that another opened has replaced, when the readers of it have ended, and then calls then, which
// may be nil. The channel gets the error.
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

// rollback ends a transaction without its changes. After a commit it does nothing. The error of bbolt can be ignored:
// it only says that the transaction has ended already.
func rollback(tx *bolt.Tx) { _ = tx.Rollback() }

// db returns the open file.
func (f *file) db() *opened { return f.open.Load() }

// Reasons not to open a file.
var (
	errCutOff = errors.New(
		"the file is shorter than what was written into it, as one is that was copied in part; " +
			"put back a whole one, from a backup")
	errNewest = errors.New(
		"the page that says where its newest state lies is damaged; put back a whole one, from a backup, " +
			"or save what can be read with salvage")
)

// checkComplete returns an error for a bbolt file that is shorter than its newest meta page says, or whose newest meta
// page is damaged: bbolt would silently open the state before the last write. bbolt notices other damage itself.
func checkComplete(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return nil // bbolt will return the error
	}
	defer f.Close()
	m, err := newestMeta(f)
	if err != nil { // read again: another process may have been writing that page
		m, err = newestMeta(f)
	}
	if err != nil || m.PageSize == 0 {
		return err
	}
	// Read the length last: if another process uses the file, the file grows before its meta pages say so.
	if info, err := f.Stat(); err == nil && uint64(info.Size()) < m.Pages*uint64(m.PageSize) {
		return errCutOff
	}
	return nil
}

// newestMeta reads the newer of the two meta pages of a file. The error is errNewest if the newer page is damaged. A
// loss of power does not damage it, since a disk writes its few bytes at once. If both pages are damaged, the result is
// zero.
func newestMeta(f io.ReaderAt) (pages.Meta, error) {
	m, valid := readMeta(f, 0)
	if !valid {
		return metaWithout(f, m)
	}
	other, otherValid := readMeta(f, int64(m.PageSize))
	switch {
	case otherValid && other.Tx > m.Tx:
		return other, nil
	case !otherValid && other.Tx != m.Tx-1:
		return m, errNewest
	}
	return m, nil
}

// metaWithout is newestMeta for a file whose first meta page is damaged. It looks for the second one under all page
// sizes.
func metaWithout(f io.ReaderAt, first pages.Meta) (pages.Meta, error) {
	for size := int64(1 << 10); size <= 1<<16; size *= 2 {
		if m, valid := readMeta(f, size); valid {
			if first.Tx != m.Tx-1 {
				return m, errNewest
			}
			return m, nil
		}
	}
	return pages.Meta{}, nil
}

// readMeta reads the meta page at an offset; valid is false if it is damaged.
func readMeta(r io.ReaderAt, at int64) (m pages.Meta, valid bool) {
	var page [pages.MetaLen]byte
	if _, err := r.ReadAt(page[:], at); err != nil {
		return pages.Meta{}, false
	}
	return pages.ReadMeta(page[:])
}

// openFile opens a store file for writing, and upgrades it if it has an older format.
func openFile(path string, opts Options, openFile func(path string) (*os.File, error)) (*opened, error) {
	o := toWrite()
	o.Timeout = max(opts.LockTimeout, 50*time.Millisecond)
	db, err := openBolt(path, o, openFile)
	if err != nil {
		return nil, err
	}
	f := newFile(db, path)
	u, kept, err := f.plannedUpgrade(opts)
	if err == nil {
		err = db.secure()
	}
	if err == nil && u.From != u.To {
		err = f.upgrade(u, kept, opts)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open store %s: %w", path, err), db.Close())
	}
	return db, nil
}

// secure writes the newest meta page to disk again. If an earlier process failed to write it, it may be in the page
// cache only, and the next commits would overwrite the state that the disk still has.
func (o *opened) secure() error {
	page := make([]byte, os.Getpagesize())
	var at int64
	if err := o.View(func(tx *bolt.Tx) error {
		page = make([]byte, o.Info().PageSize)
		at = int64(tx.ID()%2) * int64(len(page))
		return nil
	}); err != nil {
		return err
	}
	if _, err := o.handle.ReadAt(page, at); err != nil {
		return err
	}
	if _, err := o.handle.WriteAt(page, at); err != nil {
		return err
	}
	return o.handle.Sync()
}

// create makes an empty store beside path and renames it into place, because a loss of power while bbolt initialises a
// file would leave it damaged.
func create(path string) error {
	temp := path + tempSuffix
	if err := os.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	db, err := openFile(temp, Options{}, func(path string) (*os.File, error) {
		return os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	})
	if err != nil {
		return err
	}
	err = db.Update(func(tx *bolt.Tx) error {
		for _, name := range format.BucketNames {
			if _, err := tx.CreateBucket(name); err != nil {
				return err
			}
		}
		meta := newFile(db, temp).meta(tx)
		if err := meta.Put(format.KeyIdentity, freshValue{[]byte(newIdentity())}); err != nil {
			return err
		}
		return errors.Join(putEpoch(meta, logentry.NewEpoch()), known.putInto(meta))
	})
	if err := errors.Join(err, db.Close()); err != nil {
		return err
	}
	if err := os.Rename(temp, path); err != nil {
		return err
	}
	return durable.SyncDir(filepath.Dir(path))
}

// commitTx commits a transaction. If the error wraps ErrFull nothing has changed. After any other error it is unknown
// what is on the disk, and the store is Damaged.
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
	// It is unknown what the disk holds now. Reading it would not tell: the page cache may return a page that was never
	// written. Later writes could refer to lost pages.
	return f.health.fail(Damaged, fmt.Errorf("commit: %w", err))
}

// reopen opens the file again after a commit ran out of space half way, which happens on file systems that cannot
// allocate ahead. The last committed state uses none of the pages that the commit has written, so it is intact. Readers
// continue on the old open file, and new readers use the new one. Writes wait until these readers have ended, because
// the new open file does not know which pages they read.
func (f *file) reopen(cause error) error {
	old := f.db()
	next, err := openBolt(f.path, toWrite(), func(string) (*os.File, error) { return diskfile.Duplicate(old.handle) })
	if err != nil {
		return f.health.fail(Damaged, errors.Join(cause, err))
	}
	var newest int
	if err = next.View(func(tx *bolt.Tx) error { newest = tx.ID(); return nil }); err == nil && newest != f.committed {
		err = fmt.Errorf("the file is in the state of transaction %d, and %d was the last that was acknowledged",
			newest, f.committed)
	}
	if err != nil {
		return f.health.fail(Damaged, errors.Join(cause, err, next.Close()))
	}
	f.open.Store(next)
	f.cache.Store(nil)
	f.taken = 0
	f.drained = old.retire(
		func() error { return diskfile.Lock(next.handle) }) // bbolt releases it when it closes the old handle
	return f.health.fail(Full, cause)
}

// isDrained reports whether all readers of the old open file have ended.
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
