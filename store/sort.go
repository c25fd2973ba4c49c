package store

import (
	"bytes"
	"cmp"
	"slices"

	"lectern/contenttypes"
)

// sortHits puts rows into the order of a query, ties by id. It reads them only where a key is needed for it.
func (f *finder) sortHits(hits []hit) {
	q := f.query
	if len(q.Sort) == 0 {
		slices.SortFunc(hits, func(x, y hit) int { return cmp.Compare(x.id, y.id) })
		return
	}
	keyed := make([]keyedHit, len(hits))
	for i, h := range hits {
		keyed[i] = keyedHit{h, f.snap.sortKeys(f.record(h), q.Sort, q.Status)}
	}
	slices.SortFunc(keyed, func(x, y keyedHit) int {
		if c := compareKeys(x.keys, y.keys, q.Sort); c != 0 {
			return c
		}
		return cmp.Compare(x.id, y.id)
	})
	for i, k := range keyed {
		hits[i] = k.hit
	}
}

type keyedHit struct {
	hit
	keys [][]byte
}

// sortRecords is sortHits for records at hand.
func (s *Snapshot) sortRecords(list []Record, keys []SortKey, status Status) {
	type keyed struct {
		Record
		keys [][]byte
	}
	all := make([]keyed, len(list))
	for i, r := range list {
		all[i] = keyed{r, s.sortKeys(r, keys, status)}
	}
	slices.SortStableFunc(all, func(x, y keyed) int { return cmp.Or(compareKeys(x.keys, y.keys, keys), cmp.Compare(x.ID(), y.ID())) })
	for i, k := range all {
		list[i] = k.Record
	}
}

func compareKeys(x, y [][]byte, keys []SortKey) int {
	for i, k := range keys {
		c := bytes.Compare(x[i], y[i])
		if k.Desc {
			c = -c
		}
		if c != 0 {
			return c
		}
	}
	return 0
}

func (s *Snapshot) sortKeys(r Record, keys []SortKey, status Status) [][]byte {
	list := make([][]byte, len(keys))
	for i, k := range keys {
		list[i] = s.sortKey(r, k.Path, k.Desc, status)
	}
	return list
}

// sortKey is the value at the end of a path, encoded so that its bytes order; of several the least, or the greatest.
func (s *Snapshot) sortKey(r Record, path []*contenttypes.Attribute, greatest bool, status Status) []byte {
	a := path[0]
	if len(path) == 1 {
		return appendSortable(nil, a.Type, r.JSON(a))
	}
	var chosen []byte
	visit := func(target Record) bool {
		k := s.sortKey(target, path[1:], greatest, status)
		if chosen == nil || (bytes.Compare(k, chosen) > 0) == greatest {
			chosen = k
		}
		return true
	}
	switch {
	case !r.Exists():
	case a.IsRelation():
		s.Related(r, a, status, visit)
	default:
		r.Each(a, visit)
	}
	if chosen == nil {
		return []byte{ordNull}
	}
	return chosen
}

// appendSortable is appendOrdered without the cutting of long texts.
func appendSortable(b []byte, t contenttypes.Type, raw []byte) []byte {
	if raw != nil && raw[0] == '"' && t != contenttypes.BigInteger && t != contenttypes.DateTime {
		return append(append(b, ordValue), unquote(raw)...)
	}
	return appendOrdered(b, t, raw)
}

// indexOrder is a walk through an index: ascending, or descending with ties still ascending by id.
type indexOrder struct {
	attr  *contenttypes.Attribute
	space []byte
	keyRange
	desc bool
}

// walk reads the rows of a page in the order of an index, those in set alone when it is given.
func (f *finder) walk(o indexOrder, offset, limit int, set *docSet) []Record {
	var list []Record
	if limit >= 0 {
		list = make([]Record, 0, min(limit, 1024))
	}
	skip := 0
	if set == nil {
		offset, skip = 0, offset
	}
	f.eachInOrder(o, skip, func(doc uint64) bool {
		if limit >= 0 && len(list) >= limit {
			return false
		}
		if set != nil && !set.has(doc) {
			return true
		}
		if offset > 0 {
			offset--
			return true
		}
		list = append(list, f.snap.row(f.bound, f.slot, doc))
		return limit < 0 || len(list) < limit
	})
	return list
}

// walkMatching reads rows in the order of an index until the page is full of those that match.
func (f *finder) walkMatching(o indexOrder) []Record {
	all, offset, limit := allOf(f.conds), f.query.Offset, f.query.Limit
	list := make([]Record, 0, min(limit, 1024))
	if limit == 0 {
		return list
	}
	f.eachInOrder(o, 0, func(doc uint64) bool {
		r := f.snap.row(f.bound, f.slot, doc)
		if !all.holds(f.snap, r) {
			return true
		}
		if offset > 0 {
			offset--
			return true
		}
		list = append(list, r)
		return len(list) < limit
	})
	return list
}

// eachInOrder calls yield with the documents in the order of an index, but for the first skip.
func (f *finder) eachInOrder(o indexOrder, skip int, yield func(doc uint64) bool) {
	w := indexWalk{f: f, indexOrder: o, yield: yield}
	w.cursor = f.snap.takeIndex()
	defer f.snap.give(index, w.cursor.c)
	if o.desc {
		w.descend(skip)
	} else {
		w.ascend(skip)
	}
}
