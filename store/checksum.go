package store

import (
	"errors"
	"fmt"
	"hash/crc32"

	"lectern/store/internal/pages"
)

// Every value has a CRC-32C checksum of its key, itself and the name of its bucket. A value that was damaged, or that another program
// changed, does not have the right one. Nothing in a value can switch the comparison off. The checksum is in the 4 bytes behind a value,
// except for those with a number that never needs its upper 16 bits: the document of a link or of a list of versions, the entries of a
// group or span, a counter. These bits hold the lower half of the checksum, or 1 if that is 0.
const (
	checksumLen = 4
	numberMask  = 1<<48 - 1
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Errors of checkValue.
var (
	errChecksum  = errors.New("its checksum does not match")
	errMalformed = errors.New("it is malformed")
)

// number reads a number without the checksum in its upper bits.
func number(v []byte) uint64 { return be.Uint64(v) & numberMask }

// checksumAt returns the offset, in the value of a key, of the number that holds the checksum, or -1 if that is behind the value.
func checksumAt(n bucket, key []byte) int {
	switch {
	case n == links:
		return 2 + 2
	case n == docs, n == groups, n == spans, n == metas && !holdsText(key):
		return 0
	}
	return -1
}

// holdsText reports whether the value of a key of the bucket meta is a text. The others are numbers.
func holdsText(key []byte) bool {
	switch string(key) {
	case string(keyCatalog), string(keyLocales), string(keyPending), string(keyIdentity), string(keyEpoch), string(keyPart), string(keyPartHash):
		return true
	}
	return len(key) >= len(prefixNote) && string(key[:len(prefixNote)]) == prefixNote
}

// withChecksum writes the checksum into a value that is to be put under a key, or appends it, and returns the value.
func withChecksum(n bucket, key, value []byte) []byte {
	at := checksumAt(n, key)
	switch {
	case at < 0:
		return be.AppendUint32(value, checksum(n, key, value))
	case len(value) >= at+8:
		be.PutUint16(value[at:], shortChecksum(n, key, value, at))
	}
	return value
}

// withoutChecksum cuts off the checksum behind a stored value.
func withoutChecksum(v []byte) []byte {
	at := max(len(v)-checksumLen, 0)
	return v[:at:at]
}

// checksum returns the checksum of a value. It covers the name of the bucket, so that a search in damaged pages takes no value for one of
// another bucket.
func checksum(n bucket, key, value []byte) uint32 {
	sum := crc32.Update(crc32.Update(0, castagnoli, bucketNames[n]), castagnoli, key)
	return crc32.Update(sum, castagnoli, value)
}

// shortChecksum returns the 16-bit checksum of a value, which is stored in the two bytes at an offset and does not cover them. It is never
// 0, so that zeros are no checksum.
func shortChecksum(n bucket, key, value []byte, at int) uint16 {
	sum := checksum(n, key, value[:at])
	return max(1, uint16(crc32.Update(sum, castagnoli, value[at+2:])))
}

// checkPage returns a function that checks all keys and values in a leaf of a bucket.
func checkPage(n bucket) func(pages.Page) error {
	return func(p pages.Page) error {
		for i := range p.Len() {
			if err := checkValue(n, p.Key(i), p.Value(i)); err != nil {
				return fmt.Errorf("%s %x: %w", bucketNames[n], p.Key(i), err)
			}
		}
		return nil
	}
}

// checkValue compares a value with its checksum. It also checks that a key, and a value that holds a number, have their least lengths.
func checkValue(n bucket, key, v []byte) error {
	at := checksumAt(n, key)
	if least := minValueLen[n]; at >= 0 && (len(v) < least || len(v) > least && n != docs) || len(key) < minKeyLen[n] {
		return errMalformed
	}
	switch end := len(v) - checksumLen; {
	case at >= 0:
		if be.Uint16(v[at:]) != shortChecksum(n, key, v, at) {
			return errChecksum
		}
	case end < 0 || be.Uint32(v[end:]) != checksum(n, key, v[:end]):
		return errChecksum
	}
	return nil
}

// minKeyLen are the least lengths of keys, and minValueLen those of values with a number, by bucket.
var (
	minKeyLen   = [bucketCount]int{rows: rowKeyLen, docs: 2, index: spaceLen, groups: spaceLen, spans: spaceLen, links: linkKeyLen, metas: 1, entries: 8, touches: 8, answers: 9}
	minValueLen = [bucketCount]int{docs: 8, groups: 12, spans: 12, links: linkLen - linkKeyLen, metas: 8}
)
