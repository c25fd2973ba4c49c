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

	"lectern/contenttypes"
)

// A writeRequest is one caller of Write.
type writeRequest struct {
	ctx   context.Context
	store *Store // that it was made on
	f     func(*Tx) error
	err   error
	done  chan error

	alone func() error // instead of f: work that the writer does between two groups
}

// maxGrouped bounds how many writes share a transaction, and maxBuffered how many changes: a transaction that has buffered so
// many takes no further write, so that many heavy ones at once do not need memory for all of them. It is constant but for tests.
const maxGrouped = 256

var maxBuffered = 100_000

// writeLoop is the writer: the one goroutine that changes the file.
func (s *file) writeLoop() {
	defer s.writer.Done()
	batcher := commitBatcher{requests: s.requests}
	for {
		group, alone := split(batcher.next())
		if group == nil && alone == nil {
			return
		}
		began := time.Now()
		s.commit(group)
		batcher.committed(len(group), time.Since(began))
		for _, r := range group {
			r.done <- r.err
		}
		for _, r := range alone {
			r.done <- s.guard(r.alone)
		}
	}
}

// split separates the requests of a group that are done alone; they are done after its writes.
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

// A commitBatcher collects the writes that share a transaction. Clients that wait for an answer before they write again come
// back all at once, a moment after a commit; so the next transaction waits a fraction of a commit's time for as many as were
// answered, beside those that came meanwhile. Otherwise two halves of the clients would take turns.
type commitBatcher struct {
	requests chan *writeRequest
	closed   bool
	queued   []*writeRequest // what came during the last commit
	expected int             // how many may come, the queued included
	pause    time.Duration   // how long to wait for them
}

// committed is called when a group was carried out, before it is answered.
func (b *commitBatcher) committed(n int, took time.Duration) {
	b.drain()
	b.expected = min(len(b.queued)+n, maxGrouped)
	b.pause = min(took/2, 2*time.Millisecond)
}

// drain takes what waits.
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

// next returns the writes that share the next transaction, nil when the store was closed and nothing waits.
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

// commit carries out a group in one transaction, or in several if it changes very much, and sets the err of each request. A write that
// fails after it applied a batch is taken out, and the others are carried out again without it. When the disk has no space for the
// group, each write is tried by itself.
func (s *file) commit(group []*writeRequest) {
	for len(group) > 0 {
		together := group
		if s.health.load().State == Full {
			together = group[:1]
		}
		done, failed, err := s.try(together)
		together = together[:done]
		switch {
		case failed >= 0:
			group = append(group[:failed:failed], group[failed+1:]...)
			continue
		case errors.Is(err, ErrFull) && len(together) > 1:
			for i := range together {
				s.commit(together[i : i+1])
			}
		case err != nil:
			for _, r := range together {
				r.err = cmp.Or(r.err, err)
			}
		}
		group = group[len(together):]
	}
}

// try runs the first requests of a group once, in one transaction, and returns how many these were. failed is the index of the request
// for which all were rolled back, or -1; err is the error of the whole transaction.
func (s *file) try(group []*writeRequest) (done, failed int, err error) {
	corrupt := s.guard(func() error {
		done, failed, err = s.carryOut(group)
		return nil
	})
	if corrupt != nil {
		return len(group), -1, s.health.err()
	}
	return done, failed, err
}

