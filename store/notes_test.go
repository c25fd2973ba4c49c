package store_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"lectern/store"
)

// TestNotes puts, replaces and deletes notes, beside content and alone, and finds them after the store was opened anew. They take no
// sequence and have no entry in the log.
func TestNotes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "content.db")
	s := open(t, path)
	before := s.Revision()
	for _, step := range []func(tx *store.Tx) error{
		func(tx *store.Tx) error { return tx.PutNote("a/1", []byte(`{"n":1}`)) },
		func(tx *store.Tx) error { return tx.PutNote("b", []byte(`2`)) },
		func(tx *store.Tx) error { return tx.PutNote("a/2", []byte(`"long enough to be taken for a number"`)) },
		func(tx *store.Tx) error { return tx.PutNote("a/1", []byte(`{"n":3}`)) },
		func(tx *store.Tx) error { return tx.DeleteNote("b") },
		func(tx *store.Tx) error { return tx.DeleteNote("none") },
	} {
		write(t, s, step)
	}
	if err := s.Write(t.Context(), func(tx *store.Tx) error { return tx.PutNote("wrong", []byte("no JSON")) }); err == nil {
		t.Error("a note that is no JSON is taken")
	}
	if s.Revision() != before {
		t.Errorf("notes took the sequences from %d to %d", before, s.Revision())
	}
	if err := putTag(t.Context(), s, 9); err != nil {
		t.Fatal(err)
	}
	check := func(when string) {
		var got []string
		inLog(t, s, func(snap *store.Snapshot, log []*store.Entry) {
			for name, value := range snap.Notes("a/") {
				got = append(got, fmt.Sprintf("%s=%s", name, value))
			}
			if string(snap.Note("a/1")) != `{"n":3}` || snap.Note("b") != nil || len(log) != 2 {
				t.Errorf("%s: a/1 is %s, b is %s, and the log has %d entries", when, snap.Note("a/1"), snap.Note("b"), len(log))
			}
		})
		if want := []string{`a/1={"n":3}`, `a/2="long enough to be taken for a number"`}; !slices.Equal(got, want) {
			t.Errorf("%s: the notes are %q, want %q", when, got, want)
		}
	}
	check("at first")
	if _, err := s.Compact(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	check("compacted")
	closeChecked(t, s)
	s = open(t, path)
	check("opened anew")
	closeChecked(t, s)
}
