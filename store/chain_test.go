package store_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"lectern/store"
)

// verify verifies the log of a store.
func verify(t *testing.T, s *store.Store, expected *store.EntryHash) (c store.Chain, err error) {
	t.Helper()
	err = s.View(func(snap *store.Snapshot) error {
		c, err = snap.VerifyChain(expected)
		return err
	})
	return c, err
}

// chained returns the path of a store with entries 1 to 9 in its log, and the hash of the last one. Entry 6 is stored
// in several parts.
func chained(t *testing.T) (path string, head store.EntryHash) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "content.db")
	s, err := store.Open(path, loadModel(t), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for n := range 8 {
		ctx := store.WithPrincipal(t.Context(), store.Principal{Kind: "user", Name: "editor"})
		if err := putTag(ctx, s, map[bool]int{true: 20000, false: 9}[n == 4]); err != nil {
			t.Fatal(err)
		}
	}
	c, err := verify(t, s, nil)
	if err != nil || c.First != 1 || c.Last != 9 || c.Before != (store.EntryHash{}) {
		t.Fatalf("the log as it was written: %+v, %v", c, err)
	}
	if err := errors.Join(s.Check(), s.Close()); err != nil {
		t.Fatal(err)
	}
	return path, c.Head
}

// TestChainShowsChanges edits the log of a file in every way, with checksums that fit. The chain shows each edit, or
// else the hash of the last entry does.
func TestChainShowsChanges(t *testing.T) {
	path, head := chained(t)
	original, err := store.ParseEntryHash(head.String())
	if err != nil || original != head {
		t.Fatal(original, err)
	}
	cases := []struct {
		name   string
		edit   func(log map[uint64][]byte)
		unseen bool // without the hash of the last entry
	}{
		{"an entry was removed", func(log map[uint64][]byte) { delete(log, 5) }, false},
		{"an entry was removed, and the gap closed", func(log map[uint64][]byte) {
			for n := uint64(5); n < 9; n++ {
				log[n] = log[n+1]
			}
			delete(log, 9)
		}, false},
		{"two entries were swapped", func(log map[uint64][]byte) { log[4], log[5] = log[5], log[4] }, false},
		{"who wrote was changed",
			func(log map[uint64][]byte) { log[3] = bytes.Replace(log[3], []byte("editor"), []byte("nobody"), 1) },
			false},
		{"a long entry was changed", func(log map[uint64][]byte) { log[6][15000]++ }, false},
		{"an entry was added", func(log map[uint64][]byte) {
			for n := uint64(10); n > 5; n-- {
				log[n] = log[n-1]
			}
		}, false},
		{"the last entry was changed",
			func(log map[uint64][]byte) { log[9] = bytes.Replace(log[9], []byte("editor"), []byte("nobody"), 1) },
			true},
		{"the last entry was removed", func(log map[uint64][]byte) { delete(log, 9) }, true},
		{"an entry was changed, and those after it linked again", func(log map[uint64][]byte) {
			log[3] = bytes.Replace(log[3], []byte("editor"), []byte("nobody"), 1)
			for n := uint64(4); n <= 9; n++ {
				log[n] = store.Relinked(n, log[n], log[n-1])
			}
		}, true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			edited := copied(t, path)
			if err := store.RewriteLog(edited, c.edit); err != nil {
				t.Fatal(err)
			}
			s, err := store.Open(edited, loadModel(t), store.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if _, err := verify(t, s, nil); (err == nil) != c.unseen {
				t.Errorf("without the hash: %v", err)
			}
			if _, err := verify(t, s, &head); err == nil {
				t.Error("with the hash of the last entry: nothing was noticed")
			}
		})
	}
	if err := store.RewriteLog(path, func(map[uint64][]byte) {}); err != nil {
		t.Fatal(err)
	}
	s := open(t, path)
	if err := putTag(t.Context(), s, 9); err != nil {
		t.Fatal(err)
	}
	if c, err := verify(t, s, &head); err != nil || c.Expected != 9 || c.Last != 10 {
		t.Errorf("the log as it was, with another entry: %+v, %v", c, err)
	}
}

// TestChainGoesOn trims the log, begins an epoch, switches the log off and on, and applies it to a replica. The chain
// goes on, or begins anew where no log was kept.
func TestChainGoesOn(t *testing.T) {
	path, head := chained(t)
	reopened := func(limits store.LogLimits) *store.Store {
		t.Helper()
		s, err := store.Open(path, loadModel(t), store.Options{Log: limits})
		if err != nil {
			t.Fatal(err)
		}
		if err := putTag(t.Context(), s, 9); err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := reopened(store.LogLimits{})
	if err := s.BeginEpoch(t.Context()); err != nil {
		t.Fatal(err)
	}
	if c, err := verify(t, s, &head); err != nil || c.Last != 11 || c.Expected != 9 {
		t.Errorf("after a new epoch: %+v, %v", c, err)
	}
	s.Close()
	s = reopened(store.LogLimits{Keep: time.Nanosecond})
	c, err := verify(t, s, nil)
	if err != nil || c.First != 12 || c.Before == (store.EntryHash{}) {
		t.Errorf("after the log was trimmed: %+v, %v", c, err)
	}
	if trimmed, err := verify(t, s, &c.Before); err != nil || trimmed.Expected != 11 {
		t.Errorf("the hash of the entry that was trimmed last: %+v, %v", trimmed, err)
	}
	if _, err := verify(t, s, &head); !errors.Is(err, store.ErrUnexpected) {
		t.Errorf("the hash of an entry that was trimmed before: %v", err)
	}
	s.Close()
	s = reopened(store.LogLimits{Off: true})
	s.Close()
	s = reopened(store.LogLimits{})
	if c, err := verify(t, s, nil); err != nil || c.First != 14 || c.Last != 14 || c.Before != (store.EntryHash{}) {
		t.Errorf("after the log was switched off and on: %+v, %v", c, err)
	}
	if err := errors.Join(s.Check(), s.Close()); err != nil {
		t.Error(err)
	}
}

// TestReplicaRefusesOtherChain applies an entry that does not hold the hash of the one before it.
func TestReplicaRefusesOtherChain(t *testing.T) {
	path, _ := chained(t)
	s := open(t, path)
	r, err := store.OpenReplica(filepath.Join(t.TempDir(), "replica.db"), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	inLog(t, s, func(_ *store.Snapshot, log []*store.Entry) {
		if err := r.Apply(log[:4]...); err != nil {
			t.Fatal(err)
		}
		wrong, err := store.ParseEntry(5, store.Relinked(5, log[4].Raw(), []byte("other")))
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Apply(wrong); !errors.Is(err, store.ErrOtherEpoch) {
			t.Errorf("an entry of another chain: %v", err)
		}
		if err := r.Apply(log[4:]...); err != nil || r.Position().Sequence != 9 {
			t.Errorf("the right ones: %v", err)
		}
	})
}

// copied returns the path of a copy of a file.
func copied(t *testing.T, path string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), filepath.Base(path))
	if err := os.WriteFile(to, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	return to
}