// carryOut is try without its guard.
func (s *file) carryOut(group []*writeRequest) (done, failed int, err error) {
	done = len(group)
	for _, r := range group {
		r.err = nil
	}
	if h := s.health.load(); h.State > Full {
		return done, -1, h.Err
	}
	defer s.snapshots.Drain()()
	btx, err := s.beginWrite()
	if err != nil {
		return done, -1, err
	}
	defer rollback(btx)
	current := s.current.Load()
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
		if errors.Is(tx.failed, ErrCorrupt) { // and what bbolt has in memory may be half of a change
			r.err = s.health.err()
			return done, -1, r.err
		}
		if r.err != nil && tx.applied > 0 {
			return done, i, nil
		}
		if tx.applied > 0 {
			applied++
		}
		if tx.buffered() >= maxBuffered {
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
	if err := s.commitTx(btx, !tx.adds); err != nil {
		return done, -1, err
	}
	s.locales.persisted = tx.localesUsed
	s.revised.Store(tx.sequence)
	s.stats.commits.Add(1)
	s.stats.writes.Add(uint64(applied))
	return done, -1, nil
}

// A Tx is the write transaction: a Snapshot that also sees what has been applied in it.
type Tx struct {
	*Snapshot
	sequence    uint64
	docs, items uint64
	rowIDs      map[uint16]uint64 // by schema number: the greatest id given out
	revisions   map[uint16]uint64
	localesUsed int  // how many locale codes must be on disk with this transaction
	applied     int  // batches applied by the function that runs now
	adds        bool // what was applied does more than remove
}

func newTx(s *Store, btx *bolt.Tx) *Tx {
	snap := newSnapshot(s, btx)
	snap.indexer = newIndexer(snap)
	snap.buffers[docs], snap.buffers[links] = newBuffer(), newBuffer()
	meta := snap.bucket(metas)
	return &Tx{
		Snapshot:    snap,
		sequence:    getNumber(meta, keySequence),
		docs:        getNumber(meta, keyDocs),
		items:       getNumber(meta, keyItems),
		rowIDs:      map[uint16]uint64{},
		revisions:   map[uint16]uint64{},
		localesUsed: s.locales.persisted,
	}
}

// run carries out a request. When the request's context ends before its first batch is applied (see begin), run returns the error of
// the context, and the transaction goes on with the other requests.
func (tx *Tx) run(r *writeRequest) error {
	tx.applied = 0
	tx.Within(r.ctx, 0)
	err := tx.call(r.f)
	if tx.work.over {
		err, tx.failed = tx.failed, nil
	}
	tx.work = workBound{}
	return err
}

// begin checks the context of the request before a batch is applied, for the last time: a request that has begun to apply is completed.
func (tx *Tx) begin() error {
	if tx.work.ctx != nil {
		tx.look()
	}
	if !tx.work.over {
		tx.work = workBound{}
	}
	return tx.failed
}

// call calls f and turns a panic in it into an error, since the writer must go on for the others.
func (tx *Tx) call(f func(*Tx) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			stack := make([]byte, 4096)
			err = fmt.Errorf("write panicked: %v\n%s", p, stack[:runtime.Stack(stack, false)])
		}
	}()
	err = tx.store.guard(func() error { return f(tx) })
	if errors.Is(err, ErrCorrupt) {
		tx.failed = err
	}
	return err
}

// NewDoc returns the number of a new document.
func (tx *Tx) NewDoc() uint64 { tx.docs++; return tx.docs }

// NewComponentID returns the id of a new component.
func (tx *Tx) NewComponentID() uint64 { tx.items++; return tx.items }

// NewRowID returns the id of a new row of a type. Ids of a type begin at 1 and are never given twice.
func (tx *Tx) NewRowID(t *contenttypes.ContentType) uint64 {
	n := tx.bound.of(&t.Schema).number
	tx.rowIDs[n] = tx.lastRowID(n) + 1
	return tx.rowIDs[n]
}

func (tx *Tx) lastRowID(schema uint16) uint64 {
	id, ok := tx.rowIDs[schema]
	if !ok {
		id = getNumber(tx.bucket(metas), schemaKey(prefixRowID, schema))
	}
	return id
}

func schemaKey(prefix string, schema uint16) []byte {
	return be.AppendUint16([]byte(prefix), schema)
}

// finish writes the counters of the transaction.
func (tx *Tx) finish() error {
	if tx.settle(); tx.failed != nil {
		return tx.failed
	}
	if err := tx.flush(); err != nil {
		return err
	}
	meta := tx.bucket(metas)
	numbers := map[string]uint64{string(keySequence): tx.sequence, string(keyDocs): tx.docs, string(keyItems): tx.items}
	for n, id := range tx.rowIDs {
		numbers[string(schemaKey(prefixRowID, n))] = id
	}
	for n, rev := range tx.revisions {
		numbers[string(schemaKey(prefixRev, n))] = rev
	}
	for k, n := range numbers {
		if err := putNumber(meta, []byte(k), n); err != nil {
			return err
		}
	}
	if tx.localesUsed == tx.store.locales.persisted {
		return nil
	}
	raw, err := json.Marshal(tx.store.locales.current.Load().codes[1 : tx.localesUsed+1])
	if err != nil {
		return err
	}
	return meta.Put(keyLocales, freshValue{raw})
}
