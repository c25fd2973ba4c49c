package store

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	bolt "go.etcd.io/bbolt"

	"lectern/contenttypes"
	"lectern/store/evolve"
)

// Redefine puts other definitions in the place of those that the content has, while the store is in use, and returns the Store
// for them. Content is converted as Open does it: what would be lost is refused with a *evolve.DefinitionError, and nothing has changed
// then; what was begun and interrupted is finished by the next Open.
//
// It waits for shared locks on the definitions (LockSchema), a second at most: then the error is ErrSchemaLocked. While it converts, readers
// of this Store go on and see the content as it was before, and writers wait. After it has returned, this Store answers ErrRedefined. When it fails
// while it converts, or ctx ends then, the store takes no more writes.
func (s *Store) Redefine(ctx context.Context, model *contenttypes.Model, opts Options) (*Store, error) {
	r := &redefinition{model: model, opts: opts}
	err := s.redefine(ctx, r)
	return r.made, err
}

// Settle is Redefine for definitions that are refused for what ms settle: these are carried out first, all or none. It returns what
// that removed. An error that wraps evolve.ErrNotAsked, and nothing has changed, when one of them is not what the definitions are refused for,
// or takes more than another definition and the removal of content; a *evolve.DefinitionError when more than ms is to be settled.
func (s *Store) Settle(ctx context.Context, ms evolve.Migrations, model *contenttypes.Model, opts Options) (*Store, evolve.Removed, error) {
	r := &redefinition{model: model, opts: opts, first: ms}
	err := s.redefine(ctx, r)
	return r.made, r.removed, err
}

func (s *Store) redefine(ctx context.Context, r *redefinition) error {
	if err := s.health.err(); err != nil {
		return err
	}
	unlock, err := s.schema.lockExclusive(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	return s.byWriter(ctx, func() error { return r.run(ctx, s) })
}

// A redefinition is one call of Redefine or Settle.
type redefinition struct {
	model   *contenttypes.Model
	opts    Options
	first   evolve.Migrations
	made    *Store
	removed evolve.Removed
}

// run carries out the redefinition. The writer calls it, so that nothing is written meanwhile.
func (r *redefinition) run(ctx context.Context, s *Store) (err error) {
	if s.current.Load() != s {
		return ErrRedefined
	}
	defer func() {
		if fault := recover(); fault != nil { // readers go on
			err = s.health.fail(Damaged, fmt.Errorf("convert %s: panic: %v\n%s", s.path, fault, debug.Stack()))
		}
	}()
	c, err := s.conversionTo(r.model, r.first, r.opts)
	if err != nil {
		return err
	}
	readers := 0
	if len(c.pending.Steps) > 0 {
		readers = maxPinned()
	}
	pinned, err := pinReaders(s.db().DB, readers)
	if err != nil {
		return err
	}
	s.pinned.Store(pinned)
	s.until.Store(int64(pinned.txid))
	// A file that grows beyond its mapping is mapped anew once nobody reads it: then nobody may be given the kept state.
	stuck := time.AfterFunc(stuckAfter, pinned.empty)
	c.goesOn = func() error {
		stuck.Reset(stuckAfter)
		return ctx.Err()
	}
	err = c.run()
	stuck.Stop()
	var bound *binding
	if err == nil {
		bound, err = bind(r.model, c.catalog)
	}
	if err != nil {
		// The content has the old definitions in part. Readers go on with what there was before; the next start goes on converting.
		return s.health.fail(Damaged, fmt.Errorf("convert %s: %w; restart to go on converting", s.path, err))
	}
	r.made, r.removed = s.newStore(bound), c.pending.Removed
	pinned.retire()
	return nil
}

// conversionTo plans the conversion of the content to a model, after migrations where there are some; without steps where nothing has
// changed.
func (s *Store) conversionTo(model *contenttypes.Model, first evolve.Migrations, opts Options) (*conversion, error) {
	c := &conversion{store: &Store{file: s.file}, progress: opts.Progress, hooks: opts.hooks}
	err := s.read(func(tx *bolt.Tx) (err error) {
		if c.catalog, _, err = loadCatalog(s.meta(tx)); err != nil {
			return err
		}
		switch {
		case len(first) > 0:
			if first, err = first.Checked(); err == nil {
				c.pending.Migrations = first
				c.pending.Steps, err = s.planner(tx, opts).Settle(c.catalog, first, model)
			}
		case evolve.Changed(model, c.catalog):
			var plan *evolve.Plan
			if plan, err = s.planner(tx, opts).Convert(c.catalog, model); err == nil {
				c.pending.Steps = plan.Steps
			}
		}
		return err
	})
	return c, err
}

// pinnedReaders are read transactions that were begun on the state before a conversion, each used by one reader at a time: as long as
// they last, the state that they see can be read, though the file is in a later one.
type pinnedReaders struct {
	txid    int // of that state
	readers chan *bolt.Tx
	retired chan struct{} // closed when nobody is to read that state any more
	emptied chan struct{} // closed when no more readers are to begin
	retire  func()
	empty   func()
}

// maxPinned is how many readers a conversion pins: so many may read at a time while it runs, and others wait for them.
func maxPinned() int { return max(16, 4*runtime.GOMAXPROCS(0)) }

// pinReaders begins that many readers of the present state of a file.
func pinReaders(db *bolt.DB, readers int) (*pinnedReaders, error) {
	p := &pinnedReaders{readers: make(chan *bolt.Tx, readers), retired: make(chan struct{}), emptied: make(chan struct{})}
	p.empty = sync.OnceFunc(func() { close(p.emptied); p.drain() })
	p.retire = sync.OnceFunc(func() { close(p.retired); p.empty() })
	err := db.View(func(tx *bolt.Tx) error {
		p.txid = tx.ID()
		return nil
	})
	for range readers {
		tx, failed := db.Begin(false)
		if failed != nil {
			err = failed
			break
		}
		p.readers <- tx
	}
	if err != nil {
		p.retire()
		return nil, fmt.Errorf("keep the state before a conversion: %w", err)
	}
	return p, nil
}

// drain ends the transactions that nobody uses.
func (p *pinnedReaders) drain() {
	for {
		select {
		case tx := <-p.readers:
			rollback(tx)
		default:
			return
		}
	}
}

// giveBack takes back a transaction that a reader was given.
func (p *pinnedReaders) giveBack(tx *bolt.Tx) {
	p.readers <- tx // there is room for all
	select {
	case <-p.emptied:
		p.drain()
	default:
	}
}

// stuckAfter is how long a transaction of a conversion may take before it is thought to wait for readers.
const stuckAfter = time.Second

// maxWait bounds how long a reader waits where the state before a conversion cannot be kept, or too many read it.
const maxWait = 30 * time.Second

// viewPinned is View when the file is in a state that the Store does not describe: it reads the state before, if that is pinned.
func (s *Store) viewPinned(f func(*Snapshot) error) error {
	p := s.pinned.Load()
	select {
	case <-p.retired:
		return ErrRedefined
	default:
	}
	late := time.NewTimer(maxWait)
	defer late.Stop()
	select {
	case tx := <-p.readers:
		defer p.giveBack(tx)
		return s.view(newSnapshot(s, tx), f)
	case <-p.retired:
		return ErrRedefined
	case <-late.C:
		return context.DeadlineExceeded
	}
}
