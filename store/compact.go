package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	bolt "go.etcd.io/bbolt"

	"lectern/internal/durable"
	"lectern/store/internal/diskfile"
	"lectern/store/internal/format"
	"lectern/store/internal/pages"
)

// A Compaction is what Compact has done.
type Compaction struct {
	Before int64 `json:"before"` // bytes of the file
	After  int64 `json:"after"`
}

// Errors of Compact.
var (
	// ErrCompacting: another call of Compact is under way.
	ErrCompacting = errors.New("the store is being compacted already")
	// errReopened is the error of Compact if the store was opened anew meanwhile, because the disk was full.
	errReopened = errors.New("the disk was full meanwhile; try again when there is space")
	// errOutgrown is the error of an attempt that ends because a writer waits for all readers: the file has outgrown
	// its mapping.
	errOutgrown = errors.New("the file grew too fast meanwhile; try again when less is written")
)

// Compact copies the content into a new file without free pages, and puts it in the place of the present one. Readers
// and writers go on meanwhile. Writers wait only at the end, while the last changes are copied and the new file is
// synced and renamed. After a crash at any moment, the path leads to the old file or to the new one, and both are
// complete.
//
// Compact reads every page and compares the checksums. If one is damaged, if there is no space for the copy or if ctx
// ends, it changes nothing and returns an error. progress, which may be nil, is called with the bytes copied so far and
// their total, which is an estimate.
func (s *Store) Compact(ctx context.Context, progress func(done, total int64)) (result Compaction, err error) {
	if !s.compacting.TryLock() {
		return result, ErrCompacting
	}
	defer s.compacting.Unlock()
	for range maxAttempts {
		if result, err = s.compact(ctx, progress); !errors.Is(err, errOutgrown) {
			break
		}
		// The write that waited may outgrow the next mapping as well. Let it end first.
		if err := s.byWriter(ctx, func() error { return nil }); err != nil {
			return result, err
		}
	}
	return result, err
}

// compact is one attempt of Compact.
func (s *Store) compact(ctx context.Context, progress func(done, total int64)) (result Compaction, err error) {
	if err := s.health.err(); err != nil {
		return result, err
	}
	c := &compactor{store: s, ctx: ctx, progress: progress, path: compactPath(s.path)}
	defer func() { err = errors.Join(err, c.end()) }()
	if err := s.guard(c.copy); err != nil {
		return result, err
	}
	beforeReplace()
	return c.replaceByWriter()
}

// beforeReplace is called when the copy is done, before the writer goroutine puts it in place. Only tests change it.
var beforeReplace = func() {}

// compactPath returns the path of the file that Compact writes beside a store.
func compactPath(path string) string { return path + ".compact" + tempSuffix }

// A compactor copies a file for one call of Compact.
type compactor struct {
	store    *Store
	ctx      context.Context
	progress func(done, total int64)
	path     string
	in       *opened  // the file that is copied, kept open by inUse
	state    *bolt.Tx // the state that has been copied
	to       *opened  // the copy; nil once it is closed
	tx       *bolt.Tx // of to; nil between two transactions

	buckets [format.BucketCount]*bolt.Bucket // of tx
	pending int                              // bytes in tx
	copied  int64
	total   int64
}

// copiedTogether is how many bytes a transaction of the copy has. The transactions are not synced. Only tests change
// it.
var copiedTogether = 8 << 20

const (
	// maxAttempts bounds how often Compact begins anew because of errOutgrown.
	maxAttempts = 3
	// fillPercent is how full the pages of the copy are: enough room is left that the next writes do not split each
	// page that they change.
	fillPercent = 0.9
	// fewChanges is how many changed keys Compact may leave to copy while writers wait.
	fewChanges = 1000
	// maxRounds bounds how often Compact copies what was written meanwhile, before it makes writers wait.
	maxRounds = 8
)

