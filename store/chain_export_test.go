package store

import (
	"bytes"
	"maps"
	"slices"

	bolt "go.etcd.io/bbolt"

	"lectern/store/internal/format"
	"lectern/store/internal/logentry"
)

// RewriteLog has edit change the entries in the log of the file at path, given by their sequence. It stores them with
// checksums and counters that fit, as somebody would who wants nobody to notice.
func RewriteLog(path string, edit func(log map[uint64][]byte)) error {
	db, err := bolt.Open(path, 0o600, nil)
	if err != nil {
		return err
	}
	err = db.Update(func(tx *bolt.Tx) error {
		b, meta := tx.Bucket(format.Log.Name()), tx.Bucket(format.Meta.Name())
		log, size := map[uint64][]byte{}, uint64(0)
		var keys [][]byte
		for k, v := range each(b) {
			keys, size = append(keys, k), size+uint64(len(k)+len(v))
			log[be.Uint64(k)] = append(log[be.Uint64(k)], format.WithoutChecksum(v)...)
		}
		for _, k := range keys {
			if err := b.Delete(k); err != nil {
				return err
			}
		}
		bytesBefore := size
		edit(log)
		for sequence, raw := range log {
			key := be.AppendUint64(nil, sequence)
			for part := uint32(0); part == 0 || len(raw) > 0; part++ {
				if part > 0 {
					key = be.AppendUint32(key[:8:8], part)
				}
				n := min(len(raw), maxPart)
				if err := b.Put(key, format.WithChecksum(format.Log, key, bytes.Clone(raw[:n]))); err != nil {
					return err
				}
				raw = raw[n:]
			}
		}
		size = 0
		for k, v := range each(b) {
			size += uint64(len(k) + len(v))
		}
		put := func(key []byte, n uint64) error {
			return meta.Put(key, format.WithChecksum(format.Meta, key, be.AppendUint64(nil, n)))
		}
		if err := put(format.KeyLogBytes, format.Number(meta.Get(format.KeyLogBytes))+size-bytesBefore); err != nil {
			return err
		}
		return put(format.KeySequence, slices.Max(slices.Collect(maps.Keys(log))))
	})
	return joined(err, db.Close())
}

// each returns the keys and values of a bucket.
func each(b *bolt.Bucket) func(func(k, v []byte) bool) {
	return func(yield func(k, v []byte) bool) {
		c := b.Cursor()
		for k, v := c.First(); k != nil && yield(bytes.Clone(k), bytes.Clone(v)); k, v = c.Next() {
		}
	}
}

// Relinked returns an entry with the hash of another one as that of the entry before it.
func Relinked(sequence uint64, raw []byte, before []byte) []byte {
	e, err := ParseEntry(sequence, raw)
	if err != nil {
		panic(err)
	}
	e.Previous = logentry.HashOf(sequence-1, before)
	return e.Append(nil)
}
