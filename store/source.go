package store

import (
	"bytes"
	"math"
	"slices"

	"lectern/contenttypes"
	"lectern/store/evolve"
	"lectern/store/internal/format"
)

// A source lists the rows of one slot that meet, or may meet, one condition (conjunct) of a filter, without reading all rows.
type source struct {
	conjunct int
	ranges   []keyRange             // ranges of index entries to walk over
	cost     int                    // how many entries must be walked over
	test     func(text []byte) bool // tests the indexed text, if the range alone does not decide
	exact    bool                   // all listed rows meet the conjunct, except those marked unsure
	sorted   bool                   // there is one range, and its entries are in order of id
	load     func() []hit           // finds the rows without the index, by documentIds or links
}

// A keyRange is the range of index keys with low ≤ key < high.
type keyRange struct {
	low, high []byte
	entries   int // the number of entries in the range, once counted
}

// A hit is a row that a source found. Its record may not have been read yet.
type hit struct {
	id, doc uint64
	loaded  int32 // one more than its position in the finder's records; 0 if it was not read
	slot    format.Slot
	unsure  bool // the index could not decide; the conjunct must be tested on the row
}

// conjuncts splits a filter into conditions that must all hold.
func conjuncts(f Filter) []Filter {
	and, ok := f.(And)
	if !ok {
		if f == nil {
			return nil
		}
		return []Filter{f}
	}
	var list []Filter
	for _, x := range and {
		list = append(list, conjuncts(x)...)
	}
	return list
}

// source returns a source for conjunct i, or nil if the conjunct has none.
func (f *finder) source(i int) *source {
	var src *source
	switch c := f.filters[i].(type) {
	case Compare:
		src = f.compareSource(c)
	case Through:
		src = f.throughSource(f.conds[i].(*someTarget))
	}
	if src == nil {
		return nil
	}
	src.conjunct = i
	for i := range src.ranges {
		src.ranges[i].entries = f.snap.countRange(src.ranges[i])
		src.cost += src.ranges[i].entries
	}
	return src
}

// fewEntries is the maximum number of entries of a range that are counted one by one. A longer range is counted by rank.
const fewEntries = 32

// countRange returns the number of index entries in a range.
func (s *Snapshot) countRange(r keyRange) int {
	c := indexCursor{c: s.cursor(format.Index)}
	s.stats.seeks++
	k, _ := c.Seek(r.low)
	for n := range fewEntries {
		if k == nil || bytes.Compare(k, r.high) >= 0 {
			return n
		}
		k, _ = c.Next()
	}
	return s.rank(r.high) - s.rank(r.low)
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
	b := rangeBuilder{space: f.space(c.Attr), typ: c.Attr.Type, exact: true}
	if !b.add(c) {
		return nil
	}
	return &source{ranges: b.ranges, exact: b.exact, test: b.test, sorted: b.sorted}
}

// rangeBuilder turns a comparison into ranges of an index.
type rangeBuilder struct {
	space  []byte
	typ    contenttypes.Type
	ranges []keyRange
	exact  bool
	sorted bool
	test   func([]byte) bool
}

// end returns a key after all entries of the space. The key begins with the space, as rank requires.
func (b *rangeBuilder) end() []byte { return append(slices.Clone(b.space), format.SpaceEnd...) }

func (b *rangeBuilder) values() keyRange {
	return keyRange{low: append(slices.Clone(b.space), format.OrdValue), high: b.end()}
}

// bounds returns the range of the entries that equal v. cut says that the range may hold other entries too.
func (b *rangeBuilder) bounds(v any) (r keyRange, cut, ok bool) {
	key, ok := format.AppendOrderedValue(slices.Clone(b.space), b.typ, v)
	return keyRange{low: key, high: format.Successor(key)}, format.IsCut(key[format.SpaceLen:]), ok
}

// add adds the ranges of a comparison, and reports whether the comparison can be expressed by ranges.
func (b *rangeBuilder) add(c Compare) bool {
	if c.Op == Null || c.Op == Eq && len(c.Values) == 1 && c.Values[0] == nil {
		null := append(slices.Clone(b.space), format.OrdNull)
		b.ranges, b.sorted = []keyRange{{low: null, high: format.Successor(null)}}, true
		return true
	}
	if c.Op == NotNull {
		b.ranges = []keyRange{b.values()}
		return true
	}
	if slices.Contains(c.Values, nil) && c.Op != In {
		return false
	}
	if test := b.textTest(c); test != nil {
		b.ranges, b.test = []keyRange{b.values()}, test
		return c.Op != StartsWith || b.prefix(c.Values[0].(string))
	}
	switch c.Op {
	case Eq, In:
		return b.equal(c.Values)
	case Lt, Lte, Gt, Gte:
		return b.from(c.Op, c.Values[0])
	case Between:
		return len(c.Values) == 2 && b.between(c.Values[0], c.Values[1])
	}
	return false
}

