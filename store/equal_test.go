package store_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"lectern/store"
)

// TestEqualWithinTransaction writes, changes and deletes rows in transactions that look up values between their writes,
// as the writes that share a transaction do for unique attributes. Some values are longer than what the index has of
// them, and some are the beginning of others.
func TestEqualWithinTransaction(t *testing.T) {
	s := newStore(t)
	article := s.Model().Type("api::article.article")
	title := article.Attribute("title")
	rnd := rand.New(rand.NewPCG(1, 2))
	value := func() string {
		text := strings.Repeat("s", 1+rnd.IntN(3)) + fmt.Sprint(rnd.IntN(12))
		if rnd.IntN(4) == 0 {
			text = strings.Repeat("long ", 20) + text
		}
		return fmt.Sprintf("%q", text)
	}
	has := map[uint64]string{}
	for round := range 60 {
		size := 1 + rnd.IntN(40)
		if round%20 == 0 {
			size = 400
		}
		write(t, s, func(tx *store.Tx) error {
			for range size {
				doc, text := uint64(1+rnd.IntN(30)), value()
				b := &store.Batch{}
				if rnd.IntN(4) == 0 {
					b.DeleteRow(article, doc, store.Draft, "en")
					delete(has, doc)
				} else {
					b.PutRow(newRow(tx, article, doc, store.Draft, "en", map[string]string{"title": text}))
					has[doc] = text
				}
				if err := tx.Apply(b); err != nil {
					return err
				}
				if rnd.IntN(2) == 0 {
					text = value()
				}
				var found, want []uint64
				tx.Equal(article, store.Draft, "en", title, []byte(text),
					func(r store.Record) bool { found = append(found, r.Doc()); return true })
				for _, doc := range slices.Sorted(maps.Keys(has)) {
					if has[doc] == text {
						want = append(want, doc)
					}
				}
				if slices.Sort(found); !slices.Equal(found, want) {
					return fmt.Errorf("round %d: %s is found in %v, want %v", round, text, found, want)
				}
			}
			return nil
		})
	}
	if err := s.Check(); err != nil {
		t.Error(err)
	}
}

// TestNewValuesWithinTransaction looks up a new value before each write of a transaction. The changes of the index are
// applied once, at its end.
func TestNewValuesWithinTransaction(t *testing.T) {
	s := newStore(t)
	article := s.Model().Type("api::article.article")
	title := article.Attribute("title")
	write(t, s, func(tx *store.Tx) error {
		for i := range 40 {
			text := fmt.Sprintf(`"title %d"`, i)
			tx.Equal(article, store.Draft, "en", title, []byte(text), func(store.Record) bool {
				t.Errorf("%s is there already", text)
				return false
			})
			if n := store.PendingIndexChanges(tx); i > 0 && n < i {
				return fmt.Errorf("%d changes are pending after %d writes", n, i)
			}
			b := &store.Batch{}
			b.PutRow(newRow(tx, article, uint64(i+1), store.Draft, "en", map[string]string{"title": text}))
			if err := tx.Apply(b); err != nil {
				return err
			}
		}
		return nil
	})
}
