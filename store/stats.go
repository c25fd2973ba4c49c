package store

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	bolt "go.etcd.io/bbolt"

	"lectern/internal/span"
)

// A PlanKind is a way to find the rows that match a query.
type PlanKind uint8

const (
	RangeInOrder   PlanKind = iota // one range of an index in the requested order
	IndexWalk                      // a walk over the index in the requested order, until the page is full
	CheapestSource                 // the rows of the cheapest source that also match the other conditions, sorted
	Intersection                   // the same, after intersecting several sources as sets of documents
	FullScan                       // all rows of a type
	PlanKinds                      // how many kinds there are
)

func (k PlanKind) String() string {
	return [...]string{"range_in_order", "index_walk", "cheapest_source", "intersection", "full_scan"}[k]
}

// snapshotStats counts the work that one snapshot has done.
type snapshotStats struct {
	seeks   uint64 // searches from the root of a tree
	rows    uint64 // rows read
	entries uint64 // index entries walked over
	texts   uint64 // of them those of text indexes
	links   uint64 // links walked over
	flushes uint64 // walks over a bucket to write a buffer into it

	relationHits, relationMisses uint64 // look-ups in the relation cache
	keptSets                     uint64 // sets of documents that were known from former queries

	plans [PlanKinds]uint32 // queries by how their rows were found
}

type counters struct {
	commits, writes, seeks, rows, entries, texts, links, flushes atomic.Uint64
	relationHits, relationMisses, keptSets                       atomic.Uint64
	plans                                                        [PlanKinds]atomic.Uint64
}

func (c *counters) add(s *snapshotStats) {
	c.seeks.Add(s.seeks)
	c.rows.Add(s.rows)
	c.entries.Add(s.entries)
	c.texts.Add(s.texts)
	c.links.Add(s.links)
	c.flushes.Add(s.flushes)
	if s.relationHits|s.relationMisses != 0 {
		c.relationHits.Add(s.relationHits)
		c.relationMisses.Add(s.relationMisses)
	}
	if s.keptSets != 0 {
		c.keptSets.Add(s.keptSets)
	}
	if s.plans == ([PlanKinds]uint32{}) {
		return
	}
	for kind, n := range s.plans {
		if n > 0 {
			c.plans[kind].Add(uint64(n))
		}
	}
}

// Stats counts what a store has done since it was opened.
type Stats struct {
	Writes  uint64 // calls of Write that changed something, each durable
	Commits uint64 // transactions that committed these writes; one may commit several
	Fsyncs  uint64 // two in each transaction: one for the pages, one for the meta page
	Seeks   uint64 // searches from the root of a tree
	Rows    uint64 // rows read
	Entries uint64 // index entries walked over
	Texts   uint64 // of them those of text indexes
	Links   uint64 // links walked over
	Flushes uint64 // walks over a bucket to write a buffer into it

	RelationHits   uint64 // look-ups of relations that the relation cache answered
	RelationMisses uint64 // look-ups that it did not answer, or not completely

	KeptSets uint64 // sets of documents that were known from former queries

	Plans [PlanKinds]uint64 // queries by how their rows were found, by PlanKind
}

// Stats returns the counters. They include the work of a snapshot once it has ended.
func (s *Store) Stats() Stats {
	c := &s.stats
	stats := Stats{
		Writes: c.writes.Load(), Commits: c.commits.Load(), Fsyncs: 2 * c.commits.Load(),
		Seeks: c.seeks.Load(), Rows: c.rows.Load(), Entries: c.entries.Load(), Texts: c.texts.Load(),
		Links: c.links.Load(), Flushes: c.flushes.Load(),
		RelationHits: c.relationHits.Load(), RelationMisses: c.relationMisses.Load(),
		KeptSets: c.keptSets.Load(),
	}
	for kind := range stats.Plans {
		stats.Plans[kind] = c.plans[kind].Load()
	}
	return stats
}

// A Commit describes a transaction that has committed writes, for Options.Committed.
type Commit struct {
	Writes int           // calls of Write that share the transaction
	Took   time.Duration // from its beginning until it was durable
	Synced time.Duration // the part of it in which its pages were written to the file and synced
}

// Usage describes the file and its readers at one time.
type Usage struct {
	Bytes     int64         // the length of the file up to its last page in use
	FreeBytes int64         // of pages that later writes can use, also of those that a reader still needs
	Snapshots int           // snapshots in use
	Oldest    time.Duration // how long the oldest of them has been in use, rounded down to checkPathEvery
}

