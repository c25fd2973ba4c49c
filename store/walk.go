package store

import (
	"bytes"
	"cmp"
	"slices"

	"lectern/contenttypes"
	"lectern/store/internal/format"
)

// An indexWalk goes through a range of an index in order of value, and by id among equal values. The index holds only the beginning of a
// long text, so the walk sorts each group of texts with the same beginning by the texts in their rows.
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

// group returns the key prefix of all entries with the same value as key. In the index of ids, each entry is its own group.
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
	// Values come in descending order, but the ids of one value in ascending order: find where to begin in the group of the first value.
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

// forward yields the entries of a group in order of id, without the first skip of them. first is the number of entries before the
// group; it is used only if skip is positive.
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
