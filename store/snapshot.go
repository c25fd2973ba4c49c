package store

import (
	"bytes"
	"context"
	"io"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	bolt "go.etcd.io/bbolt"

	"lectern/contenttypes"
	"lectern/internal/admission"
	"lectern/internal/span"
	"lectern/store/internal/format"
	"lectern/store/internal/pages"
	"lectern/store/internal/pool"
	"lectern/store/internal/relcache"
)

// A Snapshot is a consistent view of the whole store. Only one goroutine may use it at a time.
type Snapshot struct {
	store     *Store
	tx        *bolt.Tx
	bound     *binding
	file      *pages.File // pages of the state that tx reads; nil until a bucket is looked up
	root      *pages.Tree // the tree of the buckets in file
	trees     [format.BucketCount]*tree
	idle      [format.BucketCount][]*treeCursor // cursors not in use
	shared    [format.BucketCount]*treeCursor   // for single look-ups, each of which ends before the next begins
	cache     *stateCache                       // shared with the other snapshots of this state; nil if nothing is cached
	relations *relcache.Cache                   // the relation cache of cache; nil until it has one
	indexer   *indexer                          // only in a write transaction
	buffers   [format.BucketCount]*buffer       // only in a write transaction: the buffers of buckets that have one
	storedDoc uint64                            // only in a write transaction: the greatest number of a document when it began
	young     []youngBlock                      // memory for youngBlocks
	past      *past                             // nil unless it is a snapshot of the past
	touches   readTouches
	revised   revisionCache
	keys      keyBuffers
	failed    error // the error that ended the snapshot's work; look-ups find nothing after it
	work      workBudget
	stats     snapshotStats
	span      span.Span       // of the view; nil unless the request is traced
	explains  *explaining     // nil unless the work of the view is to be explained
	explained *ExplainedQuery // the query that is at work; nil unless it is explained
	in        *opened         // the open file that tx reads; nil if its readers are not counted
	made      pool.Epoch      // the epoch in which tx began
	since     atomic.Int64    // when a reader took it, by the clock of readers; 0 while it is idle
}

func newSnapshot(s *Store, tx *bolt.Tx) *Snapshot {
	return &Snapshot{store: s, tx: tx, bound: s.bound}
}

// end adds the snapshot's counters to those of the store, and gives back what its work has taken.
func (s *Snapshot) end() {
	s.work.leave()
	s.endTrace()
	s.store.stats.add(&s.stats)
	s.cache.searched(s)
}

// forget resets the error, the work budget and the counters, so that the snapshot can be used again.
func (s *Snapshot) forget() {
	s.failed, s.work, s.stats, s.touches = nil, workBudget{}, snapshotStats{}, readTouches{}
}

// cursor returns the shared cursor of a bucket, for single look-ups. Every look-up moves it.
func (s *Snapshot) cursor(n format.Bucket) *treeCursor {
	if indexes(n) {
		s.settle()
	}
	if s.shared[n] == nil {
		s.shared[n] = s.bucket(n).Cursor()
	}
	return s.shared[n]
}

// indexes reports whether a bucket is a part of the index.
func indexes(n format.Bucket) bool {
	return n == format.Index || n == format.Young || n == format.Groups || n == format.Spans
}

// take returns a cursor for a walk over a bucket. No other walk or look-up moves it until give returns it.
func (s *Snapshot) take(n format.Bucket) *treeCursor {
	if indexes(n) {
		s.settle()
	}
	if l := len(s.idle[n]); l > 0 {
		c := s.idle[n][l-1]
		s.idle[n] = s.idle[n][:l-1]
		return c
	}
	return s.bucket(n).Cursor()
}

func (s *Snapshot) give(n format.Bucket, c *treeCursor) { s.idle[n] = append(s.idle[n], c) }

// takeIndex returns a cursor for a walk over the entries of the index. Pass its field c to give afterwards.
func (s *Snapshot) takeIndex() *indexCursor { return &indexCursor{c: s.take(format.Index)} }

// get looks up one key.
func (s *Snapshot) get(n format.Bucket, key []byte) []byte {
	s.step()
	if v, known := s.buffers[n].get(key); known {
		return v
	}
	s.stats.seeks++
	k, v := s.cursor(n).Seek(key)
	if !bytes.Equal(k, key) {
		return nil
	}
	return v
}

