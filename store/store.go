package store

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"math"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	bolt "go.etcd.io/bbolt"

	"lectern/contenttypes"
	"lectern/internal/admission"
	"lectern/store/internal/format"
	"lectern/store/internal/logentry"
	"lectern/store/internal/pool"
)

// Errors for errors.Is.
var (
	// ErrLocked: another process has the file open.
	ErrLocked = errors.New("the store is in use by another process")
	// ErrClosed: the store was closed.
	ErrClosed = errors.New("the store is closed")
	// ErrTooManyLocales: a write names a locale code beyond the 4,096 that a store can hold.
	ErrTooManyLocales = errors.New("too many different locales")
	// ErrRedefined: Redefine has changed the definitions, and nothing was done. Use the Store that it returned.
	ErrRedefined = errors.New("the definitions have changed")
	// ErrSchemaLocked: the definitions cannot change now, because a caller has a shared lock on them (see LockSchema).
	ErrSchemaLocked = errors.New("the definitions are held as they are by work that takes several steps; try again")
)

// A Store is the content of a project under the definitions of one Model. All methods may be called by any number of
// goroutines.
type Store struct {
	*file
	bound  *binding
	until  atomic.Int64 // the last transaction that wrote under its definitions
	sets   setCache
	pinned atomic.Pointer[pinnedReaders] // readers of the state after that transaction, while a redefinition converts it; nil before
}

// A file is what all Stores of one bbolt file share.
type file struct {
	open    atomic.Pointer[opened]
	path    string
	current atomic.Pointer[Store] // the Store with the definitions that the content has
	locales localeTable
	revised atomic.Uint64                 // see Store.Revision
	awaited atomic.Pointer[chan struct{}] // closed by the next commit; nil if nobody waits for it
	schema  schemaLock

	requests chan *writeRequest
	closing  chan struct{}
	closed   sync.Once
	origin   atomic.Pointer[string] // see Options.Origin; nil if the store takes writes
	propose  Propose                // see Options.Propose; nil unless the store is that of a node in a cluster
	leads    atomic.Bool            // the node takes writes
	part     atomic.Pointer[Part]   // that a partial replica has; nil if the store has all content
	writer   sync.WaitGroup
	senders  sync.RWMutex // held shared while a request is submitted, so that Close misses none

	health health
	stats  counters

	readers    readers
	processors *admission.Semaphore // see Options.Processors
	onCommit   func(Commit)         // nil if nothing observes commits
	answers    AnswerLimits

	// Used by the writer goroutine only:
	committed int // the last transaction
	log       eventLog
	applier   *applier     // of the entries of the origin, or of the transactions of a cluster; nil while the store takes writes
	used      int64        // bytes of the file up to the last page that any state has used
	taken     int64        // bytes of the file that have space on the disk; 0: unknown (see space)
	drained   chan error   // gets the error of closing the old file after a reopen; nil: it is closed
	replaced  []chan error // the same for files that compacted ones have replaced

	compacting sync.Mutex // held while the file is compacted

	snapshots pool.Pool[*Snapshot] // idle, with their buckets and cursors
	cache     atomic.Pointer[stateCache]
}

