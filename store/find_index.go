package store

import (
	"bytes"
	"cmp"
	"math"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"

	"lectern/contenttypes"
	"lectern/store/evolve"
	"lectern/store/internal/format"
	"lectern/store/internal/query"
)

// A source lists the documents of one slot whose rows meet, or may meet, one condition (conjunct) of a filter, without
// reading all rows. It lists entries in ranges of an index, or finds a set of documents in another way.
type source struct {
	conjunct int32
	exact    bool // all listed rows meet the conjunct, except those marked unsure
	sorted   bool // there is one range, and its entries are in order of id
	loose    bool // find also finds documents that have no row in the slot
	decided  bool // all rows that were found so far meet the conjunct
	rows     int  // how many it lists; an estimate unless it is counted
	cost     int  // of listing them, in index entries walked over

	ranges []query.Range          // ranges of index entries to walk over
	test   func(text []byte) bool // tests the indexed text, if the range alone does not decide
	find   func() docList         // finds the documents without ranges
	set    *docSet                // the documents, once they were found
}

// counted reports whether the number of rows is known and exact, before any of them is found.
func (s *source) counted() bool { return s.exact && s.test == nil && s.find == nil && s.ranges != nil }

// A hit is a row that a source found. Its record may not have been read yet.
type hit struct {
	id, doc uint64
	loaded  int32 // one more than its position in the finder's records; 0 if it was not read
	slot    format.Slot
	unsure  bool // the index could not decide; the conjunct must be tested on the row
}

// best returns the cheapest source, nil if there is none.
func (f *finder) best() *source {
	f.plan()
	if len(f.sources) == 0 {
		return nil
	}
	return f.sources[0]
}

// source returns a source for conjunct i, or nil if the conjunct has none.
func (f *finder) source(i int) *source {
	compare, ok := f.filters[i].(Compare)
	if !ok {
		if src := f.keptSource(i); src != nil {
			return src
		}
		return f.foundSource(i)
	}
	src := f.compareSource(compare, f.conds[i])
	if src == nil {
		return f.keptSource(i)
	}
	src.conjunct = int32(i)
	for i := range src.ranges {
		src.ranges[i].Entries = f.snap.countRange(src.ranges[i])
		src.rows += src.ranges[i].Entries
	}
	if src.find == nil {
		src.cost = src.rows
	}
	if src.cost >= keptFrom {
		if kept := f.keptSource(i); kept != nil && src.counted() {
			src.set, src.cost = kept.set, kept.cost
		} else if kept != nil {
			return kept
		}
	}
	return src
}

// keptSource returns a source for a conjunct of which the documents are kept, otherwise nil.
func (f *finder) keptSource(i int) *source {
	set := f.kept(f.filters[i : i+1])
	if set == nil {
		return nil
	}
	rows := int(set.GetCardinality())
	return &source{conjunct: int32(i), rows: rows, cost: 1 + rows/perKeptEntry, exact: true, set: set}
}

// perKeptEntry is how many documents of a kept set are intersected at the cost of an index entry.
const perKeptEntry = 256

// foundSource returns a source that finds the documents that meet a conjunct without a range of an index.
func (f *finder) foundSource(i int) *source {
	var src *source
	switch c := f.filters[i].(type) {
	case Through:
		src = f.throughSource(f.conds[i].(*someTarget))
	case Or:
		src = f.eitherSource(c)
	case Search:
		src = f.searchSource(c)
	}
	if src != nil {
		src.conjunct = int32(i)
	}
	return src
}

// fewEntries is the maximum number of entries of a range that are counted one by one. A longer range is counted by
// rank.
const fewEntries = 32

// countRange returns the number of index entries in a range.
func (s *Snapshot) countRange(r query.Range) int {
	c := indexCursor{c: s.cursor(format.Index)}
	s.stats.seeks++
	k, _ := c.Seek(r.Low)
	for n := range fewEntries {
		if k == nil || bytes.Compare(k, r.High) >= 0 {
			return n
		}
		k, _ = c.Next()
	}
	return s.rank(r.High) - s.rank(r.Low)
}

func (f *finder) compareSource(c Compare, meets cond) *source {
	switch {
	case c.Attr.Type == contenttypes.DocumentID:
		return f.documentSource(c)
	case c.Attr.Type == contenttypes.ID:
		return f.idSource(c)
	case !evolve.HasIndex(c.Attr):
		return nil
	}
	if src := f.textSource(c, meets, f.rows()); src != nil {
		return src
	}
	b := query.RangeBuilder{Space: f.space(c.Attr), Type: c.Attr.Type, Exact: true}
	if !b.Add(c) {
		return nil
	}
	src := &source{ranges: b.Ranges, exact: b.Exact, test: b.Test, sorted: b.Sorted}
	if src.test != nil && c.Attr.Type == contenttypes.Enumeration {
		f.testValues(src)
	}
	return src
}

// maxValues is how many values of an enumeration are tested one by one.
const maxValues = 64

