package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"lectern/internal/durable"
	"lectern/store/internal/pages"
)

// replaceByWriter has the writer goroutine put the copy in place. The writer may be waiting for all readers to end, because the file has
// outgrown its mapping, and the compactor reads the state that it has copied. So it gives up with errOutgrown when no reader can begin.
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
	newest := s.committed + 2 // greater than those of all states of the former file, by which caches know a state
	next, err := c.finish(uint64(newest))
	if err != nil {
		return result, fmt.Errorf("finish the compacted file: %w", err)
	}
	if err := os.Rename(c.path, s.path); err != nil {
		return result, errors.Join(fmt.Errorf("put the compacted file in place: %w", err), next.Close())
	}
	if err := durable.SyncDir(filepath.Dir(s.path)); err != nil { // after a loss of power, the path may lead to either file
		return result, errors.Join(s.health.fail(Damaged, fmt.Errorf("put the compacted file in place: %w", err)), next.Close())
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

// renumber makes the newest state of a file that of a transaction, and makes the file durable. Both meta pages then say where that state
// lies, as if two transactions had committed it.
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

// serve has readers and writers use another file, whose newest state is that of a transaction, in place of the open one. Readers of the
// open one go on, and it is closed when they have ended.
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
