package store

import (
	"bytes"
	"math"
	"slices"

	"lectern/contenttypes"
	"lectern/store/evolve"
	"lectern/store/internal/format"
	"lectern/store/internal/plan"
)

// A source lists the rows of one slot that meet, or may meet, one condition (conjunct) of a filter, without reading all rows.
type source struct {
	conjunct int
	ranges   []plan.Range           // ranges of index entries to walk over
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

// fewEntries is the maximum number of entries of a range that are counted one by one. A longer range is counted by rank.
const fewEntries = 32

// countRange returns the number of index entries in a range.
func (s *Snapshot) countRange(r plan.Range) int {
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
	b := plan.RangeBuilder{Space: f.space(c.Attr), Type: c.Attr.Type, Exact: true}
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
		src.ranges = []plan.Range{{Low: key(0), High: key(math.Inf(1))}}
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
		r := plan.Range{Low: key(0), High: key(math.Inf(1))}
		switch c.Op {
		case Eq, In:
			if id != math.Trunc(id) {
				continue
			}
			r = plan.Range{Low: key(id), High: key(id + 1)}
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
	slices.SortFunc(src.ranges, func(x, y plan.Range) int { return bytes.Compare(x.Low, y.Low) })
	src.ranges = slices.CompactFunc(src.ranges, func(x, y plan.Range) bool { return bytes.Equal(x.Low, y.Low) })
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
