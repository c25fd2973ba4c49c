package store_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"

	"lectern/store"
)

// Snapshots rest between writes and at no other time.
func TestResting(t *testing.T) {
	s, w := newWheel(t)
	look := func() {
		t.Helper()
		if err := s.View(func(snap *store.Snapshot) error { return w.state(snap, 0) }); err != nil {
			t.Error(err)
		}
	}
	rests := func(when string, want int) {
		t.Helper()
		if got := s.Resting(); got != want {
			t.Errorf("%d snapshots rest %s, want %d", got, when, want)
		}
	}
	rests("at first", 0)
	look()
	look()
	rests("after two views, one after the other", 1)
	err := s.View(func(*store.Snapshot) error {
		rests("while it is in use", 0)
		look()
		return nil
	})
	rests("after two views, one in the other", 2)
	if err != nil {
		t.Error(err)
	}
	refused := errors.New("refused")
	err = s.View(func(*store.Snapshot) error {
		return s.Write(context.Background(), func(tx *store.Tx) error {
			rests("while another writes", 0)
			look() // of the state before
			rests("after a view beside a write", 0)
			return errors.Join(w.turn(tx, 1), refused)
		})
	})
	if !errors.Is(err, refused) {
		t.Errorf("error %v", err)
	}
	rests("after a view that began before a write", 0)
	look()
	rests("after the write", 1)
	write(t, s, func(tx *store.Tx) error { return w.turn(tx, 1) })
	rests("after another write", 0)
}

// Whoever reads sees what was written before, and resting snapshots keep no page from being used again.
func TestRestingSeesWrites(t *testing.T) {
	s, w := newWheel(t)
	var size int64
	for n := 1; n <= 300; n++ {
		write(t, s, func(tx *store.Tx) error { return w.turn(tx, n) })
		var readers sync.WaitGroup
		for range 3 {
			readers.Go(func() {
				for range 3 {
					if err := s.View(func(snap *store.Snapshot) error { return w.state(snap, n) }); err != nil {
						t.Error(err)
					}
				}
			})
		}
		readers.Wait()
		info, err := os.Stat(s.Path())
		if err != nil {
			t.Fatal(err)
		}
		if n == 30 {
			size = info.Size()
		}
		if n > 30 && info.Size() > 2*size {
			t.Fatalf("the file has %d bytes after %d writes of the same rows, %d after 30", info.Size(), n, size)
		}
	}
}

// state is an error unless a snapshot sees that state.
func (w *wheel) state(snap *store.Snapshot, want int) error {
	r := snap.Version(w.article, w.articles[0], store.Published, "en")
	if got := string(r.JSON(w.article.Attribute("rank"))); got != fmt.Sprint(want) {
		return fmt.Errorf("a snapshot sees state %s, not %d", got, want)
	}
	return nil
}
