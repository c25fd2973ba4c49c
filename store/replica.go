package store

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	bolt "go.etcd.io/bbolt"

	"lectern/contenttypes"
	"lectern/store/evolve"
	"lectern/store/internal/format"
	"lectern/store/internal/logentry"
)

// ErrGap: entries were to be applied that do not follow on those that a replica has.
var ErrGap = errors.New("the entries do not follow on the last one of the replica")

// A Replica is a store file whose content comes from the log of another store. After the same entries it has the same
// content, definitions and log. It can then be opened as a Store. A Replica must be used by one goroutine at a time. A
// Store can apply entries while it is in use: see Options.Origin.
type Replica struct{ applier }

// OpenReplica opens the file at path to apply entries to it, and creates it if there is none. Of opts it uses Log,
// Answers and LockTimeout.
func OpenReplica(path string, opts Options) (*Replica, error) {
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		if err := create(path); err != nil {
			return nil, fmt.Errorf("create replica: %w", err)
		}
	}
	db, err := openFile(path, opts, openThere)
	if err != nil {
		return nil, err
	}
	r := &Replica{applier{file: newFile(db, path)}}
	r.file.log.limits, r.file.answers = opts.Log.withDefaults(), opts.Answers.withDefaults()
	if r.conversion, err = r.file.loadConversion(opts); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	r.file.prepareSpace()
	return r, nil
}

// Close closes the file.
func (r *Replica) Close() error { return r.file.db().Close() }

// Position returns the position of the content: behind the last entry that was applied.
func (r *Replica) Position() Position { return Position{r.file.log.epoch, r.file.revised.Load()} }

// BeginEpoch begins a new epoch, as Store.BeginEpoch does. The file is an origin from then on: no entries of the origin
// that it had follow.
func (r *Replica) BeginEpoch() error {
	return r.file.guard(func() error { return r.file.beginEpoch(r.conversion.store, system) })
}

// Apply applies entries that follow on those that were applied before. Each transaction holds what it applies and the
// position behind it, so after a crash the file is in the state after one of the entries, and Position tells which. The
// entries of conversions have a transaction each; others share them.
//
// The error wraps ErrGap if the first entry does not follow on Position, and ErrOtherEpoch if the entry is of another
// history.
func (r *Replica) Apply(list ...*Entry) error { return r.applier.apply(list) }

// An applier applies the entries of another log to a file.
type applier struct {
	file       *file
	conversion *conversion
	filling    bool // the entries are those of Snapshot.CopyPart
}

func (r *applier) apply(list []*Entry) error {
	for len(list) > 0 {
		n := 1
		for n < len(list) && list[0].Kind != ConversionEntry && list[n].Kind != ConversionEntry {
			n++
		}
		err := r.file.guard(func() (err error) {
			n, err = r.applyTogether(list[:n])
			return err
		})
		if err != nil {
			return err
		}
		list = list[n:]
	}
	return nil
}

// applyTogether applies the first entries of a list in one transaction, and returns how many.
func (r *applier) applyTogether(list []*Entry) (n int, err error) {
	at := r.applied()
	err = r.transaction(func(tx *Tx) (applied, error) {
		for n < len(list) && tx.buffered() < maxBuffered {
			e := list[n]
			if err := r.applyNext(tx, e, at); err != nil {
				return at, fmt.Errorf("apply entry %d: %w", e.Sequence, err)
			}
			at = applied{e.Epoch, e.WholeHash, e}
			n++
		}
		return at, nil
	})
	return n, err
}

// transaction calls apply in one transaction, which it commits. apply returns what was applied last.
func (r *applier) transaction(apply func(*Tx) (applied, error)) error {
	c := r.conversion
	if err := c.bind(); err != nil {
		return err
	}
	defer r.file.snapshots.Drain()()
	btx, err := r.file.beginWrite()
	if err != nil {
		return err
	}
	defer rollback(btx)
	tx := newTx(c.store, btx)
	defer tx.end()
	tx.bound = c.bound
	tx.log.copying = true
	at, err := apply(tx)
	if err != nil {
		return err
	}
	if err := putEpoch(tx.bucket(format.Meta), at.epoch); err != nil {
		return err
	}
	if r.file.part.Load() != nil {
		if err := r.storePart(tx, at.last, at.epoch); err != nil {
			return err
		}
	}
	if err := tx.finish(); err != nil {
		return err
	}
	if err := tx.commit(false); err != nil {
		return err
	}
	r.file.log.epoch, c.last = at.epoch, at.last
	return r.reload(at.entry)
}

