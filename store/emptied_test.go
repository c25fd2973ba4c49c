package store_test

import (
	"fmt"
	"testing"

	"lectern/store"
)

// TestEmptiedPages removes all index entries of many pages in one transaction, reads the index, and puts other entries
// there. Until the commit, bbolt keeps the emptied pages, and its own cursors stop at them.
func TestEmptiedPages(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine")
	}
	s := newStore(t)
	article := s.Model().Type("api::article.article")
	const n = 3000
	slug := func(i int) map[string]string {
		return map[string]string{"title": fmt.Sprintf("%q", fmt.Sprintf("title %060d", i)),
			"slug": fmt.Sprintf("%q", fmt.Sprintf("slug-%050d", i))}
	}
	put := func(tx *store.Tx, doc, text int) error {
		b := &store.Batch{}
		b.PutRow(newRow(tx, article, uint64(doc), store.Draft, "en", slug(text)))
		return tx.Apply(b)
	}
	write(t, s, func(tx *store.Tx) error {
		for i := range n {
			if err := put(tx, i+1, i); err != nil {
				return err
			}
		}
		return nil
	})
	for round, gap := range []struct{ from, to int }{{100, 2900}, {1, 1500}, {1500, n - 1}} {
		write(t, s, func(tx *store.Tx) error {
			b := &store.Batch{}
			for i := gap.from; i < gap.to; i++ {
				b.DeleteRow(article, uint64(i+1), store.Draft, "en")
			}
			if err := tx.Apply(b); err != nil {
				return err
			}
			for i := gap.from; i < gap.to; i += 7 {
				found := 0
				tx.Equal(article, store.Draft, "en", article.Attribute("title"), []byte(slug(i)["title"]),
					func(store.Record) bool { found++; return true })
				if found > 0 {
					t.Errorf("round %d: %d is found, and was deleted", round, i)
				}
				if err := put(tx, i+1, i); err != nil {
					return err
				}
			}
			return nil
		})
		if err := s.Check(); err != nil {
			t.Fatalf("round %d: %.300v", round, err)
		}
	}
}
