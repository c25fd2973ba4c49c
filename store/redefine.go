package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	bolt "go.etcd.io/bbolt"

	"lectern/contenttypes"
	"lectern/store/evolve"
)

// Redefine changes the definitions while the store is in use, and returns the Store for the new ones. It converts
// content as Open does. If that would lose content, Redefine changes nothing and returns a *evolve.DefinitionError. If
// it is interrupted, the next Open finishes the conversion.
//
// Redefine waits for shared locks on the definitions (LockSchema), a second at most; after that it returns
// ErrSchemaLocked. During the conversion, readers of this Store continue and see the content as it was before, and
// writers wait. Afterwards this Store returns ErrRedefined. If the conversion fails, or ctx ends during it, the store
// takes no more writes until it is opened again.
func (s *Store) Redefine(ctx context.Context, model *contenttypes.Model, opts Options) (*Store, error) {
	r := &redefinition{model: model, opts: opts}
	err := s.redefine(ctx, r)
	return r.made, err
}

// Settle is Redefine for definitions that are refused unless ms are carried out first. It carries out ms and the
// conversion, all or nothing, and returns what ms removed.
//
// The error wraps evolve.ErrNotAsked if one of ms does not settle a refusal of the definitions or cannot be carried out
// while the store is in use. It is a *evolve.DefinitionError if refusals remain after ms. In both cases nothing has
// changed.
func (s *Store) Settle(ctx context.Context, ms evolve.Migrations, model *contenttypes.Model,
	opts Options) (*Store, evolve.Removed, error) {
	r := &redefinition{model: model, opts: opts, first: ms}
	err := s.redefine(ctx, r)
	return r.made, r.removed, err
}

func (s *Store) redefine(ctx context.Context, r *redefinition) error {
	if err := cmp.Or(s.health.err(), s.refused()); err != nil {
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

	resume bool // a conversion that was interrupted goes on first
}

// run carries out the redefinition. The writer goroutine calls it, so no write runs at the same time.
func (r *redefinition) run(ctx context.Context, s *Store) (err error) {
	if s.current.Load() != s {
		return ErrRedefined
	}
	defer func() {
		if fault := recover(); fault != nil { // the process must survive: readers continue
			err = s.health.fail(Damaged, fmt.Errorf("convert %s: panic: %v\n%s", s.path, fault, debug.Stack()))
		}
	}()
	c, err := r.plan(s)
	if err != nil {
		return err
	}
	c.by, c.notes = PrincipalOf(ctx), r.opts.Notes
	pinned := s.pinned.Load() // by the transactions of an earlier leader
	if pinned == nil {
		readers := 0
		if len(c.pending.Steps) > 0 || r.resume {
			readers = maxPinned()
		}
		if pinned, err = s.pin(readers); err != nil {
			return err
		}
	}
	// A commit that outgrows the mapping waits until all read transactions have ended. So when a transaction takes
	// long, the pinned readers end.
	stuck := time.AfterFunc(stuckAfter, pinned.empty)
	c.goesOn = func() error {
		stuck.Reset(stuckAfter)
		return ctx.Err()
	}
	bound, err := r.convert(s, c)
	stuck.Stop()
	if errors.Is(err, ErrOutcome) ||
		errors.Is(err, ErrNotLeader) { // the store goes on with the transactions of the next leader, or by Lead
		s.leads.Store(false) // readers see the state before the conversion until then, and would miss writes
		return err
	}
	if err != nil {
		// Only a part of the content is converted. Readers of the state before continue; the next start continues the
		// conversion.
		return s.health.fail(Damaged, fmt.Errorf("convert %s: %w; restart to go on converting", s.path, err))
	}
	r.made, r.removed = s.newStore(bound), c.pending.Removed
	pinned.retire()
	return nil
}

// plan plans the conversion, or takes up the one that was interrupted.
func (r *redefinition) plan(s *Store) (*conversion, error) {
	if r.resume {
		return s.loadConversion(r.opts)
	}
	return s.conversionTo(r.model, r.first, r.opts)
}

// convert carries out a conversion.
func (r *redefinition) convert(s *Store, c *conversion) (*binding, error) {
	err := c.run()
	if err == nil && r.resume && evolve.Converts(r.model, c.catalog) {
		c.pending = pending{}
		if c.pending.Steps, err = s.plan(r.model, c.catalog, r.opts); err == nil {
			err = c.run()
		}
	}
	if err != nil {
		return nil, err
	}
	return bind(r.model, c.catalog)
}

// conversionTo plans the conversion of the content to a model, after migrations if there are any. It has no steps if
// nothing has changed.
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
		case evolve.Converts(model, c.catalog):
			var plan *evolve.Plan
			if plan, err = s.planner(tx, opts).Convert(c.catalog, model); err == nil {
				c.pending.Steps = plan.Steps
			}
		}
		return err
	})
	return c, err
}

// pinnedReaders are read transactions that began before a conversion. They keep the state before it readable while the
// file changes. Each is used by one reader at a time.
type pinnedReaders struct {
	txid    int // the transaction that left that state
	readers chan *bolt.Tx
	retired chan struct{} // closed when that state is no longer read
	emptied chan struct{} // closed when no more readers may begin
	retire  func()
	empty   func()
}

// pin makes the present state of the file the last one that readers of s see.
func (s *Store) pin(readers int) (*pinnedReaders, error) {
	pinned, err := pinReaders(s.db().DB, readers)
	if err == nil {
		s.pinned.Store(pinned)
		s.until.Store(int64(pinned.txid))
	}
	return pinned, err
}

// maxPinned is how many readers a conversion pins. So many can read at the same time while it runs; others wait.
func maxPinned() int { return max(16, 4*runtime.GOMAXPROCS(0)) }

