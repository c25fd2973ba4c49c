package store

import (
	"math"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"
)

// A docSet is a set of documents, as the numbers of the documents in a compressed bitmap.
type docSet = roaring.Bitmap

// A docList collects documents, in any order and however often.
type docList struct {
	docs  []uint32
	high  uint32
	mixed bool    // the numbers are not in ascending order
	unfit bool    // a number does not fit
	whole *docSet // the documents, if they were found as a set
}

// manyDocs is the number of documents from which on a list is not sorted, but marked in a plain bitmap, unless less
// than one number in 1024 is in the list.
const manyDocs = 256

func newDocList(size int) docList { return docList{docs: make([]uint32, 0, min(size, 1<<20))} }

func (l *docList) add(doc uint64) {
	if doc > math.MaxUint32 {
		l.unfit = true
		return
	}
	d := uint32(doc)
	if d <= l.high {
		l.mixed = true
	}
	l.high = max(l.high, d)
	l.docs = append(l.docs, d)
}

// sort brings the documents in order, and removes duplicates.
func (l *docList) sort() {
	if l.mixed {
		slices.Sort(l.docs)
		l.docs, l.mixed = slices.Compact(l.docs), false
	}
}

// size returns how many documents there are, each counted as often as it was added.
func (l *docList) size() int {
	if l.whole != nil {
		return int(l.whole.GetCardinality())
	}
	return len(l.docs)
}

// each calls yield with each document once, in ascending order, until yield returns false.
func (l *docList) each(yield func(doc uint64) bool) {
	if l.whole != nil {
		l.whole.Iterate(func(doc uint32) bool { return yield(uint64(doc)) })
		return
	}
	l.sort()
	for _, doc := range l.docs {
		if !yield(uint64(doc)) {
			return
		}
	}
}

// set returns the set of the documents. It returns nil if a number is too large for a set: then rows must be tested one
// by one.
func (l *docList) set() *docSet {
	switch {
	case l.unfit:
		return nil
	case l.whole != nil:
		return l.whole
	case len(l.docs) < manyDocs || len(l.docs) < int(l.high/1024):
		l.sort()
		return roaring.BitmapOf(l.docs...)
	}
	words := make([]uint64, l.high/64+1)
	for _, d := range l.docs {
		words[d/64] |= 1 << (d % 64)
	}
	return roaring.FromDense(words, true)
}

// A members knows which documents are in it.
type members interface{ has(doc uint64) bool }

// A docSets is the intersection of sets; there is at least one.
type docSets []*docSet

func (s docSets) has(doc uint64) bool {
	for _, set := range s {
		if !set.Contains(uint32(doc)) {
			return false
		}
	}
	return doc <= math.MaxUint32
}

// size returns how many documents are in all sets.
func (s docSets) size() int {
	if len(s) == 1 {
		return int(s[0].GetCardinality())
	}
	return int(s[:len(s)-1].one().AndCardinality(s[len(s)-1]))
}

// one returns the intersection as one set. It must not be changed.
func (s docSets) one() *docSet {
	one := s[0]
	for _, set := range s[1:] {
		one = roaring.And(one, set)
	}
	return one
}

// A docMarks marks some of a few documents, as one bit for each number between the least and the greatest.
type docMarks struct {
	base uint64
	bits []uint64
}

// marksFor returns marks for the documents of hits, of which there is one at least.
func marksFor(hits []hit) *docMarks {
	low, high := hits[0].doc, hits[0].doc
	for _, h := range hits {
		low, high = min(low, h.doc), max(high, h.doc)
	}
	return &docMarks{base: low, bits: make([]uint64, (high-low)/64+1)}
}

// add marks a document. Numbers that cannot be marked are ignored.
func (m *docMarks) add(doc uint64) {
	if i := (doc - m.base) / 64; i < uint64(len(m.bits)) {
		m.bits[i] |= 1 << ((doc - m.base) % 64)
	}
}

func (m *docMarks) has(doc uint64) bool {
	i := (doc - m.base) / 64 // numbers below the base wrap around to beyond the end
	return i < uint64(len(m.bits)) && m.bits[i]&(1<<((doc-m.base)%64)) != 0
}
