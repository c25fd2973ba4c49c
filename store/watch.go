package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	bolt "go.etcd.io/bbolt"

	"lectern/store/internal/format"
)

// checkPathEvery is how often a store checks its file while nobody writes.
var checkPathEvery = 2 * time.Second

// Causes of the state Lost.
var (
	errRemoved     = errors.New("it was removed or moved away while it was open")
	errReplaced    = errors.New("another file was put in its place while it was open")
	errOverwritten = errors.New("another program wrote into it")
)

// checkPath checks that the path of the store still leads to the open file, and that the file was not cut off. Otherwise the next start
// would not find later writes.
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

// checkState checks the file, and sets the state back to Sound if the store was Lost or Full and no longer is. The writer goroutine calls
// it every checkPathEvery.
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

// probe commits a transaction without changes to find out whether there is space again. If it succeeds, the store is Sound.
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

// watch sets the clock of readers, and has the writer goroutine check the file. Its error is not lost: it is kept in Health and returned by later writes.
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
