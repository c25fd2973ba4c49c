package store

import (
	"math"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"

	"lectern/contenttypes"
	"lectern/store/evolve"
	"lectern/store/internal/format"
	"lectern/store/internal/query"
)

// textSource returns a source for a comparison of a part of a text, nil if there is none or if walking over walked
// index entries, as another source does, is cheaper. The source lists rows that may meet the comparison.
func (f *finder) textSource(c Compare, meets cond, walked int) *source {
	if !evolve.HasText(c.Attr) || len(c.Values) != 1 || c.Op == StartsWith { // of which the index of values is ordered
		return nil
	}
	text, ok := c.Values[0].(string)
	if !ok {
		return nil
	}
	ranges := f.textRanges(c.Attr, c.Op, text)
	if ranges == nil {
		return nil
	}
	listed := f.listedRows()
	cost := ranges[0].Entries + len(listed)
	if cost*rowCost >= walked {
		return nil
	}
	return &source{rows: cost, cost: cost, loose: true, find: func() docList {
		return f.textDocs(ranges, listed, meets)
	}}
}

// maxTrigrams is how many trigrams of a text that is looked for are counted at most.
const maxTrigrams = 16

// textRanges returns a range of index entries for each part that a text must have (see query.TextParts), the shortest
// first.
func (f *finder) textRanges(a *contenttypes.Attribute, op Op, text string) []query.Range {
	parts, ok := query.TextParts(op, text)
	if !ok {
		return nil
	}
	space := textSpace(f.bound.number, f.bound.fields[a.Index], f.slot)
	step := (len(parts) + maxTrigrams - 1) / maxTrigrams
	ranges := make([]query.Range, 0, min(len(parts), maxTrigrams))
	keys := make([]byte, 0, cap(ranges)*(len(space)+3))
	for i := 0; i < len(parts); i += step {
		at := len(keys)
		keys = append(append(keys, space...), parts[i]...)
		r := query.Range{Low: keys[at:len(keys):len(keys)]}
		r.High = format.Successor(r.Low)
		r.Entries = f.snap.countRange(r)
		ranges = append(ranges, r)
		if r.Entries <= fewEntries {
			break // no other part is worth a search
		}
	}
	slices.SortStableFunc(ranges, func(x, y query.Range) int { return x.Entries - y.Entries })
	return ranges
}

// listedRows returns the documents of the slot whose rows are on the list of texts to be indexed.
func (f *finder) listedRows() []uint64 {
	slot := be.AppendUint16(be.AppendUint16(nil, f.bound.number), uint16(f.slot))
	docs := make([]uint64, 0, 64)
	f.snap.eachListed(slot, func(k, _ []byte) bool {
		docs = append(docs, be.Uint64(k[len(slot):]))
		return true
	})
	return docs
}

// textDocs returns the documents that have an entry in every range, as far as it is cheaper to look there than in the
// rows, and those on the list whose rows meet the condition.
func (f *finder) textDocs(ranges []query.Range, listed []uint64, meets cond) docList {
	docs := f.inTexts(ranges[0])
	for _, r := range ranges[1:] {
		if n := docs.size(); n == 0 || r.Entries > n*rowCost {
			break
		}
		others := f.inTexts(r)
		set, other := docs.set(), others.set()
		if set == nil || other == nil {
			return docList{unfit: true}
		}
		docs = docList{whole: roaring.And(set, other)}
	}
	for _, doc := range listed {
		switch r := f.snap.row(f.bound, f.slot, doc); {
		case !r.Exists() || !meets.holds(f.snap, r):
		case docs.whole == nil || doc > math.MaxUint32:
			docs.add(doc)
		default:
			docs.whole.Add(uint32(doc))
		}
	}
	return docs
}

// inTexts returns the documents that have an entry in a range of a text index.
func (f *finder) inTexts(r query.Range) docList {
	docs := newDocList(r.Entries)
	c := f.snap.takeIndex()
	defer f.snap.give(format.Index, c.c)
	f.snap.stats.seeks++
	f.snap.stats.entries += uint64(r.Entries)
	f.snap.stats.texts += uint64(r.Entries)
	c.Each(r.Low, r.Entries, func(_, doc []byte) bool {
		docs.add(be.Uint64(doc))
		return f.snap.step()
	})
	return docs
}

// searchSource returns a source for a search in several attributes: the rows that the text index of any of them lists,
// and those of the values of enumerations that have the text.
func (f *finder) searchSource(c Search) *source {
	either := make(Or, len(c.Attrs))
	for i, a := range c.Attrs {
		if !evolve.HasText(a) && a.Type != contenttypes.Enumeration {
			return nil
		}
		either[i] = Compare{Attr: a, Op: ContainsI, Values: []any{c.Text}}
	}
	return f.eitherSource(either)
}
