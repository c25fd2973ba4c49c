package store

import (
	"bytes"
	"cmp"
	"math"
	"slices"

	"lectern/contenttypes"
	"lectern/store/evolve"
	"lectern/store/internal/format"
	"lectern/store/internal/query"
)

// A source lists the rows of one slot that meet, or may meet, one condition (conjunct) of a filter, without reading all
// rows.
type source struct {
	conjunct int
	ranges   []query.Range          // ranges of index entries to walk over
	cost     int                    // how many entries must be walked over
	test     func(text []byte) bool // tests the indexed text, if the range alone does not decide
	exact    bool                   // all listed rows meet the conjunct, except those marked unsure
	sorted   bool                   // there is one range, and its entries are in order of id
	load     func() []hit           // finds the rows without the index, by documentIds or links
}

// A hit is a row that a source found. Its record may not have been read yet.
type hit struct {
	id, doc uint64
	loaded  int32 // one more than its position in the finder's records; 0 if it was not read
	slot    format.Slot
	unsure  bool // the index could not decide; the conjunct must be tested on the row
}

// source returns a source for conjunct i, or nil if the conjunct has none.
func (f *finder) source(i int) *source {
	var src *source
	switch c := f.filters[i].(type) {
	case Compare:
		src = f.compareSource(c)
	case Through:
		src = f.throughSource(f.conds[i].(*someTarget))
	case Or:
		src = f.eitherSource(c)
	}
	if src == nil {
		return nil
	}
	src.conjunct = i
	for i := range src.ranges {
		src.ranges[i].Entries = f.snap.countRange(src.ranges[i])
		src.cost += src.ranges[i].Entries
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

func (f *finder) compareSource(c Compare) *source {
	switch {
	case c.Attr.Type == contenttypes.DocumentID:
		return f.documentSource(c)
	case c.Attr.Type == contenttypes.ID:
		return f.idSource(c)
	case !evolve.HasIndex(c.Attr):
		return nil
	}
	b := query.RangeBuilder{Space: f.space(c.Attr), Type: c.Attr.Type, Exact: true}
	if !b.Add(c) {
		return nil
	}
	return &source{ranges: b.Ranges, exact: b.Exact, test: b.Test, sorted: b.Sorted}
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
	case Eq, In, Lt, Lte, Gt, Gte:
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

// documentSource returns a source that looks up documents by documentId.
func (f *finder) documentSource(c Compare) *source {
	if c.Op != Eq && c.Op != In {
		return nil
	}
	return &source{cost: len(c.Values), exact: true, load: func() []hit {
		var hits []hit
		seen := map[uint64]bool{}
		for _, v := range c.Values {
			id, ok := v.(string)
			if !ok {
				continue
			}
			if doc, ok := f.snap.Document(f.query.Type, id); ok && !seen[doc] {
				seen[doc] = true
				hits = f.appendDoc(hits, doc)
			}
		}
		return hits
	}}
}

func (f *finder) appendDoc(hits []hit, doc uint64) []hit {
	r := f.snap.row(f.bound, f.slot, doc)
	if !r.Exists() {
		return hits
	}
	return append(hits, f.load(hit{id: r.ID(), doc: doc, slot: f.slot}, r))
}

// maxDriven is the maximum cost of a source of targets whose links are followed back. At a higher cost, the relation is
// tested row by row.
const maxDriven = 4096

// throughSource returns a source that finds the targets first, by one of their indexes, and follows their links back to
// the rows.
func (f *finder) throughSource(c *someTarget) *source {
	a := c.attr
	if a.System || !a.IsRelation() || a.Target == nil || a.IsMorph() || !f.query.Type.Localized && a.Target.Localized {
		return nil
	}
	if len(c.all.conds) == 0 || c.cond.holds(f.snap, Record{}) {
		return nil // the filter also matches rows without a target, which no link leads to
	}
	shows := c.targetStatus()
	status := shows
	if !a.Target.DraftAndPublish {
		status = Published
	}
	locale := uint16(0)
	if a.Target.Localized {
		locale = f.slot.Locale()
	}
	target := f.snap.finder(&Query{Type: a.Target, Status: shows, Limit: -1}, format.NewSlot(locale, status))
	target.conjunction = c.all.and(c.seen)
	best := target.best()
	if best == nil || best.cost > maxDriven {
		return nil
	}
	return &source{cost: 4 * best.cost, exact: true, load: func() []hit { return f.back(a, target.query.Status, target.gather()) }}
}

// back follows links from targets, which were found for a request for status, to the rows of f's slot that point at
// them.
func (f *finder) back(a *contenttypes.Attribute, status Status, targets []hit) []hit {
	owning, sd, set := linksOf(a, linksFor(a, f.query.Status, status))
	sd = 1 - sd // the side of the relation on which the targets are
	var hits []hit
	seen := map[uint64]bool{}
	targetSchema := f.snap.bound.of(&a.Target.Schema).number
	for _, t := range targets {
		r := format.End{Schema: targetSchema, Locale: t.slot.Locale(), Doc: t.doc}
		f.snap.eachLink(owning, sd, set, r, func(other format.End, _, _ uint64) bool {
			if other.Schema == f.bound.number && other.Locale == f.slot.Locale() && !seen[other.Doc] {
				seen[other.Doc] = true
				hits = f.appendDoc(hits, other.Doc)
			}
			return true
		})
	}
	return hits
}

// eitherSource returns a source that finds the rows of each filter in a list by a source of its own; nil if one of them
// has none. Of an empty list, which no row meets, it finds none.
func (f *finder) eitherSource(list Or) *source {
	branches := make([]*finder, len(list))
	src := &source{exact: true}
	for i, filter := range list {
		q := *f.query
		q.Filter = filter
		branches[i] = f.snap.finder(&q, f.slot)
		best := branches[i].best()
		if best == nil {
			return nil
		}
		src.cost += best.cost
	}
	src.load = func() []hit {
		var hits []hit
		seen := map[uint64]bool{}
		for _, b := range branches {
			for _, h := range b.gather() {
				if seen[h.doc] {
					continue
				}
				seen[h.doc] = true
				found := hit{id: h.id, doc: h.doc, slot: h.slot}
				if h.loaded > 0 {
					found = f.load(found, b.record(h))
				}
				hits = append(hits, found)
			}
		}
		return hits
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

// A docSet is a set of document numbers, stored as one bit for each.
type docSet struct {
	base uint64
	bits []uint64
}

func newDocSet(hits []hit) *docSet {
	if len(hits) == 0 {
		return &docSet{}
	}
	low, high := hits[0].doc, hits[0].doc
	for _, h := range hits {
		low, high = min(low, h.doc), max(high, h.doc)
	}
	s := emptyDocSet(low, high)
	for _, h := range hits {
		s.add(h.doc)
	}
	return s
}

// emptyDocSet returns a set that can hold the numbers from low to high.
func emptyDocSet(low, high uint64) *docSet {
	return &docSet{base: low, bits: make([]uint64, (high-low)/64+1)}
}

// add adds a document. Numbers that the set cannot hold are ignored.
func (s *docSet) add(doc uint64) {
	if i := (doc - s.base) / 64; i < uint64(len(s.bits)) {
		s.bits[i] |= 1 << ((doc - s.base) % 64)
	}
}

func (s *docSet) has(doc uint64) bool {
	i := (doc - s.base) / 64 // numbers below the base wrap around to beyond the end
	return i < uint64(len(s.bits)) && s.bits[i]&(1<<((doc-s.base)%64)) != 0
}
