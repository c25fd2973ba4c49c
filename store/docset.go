package store

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
