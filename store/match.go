package store

import (
	"bytes"
	"slices"

	"lectern/store/internal/format"
)

// A found holds the rows of a slot that match: as sets of documents if sets is not nil, otherwise as hits in no
// particular order.
type found struct {
	hits []hit
	sets docSets
}

// size returns how many rows were found.
func (x found) size() int {
	if x.sets != nil {
		return x.sets.size()
	}
	return len(x.hits)
}

// docs returns the documents.
func (x found) docs() docList {
	if x.sets != nil {
		return docList{whole: x.sets.one()}
	}
	list := newDocList(len(x.hits))
	for _, h := range x.hits {
		list.add(h.doc)
	}
	return list
}

// members returns the documents, to ask whether one is among them. There must be one at least.
func (x found) members() members {
	if x.sets != nil {
		return x.sets
	}
	marks := marksFor(x.hits)
	for _, h := range x.hits {
		marks.add(h.doc)
	}
	return marks
}

// hits returns a hit for each row.
func (f *finder) hits(x found) []hit {
	if x.sets == nil {
		return x.hits
	}
	return f.hitsOf(x.docs())
}

// hitsOf returns hits for those of some documents that have a row in the slot.
func (f *finder) hitsOf(docs docList) []hit {
	hits := make([]hit, 0, docs.size())
	f.eachOf(docs, func(r Record) { hits = append(hits, f.load(hit{id: r.ID(), doc: r.doc, slot: f.slot}, r)) })
	return hits
}

// eachOf calls yield with the rows that some documents have in the slot.
func (f *finder) eachOf(docs docList, yield func(Record)) {
	docs.each(func(doc uint64) bool {
		if r := f.snap.row(f.bound, f.slot, doc); r.Exists() {
			yield(r)
		}
		return f.snap.step()
	})
}

// fewHits is the cost of a source up to which its rows are listed one by one. Those of others are found as sets, so
// that several can be intersected before rows are read. Only tests change it.
var fewHits = 1024

// gather returns all rows of the slot that match, in no particular order.
func (f *finder) gather() []hit { return f.hits(f.match()) }

// match finds all rows of the slot that match.
func (f *finder) match() found {
	src := f.best()
	if src != nil && max(src.cost, src.rows) <= fewHits {
		return found{hits: f.few(src)}
	}
	if len(f.conds) > 1 || src == nil {
		if set := f.kept(f.filters); set != nil {
			f.took(Intersection)
			return found{sets: docSets{set}}
		}
	}
	if src == nil || src.cost > f.rows()*rowCost {
		return f.scanned()
	}
	return f.intersection()
}

// scanned is match for a filter that no source helps with.
func (f *finder) scanned() found {
	f.took(FullScan)
	x := found{hits: f.scan()}
	if f.keeps(f.rows()) {
		docs := x.docs()
		f.keep(f.filters, docs.set())
	}
	return x
}

// few is match if the cheapest source has few rows.
func (f *finder) few(src *source) []hit {
	kind := CheapestSource
	hits := f.list(src)
	src.decided = src.exact && !slices.ContainsFunc(hits, func(h hit) bool { return h.unsure })
	for _, other := range f.sources[1:] {
		if len(hits) > 0 && other.cost <= len(hits)*rowCost {
			if listed := f.decide(hits, other); listed != nil {
				other.decided, kind = true, Intersection
				hits = slices.DeleteFunc(hits, func(h hit) bool { return !listed.has(h.doc) })
			}
		}
	}
	f.took(kind)
	if rest := f.rest(); len(rest) > 0 {
		return f.test(hits, rest)
	}
	return hits
}

// decide returns which documents of the hits a source lists. It returns nil if the source does not decide its conjunct
// for every row.
func (f *finder) decide(hits []hit, src *source) members {
	if src.set != nil || src.find != nil {
		set, exact := f.setOf(src)
		if set == nil || !exact {
			return nil
		}
		return docSets{set}
	}
	if !src.exact {
		return nil
	}
	marks, sure := marksFor(hits), true
	f.eachEntry(src, func(h hit) { marks.add(h.doc); sure = sure && !h.unsure })
	if !sure {
		return nil
	}
	return marks
}

// rest returns the conditions that no source has decided.
func (f *finder) rest() (rest allOf) {
	for i, c := range f.conds {
		if !slices.ContainsFunc(f.sources, func(src *source) bool { return src.decided && src.conjunct == int32(i) }) {
			rest = append(rest, c)
		}
	}
	return rest
}

// keptWorth is how many times as much as a test of the rows the set of a source may cost, since it is kept, for all
// queries with the same condition.
const keptWorth = 4