// testValues tests the values of an enumeration in place of their entries, which are many more.
func (f *finder) testValues(src *source) {
	all, ranges := src.ranges[0], []query.Range{}
	c := f.snap.takeIndex()
	defer f.snap.give(format.Index, c.c)
	k, _ := c.Seek(all.Low)
	for n := 0; k != nil && bytes.Compare(k, all.High) < 0; n++ {
		f.snap.stats.seeks++
		f.snap.stats.entries++
		if n == maxValues || format.IsCut(value(k)) {
			return
		}
		r := query.Range{Low: slices.Clone(k[:len(k)-8])}
		r.High = format.Successor(r.Low)
		if src.test(format.OrderedText(r.Low[format.SpaceLen:])) {
			ranges = append(ranges, r)
		}
		k, _ = c.Seek(r.High)
	}
	src.ranges, src.test, src.sorted = ranges, nil, len(ranges) == 1
}

// idSource returns a source for a comparison of the row id. It uses the index of ids.
func (f *finder) idSource(c Compare) *source {
	space := f.space(c.Attr)
	key := func(id float64) []byte {
		return be.AppendUint64(slices.Clone(space), uint64(max(0, min(id, 1<<53))))
	}
	src := &source{exact: true, sorted: true}
	switch c.Op {
	case Null:
		return src
	case NotNull:
		src.ranges = []query.Range{{Low: key(0), High: key(math.Inf(1))}}
		return src
	case Eq, In, Ne, Lt, Lte, Gt, Gte:
	default:
		return nil
	}
	for _, v := range c.Values {
		id, ok := v.(float64)
		if !ok {
			return nil
		}
		r := query.Range{Low: key(0), High: key(math.Inf(1))}
		switch c.Op {
		case Eq, In:
			if id != math.Trunc(id) {
				continue
			}
			r = query.Range{Low: key(id), High: key(id + 1)}
		case Ne:
			if id == math.Trunc(id) && id >= 0 {
				src.ranges = append(src.ranges, query.Range{Low: key(0), High: key(id)})
				r.Low = key(id + 1)
			}
		case Lt:
			r.High = key(math.Ceil(id))
		case Lte:
			r.High = key(math.Floor(id) + 1)
		case Gt:
			r.Low = key(math.Floor(id) + 1)
		case Gte:
			r.Low = key(math.Ceil(id))
		}
		src.ranges = append(src.ranges, r)
	}
	slices.SortFunc(src.ranges, func(x, y query.Range) int { return bytes.Compare(x.Low, y.Low) })
	src.ranges = slices.CompactFunc(src.ranges, func(x, y query.Range) bool { return bytes.Equal(x.Low, y.Low) })
	return src
}

// everyID returns the source of all rows.
func (f *finder) everyID() *source {
	src := f.idSource(Compare{Attr: f.bound.system.id, Op: NotNull})
	src.ranges[0].Entries = f.rows()
	return src
}

// documentSource returns a source that looks up documents by documentId.
func (f *finder) documentSource(c Compare) *source {
	negate := c.Op == Ne || c.Op == NotIn
	if c.Op != Eq && c.Op != In && !negate || slices.Contains(c.Values, nil) {
		return nil
	}
	find := func() docList {
		list := newDocList(len(c.Values))
		for _, v := range c.Values {
			if id, ok := v.(string); ok {
				if doc, ok := f.snap.Document(f.query.Type, id); ok {
					list.add(doc)
				}
			}
		}
		return list
	}
	if !negate {
		return &source{rows: len(c.Values), cost: len(c.Values), exact: true, loose: true, find: find}
	}
	return &source{rows: f.rows(), cost: f.rows(), exact: true, find: func() docList {
		not := find()
		return minus(f.all(), not.set())
	}}
}

// minus returns the documents of all that are not in a set. Either may be nil.
func minus(all, set *docSet) docList {
	if all == nil || set == nil {
		return docList{unfit: true}
	}
	return docList{whole: roaring.AndNot(all, set)}
}

// eitherSource returns a source that finds the rows of each filter in a list by a source of its own; nil if one of them
// has none. Of an empty list, which no row meets, it finds none.
func (f *finder) eitherSource(list Or) *source {
	branches := make([]*finder, len(list))
	src := &source{exact: true}
	for i, filter := range list {
		q := *f.query
		q.Filter, q.Sort, q.Offset, q.Limit = filter, nil, 0, -1
		branches[i] = f.snap.finder(&q, f.slot)
		branches[i].size = f.size
		best := branches[i].best()
		if best == nil {
			return nil
		}
		src.rows, src.cost = src.rows+best.rows, src.cost+branches[i].setCost()
	}
	src.find = func() docList {
		either := roaring.New()
		for _, b := range branches {
			docs := b.match().docs()
			set := docs.set()
			if set == nil {
				return docs
			}
			either.Or(set)
		}
		return docList{whole: either}
	}
	return src
}