// Options of Open.
type Options struct {
	// LockTimeout is how long Open waits for another process to close the file.
	LockTimeout time.Duration
	// Progress, if set, is called during a conversion with what is being done and how far it is.
	Progress func(what string, done, total int)
	// DefaultLocale is the locale that content gets when its type becomes localized; "" is en.
	DefaultLocale string
	// HealthChanged, if set, is called on each change of Health. It must not use the store.
	HealthChanged func(Health)
	// Committed, if set, is called by the writer goroutine after each transaction that commits writes. It must not use
	// the store.
	Committed func(Commit)
	// Processors, if set, are the places that long reads share: a read whose work is limited (see Snapshot.Within) must
	// hold one after its first few thousand steps, and lets the clients that wait have their turns after each few
	// thousand more. So clients with long reads delay neither short reads nor one another by more than such a slice
	// each. Writes take no turns.
	Processors *admission.Semaphore
	// NoUpgradeCopy upgrades a file of an older format without keeping a copy of it as it is.
	NoUpgradeCopy bool
	// Upgrading, if set, is called before a file of an older format is changed, and after the copy of it was made.
	Upgrading func(Upgrade)
	// Replaced, if set, is called by Open when the file is not the store that was opened at its path before.
	Replaced func()

	// Log bounds the log.
	Log LogLimits
	// Answers bounds the answers that are kept under idempotency keys.
	Answers AnswerLimits
	// By is who the log says has converted content at the start; the zero Principal stands for the system.
	By Principal
	// Notes are values of notes, in JSON, that Redefine and Settle store in the first transaction of the conversion, or
	// in one of its own if there is nothing to convert.
	Notes map[string][]byte

	// Origin, if set, opens a replica: a store whose content comes from the log of another by ApplyEntries, and that
	// refuses everything else with a *ReplicaError that names Origin. Open then converts nothing, and returns
	// ErrOtherDefinitions if the content has other definitions than the model.
	Origin string

	// Propose, if set, opens the store of a node in a cluster. Like a replica it takes no writes at first, and converts
	// nothing: it applies the transactions of the leader (ApplyTransactions) until Lead is called. If the content is
	// half converted, or has other definitions than the model, the Store has the definitions that are stored until
	// Adopt or Lead.
	Propose Propose

	hooks *conversionHooks
}

// Open opens the store file at path under a model, and creates it if there is none. It first converts content that was
// written under other definitions. If that would lose content, Open changes nothing and returns a
// *evolve.DefinitionError.
func Open(path string, model *contenttypes.Model, opts Options) (*Store, error) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		if err := CheckThere(path); err != nil {
			return nil, err
		}
		if err := create(path); err != nil {
			return nil, fmt.Errorf("create store: %w", err)
		}
	}
	db, err := openFile(path, opts, openThere)
	if err != nil {
		return nil, err
	}
	f := newFile(db, path)
	if err := removeUnfinished(path); err != nil {
		return nil, errors.Join(fmt.Errorf("open store %s: %w", path, err), db.Close())
	}
	f.health.changed, f.onCommit, f.processors = opts.HealthChanged, opts.Committed, opts.Processors
	f.log.limits, f.answers = opts.Log.withDefaults(), opts.Answers.withDefaults()
	var s *Store
	if f.propose = opts.Propose; opts.Origin != "" || opts.Propose != nil {
		s, err = f.loadReplica(model, opts)
	} else {
		s, err = f.load(model, opts)
	}
	if err != nil {
		return nil, errors.Join(err, f.db().Close())
	}
	switch replaced, err := f.mark(); {
	case errors.Is(err, ErrFull), noSpace(err): // there is no space for the marker: the next start writes it
	case err != nil:
		return nil, errors.Join(err, f.db().Close())
	case replaced && opts.Replaced != nil:
		opts.Replaced()
	}
	f.prepareSpace()
	f.writer.Add(3)
	go f.writeLoop()
	go f.repeat(checkPathEvery, f.watch)
	go f.repeat(recheckEvery, f.doubtAll)
	return s, nil
}

// maxIdle is how many snapshots are kept for the next readers: hardly more are in use at a time, since a read waits for
// nothing.
var maxIdle = 2 * runtime.GOMAXPROCS(0)

func newFile(open *opened, path string) *file {
	f := &file{path: path, log: eventLog{limits: LogLimits{}.withDefaults()}, answers: DefaultAnswerLimits,
		requests: make(chan *writeRequest), closing: make(chan struct{})}
	f.snapshots.Size, f.snapshots.Close = maxIdle, (*Snapshot).close
	f.readers.tick()
	f.open.Store(open)
	return f
}

// newStore makes the Store for new definitions and makes it the current one.
func (f *file) newStore(bound *binding) *Store {
	s := &Store{file: f, bound: bound}
	s.until.Store(math.MaxInt64)
	f.current.Store(s)
	return s
}