// intersection is match if the cheapest source has many rows: it intersects what sources find as sets, and reads the
// rows that are left for the other conditions.
func (f *finder) intersection() found {
	var sets docSets
	loose, left, cost := true, f.rows(), 0
	for _, src := range f.sources {
		if len(sets) > 0 && src.cost > left*f.testCost()*keptWorth {
			break
		}
		set, exact := f.setOf(src)
		if set == nil {
			return f.scanned()
		}
		sets = append(sets, set)
		src.decided = exact
		loose = loose && src.loose
		left, cost = min(left, int(set.GetCardinality())), cost+src.cost
	}
	f.took(Intersection)
	rest := f.rest()
	if len(rest) == 0 && loose {
		all := f.all()
		if all == nil {
			return f.scanned()
		}
		sets = append(sets, all)
	}
	if len(rest) == 0 {
		return found{sets: sets}
	}
	list := newDocList(left)
	f.eachOf(docList{whole: sets.one()}, func(r Record) {
		if rest.holds(f.snap, r) {
			list.add(r.doc)
		}
	})
	set := list.set()
	if f.keeps(cost + left*rowCost) {
		f.keep(f.filters, set)
	}
	return found{sets: docSets{set}}
}

// test reads the rows of hits and returns the hits whose row meets all conditions.
func (f *finder) test(hits []hit, conds allOf) []hit {
	kept := hits[:0]
	for _, h := range hits {
		if !f.snap.step() {
			break
		}
		r := f.record(h)
		if conds.holds(f.snap, r) {
			kept = append(kept, f.load(h, r))
		}
	}
	return kept
}

// list returns the hits of a source.
func (f *finder) list(src *source) []hit {
	if src.set != nil {
		return f.hitsOf(docList{whole: src.set})
	}
	if src.find != nil {
		docs := src.find()
		if docs.unfit {
			return f.scan()
		}
		return f.hitsOf(docs)
	}
	var hits []hit
	if src.test == nil { // a test may leave few of the entries
		hits = make([]hit, 0, min(src.cost, 1<<16))
	}
	f.eachEntry(src, func(h hit) { hits = append(hits, h) })
	return hits
}

// setOf returns the documents that a source lists, nil if their numbers are too large for a set. exact says that all of
// them that have a row in the slot meet the conjunct.
func (f *finder) setOf(src *source) (set *docSet, exact bool) {
	if src.set != nil {
		return src.set, src.exact
	}
	exact = src.exact
	if src.find != nil {
		docs := src.find()
		set = docs.set()
	} else {
		list := newDocList(src.cost)
		f.eachEntry(src, func(h hit) {
			list.add(h.doc)
			exact = exact && !h.unsure
		})
		set = list.set()
	}
	if set != nil && exact && f.keeps(src.cost) {
		if src.loose {
			if all := f.all(); all != nil {
				set = docSets{set, all}.one()
			}
		}
		f.keep(f.filters[src.conjunct:src.conjunct+1], set)
	}
	src.set = set
	return set, exact
}

// all returns the documents that have a row in the slot; nil if their numbers are too large for a set.
func (f *finder) all() *docSet {
	if set := f.kept(nil); set != nil {
		return set
	}
	list := newDocList(f.rows())
	f.eachEntry(f.everyID(), func(h hit) { list.add(h.doc) })
	set := list.set()
	if set != nil && f.keeps(f.rows()) {
		f.keep(nil, set)
	}
	return set
}

// eachEntry calls yield with the entries in the ranges of a source that pass its test.
func (f *finder) eachEntry(src *source, yield func(hit)) {
	c := f.snap.takeIndex()
	defer f.snap.give(format.Index, c.c)
	for _, r := range src.ranges {
		f.snap.stats.seeks++
		f.snap.stats.entries += uint64(r.Entries)
		c.Each(r.Low, r.Entries, func(k, doc []byte) bool {
			ord := k[format.SpaceLen : len(k)-8]
			unsure := format.IsCut(ord)
			if src.test == nil || unsure || src.test(format.OrderedText(ord)) {
				unsure = unsure && (src.test != nil || !src.exact)
				yield(hit{id: be.Uint64(k[len(k)-8:]), doc: be.Uint64(doc), slot: f.slot, unsure: unsure})
			}
			return f.snap.step()
		})
	}
}

// scan reads all rows of the slot and returns those that meet all conditions.
func (f *finder) scan() []hit {
	var hits []hit
	all := f.conds
	prefix := be.AppendUint16(be.AppendUint16(nil, f.bound.number), uint16(f.slot))
	c := f.snap.take(format.Rows)
	defer f.snap.give(format.Rows, c)
	f.snap.stats.seeks++
	for k, v := c.Seek(prefix); bytes.HasPrefix(k, prefix) && f.snap.step(); k, v = c.Next() {
		r := f.snap.record(f.slot, be.Uint64(k[len(k)-8:]), v)
		if all.holds(f.snap, r) {
			hits = append(hits, hit{id: r.ID(), doc: r.doc, slot: f.slot})
		}
	}
	return hits
}
