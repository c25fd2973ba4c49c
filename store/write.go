package store

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	bolt "go.etcd.io/bbolt"

	"lectern/store/internal/format"
)

// A writeRequest is one call of Write, or work for the writer goroutine to do between two transactions.
type writeRequest struct {
	ctx   context.Context
	store *Store // on which Write was called
	f     func(*Tx) error
	once  *Once // nil for a write without an idempotency key
	err   error
	done  chan error
	trace writeTrace
	by    Principal

	alone func() error // instead of f: work to do between two transactions
}

// maxGrouped bounds how many writes share a transaction.
const maxGrouped = 256

// maxBuffered bounds how many changes a transaction buffers: one that has so many takes no further write, so that the
// memory for many large writes at once is bounded. Only tests change it.
var maxBuffered = 100_000

// maxEntered bounds how many bytes of entries of the log a transaction holds, in the same way: the entry of a write
// that removes a row has the row, so that short requests may have long entries. Only tests change it.
var maxEntered = 8 << 20

// writeLoop runs in the writer goroutine, the only one that changes the file.
func (f *file) writeLoop() {
	defer f.writer.Done()
	batcher := commitBatcher{requests: f.requests}
	for {
		group, alone := split(batcher.next())
		if group == nil && alone == nil {
			return
		}
		began := time.Now()
		f.commit(group)
		batcher.committed(len(group), time.Since(began))
		for _, r := range group {
			r.done <- r.err
		}
		for _, r := range alone {
			r.done <- f.guard(r.alone)
		}
	}
}

// split separates the writes in a group from the requests that are done alone, after the writes.
func split(group []*writeRequest) (writes, alone []*writeRequest) {
	if !slices.ContainsFunc(group, func(r *writeRequest) bool { return r.alone != nil }) {
		return group, nil
	}
	for _, r := range group {
		if r.alone != nil {
			alone = append(alone, r)
		} else {
			writes = append(writes, r)
		}
	}
	return writes, alone
}

// A commitBatcher collects the writes that share a transaction. Clients that write again as soon as they get an answer
// all come back a moment after a commit. So the next transaction waits, for a fraction of the time of a commit, until
// as many writes are there as were answered, plus those that came meanwhile. Without that, two halves of the clients
// would take turns.
type commitBatcher struct {
	requests chan *writeRequest
	closed   bool
	queued   []*writeRequest // the requests that came during the last commit
	expected int             // how many requests to wait for, the queued ones included
	pause    time.Duration   // how long to wait for them at most
}

// committed must be called after a group was carried out and before it is answered.
func (b *commitBatcher) committed(n int, took time.Duration) {
	b.drain()
	b.expected = min(len(b.queued)+n, maxGrouped)
	b.pause = min(took/2, 2*time.Millisecond)
}

// drain takes the requests that are waiting.
func (b *commitBatcher) drain() {
	for len(b.queued) < maxGrouped && !b.closed {
		select {
		case r, ok := <-b.requests:
			b.take(r, ok)
		default:
			return
		}
	}
}

func (b *commitBatcher) take(r *writeRequest, ok bool) {
	if b.closed = !ok; ok {
		b.queued = append(b.queued, r)
	}
}

// next returns the requests for the next transaction, nil when the store was closed and none is left.
func (b *commitBatcher) next() []*writeRequest {
	if len(b.queued) == 0 && !b.closed {
		r, ok := <-b.requests
		b.take(r, ok)
	}
	if b.drain(); len(b.queued) < b.expected && !b.closed {
		timer := time.NewTimer(b.pause)
		defer timer.Stop()
		for late := false; len(b.queued) < b.expected && !b.closed && !late; {
			select {
			case r, ok := <-b.requests:
				b.take(r, ok)
			case <-timer.C:
				late = true
			}
		}
	}
	group := b.queued
	b.queued = nil
	return group
}

