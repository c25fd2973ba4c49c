package format

import (
	"bytes"
	"testing"
)

// FuzzStoredValues stores any bytes as a value of any bucket. The value must be taken with its checksum, and not
// without it or with another bit changed. Nothing may panic.
func FuzzStoredValues(f *testing.F) {
	key := AppendRowKey(nil, 1, 2, 1)
	f.Add(uint8(Rows), key, make([]byte, RowHeader))
	f.Add(uint8(Index), key,
		[]byte(NewBlock([]BlockEntry{{Key: append(AppendSpace(nil, 1, 1, 2), make([]byte, 8)...), Doc: 3}})))
	f.Add(uint8(Links), bytes.Repeat([]byte{1}, LinkKeyLen), NewLink(End{Schema: 1, Doc: 9}, PosStep))
	f.Add(uint8(Docs), []byte("\x00\x01d1"), []byte{0, 0, 0, 0, 0, 0, 0, 1, 0, 2})
	f.Add(uint8(Groups), key[:SpaceLen], NewTally(3, 1))
	f.Add(uint8(Meta), KeyCatalog, []byte(`{"schemas":{}}`))
	f.Fuzz(func(t *testing.T, b uint8, key, value []byte) {
		n := Bucket(b % uint8(BucketCount))
		stored := WithChecksum(n, key, bytes.Clone(value)) // the fuzzer owns value, and key may share its memory
		switch err := CheckValue(n, key, stored); {
		case err == ErrMalformed:
			return // no such value is put
		case err != nil:
			t.Fatalf("%s: a value with its checksum: %v", n.Name(), err)
		case CheckValue(n, key, value) == nil && !bytes.Equal(stored, value):
			t.Fatalf("%s: a value without its checksum is taken", n.Name())
		}
		readValue(n, key, stored)
		for at := range stored {
			stored[at] ^= 1
			if CheckValue(n, key, stored) == nil && ChecksumAt(n, key) < 0 {
				t.Fatalf("%s: a flipped bit is missed", n.Name())
			}
			stored[at] ^= 1
		}
	})
}

// readValue reads the parts of a value that has its least length, as reads do.
func readValue(n Bucket, key, v []byte) {
	switch n {
	case Links:
		ParseLink(v)
		OtherKey(key, v)
	case Docs:
		Number(v)
	case Groups, Spans:
		TallyEntries(v)
		TallyParts(v)
	}
}