// row reads one version; it returns the zero Record if there is none. If the row is the next one in the file, as mostly
// in a list, it is reached by a step instead of a search.
func (s *Snapshot) row(b *boundSchema, sl format.Slot, doc uint64) Record {
	if s.past != nil {
		return s.pastRow(b, sl, doc)
	}
	var buf [format.RowKeyLen]byte
	return s.record(sl, doc, s.rowData(format.AppendRowKey(buf[:0], b.number, sl, doc)))
}

// record returns the Record of a row with these data, or the zero Record if data is nil.
func (s *Snapshot) record(sl format.Slot, doc uint64, data []byte) Record {
	if data == nil {
		return Record{}
	}
	s.stats.rows++
	return Record{table: s.bound.tables[be.Uint16(data)], slot: sl, doc: doc, snap: s, data: data}
}

// rowData returns the data of the row with this key, or nil if there is none.
func (s *Snapshot) rowData(key []byte) []byte {
	c := s.cursor(format.Rows)
	if v, ok := c.Step(key); ok {
		return v
	}
	s.stats.seeks++
	k, v := c.Seek(key)
	if !bytes.Equal(k, key) {
		return nil
	}
	return v
}

func (s *Snapshot) localeCode(n uint16) string {
	if n == 0 {
		return ""
	}
	return s.store.locales.current.Load().codes[n]
}

// slot returns the slot of a status and locale of a type; ok is false if nothing was ever written in that locale.
func (s *Snapshot) slot(t *contenttypes.ContentType, status Status, locale string) (sl format.Slot, ok bool) {
	if !t.DraftAndPublish {
		status = Published
	}
	if !t.Localized {
		return format.NewSlot(0, status), true
	}
	n, ok := s.store.locales.current.Load().numbers[locale]
	return format.NewSlot(n, status), ok && n > 0
}

// Document returns the number of a document of that type by its documentId.
func (s *Snapshot) Document(t *contenttypes.ContentType, documentID string) (doc uint64, ok bool) {
	v := s.document(s.bound.of(&t.Schema), documentID)
	if v == nil {
		return 0, false
	}
	return format.Number(v), true
}

// document returns the value of a document in the bucket docs.
func (s *Snapshot) document(b *boundSchema, documentID string) []byte {
	if s.past != nil {
		return s.pastDocument(b, documentID)
	}
	return s.get(format.Docs, format.DocKey(b.number, documentID))
}

// slots returns the slots of a document's versions, as listed in the bucket docs.
func (s *Snapshot) slots(b *boundSchema, documentID []byte) []format.Slot {
	v := s.document(b, string(documentID))
	if v == nil {
		return nil
	}
	list := make([]format.Slot, 0, (len(v)-8)/2)
	for v = v[8:]; len(v) >= 2; v = v[2:] {
		list = append(list, format.Slot(be.Uint16(v)))
	}
	return list
}

// eachSlot calls yield with the slots in which a document has a version, in order of locale and status.
func (s *Snapshot) eachSlot(b *boundSchema, doc uint64, yield func(format.Slot) bool) {
	n := uint16(len(s.store.locales.current.Load().codes))
	if !b.typ.Localized {
		n = 1
	}
	var id []byte
	for l := uint16(0); l < n && id == nil; l++ {
		for _, st := range [...]Status{Published, Draft} {
			if r := s.row(b, format.NewSlot(l, st), doc); r.Exists() {
				id = format.Unquote(r.JSON(b.system.documentID))
				break
			}
		}
	}
	if id == nil {
		return
	}
	for _, sl := range s.slots(b, id) {
		if !yield(sl) {
			return
		}
	}
}

// DocumentByRow returns the document that the row with numeric id belongs to, and that row's status and locale.
func (s *Snapshot) DocumentByRow(t *contenttypes.ContentType,
	id uint64) (doc uint64, status Status, locale string, ok bool) {
	b := s.bound.of(&t.Schema)
	c := s.takeIndex()
	defer s.give(format.Index, c.c)
	for _, sl := range s.allSlots(t) {
		if !s.step() {
			break
		}
		key := be.AppendUint64(format.AppendSpace(nil, b.number, b.fields[b.system.id.Index], sl), id)
		s.stats.seeks++
		if k, v := c.Seek(key); bytes.Equal(k, key) {
			return be.Uint64(v), sl.Status(), s.localeCode(sl.Locale()), true
		}
	}
	return 0, 0, "", false
}

