package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"

	"lectern/store/internal/pages"
)

// Every value carries a checksum of its key and itself: CRC-32C, which a file that was changed elsewhere than here does not have.
// Where it stands depends on the bucket:
//
//	rows         4 bytes behind the row; the highest bit of its number of fields is set
//	index        4 bytes behind the block; the highest bit of its number of entries is set
//	meta, log    texts: a zero byte and 4 bytes behind it, which no text ends with
//	all others   the upper 16 bits of a number that never needs them: the document of a link and of a list of versions, the entries
//	             of a group or span, a counter. They hold the lower half of the checksum, or 1 where that is 0
//
// Values written before format 3 have none: bit, zero byte or number are not there, and such values are read as they are. They get
// one when they are written again. So a value tells by itself whether it has a checksum, and no file is rewritten for it.
const (
	checksumLen = 4
	summedFlag  = 1 << 15
	numberMask  = 1<<48 - 1
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

var errChecksum = errors.New("its checksum does not match")

// number reads a number whose upper bits may hold a checksum.
func number(v []byte) uint64 { return be.Uint64(v) & numberMask }

// holdsText reports whether values of a bucket are texts; keys decide in the bucket meta.
func holdsText(n bucket, key []byte) bool {
	if n == metas {
		switch string(key) {
		case string(keyCatalog), string(keyLocales), string(keyPending), string(keyIdentity):
			return true
		}
	}
	return n == changes
}

// textOf is a text with or without a checksum.
func textOf(v []byte) []byte {
	if at := len(v) - checksumLen - 1; at >= 0 && v[at] == 0 {
		return v[:at:at]
	}
	return v
}

// numberAt is where in the values of a bucket the number stands that holds their checksum.
func numberAt(n bucket) int {
	if n == links {
		return 2 + 2
	}
	return 0
}

// withChecksum writes its checksum into a value that is to be put under a key, or behind it, and returns it. A checksum that it has
// already is made anew.
func withChecksum(n bucket, key, value []byte) []byte {
	switch {
	case n == rows || n == index:
		value = withoutChecksum(n, value)
		value[flagAt(n)] |= summedFlag >> 8
		return be.AppendUint32(value, checksum(key, value))
	case holdsText(n, key):
		value = append(textOf(value), 0)
		return be.AppendUint32(value, checksum(key, value))
	}
	if at := numberAt(n); len(value) >= at+8 {
		be.PutUint16(value[at:], shortChecksum(key, value, at))
	}
	return value
}

// flagAt is where in a row or block the byte stands that says whether it has a checksum.
func flagAt(n bucket) int {
	if n == rows {
		return 2
	}
	return 0
}

func hasChecksum(n bucket, value []byte) bool {
	return len(value) > flagAt(n) && value[flagAt(n)]&(summedFlag>>8) != 0
}

// withoutChecksum takes the checksum off a row or block that has one, but for its flag.
func withoutChecksum(n bucket, value []byte) []byte {
	if hasChecksum(n, value) && len(value) >= checksumLen {
		return value[:len(value)-checksumLen]
	}
	return value
}

func checksum(key, value []byte) uint32 {
	return crc32.Update(crc32.Update(0, castagnoli, key), castagnoli, value)
}

// shortChecksum is that of a value whose two bytes at a place hold it.
func shortChecksum(key, value []byte, at int) uint16 {
	sum := checksum(key, value[:at])
	return max(1, uint16(crc32.Update(sum, castagnoli, value[at+2:])))
}

// checkPage reports whether the keys and values in a leaf of a bucket are whole.
func (s *Snapshot) checkPage(n bucket) func(pages.Page) error {
	return func(p pages.Page) error {
		for i := range p.Len() {
			if err := s.checkValue(n, p.Key(i), p.Value(i)); err != nil {
				return fmt.Errorf("%s %x: %w", bucketNames[n], p.Key(i), err)
			}
		}
		return nil
	}
}

// checkValue compares a value with its checksum. One that has none is looked at as far as that shows what could not be read.
func (s *Snapshot) checkValue(n bucket, key, v []byte) error {
	switch {
	case n == rows || n == index:
		if !hasChecksum(n, v) {
			return s.checkOld(n, key, v)
		}
		at := len(v) - checksumLen
		if at < 0 || be.Uint32(v[at:]) != checksum(key, v[:at]) {
			return errChecksum
		}
	case holdsText(n, key):
		if at := len(textOf(v)); at == len(v) {
			if !json.Valid(v) && !bytes.Equal(key, keyIdentity) {
				return errors.New("it is no JSON")
			}
		} else if be.Uint32(v[at+1:]) != checksum(key, v[:at+1]) {
			return errChecksum
		}
	default:
		at := numberAt(n)
		if len(key) < minKeyLen[n] || len(v) < minValueLen[n] || n != docs && len(v) != minValueLen[n] {
			return errMalformed
		}
		if sum := be.Uint16(v[at:]); sum != 0 && sum != shortChecksum(key, v, at) {
			return errChecksum
		}
	}
	if len(key) < minKeyLen[n] {
		return errMalformed
	}
	return nil
}

var errMalformed = errors.New("it is malformed")

// minKeyLen and minValueLen are how long keys and values of a bucket are at least.
var (
	minKeyLen   = [bucketCount]int{rows: rowKeyLen, docs: 2, index: spaceLen, groups: spaceLen, spans: spaceLen, links: linkKeyLen, metas: 1, changes: 8}
	minValueLen = [bucketCount]int{rows: recordHeader, docs: 8, index: 2, groups: 12, spans: 12, links: linkLen - linkKeyLen, metas: 8}
)

// checkOld looks at a row or block without a checksum: whether it can be read, and what is printed of it is JSON.
func (s *Snapshot) checkOld(n bucket, key, v []byte) error {
	if len(key) < minKeyLen[n] || len(v) < minValueLen[n] {
		return errMalformed
	}
	if n == index {
		return block(v).check()
	}
	layout := int(be.Uint16(v))
	if layout >= len(s.bound.tables) {
		return fmt.Errorf("it is of the unknown layout %d", layout)
	}
	t := s.bound.tables[layout]
	if t.bound == nil {
		return nil // of a type that is no longer defined, which nothing reads
	}
	return Record{table: t, slot: slot(be.Uint16(key[2:])), doc: be.Uint64(key[4:]), snap: s, data: v}.check()
}
