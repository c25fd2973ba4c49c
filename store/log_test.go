package store_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"lectern/store"
)

// entriesOf returns the entries of a snapshot's log, from the oldest one.
func entriesOf(t *testing.T, snap *store.Snapshot) (list []*store.Entry) {
	t.Helper()
	oldest, err := snap.OldestPosition()
	if err != nil {
		t.Fatal(err)
	}
	entries, err := snap.Entries(oldest)
	if err != nil {
		t.Fatal(err)
	}
	for e, err := range entries {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, e)
	}
	return list
}

// changesIn returns what the entries of a snapshot's log did to documents.
func changesIn(t *testing.T, snap *store.Snapshot) (list []store.Change) {
	t.Helper()
	for _, e := range entriesOf(t, snap) {
		list = append(list, snap.Changes(e)...)
	}
	return list
}

// inLog calls f with the log of a store.
func inLog(t *testing.T, s *store.Store, f func(snap *store.Snapshot, log []*store.Entry)) {
	t.Helper()
	if err := s.View(func(snap *store.Snapshot) error { f(snap, entriesOf(t, snap)); return nil }); err != nil {
		t.Fatal(err)
	}
}

// putTag writes a tag with a name that has so many bytes.
func putTag(ctx context.Context, s *store.Store, size int) error {
	tag := s.Model().Type("api::tag.tag")
	return s.Write(ctx, func(tx *store.Tx) error {
		var b store.Batch
		doc := tx.NewDoc()
		b.PutRow(newRow(tx, tag, doc, store.Published, "",
			map[string]string{"name": `"` + strings.Repeat("x", size) + `"`}))
		b.Log(tag, documentID(doc), store.Created)
		return tx.Apply(&b)
	})
}

// TestLogSaysWhoAndWhen writes as two principals, and as none.
func TestLogSaysWhoAndWhen(t *testing.T) {
	s := newStore(t)
	began := time.Now().Truncate(time.Millisecond)
	editor := store.Principal{Kind: "user", Name: "an editor"}
	for _, ctx := range []context.Context{store.WithPrincipal(t.Context(), editor), t.Context()} {
		if err := putTag(ctx, s, 9); err != nil {
			t.Fatal(err)
		}
	}
	inLog(t, s, func(snap *store.Snapshot, log []*store.Entry) {
		var who []string
		for i, e := range log {
			who = append(who, fmt.Sprintf("%d%s", e.Kind, e.By))
			if e.Sequence != uint64(i+1) || e.Time.Before(began) && e.Kind == store.BatchEntry ||
				e.Time.After(time.Now()) {
				t.Errorf("entry %d has the sequence %d and the time %s", i+1, e.Sequence, e.Time)
			}
			if at, err := snap.Position(); err != nil || at.Epoch != e.Epoch {
				t.Errorf("entry %d has the epoch %s in that of %v (%v)", i+1, e.Epoch, at, err)
			}
		}
		want := []string{"1{system }", "0{user an editor}", "0{system }"}
		if !slices.Equal(who, want) {
			t.Errorf("the log was written by %q, want %q", who, want)
		}
	})
}

// TestPositions reads the log after positions that it has and that it does not have.
func TestPositions(t *testing.T) {
	s := newStore(t)
	for range 5 {
		if err := putTag(t.Context(), s, 9); err != nil {
			t.Fatal(err)
		}
	}
	inLog(t, s, func(snap *store.Snapshot, log []*store.Entry) {
		last, err := snap.Position()
		if err != nil || last.Sequence != 6 {
			t.Fatalf("the position is %v (%v)", last, err)
		}
		for after := range last.Sequence + 1 {
			at, err := store.ParsePosition(store.Position{Epoch: last.Epoch, Sequence: after}.String())
			if err != nil {
				t.Fatal(err)
			}
			list, err := snap.Entries(at)
			if err != nil {
				t.Fatal(err)
			}
			next := after
			for e, err := range list {
				if next++; err != nil || e.Sequence != next {
					t.Fatalf("after %d comes %v, %v", after, e, err)
				}
			}
			if next != last.Sequence {
				t.Errorf("after %d the entries end with %d", after, next)
			}
		}
		for _, wrong := range []store.Position{{Sequence: 3}, {Epoch: last.Epoch, Sequence: 7}} {
			if _, err := snap.Entries(wrong); !errors.Is(err, store.ErrOtherEpoch) {
				t.Errorf("after %v: %v", wrong, err)
			}
		}
		for _, wrong := range []string{"", "0", "7-3", last.Epoch.String(), last.String() + "x", last.Epoch.String() +
			"-03", last.Epoch.String() + "-281474976710656"} {
			if at, err := store.ParsePosition(wrong); !errors.Is(err, store.ErrOtherEpoch) {
				t.Errorf("%q is %v, %v", wrong, at, err)
			}
		}
	})
}