// allSlots lists every slot that rows of a type can be in.
func (s *Snapshot) allSlots(t *contenttypes.ContentType) []format.Slot {
	first, last := 0, 0
	if t.Localized {
		first, last = 1, len(s.store.locales.current.Load().codes)-1
	}
	var list []format.Slot
	for l := first; l <= last; l++ {
		list = append(list, format.NewSlot(uint16(l), Published))
		if t.DraftAndPublish {
			list = append(list, format.NewSlot(uint16(l), Draft))
		}
	}
	return list
}

// Version returns one version of a document, or the zero Record if there is none.
func (s *Snapshot) Version(t *contenttypes.ContentType, doc uint64, status Status, locale string) Record {
	sl, ok := s.slot(t, status, locale)
	if !ok {
		return Record{}
	}
	return s.row(s.bound.of(&t.Schema), sl, doc)
}

// Versions calls yield with every version of a document, in order of locale and status.
func (s *Snapshot) Versions(t *contenttypes.ContentType, doc uint64, yield func(Record) bool) {
	b := s.bound.of(&t.Schema)
	var found []format.Slot
	s.eachSlot(b, doc, func(sl format.Slot) bool {
		found = append(found, sl)
		return true
	})
	slices.Sort(found)
	for _, sl := range found {
		if !yield(s.row(b, sl, doc)) {
			return
		}
	}
}

// Equal calls yield, in order of id, with the rows of (t, status, locale) whose scalar attribute a has exactly this
// value, given as stored JSON. The attribute must have an index. Unique checks use Equal.
func (s *Snapshot) Equal(t *contenttypes.ContentType, status Status, locale string, a *contenttypes.Attribute,
	value []byte, yield func(Record) bool) {
	sl, ok := s.slot(t, status, locale)
	if !ok {
		return
	}
	b := s.bound.of(&t.Schema)
	prefix := format.AppendOrdered(format.AppendSpace(nil, b.number, b.fields[a.Index], sl), a.Type, value)
	s.eachEqual(b, sl, prefix, func(r Record) bool {
		return format.IsCut(prefix[format.SpaceLen:]) && !bytes.Equal(r.JSON(a), value) || yield(r)
	})
}

// eachEqual calls yield with the rows whose index keys begin with a prefix, in order of the keys, until yield returns
// false.
func (s *Snapshot) eachEqual(b *boundSchema, sl format.Slot, prefix []byte, yield func(Record) bool) {
	s.stats.seeks++
	if s.indexer != nil && s.failed == nil && s.indexer.lacks(prefix) {
		return
	}
	c := s.takeIndex()
	defer s.give(format.Index, c.c)
	for k, v := c.Seek(prefix); bytes.HasPrefix(k, prefix); k, v = c.Next() {
		s.stats.entries++
		if !yield(s.row(b, sl, be.Uint64(v))) {
			return
		}
	}
}

// stepsAtATime is how many steps of work are done between two checks of the clock, and with the right to a processor
// (see Options.Processors). A step reads one link, index entry or row, or tests up to testedAtATime bytes of a value.
const stepsAtATime = 4096

// testedAtATime is how many bytes of a value cost about as much to test as reading a link.
const testedAtATime = 64

// A workBudget ends work that takes too long or whose context has ended. Without it, a filter that follows circular
// relations could run for years. It also has work that goes on take turns with that of other clients.
type workBudget struct {
	ctx   context.Context // nil if the work is not limited
	limit time.Duration
	until time.Time // set when the clock is first read
	steps int       // since the last check
	over  bool      // the budget has ended the work

	processors *admission.Semaphore // nil: the work takes no turns
	share      *admission.Share     // of the processors; nil until the work has taken as many steps as are free
	holds      bool                 // one of the processors
}

