package store

import (
	"bytes"
	"testing"

	"lectern/contenttypes"
	"lectern/store/evolve"
)

// FuzzStoredValues checks any bytes as a value of any bucket. A value that checkValue accepts must be readable, and it must accept each
// value that withChecksum made. Nothing may panic.
func FuzzStoredValues(f *testing.F) {
	model, problems := contenttypes.Load("testdata/project", contenttypes.Options{})
	if len(problems) > 0 {
		f.Fatal(problems)
	}
	bound, err := bind(model, evolve.NewCatalog())
	if err != nil {
		f.Fatal(err)
	}
	snap := &Snapshot{store: &Store{file: &file{}}, bound: bound}
	schema := bound.byUID["api::article.article"]
	row, err := appendRecord(nil, bound, schema.schema, 7, make([]Value, len(schema.schema.Attributes)))
	if err != nil {
		f.Fatal(err)
	}
	key := appendRowKey(nil, schema.number, 2, 1)
	entries := []indexEntry{{append(appendSpace(nil, 1, 1, 2), make([]byte, 8)...), 3}}
	f.Add(uint8(rows), key, row)
	f.Add(uint8(rows), key, withChecksum(rows, key, row))
	f.Add(uint8(index), key, []byte(newBlock(entries)))
	f.Add(uint8(index), key, withChecksum(index, key, newBlock(entries)))
	f.Add(uint8(links), bytes.Repeat([]byte{1}, linkKeyLen), newLinkEnd(ref{1, 0, 9}, PosStep).data)
	f.Add(uint8(docs), []byte("\x00\x01d1"), []byte{0, 0, 0, 0, 0, 0, 0, 1, 0, 2})
	f.Add(uint8(metas), keyCatalog, []byte(`{"schemas":{}}`))
	f.Fuzz(func(t *testing.T, b uint8, key, value []byte) {
		n := bucket(b % uint8(bucketCount))
		if snap.checkValue(n, key, value) == nil {
			readValue(snap, n, key, value)
		}
		flagged := (n == rows || n == index) && hasChecksum(n, value)
		if flagged || len(value) <= flagAt(n) || len(key) < minKeyLen[n] || len(value) < minValueLen[n] {
			return // no such value is put
		}
		stored := withChecksum(n, key, bytes.Clone(value)) // the fuzzer owns value, and key may share its memory
		err := snap.checkValue(n, key, stored)
		if err != nil && err != errMalformed {
			t.Fatalf("%s: a value with its checksum: %v", bucketNames[n], err)
		}
		if err == nil && (n == rows || n == index || holdsText(n, key)) {
			stored[len(stored)/2] ^= 1
			if snap.checkValue(n, key, stored) == nil && hasChecksum(n, stored) && n != metas {
				t.Fatalf("%s: a flipped bit is missed", bucketNames[n])
			}
		}
	})
}

// readValue reads all parts of a checked value without a checksum, as reads do.
func readValue(s *Snapshot, n bucket, key, v []byte) {
	switch n {
	case rows:
		if t := s.bound.tables[be.Uint16(v)]; !hasChecksum(rows, v) && t.bound != nil && t.bound.typ != nil {
			Record{table: t, snap: s, data: v}.Decode()
		}
	case index:
		if b := block(v); !hasChecksum(index, v) {
			b.appendEntries(nil)
			b.search(key)
		}
	case links:
		parseLinkEnd(v)
		linkTwin(key, v)
	case docs:
		_ = number(v)
	case groups, spans:
		_, _ = tallyEntries(v), tallyParts(v)
	}
}