// applied is what an applier knows about the last entry that it has applied.
type applied struct {
	epoch Epoch
	last  EntryHash // of the entry in the origin's log, if it was reduced to a part
	entry *Entry    // nil if the present transaction has applied none
}

func (r *applier) applied() applied { return applied{r.file.log.epoch, r.conversion.last, nil} }

// applyNext applies an entry that follows on the last one.
func (r *applier) applyNext(tx *Tx, e *Entry, at applied) error {
	partial := r.file.part.Load() != nil
	switch {
	case e.Partial != partial:
		return fmt.Errorf("%w: it is for another part of the content than the replica has", logentry.ErrEntry)
	case r.filling:
		tx.fill(e)
		return r.applyEntry(tx, e)
	}
	if err := tx.follows(e, at.epoch); err != nil {
		return err
	}
	own := tx.previousHash()
	if !partial {
		at.last = own
	}
	if at.last != (EntryHash{}) && e.Previous != at.last {
		return fmt.Errorf("%w: %w", ErrOtherEpoch, logentry.ErrBroken)
	}
	if partial { // its log is a chain of its own
		chained := *e
		chained.Previous = own
		chained.Encoded = chained.Append(nil)
		e = &chained
	}
	return r.applyEntry(tx, e)
}

// follows moves on to an entry, or returns an error if it is not the next one. epoch is that of the last entry.
func (tx *Tx) follows(e *Entry, epoch Epoch) error {
	switch {
	case e.Sequence != tx.sequence+1:
		return fmt.Errorf("%w, %d", ErrGap, tx.sequence)
	case e.Epoch != epoch && e.Kind != EpochEntry && tx.sequence > 0:
		return ErrOtherEpoch
	}
	tx.sequence = e.Sequence
	return nil
}

// applyEntry makes the changes of an entry and stores the entry in the log.
func (r *applier) applyEntry(tx *Tx, e *Entry) error {
	for i, code := range e.Locales {
		if n, err := tx.useLocale(code); err != nil || uint64(n) != e.FirstLocale+uint64(i) {
			return errors.Join(fmt.Errorf("%w: locale %q has the number %d", logentry.ErrEntry, code, n), err)
		}
	}
	if e.Conversion.Step != nil {
		if err := r.repeat(tx, e); err != nil {
			return err
		}
	}
	err := e.EachOp(func(o logentry.Op) error {
		if e.Kind == BatchEntry && !o.Kind.OfRow() {
			tx.reviseLink(o.Link.From, o.Link.To)
		}
		return tx.repeat(o)
	})
	if err != nil {
		return err
	}
	tx.docs, tx.items = max(tx.docs, e.Docs), max(tx.items, e.Items)
	if e.Kind == ConversionEntry {
		tx.revise(everyType)
		if err := storeConversion(tx.bucket(format.Meta), &e.Conversion); err != nil {
			return err
		}
	}
	if e.Answer != nil {
		if err := tx.putAnswer(e.Sequence, e.Answer); err != nil {
			return err
		}
	}
	if r.filling || tx.store.log.limits.Off {
		tx.log.before = e.Sequence
		return nil
	}
	return tx.storeEntry(e, e.Encoded)
}

// repeat carries out a step that works on indexes.
func (r *applier) repeat(tx *Tx, e *Entry) error {
	var s evolve.Step
	if err := json.Unmarshal(e.Conversion.Step, &s); err != nil {
		return err
	}
	c := *r.conversion
	var err error
	if c.catalog, err = c.catalog.Clone(); err != nil {
		return err
	}
	c.hooks = &conversionHooks{rows: int(e.Conversion.Rows)}
	_, err = (&chunk{Tx: tx, conversion: &c, at: &s.At}).run(s.Work)
	return err
}

// storeConversion stores the definitions after a transaction of a conversion, and what is left to do.
func storeConversion(meta *tree, c *logentry.Conversion) error {
	if c.Catalog != nil {
		if err := meta.snap.bucket(format.Catalog).Put(format.KeyCatalog, copied(c.Catalog)); err != nil {
			return err
		}
	}
	if c.Pending == nil {
		return meta.Delete(format.KeyPending)
	}
	return meta.Put(format.KeyPending, copied(c.Pending))
}

