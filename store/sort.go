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
	keyed, keys := make([]keyedHit, len(hits)), f.snap.sorter(q.Sort, q.Status)
	for i, h := range hits {
		r := f.record(h)
		keyed[i] = keyedHit{f.load(h, r), keys.of(r)}
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

// sort puts records at hand into order, ties by id.
func (s *sorter) sort(list []Record) {
	type keyed struct {
		Record
		keys [][]byte
	}
	all := make([]keyed, len(list))
	for i, r := range list {
		all[i] = keyed{r, s.of(r)}
	}
	slices.SortStableFunc(all, func(x, y keyed) int { return cmp.Or(compareKeys(x.keys, y.keys, s.keys), cmp.Compare(x.ID(), y.ID())) })
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

// A sorter makes the keys by which rows are put in order.
type sorter struct {
	snap   *Snapshot
	keys   []SortKey
	status Status
	// known are the values of targets from which the path goes on to others. Where paths lead in circles they would else be looked
	// for once for each way that leads to a target.
	known map[sortTarget][]byte
}

// A sortTarget is a target at a place of the path of a key.
type sortTarget struct {
	key, place int
	target     ref
}

// maxKnown bounds what a sorter remembers.
const maxKnown = 1 << 18

func (s *Snapshot) sorter(keys []SortKey, status Status) *sorter {
	return &sorter{snap: s, keys: keys, status: status}
}

// of returns the keys of a row.
func (s *sorter) of(r Record) [][]byte {
	list := make([][]byte, len(s.keys))
	for i := range s.keys {
		list[i] = s.value(r, i, 0)
	}
	return list
}

// value is what stands at the end of a key's path, from a place in it on, encoded so that its bytes order; of several the least,
// or the greatest.
func (s *sorter) value(r Record, key, place int) []byte {
	k := &s.keys[key]
	a := k.Path[place]
	if place == len(k.Path)-1 {
		return appendSortable(nil, a.Type, r.JSON(a))
	}
	var chosen []byte
	choose := func(v []byte) {
		if chosen == nil || (bytes.Compare(v, chosen) > 0) == k.Desc {
			chosen = v
		}
	}
	visit := func(target Record) bool {
		choose(s.value(target, key, place+1))
		return true
	}
	switch {
	case !r.Exists():
	case !a.IsRelation():
		r.Each(a, visit)
	case a.System || place == len(k.Path)-2:
		s.snap.Related(r, a, s.status, visit)
	default:
		s.snap.eachTarget(r, a, s.status, func(other ref) bool {
			if v := s.target(other, key, place+1); v != nil {
				choose(v)
			}
			return true
		})
	}
	if chosen == nil {
		return []byte{ordNull}
	}
	return chosen
}

// target is the value of a linked document, nil where it has no version to show.
func (s *sorter) target(r ref, key, place int) []byte {
	at := sortTarget{key, place, r}
	v, known := s.known[at]
	if known {
		return v
	}
	if target := s.snap.shown(r, s.status); target.Exists() {
		v = s.value(target, key, place)
	}
	if s.known == nil {
		s.known = map[sortTarget][]byte{}
	}
	if len(s.known) < maxKnown {
		s.known[at] = v
	}
	return v
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
	all, offset, limit := f.conds, f.query.Offset, f.query.Limit
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