// copy writes the copy and follows what is written meanwhile, until few changes are left. It syncs the copy, so that
// little is left to sync, too.
func (c *compactor) copy() error {
	if err := c.start(); err != nil {
		return err
	}
	for range maxRounds {
		changes, err := c.follow()
		if err != nil {
			return err
		}
		if err := c.to.Sync(); err != nil {
			return fmt.Errorf("sync the compacted file: %w", err)
		}
		if changes <= fewChanges {
			break
		}
	}
	return nil
}

// start creates the file of the copy, if there is space for it.
func (c *compactor) start() (err error) {
	tx, in, err := c.store.begin()
	if err != nil {
		return err
	}
	defer in.inUse.RUnlock()
	defer rollback(tx)
	c.in = in
	if err := c.checkSpace(tx); err != nil {
		return err
	}
	o := toWrite()
	o.NoSync, o.PageSize = true, in.Info().PageSize
	c.to, err = openBolt(c.path, o, func(path string) (*os.File, error) {
		return os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	})
	if err != nil {
		return fmt.Errorf("make the compacted file: %w", err)
	}
	return nil
}

// checkSpace sets total, and returns an error if the disk has no space for the copy beside the file.
func (c *compactor) checkSpace(tx *bolt.Tx) error {
	f := mapped(tx, nil)
	c.total = tx.Size()
	if m := metaOf(tx, f); m.Freelist != 0 {
		if free, err := f.Free(m); err == nil { // without that list, the copy is taken to be as long as the file
			c.total -= int64(free) * int64(m.PageSize)
		}
	}
	need := c.total + c.total/8 + spaceReserve + minGrowth // pages are not quite full
	if left := diskfile.Available(c.in.handle); left < need {
		return fmt.Errorf("%w: the compacted file is written beside the store and may take %d bytes, "+
			"and %d are free; nothing has changed", ErrFull, need, left)
	}
	return nil
}

// end ends what is open, and removes the copy unless it has been renamed.
func (c *compactor) end() error {
	if c.tx != nil {
		rollback(c.tx)
	}
	c.endState()
	var err error
	if c.to != nil {
		err = c.to.Close()
	}
	if removed := os.Remove(c.path); !errors.Is(removed, fs.ErrNotExist) {
		err = errors.Join(err, removed)
	}
	return err
}

// endState ends the transaction of the state that has been copied.
func (c *compactor) endState() {
	if c.state != nil {
		rollback(c.state)
		c.in.inUse.RUnlock()
		c.state = nil
	}
}

// follow brings the copy from the state that has been copied, at first none, to the newest one. It returns how many
// keys it has put and deleted.
func (c *compactor) follow() (changes int, err error) {
	newest, in, err := c.begin()
	if err != nil {
		return 0, err
	}
	if in == c.in {
		changes, err = c.copyChanges(newest)
	} else {
		err = errReopened
	}
	if err != nil {
		rollback(newest)
		in.inUse.RUnlock()
		return 0, err
	}
	c.endState()
	c.state = newest
	return changes, nil
}

// begin begins to read the newest state. When a writer waits for all readers to end, because the file has outgrown its
// mapping, bbolt lets no reader begin. begin then returns errOutgrown, so that the compactor, which may be the reader,
// ends.
func (c *compactor) begin() (*bolt.Tx, *opened, error) {
	type begun struct {
		tx  *bolt.Tx
		in  *opened
		err error
	}
	result := make(chan begun, 1)
	go func() {
		tx, in, err := c.store.begin()
		result <- begun{tx, in, err}
	}()
	late := time.NewTimer(stuckAfter)
	defer late.Stop()
	select {
	case b := <-result:
		return b.tx, b.in, b.err
	case <-late.C:
	}
	go func() {
		if b := <-result; b.err == nil {
			rollback(b.tx)
			b.in.inUse.RUnlock()
		}
	}()
	return nil, nil, errOutgrown
}

// canBegin returns errOutgrown if a reader cannot begin.
func (c *compactor) canBegin() error {
	tx, in, err := c.begin()
	if err == nil {
		rollback(tx)
		in.inUse.RUnlock()
	}
	return err
}

