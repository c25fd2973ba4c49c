package store

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	bolt "go.etcd.io/bbolt"

	"lectern/store/internal/format"
)

// TestYoungBlocks adds and removes entries in spaces that grow at their end, at the ends of runs and anywhere, and
// compares ranks, positions and walks in both directions with a sorted list, in write transactions and after them.
func TestYoungBlocks(t *testing.T) {
	defer CountedBy(3)()
	path := filepath.Join(t.TempDir(), "content.db")
	if err := create(path); err != nil {
		t.Fatal(err)
	}
	db, err := openFile(path, Options{}, openThere)
	if err != nil {
		t.Fatal(err)
	}
	f := newFile(db, path)
	defer func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}()
	db.NoSync = true
	rnd := rand.New(rand.NewPCG(1, 2))
	values := []func(id uint64) uint64{
		func(id uint64) uint64 { return id },
		func(uint64) uint64 { return rnd.Uint64N(3) },
		func(uint64) uint64 { return rnd.Uint64N(9) },
		func(uint64) uint64 { return rnd.Uint64() },
	}
	entries := make([][][]byte, len(values))
	most, aged, last := 0, 0, map[string]bool{}
	for id := uint64(1); id < 3000; {
		n, removes := 1+rnd.IntN(5), rnd.IntN(6) == 0 || id > 2000 && rnd.IntN(2) == 0
		err := db.Update(func(btx *bolt.Tx) error {
			s := newSnapshot(&Store{file: f}, btx)
			s.indexer = newIndexer(s)
			for range n {
				id += 1 + rnd.Uint64N(3)
				for space, of := range values {
					key := be.AppendUint64(be.AppendUint64(format.AppendSpace(nil, 1, uint16(space), 0), of(id)), id)
					s.indexer.add(key, id)
					at, _ := slices.BinarySearchFunc(entries[space], key, bytes.Compare)
					entries[space] = slices.Insert(entries[space], at, key)
					for range rnd.IntN(3) {
						if at := rnd.IntN(len(entries[space])); removes {
							s.indexer.remove(entries[space][at])
							entries[space] = slices.Delete(entries[space], at, at+1)
						}
					}
				}
			}
			return errors.Join(compareIndex(s, entries, rnd), s.failed)
		})
		if err == nil {
			err = f.read(func(btx *bolt.Tx) error {
				s := newSnapshot(&Store{file: f}, btx)
				young := map[string]bool{}
				for space := range values {
					list := s.youngBlocks(format.AppendSpace(nil, 1, uint16(space), 0))
					most = max(most, len(list))
					for _, y := range list {
						young[string(y.bound)] = true
					}
				}
				for bound := range last {
					if !young[bound] {
						aged++
					}
				}
				last = young
				c := &checker{snap: s, reserve: func(int64) error { return nil }}
				c.counts()
				return errors.Join(append(c.problems, compareIndex(s, entries, rnd))...)
			})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if most != maxYoung || aged < 100 {
		t.Errorf("at most %d young blocks in a space, %d that became old: the test is too weak", most, aged)
	}
}

// compareIndex compares the spaces 0, 1, 2 … of the index with lists of their keys.
func compareIndex(s *Snapshot, entries [][][]byte, rnd *rand.Rand) error {
	for i, want := range entries {
		space := format.AppendSpace(nil, 1, uint16(i), 0)
		if s.cursor(format.Index); s.size(space) != len(want) {
			return errors.New("a wrong size")
		}
		c := s.takeIndex()
		at := 0
		for k, _ := c.Seek(space); bytes.HasPrefix(k, space); k, _ = c.Next() {
			if at == len(want) || !bytes.Equal(k, want[at]) {
				return errors.New("the walk meets another entry")
			}
			at++
		}
		if at != len(want) {
			return errors.New("the walk ends early")
		}
		if len(want) == 0 {
			continue
		}
		k, _ := c.Seek(want[at-1])
		for at--; at > 0 && bytes.Equal(k, want[at]); at-- {
			k, _ = c.Prev()
		}
		if !bytes.Equal(k, want[0]) {
			return errors.New("the walk back meets another entry")
		}
		for range 5 {
			at := rnd.IntN(len(want))
			if s.rank(want[at]) != at || s.rank(format.Successor(want[at])) != at+1 {
				return errors.New("a wrong rank")
			}
			if k, _ := s.kth(c, space, at); !bytes.Equal(k, want[at]) {
				return errors.New("a wrong entry at a position")
			}
		}
		if k, _ := s.kth(c, space, len(want)); k != nil {
			return errors.New("an entry behind the last")
		}
		s.give(format.Index, c.c)
	}
	return nil
}
