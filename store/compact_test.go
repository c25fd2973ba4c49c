package store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"lectern/store"
)

// TestCompact compacts a store again and again, each time after much was removed and while it is written to.
func TestCompact(t *testing.T) {
	defer store.CopiedTogether(30_000)()
	path := filepath.Join(t.TempDir(), "content.db")
	s := open(t, path)
	article := s.Model().Type("api::article.article")
	rnd := rand.New(rand.NewPCG(1, 8))
	tw := twin{rows: map[uint64]*twinRow{}}
	compare := func() {
		t.Helper()
		for range 40 {
			q := randomQuery(rnd, article)
			want, got := tw.find(q), find(t, s, q)
			if want.Total != got.Total && q.Count || !slices.Equal(want.Docs, got.Docs) {
				t.Fatalf("%s\n got %v of %d\nwant %v of %d", describe(q), got.Docs, got.Total, want.Docs, want.Total)
			}
		}
	}
	rounds := 4
	if testing.Short() {
		rounds = 1
	}
	for round := range rounds {
		for range 10 {
			write(t, s, func(tx *store.Tx) error { return tw.change(tx, article, rnd, 150, false) })
		}
		for range 10 {
			write(t, s, func(tx *store.Tx) error { return tw.change(tx, article, rnd, 150, true) })
		}
		revision, told, last := s.Revision(), 0, 0
		result, err := s.Compact(t.Context(), func(done, total int64) {
			if done <= 0 || done > total {
				t.Errorf("told is %d of %d", done, total)
			}
			if told++; told < 8 {
				write(t, s, func(tx *store.Tx) error { return tw.change(tx, article, rnd, 30, round%2 == 0) })
				revision++
			}
			last = stateOf(t, s)
			if _, err := s.Compact(t.Context(), nil); !errors.Is(err, store.ErrCompacting) {
				t.Errorf("another compaction meanwhile: %v", err)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		if told < 3 {
			t.Errorf("progress was told %d times", told)
		}
		if size := len(readFile(t, path)); result.After != int64(size) || result.After >= result.Before {
			t.Errorf("%+v, and the file has %d bytes", result, size)
		}
		if now := stateOf(t, s); now <= last { // caches know a state by its number
			t.Errorf("the store is in state %d after state %d", now, last)
		}
		compare()
		if s.Revision() < revision {
			t.Errorf("revision %d, was %d", s.Revision(), revision)
		}
		write(t, s, func(tx *store.Tx) error { return tw.change(tx, article, rnd, 50, false) })
		if err := s.Check(); err != nil {
			t.Fatal(err)
		}
		if round == 2 {
			closeChecked(t, s)
			s = openModel(t, path, s.Model(),
				store.Options{Replaced: func() { t.Error("the compacted file counts as another store") }})
			compare()
		}
	}
	closeChecked(t, s)
	leftOver(t, path)
}

func stateOf(t *testing.T, s *store.Store) (state int) {
	t.Helper()
	if err := s.View(func(snap *store.Snapshot) error { state = snap.State(); return nil }); err != nil {
		t.Fatal(err)
	}
	return state
}

// leftOver fails the test if there are other files than the store and its marker.
func leftOver(t *testing.T, path string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if p := filepath.Join(filepath.Dir(path), e.Name()); p != path && p != store.MarkerPath(path) {
			t.Errorf("%s is left over", e.Name())
		}
	}
}

// TestCompactWhileReading reads while a store is written to and compacted. Every snapshot must see the rows and links
// of its own state, even if it begins before the compaction and ends after it.
func TestCompactWhileReading(t *testing.T) {
	defer store.CacheAfter(1)()
	defer store.CopiedTogether(10_000)()
	s, w := newWheel(t)
	var done atomic.Bool
	var others sync.WaitGroup
	for seed := range uint64(3) {
		others.Go(func() {
			for rnd := rand.New(rand.NewPCG(seed, 3)); !done.Load(); {
				if err := s.View(func(snap *store.Snapshot) error { return w.check(snap, rnd) }); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	var turns atomic.Int64
	others.Go(func() {
		for n := 1; !done.Load(); n++ {
			if err := s.Write(context.Background(), func(tx *store.Tx) error { return w.turn(tx, n) }); err != nil {
				t.Error(err)
				return
			}
			turns.Store(int64(n))
		}
	})
	for range 5 {
		if err := s.View(func(snap *store.Snapshot) error {
			rnd := rand.New(rand.NewPCG(9, 9))
			err := w.check(snap, rnd)
			acknowledged := turns.Load()
			_, failed := s.Compact(t.Context(), nil)
			return errors.Join(err, failed, w.check(snap, rnd),
				s.View(func(now *store.Snapshot) error { return w.atLeast(now, acknowledged) }))
		}); err != nil {
			t.Error(err)
			break
		}
	}
	done.Store(true)
	others.Wait()
	if err := s.View(func(snap *store.Snapshot) error { return w.state(snap, int(turns.Load())) }); err != nil {
		t.Error(err)
	}
}

// atLeast returns an error if a snapshot sees an earlier state.
func (w *wheel) atLeast(snap *store.Snapshot, n int64) error {
	r := snap.Version(w.article, w.articles[0], store.Published, "en")
	var got int64
	if _, err := fmt.Sscan(string(r.JSON(w.article.Attribute("rank"))), &got); err != nil || got < n {
		return fmt.Errorf("a snapshot sees state %d, and %d was acknowledged (%w)", got, n, err)
	}
	return nil
}

// TestCompactOutgrown writes so much during a compaction that the file outgrows its mapping. The write does not wait
// for the whole compaction, which begins anew.
func TestCompactOutgrown(t *testing.T) {
	for _, when := range []string{"while it copies", "before it replaces the file"} {
		t.Run(when, func(t *testing.T) {
			defer store.MappedBy(1 << 18)()
			defer store.CopiedTogether(10_000)()
			s := newStore(t)
			fillTagged(t, s, 100)
			written := make(chan error, 1)
			outgrow := sync.OnceFunc(func() {
				article := s.Model().Type("api::article.article")
				go func() {
					written <- s.Write(context.Background(), func(tx *store.Tx) error {
						var b store.Batch
						b.PutRow(newRow(tx, article, tx.NewDoc(), store.Published, "en",
							map[string]string{"body": quote(strings.Repeat("x", 4<<20))}))
						return tx.Apply(&b)
					})
				}()
				for readable(s) { // until the write waits for all readers
				}
			})
			copied := func() {}
			if when == "while it copies" {
				copied = outgrow
			} else {
				defer store.BeforeReplace(outgrow)()
			}
			begun := 0
			_, err := s.Compact(t.Context(), func(done, _ int64) {
				if done <= 20_000 {
					begun++
				}
				copied()
			})
			if err := errors.Join(err, <-written); err != nil {
				t.Error(err)
			}
			if begun < 2 {
				t.Error("the compaction did not begin anew")
			}
		})
	}
}

// readable reports whether a reader can begin within a moment.
func readable(s *store.Store) bool {
	read := make(chan error, 1)
	go func() { read <- s.View(func(*store.Snapshot) error { return nil }) }()
	select {
	case <-read:
		return true
	case <-time.After(time.Second):
		return false
	}
}

// TestCompactFails makes compactions fail in every way. The store must stay as it was.
func TestCompactFails(t *testing.T) {
	for _, tt := range []struct {
		name      string
		meanwhile func(t *testing.T, path string, cancel func())
		before    func(t *testing.T, path string)
		want      error
		state     store.State
	}{
		{"cancelled", func(_ *testing.T, _ string, cancel func()) { cancel() }, nil, context.Canceled, store.Sound},
		{"no space", nil, func(t *testing.T, _ string) { t.Cleanup(store.OnDiskWith(1 << 20)) }, store.ErrFull,
			store.Sound},
		{"file removed", func(t *testing.T, path string, _ func()) {
			if err := os.Remove(path); err != nil {
				t.Error(err)
			}
		}, nil, store.ErrLost, store.Lost},
		{"damaged", nil, func(t *testing.T, path string) { flip(t, path, []byte(documentID(300))) }, store.ErrCorrupt,
			store.Damaged},
	} {
		t.Run(tt.name, func(t *testing.T) {
			defer store.LookSeldom()()
			defer store.CopiedTogether(30_000)()
			path := filepath.Join(t.TempDir(), "content.db")
			s := open(t, path)
			fillTagged(t, s, damagedRows/2)
			if tt.before != nil {
				tt.before(t, path)
			}
			content := readFile(t, path)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			_, err := s.Compact(ctx, func(int64, int64) {
				if tt.meanwhile != nil {
					tt.meanwhile(t, path, cancel)
					tt.meanwhile = nil
				}
			})
			if !errors.Is(err, tt.want) {
				t.Errorf("compact: %v", err)
			}
			if s.Health().State != tt.state {
				t.Errorf("the store is %s", s.Health().State)
			}
			if now, err := os.ReadFile(path); tt.state == store.Lost {
				if !errors.Is(err, fs.ErrNotExist) {
					t.Error("there is a file again")
				}
			} else if !bytes.Equal(now, content) {
				t.Errorf("the file has changed (%v)", err)
			}
			leftOver(t, path)
			if tt.state == store.Sound {
				fillTagged(t, s, 10)
				closeChecked(t, s)
			} else if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// flip flips a bit at each place where a text occurs in a file.
func flip(t *testing.T, path string, text []byte) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	whole := readFile(t, path)
	for at, n := 0, bytes.Count(whole, text); n > 0; n-- {
		at += bytes.Index(whole[at:], text)
		if _, err := f.WriteAt([]byte{whole[at] ^ 4}, int64(at)); err != nil {
			t.Fatal(err)
		}
		at++
	}
}

// TestCompactWasKilled opens a store beside which a killed compaction has left its file.
func TestCompactWasKilled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "content.db")
	closeChecked(t, open(t, path))
	if err := os.WriteFile(path+".compact.new", []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	closeChecked(t, open(t, path))
	leftOver(t, path)
}
