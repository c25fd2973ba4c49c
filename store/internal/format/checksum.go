package format

import (
	"errors"
	"fmt"
	"hash/crc32"

	"lectern/store/internal/pages"
)

// Every value has a CRC-32C checksum of its key, itself and the name of its bucket. A value that was damaged, or that
// another program changed, does not have the right one. Nothing in a value can switch the comparison off. The checksum
// is in the 4 bytes behind a value, except for those with a number that never needs its upper 16 bits: the document of
// a link or of a list of versions, the entries of a group or span, a counter. These bits hold the lower half of the
// checksum, or 1 if that is 0.
const (
	ChecksumLen = 4
	NumberMask  = 1<<48 - 1
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Errors of CheckValue.
var (
	errChecksum  = errors.New("its checksum does not match")
	ErrMalformed = errors.New("it is malformed")
)

// Number reads a number without the checksum in its upper bits.
func Number(v []byte) uint64 { return be.Uint64(v) & NumberMask }

// ChecksumAt returns the offset, in the value of a key, of the number that holds the checksum, or -1 if that is behind
// the value.
func ChecksumAt(n Bucket, key []byte) int {
	switch {
	case n == Links:
		return 2 + 2
	case n == Docs, n == Groups, n == Spans, n == Meta && !holdsText(key):
		return 0
	}
	return -1
}

// holdsText reports whether the value of a key of the bucket meta is a text. The others are numbers.
func holdsText(key []byte) bool {
	switch string(key) {
	case string(KeyLocales), string(KeyPending), string(KeyIdentity), string(KeyEpoch),
		string(KeyPart), string(KeyPartHash):
		return true
	}
	return len(key) >= len(PrefixNote) && string(key[:len(PrefixNote)]) == PrefixNote
}

// WithChecksum writes the checksum into a value that is to be put under a key, or appends it, and returns the value.
func WithChecksum(n Bucket, key, value []byte) []byte {
	at := ChecksumAt(n, key)
	switch {
	case at < 0:
		return be.AppendUint32(value, checksum(n, key, value))
	case len(value) >= at+8:
		be.PutUint16(value[at:], shortChecksum(n, key, value, at))
	}
	return value
}

// WithoutChecksum cuts off the checksum behind a stored value.
func WithoutChecksum(v []byte) []byte {
	at := max(len(v)-ChecksumLen, 0)
	return v[:at:at]
}

// checksum returns the checksum of a value. It covers the name of the bucket, so that a search in damaged pages takes
// no value for one of another bucket.
func checksum(n Bucket, key, value []byte) uint32 {
	sum := crc32.Update(crc32.Update(0, castagnoli, n.Name()), castagnoli, key)
	return crc32.Update(sum, castagnoli, value)
}

// shortChecksum returns the 16-bit checksum of a value, which is stored in the two bytes at an offset and does not
// cover them. It is never 0, so that zeros are no checksum.
func shortChecksum(n Bucket, key, value []byte, at int) uint16 {
	sum := checksum(n, key, value[:at])
	return max(1, uint16(crc32.Update(sum, castagnoli, value[at+2:])))
}

// CheckPage returns a function that checks all keys and values in a leaf of a bucket.
func CheckPage(n Bucket) func(pages.Page) error {
	return func(p pages.Page) error {
		for i := range p.Len() {
			if err := CheckValue(n, p.Key(i), p.Value(i)); err != nil {
				return fmt.Errorf("%s %x: %w", n.Name(), p.Key(i), err)
			}
		}
		return nil
	}
}

// CheckValue compares a value with its checksum. It also checks that a key, and a value that holds a number, have their
// least lengths.
func CheckValue(n Bucket, key, v []byte) error {
	at := ChecksumAt(n, key)
	if least := minValueLen[n]; at >= 0 && (len(v) < least || len(v) > least && n != Docs) || len(key) < minKeyLen[n] {
		return ErrMalformed
	}
	switch end := len(v) - ChecksumLen; {
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
	minKeyLen = [BucketCount]int{Rows: RowKeyLen, Docs: 2, Index: SpaceLen, Groups: SpaceLen, Spans: SpaceLen,
		Links: LinkKeyLen, Meta: 1, Log: 8, History: 8, Answers: 9, Catalog: 1, Young: SpaceLen, Texts: RowKeyLen}
	minValueLen = [BucketCount]int{Docs: 8, Groups: 12, Spans: 12, Links: LinkLen - LinkKeyLen, Meta: 8}
)