// reload reads what an entry of a conversion has changed: the definitions, and what is left to do.
func (r *applier) reload(last *Entry) error {
	if last == nil || last.Kind != ConversionEntry {
		return nil
	}
	c := r.conversion
	c.bound = nil
	return r.file.read(func(tx *bolt.Tx) (err error) {
		meta := r.file.meta(tx)
		if c.catalog, _, err = loadCatalog(meta); err == nil {
			c.pending, err = loadPending(meta)
		}
		return err
	})
}

// repeat makes the change of a row or link.
func (tx *Tx) repeat(o logentry.Op) error {
	if o.Kind.OfRow() {
		return tx.repeatRow(o)
	}
	l := o.Link
	from := tx.linkKey(l, format.FromSide, l.From, l.FromPos)
	to := tx.linkKey(l, format.ToSide, l.To, l.ToPos)
	if o.Kind == logentry.DeleteLink {
		tx.delete(format.Links, from)
		tx.delete(format.Links, to)
		return nil
	}
	tx.put(format.Links, from, freshValue{format.NewLink(l.To, l.ToPos)})
	tx.put(format.Links, to, freshValue{format.NewLink(l.From, l.FromPos)})
	return nil
}

// linkKey returns the key of a link in the list of one end.
func (tx *Tx) linkKey(l logentry.LinkOp, sd format.Side, end format.End, pos uint64) []byte {
	key := format.LinkPrefix(l.Schema, l.Field, byte(sd), byte(l.Set))
	key = be.AppendUint64(be.AppendUint16(key, end.Locale), end.Doc)
	return be.AppendUint64(key, pos)
}

// repeatRow puts or removes a row.
func (tx *Tx) repeatRow(o logentry.Op) error {
	b := tx.bound.numbered(o.Schema)
	if b == nil || b.typ == nil || int(o.Slot.Locale()) > tx.localesUsed {
		return fmt.Errorf("%w: a row of an unknown type or locale", logentry.ErrEntry)
	}
	if o.Kind.RemovesRow() {
		old := tx.row(b, o.Slot, o.Doc)
		if !old.Exists() {
			return fmt.Errorf("%w: it removes a row that is not there", logentry.ErrEntry)
		}
		return tx.removeRow(old)
	}
	r, err := tx.loggedRow(b, o)
	if err != nil {
		return err
	}
	r.data = bytes.Clone(r.data)
	return tx.putRecord(r)
}

// ErrOtherDefinitions: the content of a replica does not have the definitions of the model.
var ErrOtherDefinitions = errors.New("the content of the replica has other definitions")

// A ReplicaError is the error of writes to a replica. Nothing was done.
type ReplicaError struct {
	Origin string // see Options.Origin
}

func (e *ReplicaError) Error() string {
	return "this is a replica, which takes no writes: send them to " + e.Origin
}

// Refuses returns why the store takes no writes, as Write would: it is that of a replica, or of a node that does not
// lead. It returns nil if the store takes them.
func (s *Store) Refuses() error { return s.refused() }

// refused returns a *ReplicaError if the store is a replica, and ErrNotLeader if it is that of a node that does not
// lead.
func (f *file) refused() error {
	if f.propose != nil && !f.leads.Load() {
		return ErrNotLeader
	}
	if origin := f.origin.Load(); origin != nil {
		return &ReplicaError{*origin}
	}
	return nil
}

// WritesElsewhere reports whether a write failed because another store takes the writes: this one is that of a replica,
// or a node that does not lead.
func WritesElsewhere(err error) bool {
	var replica *ReplicaError
	return errors.As(err, &replica) || errors.Is(err, ErrNotLeader)
}

// loadReplica is load for a replica, which must have the definitions of the model already. The Store of a node whose
// content is half converted has the definitions that are stored.
func (f *file) loadReplica(model *contenttypes.Model, opts Options) (*Store, error) {
	c, err := f.loadConversion(opts)
	if err != nil {
		return nil, err
	}
	f.applier = &applier{file: f, conversion: c}
	bound, err := f.applier.bindTo(model)
	if errors.Is(err, ErrOtherDefinitions) && f.propose != nil {
		bound, err = bindStored(c.catalog) // until Adopt or Lead
	}
	if err != nil {
		return nil, err
	}
	if opts.Origin != "" {
		f.origin.Store(&opts.Origin)
	}
	return f.newStore(bound), nil
}