// TestEpochs begins a new epoch. The log goes on, and positions of the former epoch are refused.
func TestEpochs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "content.db")
	s := open(t, path)
	var before store.Position
	inLog(t, s, func(snap *store.Snapshot, _ []*store.Entry) { before, _ = snap.Position() })
	if err := s.BeginEpoch(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s.Revision() != before.Sequence+1 {
		t.Errorf("the revision is %d", s.Revision())
	}
	closeChecked(t, s)
	s = open(t, path)
	if err := putTag(t.Context(), s, 9); err != nil {
		t.Fatal(err)
	}
	inLog(t, s, func(snap *store.Snapshot, log []*store.Entry) {
		if after, err := snap.Position(); err != nil || after.Epoch == before.Epoch || after.Sequence != 3 {
			t.Errorf("the position is %v after %v (%v)", after, before, err)
		}
		if _, err := snap.Entries(before); !errors.Is(err, store.ErrOtherEpoch) {
			t.Errorf("after a position of the former epoch: %v", err)
		}
		if len(log) != 3 || log[1].Kind != store.EpochEntry || log[1].Epoch != log[2].Epoch ||
			log[0].Epoch != before.Epoch {
			t.Errorf("the log is %v", log)
		}
	})
	closeChecked(t, s)
}

// TestLogIsBounded writes more than the log may hold. The oldest entries go, no more than a bounded number in each
// transaction, and the rest stays without gaps. Entries that are older than the limit go too.
func TestLogIsBounded(t *testing.T) {
	const most = 100_000
	path := filepath.Join(t.TempDir(), "content.db")
	s := openModel(t, path, loadModel(t), store.Options{Log: store.LogLimits{MaxSize: most}})
	rnd := rand.New(rand.NewPCG(1, 1))
	for range 300 {
		size := rnd.IntN(500)
		if rnd.IntN(50) == 0 {
			size = 30_000 // in several parts
		}
		if err := putTag(t.Context(), s, size); err != nil {
			t.Fatal(err)
		}
		if size := s.LogBytes(); size > most {
			t.Fatalf("the log has %d bytes", size)
		}
	}
	var oldest store.Position
	inLog(t, s, func(snap *store.Snapshot, log []*store.Entry) {
		if len(log) < 10 || len(log) > 250 || log[len(log)-1].Sequence != s.Revision() || s.LogBytes() < most/2 {
			t.Errorf("the log has %d entries up to %d of %d, and %d bytes", len(log), log[len(log)-1].Sequence,
				s.Revision(), s.LogBytes())
		}
		oldest, _ = snap.OldestPosition()
		if oldest.Sequence--; oldest.Sequence == 0 {
			t.Fatal("nothing was removed")
		}
		if _, err := snap.Entries(oldest); !errors.Is(err, store.ErrTrimmed) {
			t.Errorf("after an entry that was removed: %v", err)
		}
	})
	closeChecked(t, s)

	s = openModel(t, path, loadModel(t), store.Options{Log: store.LogLimits{Keep: time.Nanosecond}})
	for last := time.Now().UnixMilli(); time.Now().UnixMilli() < last+2; { // times in the log are in milliseconds
	}
	if err := putTag(t.Context(), s, 9); err != nil {
		t.Fatal(err)
	}
	inLog(t, s, func(_ *store.Snapshot, log []*store.Entry) {
		if len(log) != 1 || log[0].Sequence != s.Revision() {
			t.Errorf("%d entries are left", len(log))
		}
	})
	closeChecked(t, s)
}

// TestLogSwitchedOff switches the log off and on. There are no entries of the time between, so positions before are
// refused.
func TestLogSwitchedOff(t *testing.T) {
	path := filepath.Join(t.TempDir(), "content.db")
	var first store.Position
	for i, off := range []bool{false, true, true, false} {
		s := openModel(t, path, loadModel(t), store.Options{Log: store.LogLimits{Off: off}})
		for range 3 {
			if err := putTag(t.Context(), s, 20_000); err != nil {
				t.Fatal(err)
			}
		}
		inLog(t, s, func(snap *store.Snapshot, log []*store.Entry) {
			if i == 0 {
				first, _ = snap.Position()
			}
			want := map[int]int{0: 4, 1: 0, 2: 0, 3: 3}[i]
			if _, err := snap.Entries(first); len(log) != want || errors.Is(err, store.ErrTrimmed) != (i > 0) {
				t.Errorf("round %d: %d entries, want %d; after the first position: %v", i, len(log), want, err)
			}
			if off && s.LogBytes() > 0 {
				t.Errorf("round %d: the log has %d bytes", i, s.LogBytes())
			}
		})
		closeChecked(t, s)
	}
}