// Close carries out the writes that are waiting, waits for readers, and closes the file for all of its Stores. Later
// calls return nil.
func (s *Store) Close() error {
	var err error
	s.closed.Do(func() {
		s.senders.Lock()
		close(s.closing)
		close(s.requests)
		s.senders.Unlock()
		s.writer.Wait()
		if p := s.current.Load().pinned.Load(); p != nil {
			p.retire() // left by a redefinition that failed
		}
		s.snapshots.Drain() // for good
		err = s.db().Close()
		if s.drained != nil {
			err = errors.Join(err, <-s.drained)
		}
		for _, closed := range s.replaced {
			err = errors.Join(err, <-closed)
		}
	})
	if err != nil {
		return fmt.Errorf("close store: %w", err)
	}
	return nil
}

// Path returns the path of the file.
func (s *Store) Path() string { return s.path }

// Model returns the model that the store was opened or redefined for.
func (s *Store) Model() *contenttypes.Model { return s.bound.model }

// Revision returns the number of the last durable batch. It grows with every change of content, conversions included,
// never goes back, and continues after a restart. A snapshot that begins after Revision returned n sees all batches up
// to n.
//
// As long as Revision returns n, no Write that changed anything has returned since. A cache can rely on that: take the
// revision, then the snapshot, and use what was read until the revision changes.
func (s *Store) Revision() uint64 { return s.revised.Load() }

// View calls f with a snapshot. Nothing that f reads from the snapshot may be used after f has returned.
func (s *Store) View(f func(*Snapshot) error) error {
	snap, err := s.snapshot()
	if err != nil {
		return err
	}
	if int64(snap.tx.ID()) > s.until.Load() {
		s.giveBack(snap)
		return s.viewPinned(f)
	}
	snap.since.Store(s.readers.now.Load())
	snap.work.processors = s.processors
	defer s.giveBack(snap)
	return s.view(snap, f)
}

// snapshot returns one that is not in use, or a new one.
func (s *Store) snapshot() (*Snapshot, error) {
	snap, made, ok := s.snapshots.Get()
	if ok {
		return snap, nil
	}
	tx, in, err := s.begin()
	if err != nil {
		return nil, err
	}
	snap = newSnapshot(s, tx)
	snap.in, snap.made = in, made
	s.readers.add(snap)
	return snap, nil
}

// giveBack keeps a snapshot for the next reader, or ends its transaction.
func (s *Store) giveBack(snap *Snapshot) {
	snap.since.Store(0)
	snap.forget()
	s.snapshots.Put(snap, snap.made)
}

// view calls f with a snapshot, and ends the work of the snapshot when f returns.
func (s *Store) view(snap *Snapshot, f func(*Snapshot) error) error {
	snap.store, snap.bound = s, s.bound
	if snap.cache == nil {
		snap.cache = s.cacheOf(snap.tx.ID())
	}
	if snap.cache != nil {
		snap.relations = snap.cache.relations.Load()
	}
	defer snap.end()
	err := s.guard(func() error { return f(snap) })
	if snap.failed != nil && (err == nil || errors.Is(snap.failed, ErrCorrupt)) {
		return snap.failed
	}
	return err
}

// Write calls f in the write transaction; only one runs at a time. When Write returns nil, the batches that f applied
// are durable. When f returns an error, nothing of it is kept. When the definitions have changed, Write returns
// ErrRedefined without calling f.
//
// Several callers may share one transaction and its fsyncs. f may be called again if the f of another caller failed
// after it had applied a batch, so f must have no effects outside the transaction, other than setting values anew in
// each call.
//
// When ctx ends before f applies its first batch, look-ups of f find nothing (see Snapshot.Within), Apply refuses the
// batch, and Write returns the error of ctx. Once f has applied a batch, the write is completed.
func (s *Store) Write(ctx context.Context, f func(*Tx) error) error {
	return s.WriteOnce(ctx, nil, f)
}

