package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"

	"lectern/store/internal/pages"
)

// Every value has a CRC-32C checksum of its key and itself. A file that another program changed does not have the right ones. The bucket
// decides where in the value the checksum is:
//
//	rows         4 bytes behind the row; the highest bit of its number of fields is set
//	index        4 bytes behind the block; the highest bit of its number of entries is set
//	meta         texts: a zero byte, which no text ends with, and 4 bytes behind it
//	log, history, answers: 4 bytes behind the part of an entry, the block of touches, the answer or its sequence
//	all others   in the upper 16 bits of a number that never needs them: the document of a link or of a list of versions, the entries
//	             of a group or span, a counter. They hold the lower half of the checksum, or 1 if that is 0
//
// Values written before format 3 have no checksum: the bit, the zero byte or the upper bits are missing. They are read as they are, and
// get a checksum when they are written again, so no file has to be rewritten.
const (
	checksumLen = 4
	summedFlag  = 1 << 15
	numberMask  = 1<<48 - 1
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

var errChecksum = errors.New("its checksum does not match")

// number reads a number without the checksum in its upper bits.
func number(v []byte) uint64 { return be.Uint64(v) & numberMask }

// holdsText reports whether the value of a key is a text.
func holdsText(n bucket, key []byte) bool {
	if n == metas {
		switch string(key) {
		case string(keyCatalog), string(keyLocales), string(keyPending), string(keyIdentity), string(keyEpoch), string(keyPart), string(keyPartHash):
			return true
		}
		return bytes.HasPrefix(key, []byte(prefixNote))
	}
	return false
}

// textOf returns a text without its checksum, if it has one.
func textOf(v []byte) []byte {
	if at := len(v) - checksumLen - 1; at >= 0 && v[at] == 0 {
		return v[:at:at]
	}
	return v
}

// numberAt returns the offset, in the values of a bucket, of the number that holds their checksum.
func numberAt(n bucket) int {
	if n == links {
		return 2 + 2
	}
	return 0
}

// withChecksum writes the checksum into a value that is to be put under a key, or appends it, and returns the value. It replaces a
// checksum that is there already.
func withChecksum(n bucket, key, value []byte) []byte {
	switch {
	case n == entries || n == touches || n == answers:
		return be.AppendUint32(value, namedChecksum(n, key, value))
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

// flagAt returns the offset, in a row or block, of the byte whose highest bit says that there is a checksum.
func flagAt(n bucket) int {
	if n == rows {
		return 2
	}
	return 0
}

func hasChecksum(n bucket, value []byte) bool {
	return len(value) > flagAt(n) && value[flagAt(n)]&(summedFlag>>8) != 0
}

// withoutChecksum cuts the checksum off a row or block that has one. The flag stays set.
func withoutChecksum(n bucket, value []byte) []byte {
	if hasChecksum(n, value) && len(value) >= checksumLen {
		return value[:len(value)-checksumLen]
	}
	return value
}

func checksum(key, value []byte) uint32 {
	return crc32.Update(crc32.Update(0, castagnoli, key), castagnoli, value)
}

// shortChecksum returns the 16-bit checksum of a value, which is stored in the two bytes at an offset and does not cover them.
func shortChecksum(key, value []byte, at int) uint16 {
	sum := checksum(key, value[:at])
	return max(1, uint16(crc32.Update(sum, castagnoli, value[at+2:])))
}

// checkPage returns a function that checks all keys and values in a leaf of a bucket.
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

// checkValue compares a value with its checksum. If it has none, checkValue checks that it can be read.
func (s *Snapshot) checkValue(n bucket, key, v []byte) error {
	switch {
	case n == entries || n == touches || n == answers:
		if !hasNamedChecksum(n, key, v) && (n != entries || !json.Valid(textOf(v))) { // before format 4 the log was JSON
			return errChecksum
		}
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

// hasNamedChecksum reports whether a value ends with its namedChecksum.
func hasNamedChecksum(n bucket, key, v []byte) bool {
	at := len(v) - checksumLen
	return at >= 0 && be.Uint32(v[at:]) == namedChecksum(n, key, v[:at])
}

// namedChecksum returns a checksum of a key, a value and the name of the bucket. It differs from that of a row or index block with the same
// bytes, for which a search in damaged pages could otherwise take the value.
func namedChecksum(n bucket, key, value []byte) uint32 {
	return crc32.Update(checksum(key, value), castagnoli, bucketNames[n])
}

var errMalformed = errors.New("it is malformed")

// minKeyLen and minValueLen are the least lengths of keys and values, by bucket.
var (
	minKeyLen   = [bucketCount]int{rows: rowKeyLen, docs: 2, index: spaceLen, groups: spaceLen, spans: spaceLen, links: linkKeyLen, metas: 1, entries: 8, touches: 8, answers: 9}
	minValueLen = [bucketCount]int{rows: recordHeader, docs: 8, index: 2, groups: 12, spans: 12, links: linkLen - linkKeyLen, metas: 8}
)

// checkOld checks a row or block without a checksum: that it can be read, and that its fields are JSON.
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