// needs reports whether the content has to be converted for a model.
func (r *applier) needs(model *contenttypes.Model) bool {
	return len(r.conversion.pending.Steps) > 0 || evolve.Changed(model, r.conversion.catalog)
}

// lacks reports whether content with the definitions of a model lacks an index. The leader of a cluster or a promoted
// replica builds it.
func (r *applier) lacks(model *contenttypes.Model) bool {
	return evolve.Converts(model, r.conversion.catalog)
}

// bindTo binds a model to the catalog. It returns ErrOtherDefinitions if they differ, or if the content is half
// converted.
func (r *applier) bindTo(model *contenttypes.Model) (*binding, error) {
	if r.needs(model) {
		return nil, ErrOtherDefinitions
	}
	catalog, err := r.conversion.catalog.Clone()
	if err != nil {
		return nil, err
	}
	return bind(model, catalog)
}

// ApplyEntries applies entries of the origin's log to a replica, as Replica.Apply does.
//
// The entries of conversions change the definitions. Readers then continue to see the content as it was before, and
// redefined is true: the replica has to be given the Model of the new definitions by Adopt. Entries may be applied in
// between.
func (s *Store) ApplyEntries(ctx context.Context, list []*Entry) (redefined bool, err error) {
	err = s.byWriter(ctx, func() error {
		if err := s.health.err(); err != nil {
			return err
		}
		if s.applier == nil {
			return errNoReplica
		}
		var stop func()
		if redefined, stop, err = s.keepReading(isConversion(list)); err != nil {
			return err
		}
		defer stop()
		return s.applier.apply(list)
	})
	return redefined, err
}

// isConversion reports whether one of the entries is that of a conversion.
func isConversion(list []*Entry) bool {
	return slices.ContainsFunc(list, func(e *Entry) bool { return e.Kind == ConversionEntry })
}

// keepReading lets readers go on with the content as it was before a conversion, if one is to be applied; they see the
// converted content after Adopt or Lead. stop must be called when the entries at hand are applied. redefined reports
// whether readers see the content as it was before a conversion.
func (s *Store) keepReading(converts bool) (redefined bool, stop func(), err error) {
	pinned := s.current.Load().pinned.Load()
	if pinned == nil && converts {
		if pinned, err = s.current.Load().pin(maxPinned()); err != nil {
			return false, nil, err
		}
	}
	if pinned == nil {
		return false, func() {}, nil
	}
	stuck := time.AfterFunc(stuckAfter, pinned.empty) // see redefinition.run
	return true, func() { stuck.Stop() }, nil
}

var errNoReplica = errors.New("the store is no replica")

// Adopt returns the Store of a replica for the definitions that its content has by now. It returns ErrOtherDefinitions
// if they are not those of the model, and nothing has changed then. Afterwards this Store returns ErrRedefined.
func (s *Store) Adopt(ctx context.Context, model *contenttypes.Model) (made *Store, err error) {
	unlock, err := s.schema.lockExclusive(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	err = s.byWriter(ctx, func() error {
		switch {
		case s.applier == nil:
			return errNoReplica
		case s.current.Load() != s:
			return ErrRedefined
		}
		bound, err := s.applier.bindTo(model)
		if err != nil {
			return err
		}
		pinned := s.pinned.Load()
		if pinned == nil {
			if pinned, err = s.pin(0); err != nil {
				return err
			}
		}
		made = s.newStore(bound)
		pinned.retire()
		return nil
	})
	return made, err
}

// Abandon makes the Store return ErrRedefined from now on, because another file takes the place of this one. The caller
// must still Close the store.
func (s *Store) Abandon(ctx context.Context) error {
	return s.byWriter(ctx, func() error {
		pinned := s.pinned.Load()
		if pinned == nil {
			var err error
			if pinned, err = s.pin(0); err != nil {
				return err
			}
		}
		s.until.Store(-1)
		pinned.retire()
		return nil
	})
}

// AppliedPosition returns the position of a replica's content: behind the last entry that was applied.
func (s *Store) AppliedPosition(ctx context.Context) (p Position, err error) {
	err = s.byWriter(ctx, func() error {
		p = Position{s.log.epoch, s.revised.Load()}
		return nil
	})
	return p, err
}

// Fits returns ErrOtherDefinitions if the content of the replica does not have the definitions of the model.
func (r *Replica) Fits(model *contenttypes.Model) error {
	_, err := r.bindTo(model)
	return err
}
