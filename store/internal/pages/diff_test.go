package pages_test

import (
	"maps"
	"testing"

	bolt "go.etcd.io/bbolt"

	"lectern/store/internal/pages"
)

// TestDiff changes a file while a reader keeps an earlier state open. It applies the result of Diff to a copy of the
// earlier state, and expects the newest state.
func TestDiff(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine")
	}
	for seed := range seeds {
		w := newTwin(t, seed)
		space := []int{3, 40, 1000, 20000}[seed%4]
		w.change(space, 0, space)
		for round := range 40 {
			copied := maps.Clone(w.keys)
			reader, err := w.db.Begin(false)
			if err != nil {
				t.Fatal(err)
			}
			before := w.state(reader)
			puts, deletes := w.rnd.IntN(12), w.rnd.IntN(12)
			switch round % 10 {
			case 8:
				puts = space // until the tree has another height
			case 9:
				deletes = 4 * space
			}
			for range 3 {
				w.change(puts, deletes, space)
			}
			if err := w.db.View(func(tx *bolt.Tx) error {
				after, leaves := w.state(tx), 0
				var added []pages.Page
				err := pages.Diff(before, after, func(p pages.Page) error {
					for i := range p.Len() {
						delete(copied, string(p.Key(i)))
					}
					leaves++
					return nil
				}, func(p pages.Page) error { added = append(added, p); return nil })
				for _, p := range added {
					for i := range p.Len() {
						copied[string(p.Key(i))] = string(p.Value(i))
					}
				}
				if most := 12 * (puts + deletes); leaves+
					len(added) > most { // a change moves a leaf and merges it with others
					t.Errorf("seed %d, round %d: %d leaves differ after %d changes", seed, round, leaves+len(added),
						3*(puts+deletes))
				}
				return err
			}); err != nil {
				t.Fatalf("seed %d, round %d: %v", seed, round, err)
			}
			if err := reader.Rollback(); err != nil {
				t.Fatal(err)
			}
			if !maps.Equal(copied, w.keys) {
				t.Fatalf("seed %d, round %d: the copy differs", seed, round)
			}
		}
	}
}

// state returns the tree of the bucket in a transaction.
func (w *twin) state(tx *bolt.Tx) *pages.Tree {
	w.t.Helper()
	info := tx.DB().Info()
	f := pages.NewFile(pages.Mapped(info.Data, int(tx.Size())), info.PageSize, nil)
	tree, err := f.Root(uint64(tx.Cursor().Bucket().RootPage())).Bucket(bucketName)
	if err != nil {
		w.t.Fatal(err)
	}
	tree.Check = checkSums
	return tree
}
