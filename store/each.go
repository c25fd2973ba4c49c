package store

import (
	"context"
	"fmt"
	"slices"

	"lectern/contenttypes"
	"lectern/store/internal/format"
)

const (
	// blockRows is how many rows Each hands over at a time.
	blockRows = 256
	// maxGathered is how many rows Each finds by a source and sorts, where it could also read all rows in the requested
	// order.
	maxGathered = 1 << 14
	// sortedHitBytes is about the memory of a hit while it is sorted, without the bytes of its keys.
	sortedHitBytes = 128
)

// Each calls yield with the rows that match q, in blocks: those from q.Offset on, at most q.Limit of them unless it is
// negative. A block is valid until yield returns. After an error of yield, Each ends and returns it.
//
// If an index has the order of q, the memory that Each takes does not depend on the number of rows. Otherwise the rows
// are found first and sorted, and Each calls reserve with the memory that this takes, in total so far. Without a sort,
// the rows come by locale in the order of q.Locales, and by id.
func (s *Snapshot) Each(q *Query, reserve func(bytes int64) error, yield func([]Record) error) error {
	if !s.bound.has(q.Type) {
		return ErrRedefined
	}
	e := eachRow{snap: s, query: q, yield: yield, skip: max(0, q.Offset), left: q.Limit,
		memory: sortMemory{reserve: reserve}}
	slots := s.querySlots(q)
	if len(slots) > 1 && len(q.Sort) > 0 {
		e.sorted(slots)
	} else {
		for _, sl := range slots {
			if !e.slot(sl) {
				break
			}
		}
	}
	e.flush()
	if e.err != nil {
		return e.err
	}
	return s.failed
}

// An eachRow is the state of Each.
type eachRow struct {
	snap   *Snapshot
	query  *Query
	yield  func([]Record) error
	block  []Record
	skip   int // rows to leave out
	left   int // rows to hand over; negative: all
	memory sortMemory
	err    error // of yield
}

// row hands over a row that matches, and reports whether to continue.
func (e *eachRow) row(r Record) bool {
	if e.left == 0 {
		return false
	}
	if e.skip > 0 {
		e.skip--
		return true
	}
	if e.left > 0 {
		e.left--
	}
	if e.block = append(e.block, r); len(e.block) == blockRows {
		e.flush()
	}
	return e.err == nil && e.left != 0
}

// flush hands over the rows of the last block.
func (e *eachRow) flush() {
	if len(e.block) > 0 && e.err == nil && e.snap.failed == nil {
		e.err = e.yield(e.block)
		clear(e.block)
		e.block = e.block[:0]
	}
}

// slot hands over the rows of a slot, and reports whether to continue.
func (e *eachRow) slot(sl format.Slot) bool {
	f := e.finder(sl)
	f.plan()
	order, inOrder := f.order()
	if !inOrder {
		return e.sorted([]format.Slot{sl})
	}
	matches := f.conds
	if len(matches) > 0 {
		if narrowed, ok := f.oneRange(order); ok {
			order, matches = narrowed, nil
		} else if src := f.best(); src != nil && max(src.cost, src.rows) <= maxGathered &&
			max(src.cost, src.rows)*rowCost < f.rows() {
			return e.sorted([]format.Slot{sl})
		}
	}
	skip := 0
	if len(matches) == 0 {
		f.took(RangeInOrder)
		if rows := f.snap.entriesIn(order); e.skip >= rows {
			e.skip -= rows
			return true
		}
		skip, e.skip = e.skip, 0
	} else {
		f.took(IndexWalk)
	}
	f.eachInOrder(order, skip, func(doc uint64) bool {
		r := f.snap.row(f.bound, f.slot, doc)
		return !matches.holds(f.snap, r) || e.row(r)
	})
	return e.err == nil && e.left != 0 && e.snap.failed == nil
}

// entriesIn returns how many entries the range of an order has.
func (s *Snapshot) entriesIn(o indexOrder) int { return s.rank(o.High) - s.rank(o.Low) }