// commit carries out a group in one transaction, or in several if it changes very much, and sets the err of each
// request. If a write fails after it applied a batch, the transaction is rolled back; those before it are carried out
// again without it, and then it and those after it. If the disk has no space for the group, each write is tried in a
// transaction of its own.
//
// The writes of a transaction see those before them. So no write may fail for what it has seen in a transaction that is
// not committed.
func (f *file) commit(group []*writeRequest) {
	for len(group) > 0 {
		together := group
		if f.health.load().State == Full {
			together = group[:1]
		}
		done, failed, err := f.try(together)
		together = together[:done]
		switch {
		case failed > 0:
			f.commit(group[:failed])
			group = group[failed:]
			continue
		case failed == 0: // it has seen none but its own batches
			group = group[1:]
			continue
		case (errors.Is(err, ErrFull) || errors.Is(err, ErrTooLarge)) && len(together) > 1:
			for i := range together {
				f.commit(together[i : i+1])
			}
		case err != nil:
			for _, r := range together {
				if r.err != nil && errors.Is(err, ErrOutcome) {
					r.err = ErrNotLeader // it has applied nothing
				} else {
					r.err = err
				}
			}
		}
		group = group[len(together):]
	}
}

// try runs the first requests of a group in one transaction, and returns how many it ran. failed is the index of the
// request because of which the transaction was rolled back, or -1. err is the error of the whole transaction.
func (f *file) try(group []*writeRequest) (done, failed int, err error) {
	corrupt := f.guard(func() error {
		done, failed, err = f.carryOut(group)
		return nil
	})
	if corrupt != nil {
		return len(group), -1, f.health.err()
	}
	return done, failed, err
}

// carryOut is try without guard.
func (f *file) carryOut(group []*writeRequest) (done, failed int, err error) {
	done = len(group)
	for _, r := range group {
		r.err = nil
	}
	if h := f.health.load(); h.State > Full {
		return done, -1, h.Err
	}
	defer f.snapshots.Drain()()
	began := time.Now()
	btx, err := f.beginWrite()
	if err != nil {
		return done, -1, err
	}
	defer rollback(btx)
	current := f.current.Load()
	tx := newTx(current, btx)
	defer tx.end()
	applied := 0
	for i, r := range group {
		if r.err = r.ctx.Err(); r.err != nil {
			continue
		}
		if r.store != current {
			r.err = ErrRedefined
			continue
		}
		r.err = tx.run(r)
		if errors.Is(tx.failed, ErrCorrupt) { // bbolt may have half of a change in memory
			r.err = f.health.err()
			return done, -1, r.err
		}
		if r.err != nil && tx.applied > 0 {
			return done, i, nil
		}
		if tx.applied > 0 {
			applied++
		}
		if tx.buffered() >= maxBuffered || tx.log.entered >= maxEntered || tx.log.proposal.Size() >= proposedTogether {
			done = i + 1
			break
		}
	}
	if applied == 0 {
		return done, -1, nil
	}
	if err := tx.finish(); err != nil {
		return done, -1, fmt.Errorf("finish write: %w", err)
	}
	if err := tx.commit(!tx.adds); err != nil {
		return done, -1, err
	}
	f.stats.commits.Add(1)
	f.stats.writes.Add(uint64(applied))
	if f.onCommit != nil {
		written := btx.Stats()
		f.onCommit(Commit{Writes: applied, Took: time.Since(began), Synced: written.GetWriteTime()})
	}
	return done, -1, nil
}

// A Tx is a write transaction: a Snapshot that also sees the batches that were applied in it.
type Tx struct {
	*Snapshot
	sequence    uint64
	docs, items uint64
	rowIDs      map[uint16]uint64 // the greatest row id given out, by schema number
	revisions   map[uint16]uint64
	texts       map[uint16]int // how many rows of a schema were put on the list of texts to be indexed
	localesUsed int            // how many locale codes must be stored by this transaction
	applied     int            // batches applied by the request that runs now
	adds        bool           // an applied batch adds something
	half        error          // why a batch of the request was applied in part only; nothing is then kept
	joint       *joint         // set while Together runs
	log         loggedState
}