// Within limits the work of the snapshot from now on. When ctx ends, or a positive limit has passed, look-ups find
// nothing more and View returns the error. Work of more than a few thousand steps takes turns with that of other
// clients (see Options.Processors); ctx says for which client it is done.
func (s *Snapshot) Within(ctx context.Context, limit time.Duration) {
	s.work.leave()
	s.work.ctx, s.work.limit, s.work.until = ctx, limit, time.Time{}
	s.traceView(ctx)
}

// Step counts a step of work that the caller does between look-ups, and reports whether to continue (see Within).
func (s *Snapshot) Step() bool { return s.spend(1) }

// Steps counts n steps of work as Step does.
func (s *Snapshot) Steps(n int) bool { return s.spend(n) }

// Rest lets others have the processor while the caller waits for something, such as a client that reads. The next step
// takes it again.
func (s *Snapshot) Rest() {
	if s.work.holds {
		s.work.rest()
		s.work.steps = stepsAtATime
	}
}

// Err returns the error that has ended the work, or nil while it may continue. After an error, results of look-ups are
// incomplete and must not be used.
func (s *Snapshot) Err() error { return s.failed }

// step counts a step of work, and reports whether to continue.
func (s *Snapshot) step() bool { return s.spend(1) }

// spend counts steps of work, and reports whether to continue.
func (s *Snapshot) spend(steps int) bool {
	if s.work.steps += steps; s.work.steps < stepsAtATime {
		return s.failed == nil
	}
	return s.endSlice()
}

// endSlice checks the budget after stepsAtATime steps, waits for a processor for the next ones, and reports whether to
// continue.
func (s *Snapshot) endSlice() bool {
	if s.work.steps = 0; s.work.ctx == nil || !s.checkBudget() {
		return s.failed == nil
	}
	if s.work.processors != nil {
		if err := s.work.takeTurn(); err != nil {
			s.work.end(s, err)
		}
	}
	return s.failed == nil
}

// checkBudget checks the context and the clock, and reports whether to continue.
func (s *Snapshot) checkBudget() bool {
	if err := s.work.ctx.Err(); err != nil {
		s.work.end(s, err)
	}
	if s.work.limit > 0 {
		now := time.Now()
		if s.work.until.IsZero() {
			s.work.until = now.Add(s.work.limit)
		} else if now.After(s.work.until) {
			s.work.end(s, context.DeadlineExceeded)
		}
	}
	return s.failed == nil
}

func (w *workBudget) end(s *Snapshot, err error) {
	if s.failed == nil {
		s.failed, w.over = err, true
	}
}

// takeTurn takes a processor or, if the work has one, lets others have it who wait. It waits no longer than the budget
// allows: a snapshot that waits keeps pages of the file from being used again.
func (w *workBudget) takeTurn() (err error) {
	ctx := w.ctx
	if w.limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, w.until)
		defer cancel()
	}
	switch {
	case w.holds:
		err = w.share.Yield(ctx)
		runtime.Gosched() // requests that need no turn should not wait until the runtime interrupts this one
	case w.share == nil:
		w.share = w.processors.Share(admission.ClientOf(ctx))
		fallthrough
	default:
		err = w.share.Acquire(ctx)
	}
	w.holds = err == nil
	return err
}

// rest gives back the processor, if the work has one.
func (w *workBudget) rest() {
	if w.holds {
		w.holds = false
		w.share.Release()
	}
}

// leave gives back the processor, and the share of the processors.
func (w *workBudget) leave() {
	if w.share != nil {
		w.rest()
		w.share.Close()
		w.share = nil
	}
}

// Size returns how many bytes CopyTo writes.
func (s *Snapshot) Size() int64 { return s.tx.Size() }

// CopyTo writes the file to w as the snapshot sees it; the copy can be opened as a store. Other goroutines can write to
// the store meanwhile.
func (s *Snapshot) CopyTo(w io.Writer) (int64, error) { return s.tx.WriteTo(w) }

// CopyStored copies the file in its present state to the writer that to returns when it is called with the size of the
// copy. During a change of the definitions the copy has what is converted so far, where a snapshot still shows the
// content as it was before the change.
func (f *file) CopyStored(to func(size int64) io.Writer) error {
	return f.read(func(tx *bolt.Tx) error {
		_, err := tx.WriteTo(to(tx.Size()))
		return err
	})
}