// sorted finds the rows of some slots, sorts them together and hands them over. It reports whether to continue.
func (e *eachRow) sorted(slots []format.Slot) bool {
	var hits []hit
	var f *finder
	for _, sl := range slots {
		f = e.finder(sl)
		f.plan()
		most := f.rows()
		if src := f.best(); src != nil {
			most = min(most, src.rows)
		}
		if !e.memory.takeBytes(e.snap, int64(most)*sortedHitBytes) {
			return false
		}
		found := f.gather()
		for i := range found {
			found[i].loaded = 0 // it is a position in the rows of this finder
		}
		hits = append(hits, found...)
	}
	if f == nil {
		return false
	}
	f.records = nil
	f.sortHits(hits)
	for hits = slices.Clip(hits); len(hits) > 0 && e.snap.step(); hits = hits[1:] {
		if !e.row(f.record(hits[0])) {
			return false
		}
	}
	return e.snap.failed == nil
}

func (e *eachRow) finder(sl format.Slot) *finder {
	f := e.snap.finder(e.query, sl)
	f.memory = &e.memory
	return f
}

// A sortMemory reserves the memory that sorting takes.
type sortMemory struct {
	reserve         func(bytes int64) error
	taken, reserved int64
}

// reserveStep is how many bytes a sortMemory reserves at a time.
const reserveStep = 1 << 20

// take takes memory for the keys of a row. It reports whether there is enough; otherwise it ends the work of the
// snapshot.
func (m *sortMemory) take(s *Snapshot, keys [][]byte) bool {
	size := 0
	for _, k := range keys {
		size += len(k)
	}
	return m.takeBytes(s, int64(size))
}

func (m *sortMemory) takeBytes(s *Snapshot, bytes int64) bool {
	if m.taken += bytes; m.taken <= m.reserved {
		return true
	}
	m.reserved = m.taken + reserveStep
	if err := m.reserve(m.reserved); err != nil {
		s.work.end(s, err)
		return false
	}
	return true
}

// rowsAtOnce is how many rows EachRow and EachPage read at a time, so that their memory does not depend on the content.
const rowsAtOnce = 500

// EachRow calls do with the rows of one type and status, in all locales, in order of id. It ends when ctx does.
func EachRow(ctx context.Context, s *Snapshot, t *contenttypes.ContentType, status Status,
	do func(Record) error) error {
	for last := uint64(0); ; {
		if err := ctx.Err(); err != nil {
			return err
		}
		page, err := s.Find(rowsAfter(t, status, last))
		if err != nil {
			return fmt.Errorf("read %s: %w", t.UID, err)
		}
		for _, r := range page.Rows {
			if err := do(r); err != nil {
				return err
			}
			last = r.ID()
		}
		if len(page.Rows) < rowsAtOnce {
			return nil
		}
	}
}

// EachPage calls yield with the rows of one type and status, in all locales, in order of id. Unlike EachRow, it reads
// each page from a new snapshot, so that it may take long. It calls next after each page.
func EachPage(
	ctx context.Context, s *Store, t *contenttypes.ContentType, status Status, yield func(Record),
	next func(done, total int) error,
) error {
	total, done := 0, 0
	for last := uint64(0); ; {
		rows := 0
		err := s.View(func(snap *Snapshot) error {
			q := rowsAfter(t, status, last)
			q.Count = last == 0
			page, err := snap.Find(q)
			if last == 0 {
				total = page.Total
			}
			rows = len(page.Rows)
			for _, r := range page.Rows {
				last = r.ID()
				yield(r)
			}
			return err
		})
		if err == nil {
			err = ctx.Err()
		}
		if err != nil || rows == 0 {
			return err
		}
		done += rows
		if err := next(done, max(done, total)); err != nil {
			return err
		}
	}
}

// rowsAfter returns the query of the next rowsAtOnce rows after the one with the id last.
func rowsAfter(t *contenttypes.ContentType, status Status, last uint64) *Query {
	id := t.Attribute("id")
	return &Query{
		Type: t, Status: status, Locales: LocaleSet{All: true}, Sort: []SortKey{{Path: []*contenttypes.Attribute{id}}},
		Filter: Compare{Attr: id, Op: Gt, Values: []any{float64(last)}}, Limit: rowsAtOnce,
	}
}

// HasLocalization reports whether a document has a version in this locale.
func HasLocalization(s *Snapshot, t *contenttypes.ContentType, doc uint64, locale string) bool {
	return s.Version(t, doc, Published, locale).Exists() || t.DraftAndPublish &&
		s.Version(t, doc, Draft, locale).Exists()
}
