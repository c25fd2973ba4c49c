package store

import (
	"bytes"
	"cmp"
	"slices"

	"lectern/contenttypes"
	"lectern/store/internal/format"
	"lectern/store/internal/query"
)

// sortHits sorts hits in the order of the query, and by id if they are equal. If the query has no sort, it reads no
// rows.
func (f *finder) sortHits(hits []hit) {
	q := f.query
	if len(q.Sort) == 0 {
		slices.SortFunc(hits, func(x, y hit) int { return cmp.Compare(x.id, y.id) })
		return
	}
	keyed, keys := make([]keyedHit, len(hits)), f.snap.sorter(q, q.Status)
	for i, h := range hits {
		if !f.snap.step() {
			return
		}
		r := f.record(h)
		keyed[i] = keyedHit{f.load(h, r), keys.of(r)}
		if f.memory != nil && !f.memory.take(f.snap, keyed[i].keys) {
			return
		}
	}
	slices.SortFunc(keyed, func(x, y keyedHit) int {
		f.snap.step()
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

// sort sorts records by the keys, and by id if they are equal.
func (s *sorter) sort(list []Record) {
	type keyed struct {
		Record
		keys [][]byte
	}
	all := make([]keyed, len(list))
	for i, r := range list {
		all[i] = keyed{r, s.of(r)}
	}
	slices.SortStableFunc(
		all, func(x, y keyed) int { return cmp.Or(compareKeys(x.keys, y.keys, s.keys), cmp.Compare(x.ID(), y.ID())) })
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

// A sorter computes the values by which rows are sorted.
type sorter struct {
	snap   *Snapshot
	keys   []SortKey
	status Status     // of the rows
	limits [2]*limits // of Query.Sight, by the status of the rows
	// known holds the values of targets from which a path goes on, so that each is computed once, although many paths
	// may lead to it.
	known map[sortTarget][]byte
}

// A sortTarget is a target that a key reaches at a position of its path.
type sortTarget struct {
	key, position int
	target        format.End
}

// maxKnown is how many values a sorter remembers at most.
const maxKnown = 1 << 18

// sorter returns the sorter of a query for rows that are shown in a status.
func (s *Snapshot) sorter(q *Query, status Status) *sorter {
	return &sorter{snap: s, keys: q.Sort, status: status,
		limits: [2]*limits{newLimits(q.Sight, Published), newLimits(q.Sight, Draft)}}
}

// of returns the value of a row for each key.
func (s *sorter) of(r Record) [][]byte {
	list := make([][]byte, len(s.keys))
	for i := range s.keys {
		list[i] = s.value(r, s.status, i, 0)
	}
	return list
}

// value follows the path of a key from a position on and returns the value at its end, encoded so that its bytes sort.
// Of several values it returns the least; for a descending key, the greatest. r is shown in a status.
func (s *sorter) value(r Record, status Status, key, position int) []byte {
	k := &s.keys[key]
	a := k.Path[position]
	if position == len(k.Path)-1 {
		return appendSortable(nil, a.Type, r.JSON(a))
	}
	var chosen []byte
	choose := func(v []byte) {
		if chosen == nil || (bytes.Compare(v, chosen) > 0) == k.Desc {
			chosen = v
		}
	}
	var seen *seen
	shows := status
	if l := s.limits[status]; l != nil && a.IsRelation() {
		seen = l.of(a.Target)
		shows = l.statusOf(a.Target)
	}
	visit := func(target Record) bool {
		if seen.sees(s.snap, target) {
			choose(s.value(target, shows, key, position+1))
		}
		return true
	}
	switch {
	case !r.Exists():
	case !a.IsRelation():
		r.Each(a, visit)
	case a.System || seen == nil && position == len(k.Path)-2:
		s.snap.Related(r, a, status, visit)
	default:
		s.snap.eachTarget(r, a, linksFor(a, status, shows), func(other format.End) bool {
			if v := s.target(other, seen, shows, key, position+1); v != nil {
				choose(v)
			}
			return true
		})
	}
	if chosen == nil {
		return []byte{format.OrdNull}
	}
	return chosen
}

// target returns the value of a linked document, nil if it has no version to show in a status, or none that is seen.
func (s *sorter) target(r format.End, seen *seen, status Status, key, position int) []byte {
	at := sortTarget{key, position, r}
	v, known := s.known[at]
	if known {
		return v
	}
	if target := s.snap.shown(r, status); target.Exists() && seen.sees(s.snap, target) {
		v = s.value(target, status, key, position)
	}
	if s.known == nil {
		s.known = map[sortTarget][]byte{}
	}
	if len(s.known) < maxKnown {
		s.known[at] = v
	}
	return v
}

// appendSortable encodes a value as appendOrdered does, but does not cut long texts.
func appendSortable(b []byte, t contenttypes.Type, raw []byte) []byte {
	if raw != nil && raw[0] == '"' && t != contenttypes.BigInteger && t != contenttypes.DateTime {
		return append(append(b, format.OrdValue), format.Unquote(raw)...)
	}
	return format.AppendOrdered(b, t, raw)
}

// An indexOrder is a range of an index and the direction to walk it in. Entries of equal value come by ascending id in
// both directions.
type indexOrder struct {
	attr  *contenttypes.Attribute
	space []byte
	query.Range
	desc bool
}

// walk reads the rows of a page in the order of an index. If only is not nil, it leaves out documents that are not
// among these.
func (f *finder) walk(o indexOrder, offset, limit int, only members) []Record {
	var list []Record
	if limit >= 0 {
		list = make([]Record, 0, min(limit, 1024))
	}
	skip := 0
	if only == nil {
		offset, skip = 0, offset
	}
	f.eachInOrder(o, skip, func(doc uint64) bool {
		if limit >= 0 && len(list) >= limit {
			return false
		}
		if only != nil && !only.has(doc) {
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

// walkMatching reads rows in the order of an index until the page is full of rows that match. full is false if it
// tested most rows before that.
func (f *finder) walkMatching(o indexOrder, most int) (list []Record, full bool) {
	if most == 0 {
		return nil, false
	}
	all, offset, limit := f.conds, f.query.Offset, f.query.Limit
	list = make([]Record, 0, min(limit, 1024))
	if limit == 0 {
		return list, true
	}
	full = true
	f.eachInOrder(o, 0, func(doc uint64) bool {
		if most--; most < 0 {
			full = false
			return false
		}
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
	return list, full
}

// eachInOrder calls yield with the documents in the order of an index, without the first skip of them.
func (f *finder) eachInOrder(o indexOrder, skip int, yield func(doc uint64) bool) {
	w := indexWalk{f: f, indexOrder: o, yield: yield}
	w.cursor = f.snap.takeIndex()
	defer f.snap.give(format.Index, w.cursor.c)
	if o.desc {
		w.descend(skip)
	} else {
		w.ascend(skip)
	}
}
