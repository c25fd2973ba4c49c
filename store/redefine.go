package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	bolt "go.etcd.io/bbolt"

	"lectern/contenttypes"
)

// Redefine puts other definitions in the place of those that the content has, while the store is in use, and returns the Store
// for them. Content is converted as Open does it: what would be lost is refused with a *DefinitionError, and nothing has changed
// then; what was begun and interrupted is finished by the next Open.
//
// It waits for who holds the definitions (Hold), a second at most: then it is ErrHeld. While it converts, readers of this Store go
// on and see the content as it was before, and writers wait. After it has returned, this Store answers ErrRedefined. When it fails
// while it converts, or ctx ends then, the store takes no more writes.
func (s *Store) Redefine(ctx context.Context, model *contenttypes.Model, opts Options) (*Store, error) {
	r := &redefinition{model: model, opts: opts}
	err := s.redefine(ctx, r)
	return r.made, err
}

// Settle is Redefine for definitions that are refused for what ms settle: these are carried out first, all or none. It returns what
// that removed. An error that wraps ErrNotAsked, and nothing has changed, when one of them is not what the definitions are refused for,
// or takes more than another definition and the removal of content; a *DefinitionError when more than ms is to be settled.
func (s *Store) Settle(ctx context.Context, ms Migrations, model *contenttypes.Model, opts Options) (*Store, Removed, error) {
	r := &redefinition{model: model, opts: opts, first: ms}
	err := s.redefine(ctx, r)
	return r.made, r.removed, err
}

// ErrNotAsked: a migration is none that a store carries out while it is in use.
var ErrNotAsked = errors.New("cannot be done while the server runs")

func (s *Store) redefine(ctx context.Context, r *redefinition) error {
	if err := s.health.err(); err != nil {
		return err
	}
	open, err := s.holds.bar(ctx)
	if err != nil {
		return err
	}
	defer open()
	return s.byWriter(ctx, func() error { return r.run(ctx, s) })
}

// A redefinition is one call of Redefine or Settle.
type redefinition struct {
	model   *contenttypes.Model
	opts    Options
	first   Migrations
	made    *Store
	removed Removed
}

// run is called by the writer, so that nothing is written meanwhile.
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
		readers = readersOfPast()
	}
	past, err := newPast(s.db().DB, readers)
	if err != nil {
		return err
	}
	s.past.Store(past)
	s.until.Store(int64(past.txid))
	// A file that grows beyond its mapping is mapped anew once nobody reads it: then nobody may be given the kept state.
	stuck := time.AfterFunc(stuckAfter, past.empty)
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
	past.retire()
	return nil
}

// conversionTo plans the conversion of the content to a model, after migrations where there are some; without steps where nothing has
// changed.
func (s *Store) conversionTo(model *contenttypes.Model, first Migrations, opts Options) (*conversion, error) {
	c := &conversion{store: &Store{file: s.file}, progress: opts.Progress, hooks: opts.hooks}
	err := s.read(func(tx *bolt.Tx) (err error) {
		if c.catalog, _, err = loadCatalog(s.meta(tx)); err != nil {
			return err
		}
		switch {
		case len(first) > 0:
			c.pending, err = s.settle(tx, c.catalog, first, model, opts)
		case changed(model, c.catalog):
			c.pending.Steps, err = s.planIn(tx, model, c.catalog, opts)
		}
		return err
	})
	return c, err
}

// settledInUse are the migrations after which content fits definitions that can be told from the definitions alone, before
// they are carried out: the values that they leave stay as they are.
var settledInUse = map[string]bool{renameType: true, renameAttribute: true, acceptNames: true, dropType: true, dropAttribute: true}

// settle plans migrations, and the conversion from what they leave to a model.
func (s *file) settle(tx *bolt.Tx, cat *catalog, ms Migrations, model *contenttypes.Model, opts Options) (pending, error) {
	ms, err := ms.checked()
	if err != nil {
		return pending{}, err
	}
	p := &migrationPlan{file: s, tx: tx, left: cat}
	var failed []error
	for _, m := range ms {
		err := p.asked(m, model, opts)
		if err == nil {
			err = p.add(m)
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", m, err))
		}
	}
	if len(failed) > 0 {
		return pending{}, errors.Join(failed...)
	}
	if changed(model, p.left) {
		more, err := s.planIn(tx, model, p.left, opts)
		var refused *DefinitionError
		if errors.As(err, &refused) {
			refused.Done = ms
		}
		if err != nil {
			return pending{}, err
		}
		p.steps = append(p.steps, more...)
	}
	return pending{Migrations: ms, Steps: p.steps}, nil
}

// asked says why a migration is none that a store carries out while it is in use; nil where it is. A rename must lead from a name
// that the model does not have to one that it has; anything else must be what the model is refused for.
func (p *migrationPlan) asked(m Migration, model *contenttypes.Model, opts Options) error {
	notAsked := func(format string, args ...any) error {
		return fmt.Errorf("%w: "+format, append([]any{ErrNotAsked}, args...)...)
	}
	switch m.Op {
	case renameType:
		return nameTaken(m.Args[0], m.Args[1], "", func(uid string) bool { return schemaOf(model, uid) != nil })
	case renameAttribute:
		uid, name, _ := cutLast(m.Args[0], ".")
		owner := schemaOf(model, uid)
		if owner == nil {
			return notAsked("the definitions have no %s", uid)
		}
		return nameTaken(name, m.Args[1], " in "+uid, func(name string) bool { return owner.Attribute(name) != nil })
	}
	if !settledInUse[m.Op] {
		return notAsked("whether content fits after it is known only then")
	}
	refused := &DefinitionError{}
	if !changed(model, p.left) {
		return notAsked("the content fits the definitions as they are")
	}
	if _, err := p.file.planIn(p.tx, model, p.left, opts); err != nil && !errors.As(err, &refused) {
		return err
	}
	if !refused.offers(m) {
		return notAsked("the definitions are not refused for this")
	}
	return nil
}

// nameTaken says why definitions do not ask for a rename.
func nameTaken(from, to, where string, has func(string) bool) error {
	switch {
	case has(from):
		return fmt.Errorf("%w: the definitions still have %s%s", ErrNotAsked, from, where)
	case !has(to):
		return fmt.Errorf("%w: the definitions have no %s%s", ErrNotAsked, to, where)
	}
	return nil
}

// cutLast is strings.Cut at the last separator.
func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// clone copies a catalog.
func (c *catalog) clone() (*catalog, error) {
	raw, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	copied := &catalog{}
	return copied, json.Unmarshal(raw, copied)
}

// A past is the state of a file that a Store describes while there are later ones which it does not: transactions that were
// begun in time, each used by one reader at a time.
type past struct {
	txid    int
	readers chan *bolt.Tx
	retired chan struct{} // closed when nobody is to read it any more
	emptied chan struct{} // closed when no more are to begin
	retire  func()
	empty   func()
}

// readersOfPast is how many may read at a time while content is converted; others wait for them.
func readersOfPast() int { return max(16, 4*runtime.GOMAXPROCS(0)) }

// newPast keeps the state of a file as it is now.
func newPast(db *bolt.DB, readers int) (*past, error) {
	p := &past{readers: make(chan *bolt.Tx, readers), retired: make(chan struct{}), emptied: make(chan struct{})}
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
func (p *past) drain() {
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
func (p *past) giveBack(tx *bolt.Tx) {
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

// viewPast is View when the file is in a state that the Store does not describe.
func (s *Store) viewPast(f func(*Snapshot) error) error {
	p := s.past.Load()
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
