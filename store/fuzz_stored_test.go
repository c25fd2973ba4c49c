package store

import (
	"bytes"
	"testing"

	"lectern/contenttypes"
	"lectern/store/evolve"
)

// FuzzStoredValues stores any bytes as a value of any bucket. The value must be taken with its checksum, and not without it or with another bit
// changed. Nothing may panic.
func FuzzStoredValues(f *testing.F) {
	model, problems := contenttypes.Load("testdata/project", contenttypes.Options{})
	if len(problems) > 0 {
		f.Fatal(problems)
	}
	bound, err := bind(model, evolve.NewCatalog())
	if err != nil {
		f.Fatal(err)
	}
	schema := bound.byUID["api::article.article"]
	row, err := appendRecord(nil, bound, schema.schema, 7, make([]Value, len(schema.schema.Attributes)))
	if err != nil {
		f.Fatal(err)
	}
	key := appendRowKey(nil, schema.number, 2, 1)
	entries := []indexEntry{{append(appendSpace(nil, 1, 1, 2), make([]byte, 8)...), 3}}
	f.Add(uint8(rows), key, row)
	f.Add(uint8(index), key, []byte(newBlock(entries)))
	f.Add(uint8(links), bytes.Repeat([]byte{1}, linkKeyLen), newLinkEnd(ref{1, 0, 9}, PosStep).data)
	f.Add(uint8(docs), []byte("\x00\x01d1"), []byte{0, 0, 0, 0, 0, 0, 0, 1, 0, 2})
	f.Add(uint8(metas), keyCatalog, []byte(`{"schemas":{}}`))
	f.Fuzz(func(t *testing.T, b uint8, key, value []byte) {
		n := bucket(b % uint8(bucketCount))
		stored := withChecksum(n, key, bytes.Clone(value)) // the fuzzer owns value, and key may share its memory
		switch err := checkValue(n, key, stored); {
		case err == errMalformed:
			return // no such value is put
		case err != nil:
			t.Fatalf("%s: a value with its checksum: %v", bucketNames[n], err)
		case checkValue(n, key, value) == nil && !bytes.Equal(stored, value):
			t.Fatalf("%s: a value without its checksum is taken", bucketNames[n])
		}
		for at := range stored {
			stored[at] ^= 1
			if checkValue(n, key, stored) == nil && checksumAt(n, key) < 0 {
				t.Fatalf("%s: a flipped bit is missed", bucketNames[n])
			}
			stored[at] ^= 1
		}
	})
}