// copyChanges copies what has changed between the state that has been copied and that of a transaction. It checks each
// page that it reads.
func (c *compactor) copyChanges(newest *bolt.Tx) (changes int, err error) {
	if c.state != nil && newest.ID() == c.state.ID() {
		return 0, nil
	}
	for n := range format.BucketCount {
		var trees [2]*pages.Tree // before and after
		for i, tx := range []*bolt.Tx{c.state, newest} {
			if tx == nil {
				continue
			}
			if trees[i], err = rootTree(tx, mapped(tx, nil)).Bucket(n.Name()); err != nil {
				return 0, c.store.corrupt(err)
			}
			if trees[i] != nil {
				trees[i].Check = format.CheckPage(n)
			}
		}
		changed, err := c.copyBucket(n, trees[0], trees[1])
		var damage *pages.Error
		switch {
		case errors.As(err, &damage):
			return 0, c.store.corrupt(inBucket(n.Name(), err))
		case err != nil:
			return 0, err
		}
		changes += changed
	}
	return changes, c.commit()
}

// copyBucket copies what has changed in a bucket. What was removed is deleted first, since a key may be in a page that
// was removed and in one that was added.
func (c *compactor) copyBucket(n format.Bucket, before, after *pages.Tree) (changes int, err error) {
	var added []pages.Page
	put := func(p pages.Page) error {
		changes += p.Len()
		return c.putPage(n, p)
	}
	add := func(p pages.Page) error {
		added = append(added, p)
		return nil
	}
	if before == nil { // the whole bucket is copied as it is read
		add = put
	}
	if err := pages.Diff(before, after, func(p pages.Page) error { return c.deletePage(n, p) }, add); err != nil {
		return 0, err
	}
	for _, p := range added {
		if err := put(p); err != nil {
			return 0, err
		}
	}
	return changes, nil
}

// bucket returns a bucket of the copy, to be changed.
func (c *compactor) bucket(n format.Bucket) (b *bolt.Bucket, err error) {
	if c.tx == nil {
		if c.tx, err = c.to.Begin(true); err != nil {
			return nil, err
		}
	}
	if c.buckets[n] == nil {
		if c.buckets[n], err = c.tx.CreateBucketIfNotExists(n.Name()); err != nil {
			return nil, err
		}
		c.buckets[n].FillPercent = fillPercent
	}
	return c.buckets[n], nil
}

// putPage copies the keys and values of a leaf.
func (c *compactor) putPage(n format.Bucket, p pages.Page) error {
	return c.eachKey(n, p, func(b *bolt.Bucket, i int) error { return b.Put(p.Key(i), p.Value(i)) })
}

// deletePage deletes the keys of a leaf.
func (c *compactor) deletePage(n format.Bucket, p pages.Page) error {
	return c.eachKey(n, p, func(b *bolt.Bucket, i int) error { return b.Delete(p.Key(i)) })
}

// eachKey calls do with each element of a leaf and the bucket of the copy. It commits when the transaction has become
// long.
func (c *compactor) eachKey(n format.Bucket, p pages.Page, do func(b *bolt.Bucket, i int) error) error {
	if err := c.ctx.Err(); err != nil {
		return err
	}
	b, err := c.bucket(n)
	if err != nil {
		return err
	}
	for i := range p.Len() {
		if err := do(b, i); err != nil {
			return fmt.Errorf("write the compacted file: %w", err)
		}
	}
	c.copied += int64(len(p))
	if c.pending += len(p); c.pending < copiedTogether {
		return nil
	}
	if c.progress != nil {
		c.progress(min(c.copied, c.total), c.total)
	}
	if err := c.commit(); err != nil {
		return err
	}
	return c.canBegin()
}

// commit commits the transaction of the copy, if there is one. It does not sync.
func (c *compactor) commit() error {
	if c.tx == nil {
		return nil
	}
	err := c.tx.Commit()
	c.tx, c.buckets, c.pending = nil, [format.BucketCount]*bolt.Bucket{}, 0
	if noSpace(err) {
		return fmt.Errorf("%w: write the compacted file: %w", ErrFull, err)
	}
	return err
}

