package servertest

import (
	"testing"

	"lectern/store"
)

// SameLogs compares the logs of two stores byte for byte. got must have every entry of want up to a sequence, and none
// that want does not have.
func SameLogs(t testing.TB, want, got *store.Store, last uint64) {
	t.Helper()
	var oldest store.Position
	if err := got.View(func(s *store.Snapshot) (err error) {
		oldest, err = s.OldestPosition()
		return err
	}); err != nil {
		t.Fatal(err)
	}
	wanted := entries(t, want, oldest)
	for sequence, raw := range entries(t, got, oldest) {
		if there, is := wanted[sequence]; !is {
			t.Errorf("entry %d is not in the other log", sequence)
		} else if there != raw {
			t.Errorf("entry %d differs", sequence)
		}
		delete(wanted, sequence)
	}
	for sequence := range wanted {
		if sequence <= last {
			t.Errorf("entry %d is missing", sequence)
		}
	}
}

// entries returns the entries of a log from a position, as they are stored, by sequence.
func entries(t testing.TB, st *store.Store, from store.Position) map[uint64]string {
	t.Helper()
	list := map[uint64]string{}
	if err := st.View(func(s *store.Snapshot) error {
		all, err := s.Entries(from)
		if err != nil {
			return err
		}
		for e, err := range all {
			if err != nil {
				return err
			}
			list[e.Sequence] = string(e.Raw())
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return list
}
