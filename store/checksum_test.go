package store_test

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"

	"lectern/store"
)

// TestEveryValueNeedsItsChecksum changes a value of each bucket and removes its checksum, or makes it zero. Each must
// be reported as damage: there is no mark in a value that switches off the comparison.
func TestEveryValueNeedsItsChecksum(t *testing.T) {
	path := filepath.Join(t.TempDir(), "content.db")
	s := open(t, path)
	fillTagged(t, s, 40)
	closeChecked(t, s)
	content := readFile(t, path)

	upper := func(v []byte, at int) []byte { // zero in place of the sum in a number, and another number
		binary.BigEndian.PutUint16(v[at:], 0)
		v[at+7] ^= 1
		return v
	}
	for name, test := range map[string]struct {
		bucket, key string // the first key with this prefix
		damage      func(v []byte) []byte
	}{
		"row": {"rows", "", func(v []byte) []byte {
			v[2] &= 0x7F
			v[len(v)-4-2] ^= 1
			return v[:len(v)-4]
		}},
		"row with a sum of zero": {"rows", "", func(v []byte) []byte {
			v[2] &= 0x7F
			return append(v[:len(v)-4], 0, 0, 0, 0)
		}},
		"block of an index": {"index", "", func(v []byte) []byte {
			v[0] &= 0x7F
			v[len(v)-4-1] ^= 1
			return v[:len(v)-4]
		}},
		"group":           {"groups", "", func(v []byte) []byte { return upper(v, 0) }},
		"span":            {"spans", "", func(v []byte) []byte { return upper(v, 0) }},
		"link":            {"links", "", func(v []byte) []byte { return upper(v, 4) }},
		"versions":        {"docs", "", func(v []byte) []byte { return upper(v, 0) }},
		"counter":         {"meta", "docs", func(v []byte) []byte { return upper(v, 0) }},
		"format":          {"meta", "format", func(v []byte) []byte { return upper(v, 0) }},
		"catalog":         {"catalog", "", func([]byte) []byte { return []byte(`{"schemas":{}}`) }},
		"identity":        {"meta", "identity", func(v []byte) []byte { return bytes.Repeat([]byte{'a'}, 32) }},
		"entry":           {"log", "", func(v []byte) []byte { return append(v[:len(v)-4], 0, 0, 0, 0) }},
		"entry of JSON":   {"log", "", func([]byte) []byte { return []byte(`{"at":1}`) }},
		"history, no sum": {"history", "", func(v []byte) []byte { return v[:len(v)-4] }},
	} {
		t.Run(name, func(t *testing.T) {
			damaged := filepath.Join(t.TempDir(), "content.db")
			if err := os.WriteFile(damaged, content, 0o600); err != nil {
				t.Fatal(err)
			}
			inBolt(t, damaged, func(_ *bolt.Bucket, tx *bolt.Tx) error {
				b := tx.Bucket([]byte(test.bucket))
				k, v := b.Cursor().Seek([]byte(test.key))
				if !bytes.HasPrefix(k, []byte(test.key)) {
					t.Fatalf("there is no %s %q", test.bucket, test.key)
				}
				return b.Put(bytes.Clone(k), test.damage(bytes.Clone(v)))
			})
			err := store.VerifyFile(t.Context(), damaged)
			if err == nil || !strings.Contains(err.Error(), test.bucket) && !strings.Contains(err.Error(), "checksum") {
				t.Errorf("the damage is not reported: %v", err)
			}
		})
	}
}