func (b *rangeBuilder) textTest(c Compare) func([]byte) bool {
	switch b.typ.Kind() {
	case contenttypes.TextValue, contenttypes.EnumValue, contenttypes.DateValue, contenttypes.TimeValue:
		if len(c.Values) == 1 {
			if text, ok := c.Values[0].(string); ok {
				return textTest(c.Op, text)
			}
		}
	}
	return nil
}

// prefix limits a text test to the entries that begin with a text.
func (b *rangeBuilder) prefix(text string) bool {
	if len(text) > format.MaxIndexed {
		text = text[:format.MaxIndexed]
	}
	key := format.AppendText(append(slices.Clone(b.space), format.OrdValue), []byte(text))
	key = key[:len(key)-2]
	b.ranges = []keyRange{{low: key, high: format.Successor(key)}}
	return true
}

func (b *rangeBuilder) equal(values []any) bool {
	for _, v := range values {
		if v == nil {
			continue // null in a list of values matches nothing
		}
		r, cut, ok := b.bounds(v)
		if !ok {
			return false
		}
		b.exact = b.exact && !cut
		b.ranges = append(b.ranges, r)
	}
	slices.SortFunc(b.ranges, func(x, y keyRange) int { return bytes.Compare(x.low, y.low) })
	b.ranges = slices.CompactFunc(b.ranges, func(x, y keyRange) bool { return bytes.Equal(x.low, y.low) })
	b.sorted = len(b.ranges) == 1
	return true
}

func (b *rangeBuilder) from(op Op, v any) bool {
	r, cut, ok := b.bounds(v)
	if !ok {
		return false
	}
	all := b.values()
	b.exact = !cut
	switch op {
	case Lt:
		all.high = r.low
	case Lte:
		all.high = r.high
	case Gt:
		all.low = r.high
	case Gte:
		all.low = r.low
	}
	if cut { // include all entries with the same beginning
		if op == Lt || op == Lte {
			all.high = r.high
		} else {
			all.low = r.low
		}
	}
	b.ranges = []keyRange{all}
	return true
}

func (b *rangeBuilder) between(low, high any) bool {
	l, cutLow, ok := b.bounds(low)
	h, cutHigh, ok2 := b.bounds(high)
	b.exact = !cutLow && !cutHigh
	b.ranges = []keyRange{{low: l.low, high: h.high}}
	return ok && ok2
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
		src.ranges = []keyRange{{low: key(0), high: key(math.Inf(1))}}
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
		r := keyRange{low: key(0), high: key(math.Inf(1))}
		switch c.Op {
		case Eq, In:
			if id != math.Trunc(id) {
				continue
			}
			r = keyRange{low: key(id), high: key(id + 1)}
		case Lt:
			r.high = key(math.Ceil(id))
		case Lte:
			r.high = key(math.Floor(id) + 1)
		case Gt:
			r.low = key(math.Floor(id) + 1)
		case Gte:
			r.low = key(math.Ceil(id))
		}
		src.ranges = append(src.ranges, r)
	}
	slices.SortFunc(src.ranges, func(x, y keyRange) int { return bytes.Compare(x.low, y.low) })
	src.ranges = slices.CompactFunc(src.ranges, func(x, y keyRange) bool { return bytes.Equal(x.low, y.low) })
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

// maxDriven is the maximum cost of a source of targets whose links are followed back. At a higher cost, the relation is tested row by row.
const maxDriven = 4096

// throughSource returns a source that finds the targets first, by one of their indexes, and follows their links back to the rows.
func (f *finder) throughSource(c *someTarget) *source {
	a := c.attr
	if a.System || !a.IsRelation() || a.Target == nil || a.IsMorph() || !f.query.Type.Localized && a.Target.Localized {
		return nil
	}
	if c.cond.holds(f.snap, Record{}) {
		return nil // the filter also matches rows without a target, which no link leads to
	}
	status := f.query.Status
	if !a.Target.DraftAndPublish {
		status = Published
	}
	locale := uint16(0)
	if a.Target.Localized {
		locale = f.slot.Locale()
	}
	target := f.snap.finder(&Query{Type: a.Target, Status: f.query.Status, Limit: -1}, format.NewSlot(locale, status))
	target.conjunction = c.all
	best := target.best()
	if best == nil || best.cost > maxDriven {
		return nil
	}
	return &source{cost: 4 * best.cost, exact: true, load: func() []hit { return f.back(a, target.gather()) }}
}

// back follows links from targets to the rows of f's slot that point at them.
func (f *finder) back(a *contenttypes.Attribute, targets []hit) []hit {
	owning, sd, set := linksOf(a, f.query.Status)
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
