package store_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"lectern/contenttypes"
	"lectern/store"
)

// TestNotes puts, replaces and deletes notes, beside content and alone, and finds them after the store was opened anew.
// They take no sequence and have no entry in the log.
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
	if err := s.Write(t.Context(),
		func(tx *store.Tx) error { return tx.PutNote("wrong", []byte("no JSON")) }); err == nil {
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
				t.Errorf("%s: a/1 is %s, b is %s, and the log has %d entries", when, snap.Note("a/1"), snap.Note("b"),
					len(log))
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

// TestReadNoteWhileRedefined reads a note of a store that has applied the transactions of a conversion and was not
// given the new definitions yet, while all readers that it has for the state before are in use. Whoever gives it the
// definitions finds them by a note, so nothing may be waited for.
func TestReadNoteWhileRedefined(t *testing.T) {
	before := modelOf(t, contenttypes.Options{}, itemType("name: {type: string}, rank: {type: integer}"))
	after := modelOf(t, contenttypes.Options{}, itemType("name: {type: string}, rank: {type: decimal}"))
	a := &agreement{rnd: rand.New(rand.NewPCG(1, 1))}
	dir := t.TempDir()
	leader, follower := &clusterNode{agreement: a, t: t, path: filepath.Join(dir, "a.db")},
		&clusterNode{agreement: a, t: t, path: filepath.Join(dir, "b.db")}
	copyOfOne(t, []*clusterNode{leader, follower}, before)
	put := func(value string) {
		write(t, leader.store, func(tx *store.Tx) error { return tx.PutNote("definitions", []byte(value)) })
	}
	a.elect(leader, before)
	put("1")
	follower.follow(before, true)
	redefine := func(value string) {
		redefined, err := leader.store.Redefine(t.Context(), after,
			store.Options{Notes: map[string][]byte{"definitions": []byte(value)}})
		if err != nil {
			t.Fatal(err)
		}
		leader.store = redefined
	}
	redefine("1")
	redefine("2") // nothing is left to convert
	if redefined, err := follower.store.ApplyTransactions(t.Context(), a.agreed[follower.applied:]); err != nil ||
		!redefined {
		t.Fatal(redefined, err)
	}
	var read func(readers int) error
	read = func(readers int) error {
		return follower.store.View(func(s *store.Snapshot) error {
			if readers > 1 {
				return read(readers - 1)
			}
			if seen := string(s.Note("definitions")); seen != "1" {
				t.Errorf("readers see %s, want 1, as before the conversion", seen)
			}
			return follower.store.ReadNote("definitions", func(now []byte) error {
				if string(now) != "2" {
					t.Errorf("the note is %s, want 2", now)
				}
				return nil
			})
		})
	}
	if err := read(store.MaxPinned()); err != nil {
		t.Error(err)
	}
	follower.adopt(after)
	for _, n := range []*clusterNode{leader, follower} {
		if err := errors.Join(n.store.Check(), n.store.Close()); err != nil {
			t.Error(err)
		}
	}
}