// An indexWalk goes through a range of an index in order of value, and by id among equal values. The index holds only
// the beginning of a long text, so the walk sorts each group of texts with the same beginning by the texts in their
// rows.
type indexWalk struct {
	indexOrder
	f      *finder
	cursor *indexCursor
	yield  func(doc uint64) bool
}

// value returns the encoded value in an index key.
func value(key []byte) []byte { return key[format.SpaceLen : len(key)-8] }

// below and above report whether a key is below the end of the range, and not before its beginning.
func (w *indexWalk) below(key []byte) bool { return key != nil && bytes.Compare(key, w.High) < 0 }
func (w *indexWalk) above(key []byte) bool { return key != nil && bytes.Compare(key, w.Low) >= 0 }

// group returns the key prefix of all entries with the same value as key. In the index of ids, each entry is its own
// group.
func (w *indexWalk) group(key []byte) []byte {
	if w.attr.Type == contenttypes.ID {
		return key
	}
	return key[:len(key)-8]
}

func (w *indexWalk) ascend(skip int) {
	s := w.f.snap
	s.stats.seeks++
	var k, v []byte
	if skip == 0 {
		k, v = w.cursor.Seek(w.Low)
	} else {
		first := s.rank(w.Low)
		if k, v = s.kth(w.cursor, w.space, first+skip); !w.below(k) {
			return
		}
		skip = 0
		if format.IsCut(value(k)) {
			begin := slices.Clone(w.group(k))
			skip = s.rank(k) - s.rank(begin)
			k, v = w.cursor.Seek(begin)
		}
	}
	for w.below(k) && s.step() {
		if format.IsCut(value(k)) {
			g := slices.Clone(w.group(k))
			if !w.sorted(g, skip) {
				return
			}
			skip = 0
			k, v = w.cursor.Seek(format.Successor(g))
			continue
		}
		s.stats.entries++
		if !w.yield(be.Uint64(v)) {
			return
		}
		k, v = w.cursor.Next()
	}
}

func (w *indexWalk) descend(skip int) {
	s := w.f.snap
	end := s.rank(w.High)
	last := end - 1 - skip
	if last < s.rank(w.Low) {
		return
	}
	k, _ := s.kth(w.cursor, w.space, last)
	// Values come in descending order, but the ids of one value in ascending order: find where to begin in the group of
	// the first value.
	begin := slices.Clone(w.group(k))
	first, after := s.rank(begin), s.rank(format.Successor(begin))
	skip -= end - min(after, end)
	if !w.forward(begin, max(0, skip), first) {
		return
	}
	k, v := w.before(begin)
	var one []byte
	for w.above(k) && s.step() {
		one = append(one[:0], k...)
		ownDoc, g := be.Uint64(v), w.group(one)
		k, v = w.cursor.Prev()
		s.stats.entries++
		if !format.IsCut(value(one)) && (k == nil || !bytes.HasPrefix(k, g)) {
			if !w.yield(ownDoc) {
				return
			}
			continue
		}
		if !w.forward(g, 0, -1) {
			return
		}
		k, v = w.before(g)
	}
}

// before moves the cursor to the last entry before a group.
func (w *indexWalk) before(g []byte) (k, v []byte) {
	w.f.snap.stats.seeks++
	if k, _ := w.cursor.Seek(g); k == nil {
		return w.cursor.Last()
	}
	return w.cursor.Prev()
}

// forward yields the entries of a group in order of id, without the first skip of them. first is the number of entries
// before the group; it is used only if skip is positive.
func (w *indexWalk) forward(g []byte, skip, first int) bool {
	s := w.f.snap
	s.stats.seeks++
	k, v := w.cursor.Seek(g)
	if k != nil && format.IsCut(value(k)) {
		return w.sorted(g, skip)
	}
	if skip > 0 {
		k, v = s.kth(w.cursor, w.space, first+skip)
	}
	for ; bytes.HasPrefix(k, g) && s.step(); k, v = w.cursor.Next() {
		s.stats.entries++
		if !w.yield(be.Uint64(v)) {
			return false
		}
	}
	return true
}

// sorted yields a group of cut texts in the order of the full texts in their rows, without the first skip of them.
func (w *indexWalk) sorted(g []byte, skip int) bool {
	type member struct {
		doc, id uint64
		text    []byte
	}
	var members []member
	k, v := w.cursor.Seek(g)
	for ; bytes.HasPrefix(k, g); k, v = w.cursor.Next() {
		doc := be.Uint64(v)
		r := w.f.snap.row(w.f.bound, w.f.slot, doc)
		members = append(members, member{doc, r.ID(), format.Unquote(r.JSON(w.attr))})
	}
	slices.SortFunc(members, func(x, y member) int {
		c := bytes.Compare(x.text, y.text)
		if w.desc {
			c = -c
		}
		return cmp.Or(c, cmp.Compare(x.id, y.id))
	})
	for _, m := range cut(members, skip, -1) {
		if !w.yield(m.doc) {
			return false
		}
	}
	return true
}
