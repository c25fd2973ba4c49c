package store

// A docSet holds document numbers, one bit for each.
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
	s := &docSet{base: low, bits: make([]uint64, (high-low)/64+1)}
	for _, h := range hits {
		s.bits[(h.doc-low)/64] |= 1 << ((h.doc - low) % 64)
	}
	return s
}

func (s *docSet) has(doc uint64) bool {
	if doc < s.base || (doc-s.base)/64 >= uint64(len(s.bits)) {
		return false
	}
	return s.bits[(doc-s.base)/64]&(1<<((doc-s.base)%64)) != 0
}
