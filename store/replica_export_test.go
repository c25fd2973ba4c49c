package store

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"

	bolt "go.etcd.io/bbolt"

	"lectern/store/evolve"
	"lectern/store/internal/format"
)

// Replicate applies the whole log of a store, encoded and decoded once more, to an empty replica at path, and returns
// how the replica differs from the store. Some transactions apply one entry and some several, and the replica is opened
// anew now and then.
func Replicate(s *Store, path string, rnd *rand.Rand) (differences []string, err error) {
	r, err := OpenReplica(path, Options{})
	if err != nil {
		return nil, err
	}
	defer func() { err = joined(err, r.Close()) }()
	r.file.db().NoSync = true // the test needs no durable replica
	err = s.View(func(snap *Snapshot) error {
		var list []*Entry
		var failed error
		snap.eachEntry(0, func(e *Entry, err error) bool {
			if failed = err; err == nil {
				if e, failed = ParseEntry(e.Sequence, bytes.Clone(e.Encoded)); failed == nil &&
					!bytes.Equal(e.Append(nil), e.Encoded) {
					failed = fmt.Errorf("entry %d is encoded in another way than it was", e.Sequence)
				}
				list = append(list, e)
			}
			return failed == nil
		})
		for failed == nil && len(list) > 0 {
			n := 1 + rnd.IntN(len(list))
			if failed = r.Apply(list[:n]...); rnd.IntN(5) == 0 && failed == nil {
				if failed = r.Close(); failed == nil {
					r, failed = OpenReplica(path, Options{})
					r.file.db().NoSync = true
				}
			}
			list = list[n:]
		}
		if failed != nil {
			return failed
		}
		differences, failed = r.differences(snap)
		return failed
	})
	return differences, err
}

func joined(err, other error) error {
	if err == nil {
		return other
	}
	return err
}

// differences returns how the file of a replica differs from a snapshot of the origin, and the problems that a check
// finds in it.
func (r *Replica) differences(want *Snapshot) (list []string, err error) {
	if err := r.conversion.bind(); err != nil {
		return nil, err
	}
	err = r.file.read(func(tx *bolt.Tx) error {
		got := newSnapshot(r.conversion.store, tx)
		got.bound = r.conversion.bound
		pending := got.bucket(format.Meta).Get(format.KeyPending) != nil
		if problems, err := got.disagreements(nil); !pending && (err != nil || len(problems) > 0) {
			list = append(list, fmt.Sprint(problems, err))
		}
		for _, n := range []format.Bucket{format.Rows, format.Docs, format.Index, format.Links, format.Log,
			format.History, format.Answers, format.Meta} {
			if line := firstDifference(n, valuesOf(want, n), valuesOf(got, n)); line != "" {
				list = append(list, line)
			}
		}
		return nil
	})
	return list, err
}

func firstDifference(n format.Bucket, want, got [][2][]byte) string {
	for i := range max(len(want), len(got)) {
		var w, g [2][]byte
		if i < len(want) {
			w = want[i]
		}
		if i < len(got) {
			g = got[i]
		}
		if !bytes.Equal(w[0], g[0]) || !bytes.Equal(w[1], g[1]) {
			return fmt.Sprintf("%s: the replica has\n%q = %q\nwant\n%q = %q", n.Name(), g[0], g[1], w[0], w[1])
		}
	}
	return ""
}

// valuesOf returns the keys and values of a bucket, those of the index entry by entry. It leaves out what a replica
// need not have in the same way: text indexes, the identity, and numbers that were given out for nothing.
func valuesOf(s *Snapshot, n format.Bucket) (list [][2][]byte) {
	c := s.bucket(n).Cursor()
	for k, v := c.First(); k != nil; k, v = c.Next() {
		switch {
		case n == format.Index:
			b := s.block(k, v)
			for i := range b.Len() {
				key, doc := b.Entry(i)
				if evolve.IsTextField(be.Uint16(key[2:])) {
					continue // when a text is indexed depends on the transactions; a check compares it with the rows
				}
				list = append(list, [2][]byte{key, doc})
			}
		case n != format.Meta:
			list = append(list, [2][]byte{k, v})
		case !slices.Contains([]string{string(format.KeyIdentity), string(format.KeyDocs), string(format.KeyItems)},
			string(k)) &&
			!bytes.HasPrefix(k, []byte(format.PrefixRowID)) && !bytes.HasPrefix(k, []byte(format.PrefixNote)):
			list = append(list, [2][]byte{k, v})
		}
	}
	return list
}
