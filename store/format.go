package store

import (
	"bytes"
	"fmt"

	bolt "go.etcd.io/bbolt"
)

// formatNumber is the format that this version writes. Open upgrades files of older formats:
//
//	1 had no spans
//	2 had no checksums; values get theirs when they are written (see checksum.go)
const formatNumber = uint64(3)

// upgrade brings a file of an older format to the present one, in one transaction. It does not change files of unknown formats.
func upgrade(f *file) error {
	old := uint64(0)
	if err := f.read(func(tx *bolt.Tx) error {
		if meta := f.meta(tx); meta.pages != nil {
			old = getNumber(meta, keyFormat)
		}
		return nil
	}); err != nil || old == 0 || old >= formatNumber {
		return err
	}
	err := f.update(func(tx *bolt.Tx) error {
		if old == 1 {
			if err := makeSpans(tx); err != nil {
				return err
			}
		}
		return putNumber(f.meta(tx), keyFormat, formatNumber)
	})
	if err != nil {
		return fmt.Errorf("upgrade from format %d: %w", old, err)
	}
	return nil
}

// makeSpans builds the bucket spans from the groups of the index.
func makeSpans(tx *bolt.Tx) error {
	to, err := tx.CreateBucket(bucketSpans)
	if err != nil {
		return err
	}
	var t tally
	put := func() error {
		if t.parts == 0 {
			return nil
		}
		return to.Put(t.key, t.value())
	}
	cur := tx.Bucket(bucketGroups).Cursor()
	for k, v := cur.First(); k != nil; k, v = cur.Next() {
		if t.parts == maxCounted/2 || t.parts > 0 && !bytes.Equal(k[:spaceLen], t.key[:spaceLen]) {
			if err := put(); err != nil {
				return err
			}
			t = tally{}
		}
		if t.parts == 0 {
			t.key = bytes.Clone(k)
		}
		t.parts++
		t.entries += tallyEntries(v)
	}
	return put()
}