// pinReaders begins read transactions of the present state of a file.
func pinReaders(db *bolt.DB, readers int) (*pinnedReaders, error) {
	p := &pinnedReaders{readers: make(chan *bolt.Tx, readers), retired: make(chan struct{}),
		emptied: make(chan struct{})}
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

// drain ends the transactions that are not in use.
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

// giveBack takes back a transaction from a reader.
func (p *pinnedReaders) giveBack(tx *bolt.Tx) {
	p.readers <- tx // there is room for all
	select {
	case <-p.emptied:
		p.drain()
	default:
	}
}

// stuckAfter is how long a transaction of a conversion may take before it is assumed to wait for pinned readers to end.
const stuckAfter = time.Second

// maxWait bounds how long a reader waits when no pinned reader is free.
const maxWait = 30 * time.Second

// viewPinned is View during a redefinition, when the file has been changed already: it reads the state before.
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

// Migrate carries out migrations on a store that no process has open, all or none, and returns what they removed. If it
// is interrupted, the next Open, or the same call again, carries out the rest.
//
// model is the model of the project, or nil if that is not known. With a model, Migrate refuses operations that change
// content alone unless the model asks for them.
func Migrate(path string, ms evolve.Migrations, model *contenttypes.Model,
	opts Options) (removed evolve.Removed, err error) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return removed, fmt.Errorf("there is no store %s, so there is nothing to migrate", path)
	}
	if ms, err = ms.Checked(); err != nil {
		return removed, err
	}
	db, err := openFile(path, opts, openThere)
	if err != nil {
		return removed, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	s := newFile(db, path)
	s.log.limits = opts.Log.withDefaults()
	c, err := s.loadConversion(opts)
	if err != nil {
		return removed, err
	}
	begun := c.pending.Migrations
	if err := c.run(); err != nil {
		return removed, fmt.Errorf("finish the conversion that was begun: %w", err)
	}
	if len(begun) > 0 && begun.String() == ms.String() {
		return c.pending.Removed, nil
	}
	c.pending = pending{Migrations: ms}
	if err := s.read(func(tx *bolt.Tx) (err error) {
		c.pending.Steps, err = s.planner(tx, opts).Migrate(c.catalog, ms, model)
		return err
	}); err != nil {
		return removed, err
	}
	if err := c.run(); err != nil {
		return removed, fmt.Errorf("migrate %s: %w", path, err)
	}
	return c.pending.Removed, nil
}

// A schemaLock is a read-write lock on the definitions of a file: shared locks keep them unchanged, and the exclusive
// lock lets one redefinition change them. While one waits for the exclusive lock, new shared locks wait too. Unlike
// sync.RWMutex, waiting ends with a context or after a time.
type schemaLock struct {
	mu        sync.Mutex
	shared    int           // how many shared locks are held
	unshared  chan struct{} // closed when the last shared lock ends; nil if nobody waits for that
	exclusive chan struct{} // closed when the exclusive lock ends; nil if nobody holds it or waits for it
}

// schemaLockTimeout is how long a redefinition waits for the exclusive lock, and how long new shared locks wait for it
// meanwhile.
const schemaLockTimeout = time.Second

// schemaLockKey is the key of a context value: the *file of which the caller has a shared lock.
type schemaLockKey struct{}

// LockSchema takes a shared lock on the definitions: they do not change until unlock is called. Use it for several
// writes that must be made under the same definitions; none of them returns ErrRedefined. LockSchema itself returns
// ErrRedefined if the definitions have changed already. With the returned context LockSchema may be called again.
//
// A redefinition waits for all shared locks, so do not hold one while waiting for a client.
func (s *Store) LockSchema(ctx context.Context) (locked context.Context, unlock func(), err error) {
	if ctx.Value(schemaLockKey{}) == s.file {
		return ctx, func() {}, nil
	}
	if err := s.schema.lockShared(ctx); err != nil {
		return nil, nil, err
	}
	unlock = sync.OnceFunc(s.schema.unlockShared)
	if s.current.Load() != s {
		unlock()
		return nil, nil, ErrRedefined
	}
	return context.WithValue(ctx, schemaLockKey{}, s.file), unlock, nil
}

func (l *schemaLock) lockShared(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.exclusive != nil {
		ended := l.exclusive
		l.mu.Unlock()
		var err error
		select {
		case <-ended:
		case <-ctx.Done():
			err = ctx.Err()
		}
		l.mu.Lock()
		if err != nil {
			return err
		}
	}
	l.shared++
	return nil
}

func (l *schemaLock) unlockShared() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.shared--; l.shared == 0 && l.unshared != nil {
		close(l.unshared)
		l.unshared = nil
	}
}

// lockExclusive waits until no shared lock is left. After schemaLockTimeout it returns ErrSchemaLocked.
func (l *schemaLock) lockExclusive(ctx context.Context) (unlock func(), err error) {
	if err := l.lockShared(ctx); err != nil { // waits for another exclusive lock to end
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.shared--
	if l.exclusive != nil { // another has taken it in between
		return nil, ErrSchemaLocked
	}
	ended := make(chan struct{})
	l.exclusive = ended
	unlock = func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		close(ended)
		l.exclusive = nil
	}
	if l.shared == 0 {
		return unlock, nil
	}
	unshared := make(chan struct{})
	l.unshared = unshared
	l.mu.Unlock()
	late := time.NewTimer(schemaLockTimeout)
	defer late.Stop()
	select {
	case <-unshared:
	case <-late.C:
		err = ErrSchemaLocked
	case <-ctx.Done():
		err = ctx.Err()
	}
	l.mu.Lock()
	if err == nil || l.unshared == nil { // if nil, the last shared lock has ended just now
		return unlock, nil
	}
	l.unshared = nil
	close(ended)
	l.exclusive = nil
	return nil, err
}
