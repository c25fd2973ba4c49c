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

// TestIdleSnapshots counts the snapshots that are kept for the next reader: some between writes, and none at any other
// time.
func TestIdleSnapshots(t *testing.T) {
	s, w := newWheel(t)
	look := func() {
		t.Helper()
		if err := s.View(func(snap *store.Snapshot) error { return w.state(snap, 0) }); err != nil {
			t.Error(err)
		}
	}
	kept := func(when string, want int) {
		t.Helper()
		if got := s.IdleSnapshots(); got != want {
			t.Errorf("%d snapshots are kept %s, want %d", got, when, want)
		}
	}
	kept("at first", 0)
	look()
	look()
	kept("after two views, one after the other", 1)
	err := s.View(func(*store.Snapshot) error {
		kept("while it is in use", 0)
		look()
		return nil
	})
	kept("after two views, one in the other", 2)
	if err != nil {
		t.Error(err)
	}
	refused := errors.New("refused")
	err = s.View(func(*store.Snapshot) error {
		return s.Write(context.Background(), func(tx *store.Tx) error {
			kept("while another writes", 0)
			look() // of the state before
			kept("after a view beside a write", 0)
			return errors.Join(w.turn(tx, 1), refused)
		})
	})
	if !errors.Is(err, refused) {
		t.Errorf("error %v", err)
	}
	kept("after a view that began before a write", 0)
	look()
	kept("after the write", 1)
	write(t, s, func(tx *store.Tx) error { return w.turn(tx, 1) })
	kept("after another write", 0)
}

// TestIdleSnapshotsSeeWrites reads after each of many writes. Readers must see all earlier writes, and kept snapshots
// must not keep pages of the file from being used again.
func TestIdleSnapshotsSeeWrites(t *testing.T) {
	s, w := newWheel(t)
	var size int64
	rounds := 300
	if testing.Short() {
		rounds = 100
	}
	for n := 1; n <= rounds; n++ {
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

// state returns an error unless the snapshot sees this state.
func (w *wheel) state(snap *store.Snapshot, want int) error {
	r := snap.Version(w.article, w.articles[0], store.Published, "en")
	if got := string(r.JSON(w.article.Attribute("rank"))); got != fmt.Sprint(want) {
		return fmt.Errorf("a snapshot sees state %s, not %d", got, want)
	}
	return nil
}