// replaceByWriter has the writer goroutine put the copy in place. The writer may be waiting for all readers to end,
// because the file has outgrown its mapping, and the compactor reads the state that it has copied. So it gives up with
// errOutgrown when no reader can begin.
func (c *compactor) replaceByWriter() (result Compaction, err error) {
	var decided atomic.Bool // by the one who is first: the writer, which replaces the file, or the compactor, which gives up
	done := make(chan error, 1)
	go func() {
		done <- c.store.byWriter(c.ctx, func() (err error) {
			if !decided.CompareAndSwap(false, true) {
				return errOutgrown
			}
			result, err = c.replace()
			return err
		})
	}()
	look := time.NewTicker(stuckAfter)
	defer look.Stop()
	for {
		select {
		case err := <-done:
			return result, err
		case <-look.C:
		}
		if err := c.canBegin(); errors.Is(err, errOutgrown) && decided.CompareAndSwap(false, true) {
			c.endState()
		}
	}
}

// replace copies the last changes and puts the copy in the place of the file. The writer goroutine calls it.
func (c *compactor) replace() (result Compaction, err error) {
	s := c.store
	tx, err := s.beginWrite() // which makes sure that the file may be written
	if err != nil {
		return result, err
	}
	rollback(tx)
	if err := s.health.err(); err != nil {
		return result, err
	}
	if _, err := c.follow(); err != nil {
		return result, err
	}
	newest := s.committed + 2 // greater than those of all states of the file before, by which caches know a state
	next, err := c.finish(uint64(newest))
	if err != nil {
		return result, fmt.Errorf("finish the compacted file: %w", err)
	}
	if err := os.Rename(c.path, s.path); err != nil {
		return result, errors.Join(fmt.Errorf("put the compacted file in place: %w", err), next.Close())
	}
	if err := durable.SyncDir(
		filepath.Dir(s.path)); err != nil { // after a loss of power, the path may lead to either file
		return result, errors.Join(s.health.fail(Damaged, fmt.Errorf("put the compacted file in place: %w", err)),
			next.Close())
	}
	c.endState()
	result.Before = sizeOf(c.in)
	s.serve(next, newest)
	result.After = sizeOf(next)
	return result, nil
}

// finish makes the copy durable, as the state of a transaction, and opens it.
func (c *compactor) finish(tx uint64) (*opened, error) {
	err := c.to.Sync()
	err = errors.Join(err, c.to.Close())
	c.to = nil
	if err != nil {
		return nil, err
	}
	if err := renumber(c.path, tx); err != nil {
		return nil, err
	}
	return openBolt(c.path, toWrite(), openThere)
}

// renumber makes the newest state of a file that of a transaction, and makes the file durable. Both meta pages then say
// where that state lies, as if two transactions had committed it.
func renumber(path string, tx uint64) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	m, err := newestMeta(f)
	if err == nil && m.PageSize == 0 {
		err = errNewest
	}
	page := make([]byte, m.PageSize)
	if err == nil {
		_, err = f.ReadAt(page, int64(m.Tx%2)*int64(m.PageSize))
	}
	for _, number := range []uint64{tx - 1, tx} {
		if err == nil {
			_, err = f.WriteAt(pages.WithTx(page, number), int64(number%2)*int64(m.PageSize))
		}
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// serve puts another open file in the place of the present one, for the readers and writers that begin from now on. tx
// is the transaction that committed its newest state. Readers of the present file go on; it is closed when the last of
// them has ended.
func (f *file) serve(next *opened, tx int) {
	old := f.db()
	release := f.snapshots.Drain()
	f.open.Store(next)
	f.cache.Store(nil)
	release()
	f.committed, f.taken = tx, 0
	closed := make(chan error, 1)
	f.replaced = append(f.replaced, closed)
	go func() { closed <- <-old.retire(nil) }()
	f.prepareSpace()
}

// sizeOf returns the length of an open file, 0 if the system does not say.
func sizeOf(o *opened) int64 {
	info, err := o.handle.Stat()
	if err != nil {
		return 0
	}
	return info.Size()
}