func newTx(s *Store, btx *bolt.Tx) *Tx {
	snap := newSnapshot(s, btx)
	snap.indexer = newIndexer(snap)
	snap.buffers[format.Docs], snap.buffers[format.Links] = newBuffer(), newBuffer()
	meta := snap.bucket(format.Meta)
	snap.storedDoc = getNumber(meta, format.KeyDocs)
	s.log.ops = s.log.ops[:0] // of a transaction that was rolled back
	s.log.touches.list = s.log.touches.list[:s.log.touches.kept]
	return &Tx{
		Snapshot:    snap,
		sequence:    getNumber(meta, format.KeySequence),
		docs:        snap.storedDoc,
		items:       getNumber(meta, format.KeyItems),
		rowIDs:      map[uint16]uint64{},
		revisions:   map[uint16]uint64{},
		texts:       map[uint16]int{},
		localesUsed: s.locales.persisted,
		log: loggedState{
			by: system, before: getNumber(meta, format.KeyLogBefore), bytes: getNumber(meta, format.KeyLogBytes),
			locales:   s.locales.persisted,
			converted: getNumber(meta, format.KeyConverted),
		},
	}
}

// run carries out a request. If the context of the request ends before its first batch is applied (see begin), run
// returns the error of the context, and the transaction continues with the other requests.
func (tx *Tx) run(r *writeRequest) error {
	tx.applied, tx.half, tx.log.by = 0, nil, r.by
	tx.Within(r.ctx, 0)
	if r.trace.span != nil {
		r.trace.ran = time.Now()
		defer func() { r.trace.applied = time.Now() }()
	}
	err := cmp.Or(tx.call(r), tx.half)
	if tx.work.over {
		err, tx.failed = tx.failed, nil
	}
	tx.work = workBudget{}
	return err
}

// begin checks the context of the request before it applies a batch. After its first batch a request is completed, so
// begin ends the bound on its work, except within Together.
func (tx *Tx) begin() error {
	if tx.work.ctx != nil {
		tx.checkBudget()
	}
	if !tx.work.over && tx.joint == nil {
		tx.work = workBudget{}
	}
	return tx.failed
}

// call calls the function of a request and turns a panic in it into an error, so that the writer goroutine survives.
func (tx *Tx) call(r *writeRequest) (err error) {
	defer func() {
		if p := recover(); p != nil {
			stack := make([]byte, 4096)
			err = fmt.Errorf("write panicked: %v\n%s", p, stack[:runtime.Stack(stack, false)])
		}
	}()
	err = tx.store.guard(func() error {
		if r.once != nil {
			return r.once.carryOut(tx, r.f)
		}
		return r.f(tx)
	})
	if errors.Is(err, ErrCorrupt) {
		tx.failed = err
	}
	return err
}

// finish writes all that is buffered, and the counters, before the commit.
func (tx *Tx) finish() error {
	if err := tx.boundTexts(); err != nil {
		return err
	}
	if tx.settle(); tx.failed != nil {
		return tx.failed
	}
	if err := tx.flush(); err != nil {
		return err
	}
	if err := tx.trimLog(); err != nil {
		return err
	}
	meta := tx.bucket(format.Meta)
	err := errors.Join(putNumber(meta, format.KeySequence, tx.sequence), putNumber(meta, format.KeyDocs, tx.docs),
		putNumber(meta, format.KeyItems, tx.items),
		putNumber(meta, format.KeyLogBefore, tx.log.before), putNumber(meta, format.KeyLogBytes, tx.log.bytes),
		putNumber(meta, format.KeyConverted, tx.log.converted))
	for n, id := range tx.rowIDs {
		err = errors.Join(err, putNumber(meta, format.SchemaKey(format.PrefixRowID, n), id))
	}
	for n, rev := range tx.revisions {
		err = errors.Join(err, putNumber(meta, format.SchemaKey(format.PrefixRev, n), rev))
	}
	if err != nil {
		return err
	}
	if tx.localesUsed == tx.store.locales.persisted {
		return nil
	}
	raw, err := json.Marshal(tx.store.locales.current.Load().codes[1 : tx.localesUsed+1])
	if err != nil {
		return err
	}
	return meta.Put(format.KeyLocales, freshValue{raw})
}

// commit commits the transaction, after finish. In a cluster it first has the nodes agree to it. removes says that it
// adds nothing (see commitTx).
func (tx *Tx) commit(removes bool) error {
	f := tx.store.file
	committed, err := tx.propose()
	if err != nil {
		return err
	}
	// The guard is for panics: committed must be called, because the other nodes go on only then.
	if err := committed(f.guard(func() error { return f.commitTx(tx.tx, removes) })); err != nil {
		return err
	}
	f.locales.persisted = tx.localesUsed
	f.log.keepTouches(tx.log.blocked)
	f.revise(tx.sequence)
	return nil
}
