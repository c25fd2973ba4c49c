package logentry

import (
	"slices"

	"github.com/klauspost/compress/s2"
)

// The changes of an entry are the end of its encoding. Where that makes them shorter, they are compressed: an update of
// a published document holds nearly the same row three times.
//
//	0 u8 · the changes
//	1 u8 · the changes as a block of S2
const (
	unpacked byte = iota
	packed
)

const (
	// leastPacked is how long changes are that are compressed.
	leastPacked = 256
	// mostPacked is how many times longer than their block changes are at most, which bounds the memory that an entry
	// takes when it is read.
	mostPacked = 64
)

// appendPacked appends the changes of an entry.
func appendPacked(b, ops []byte) []byte {
	if len(ops) >= leastPacked {
		b = slices.Grow(b, 1+s2.MaxEncodedLen(len(ops)))
		head := append(b, packed)
		block := s2.Encode(head[len(head):cap(head)], ops)
		if len(block) < len(ops) && len(ops) <= mostPacked*len(block) {
			return head[:len(head)+len(block)]
		}
	}
	return append(append(b, unpacked), ops...)
}

// unpack returns the changes that appendPacked has appended. It is not ok if b is something else.
func unpack(b []byte) (ops []byte, ok bool) {
	switch {
	case len(b) == 0:
		return nil, false
	case b[0] == unpacked:
		return b[1:], true
	case b[0] != packed:
		return nil, false
	}
	block := b[1:]
	n, err := s2.DecodedLen(block)
	if err != nil || n < leastPacked || n > mostPacked*len(block) {
		return nil, false
	}
	ops, err = s2.Decode(make([]byte, n), block)
	return ops, err == nil
}