// Usage returns the usage of the file.
func (s *Store) Usage() (Usage, error) {
	u := s.readers.usage(time.Now())
	err := s.guard(func() error {
		return s.db().View(func(tx *bolt.Tx) error {
			u.Bytes = tx.Size()
			file := mapped(tx, nil)
			meta, valid := file.Meta(uint64(tx.ID()))
			if !valid {
				return nil // a later transaction has overwritten it
			}
			free, err := file.FreePages(meta)
			u.FreeBytes = int64(free) * int64(meta.PageSize)
			return err
		})
	})
	if err != nil {
		return u, fmt.Errorf("read the usage of the store: %w", err)
	}
	return u, nil
}

// readers knows the open snapshots of a file. A snapshot is added and removed when its transaction begins and ends. A
// reader that takes one out of the pool or puts it back only notes the time in the snapshot.
type readers struct {
	now atomic.Int64 // Unix nanoseconds, set every checkPathEvery: reading the clock would cost each read more than all other counters

	mu   sync.Mutex
	open map[*Snapshot]struct{}
}

// tick sets the time that snapshots note.
func (r *readers) tick() { r.now.Store(time.Now().UnixNano()) }

func (r *readers) add(s *Snapshot) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.open == nil {
		r.open = map[*Snapshot]struct{}{}
	}
	r.open[s] = struct{}{}
}

func (r *readers) remove(s *Snapshot) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.open, s)
}

// usage returns how many snapshots are in use, and the age of the oldest.
func (r *readers) usage(now time.Time) (u Usage) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for s := range r.open {
		if since := s.since.Load(); since != 0 {
			u.Snapshots++
			u.Oldest = max(u.Oldest, now.Sub(time.Unix(0, since))-checkPathEvery)
		}
	}
	return u
}

// traceView begins a span for what a view reads, if the request of ctx is traced, and has the view explained if that
// was asked for.
func (s *Snapshot) traceView(ctx context.Context) {
	if s.indexer != nil || s.span != nil { // a write has a span of its own, and a view has one
		return
	}
	parent := span.From(ctx)
	if e, ok := parent.(*explaining); ok {
		s.explains, parent = e, e.parent
	}
	if parent != nil {
		s.span = parent.Child("store.view", time.Now())
	}
}

// endTrace ends the span of a view with the work that was done in it.
func (s *Snapshot) endTrace() {
	if s.explains != nil {
		s.explains.viewed(&s.stats)
		s.explains, s.explained = nil, nil
	}
	if s.span == nil {
		return
	}
	for kind, n := range s.stats.plans {
		if n > 0 {
			s.span.SetInt("lectern.queries."+PlanKind(kind).String(), int64(n))
		}
	}
	s.span.SetInt("lectern.rows", int64(s.stats.rows))
	s.span.SetInt("lectern.index_entries", int64(s.stats.entries))
	s.span.SetInt("lectern.links", int64(s.stats.links))
	s.span.SetInt("lectern.seeks", int64(s.stats.seeks))
	s.span.End(time.Now(), s.failed)
	s.span = nil
}

// A writeTrace records when a traced write began to run and when it was applied. The writer goroutine sets these times,
// of the last run.
type writeTrace struct {
	span         span.Span // nil: the write is not traced
	queued       time.Time
	ran, applied time.Time
}

// traceWrite begins the trace of a write.
func traceWrite(ctx context.Context) (t writeTrace) {
	if parent := span.From(ctx); parent != nil {
		t.queued = time.Now()
		t.span = parent.Child("store.write", t.queued)
	}
	return t
}

// end ends the span of a write, with spans for waiting in the queue, for applying it, and for the commit that it shared
// with others.
func (t *writeTrace) end(err error) {
	if t.span == nil {
		return
	}
	now := time.Now()
	if !t.applied.IsZero() {
		for _, part := range []struct {
			name         string
			began, ended time.Time
			err          error
		}{{"store.wait", t.queued, t.ran, nil}, {"store.apply", t.ran, t.applied, nil},
			{"store.commit", t.applied, now, err}} {
			t.span.Child(part.name, part.began).End(part.ended, part.err)
		}
	}
	t.span.End(now, err)
}