// WriteOnce is Write for a write that must not be carried out twice. If a write was carried out under the key of once
// before, WriteOnce does not call f, and returns a *CarriedOutError with its answer. Otherwise the store keeps the
// answer of once in the transaction of the write, unless f applies no batch. once may be nil.
func (s *Store) WriteOnce(ctx context.Context, once *Once, f func(*Tx) error) error {
	if h := s.health.load(); h.State > Full {
		return h.Err
	}
	if err := s.refused(); err != nil {
		return err
	}
	req := &writeRequest{ctx: ctx, store: s, f: f, once: once, done: make(chan error, 1), trace: traceWrite(ctx),
		by: PrincipalOf(ctx)}
	err := s.submit(req)
	if err == nil {
		err = <-req.done
	}
	req.trace.end(err)
	return err
}

// submit hands a request to the writer goroutine.
func (f *file) submit(req *writeRequest) error {
	f.senders.RLock()
	defer f.senders.RUnlock()
	select {
	case <-f.closing:
		return ErrClosed
	default:
	}
	select {
	case f.requests <- req:
		return nil
	case <-req.ctx.Done():
		return req.ctx.Err()
	}
}

func getNumber(t *tree, key []byte) uint64 {
	v := t.Get(key)
	if len(v) != 8 {
		return 0
	}
	return format.Number(v)
}

func putNumber(b *tree, key []byte, n uint64) error {
	return b.Put(key, freshValue{be.AppendUint64(nil, n)})
}

// A note is a small JSON value that a part of the server keeps beside the content, such as how far webhooks have been
// delivered. Notes are durable like content and part of backups, but they are no content: a note has no entry in the
// log and no sequence, and exports do not have it. A replica has the notes of the copy that it began with, and does not
// follow their changes. The nodes of a cluster have the same notes.
//
// Notes are in the bucket meta, under the prefix note/.

// noteKey returns the key of a note in the bucket meta.
func noteKey(name string) []byte { return append([]byte(format.PrefixNote), name...) }

// Note returns the note of that name, nil if there is none. It is valid until the snapshot ends.
func (s *Snapshot) Note(name string) []byte {
	return format.WithoutChecksum(s.bucket(format.Meta).Get(noteKey(name)))
}

// Notes returns the notes whose names begin with a prefix, in the order of their names. They are valid until the
// snapshot ends.
func (s *Snapshot) Notes(prefix string) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		begin := noteKey(prefix)
		c := s.bucket(format.Meta).Cursor()
		for k, v := c.Seek(begin); bytes.HasPrefix(k, begin); k, v = c.Next() {
			if !yield(string(k[len(format.PrefixNote):]), format.WithoutChecksum(v)) {
				return
			}
		}
	}
}

// ReadNote calls read with the note of that name, nil if there is none. It reads what is stored now, and waits for
// nobody, also while the definitions change and readers see the content as it was before.
func (f *file) ReadNote(name string, read func([]byte) error) error {
	return f.read(func(tx *bolt.Tx) error { return read(format.WithoutChecksum(f.meta(tx).Get(noteKey(name)))) })
}

// ReadNote is Store.ReadNote.
func (r *Replica) ReadNote(name string, read func([]byte) error) error {
	return r.file.ReadNote(name, read)
}

// PutNote stores a note, which must be JSON.
func (tx *Tx) PutNote(name string, value []byte) error {
	if !json.Valid(value) {
		return fmt.Errorf("put the note %s: it is no JSON", name)
	}
	tx.adds = true
	return tx.changeNote(logentry.NoteChange{Name: name, Value: value})
}

// DeleteNote removes a note. It is no error if there is none.
func (tx *Tx) DeleteNote(name string) error {
	return tx.changeNote(logentry.NoteChange{Name: name})
}

func (tx *Tx) changeNote(c logentry.NoteChange) error {
	if err := tx.begin(); err != nil {
		return err
	}
	tx.applied++
	if tx.proposes() {
		tx.log.proposal.Notes = append(tx.log.proposal.Notes,
			logentry.NoteChange{Name: c.Name, Value: bytes.Clone(c.Value)})
	}
	if err := putNote(tx.bucket(format.Meta), c); err != nil {
		tx.half = err
		return err
	}
	return nil
}

// putNote makes the change of a note.
func putNote(meta *tree, c logentry.NoteChange) error {
	if c.Value == nil {
		return meta.Delete(noteKey(c.Name))
	}
	return meta.Put(noteKey(c.Name), copied(c.Value))
}
