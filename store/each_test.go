package store_test

import (
	"errors"
	"fmt"
	"testing"

	"lectern/contenttypes"
	"lectern/store"
)

// each returns the documents of all blocks that Each hands over. It fails the test if a block is empty or too long.
func each(t testing.TB, s *store.Store, q *store.Query) (docs []uint64) {
	t.Helper()
	err := s.View(func(snap *store.Snapshot) error {
		return snap.Each(q, func(int64) error { return nil }, func(rows []store.Record) error {
			if len(rows) == 0 || len(rows) > 256 {
				t.Errorf("a block of %d rows", len(rows))
			}
			for _, r := range rows {
				docs = append(docs, r.Doc())
			}
			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return docs
}

// TestEachMemory expects an order without an index to reserve memory for all rows, and an order of an index to reserve
// none.
func TestEachMemory(t *testing.T) {
	s := newStore(t)
	article := s.Model().Type("api::article.article")
	const rows = 600
	write(t, s, func(tx *store.Tx) error {
		var b store.Batch
		for i := range uint64(rows) {
			b.PutRow(newRow(tx, article, i+1, store.Published, "en",
				map[string]string{"title": fmt.Sprintf("%q", fmt.Sprint("title ", i%7))}))
		}
		return tx.Apply(&b)
	})
	title, rank := store.SortKey{Path: []*contenttypes.Attribute{article.Attribute("title")}},
		store.SortKey{Path: []*contenttypes.Attribute{article.Attribute("rank")}}
	exhausted := errors.New("no memory")
	for _, c := range []struct {
		name    string
		sort    []store.SortKey
		reserve bool
	}{{"no order", nil, false}, {"an index", []store.SortKey{title}, false},
		{"two keys", []store.SortKey{title, rank}, true}} {
		q := &store.Query{Type: article, Locales: store.LocaleSet{Codes: []string{"en"}}, Limit: -1, Sort: c.sort}
		reserved, seen := int64(0), 0
		run := func(refuse error) error {
			reserved, seen = 0, 0
			return s.View(func(snap *store.Snapshot) error {
				return snap.Each(q, func(n int64) error { reserved = n; return refuse },
					func(list []store.Record) error { seen += len(list); return nil })
			})
		}
		if err := run(nil); err != nil || seen != rows || (reserved >= rows*64) != c.reserve || !c.reserve &&
			reserved != 0 {
			t.Errorf("%s: %v, %d rows with %d bytes reserved", c.name, err, seen, reserved)
		}
		if err := run(exhausted); c.reserve && (!errors.Is(err, exhausted) || seen != 0) || !c.reserve && err != nil {
			t.Errorf("%s: without memory: %v, %d rows", c.name, err, seen)
		}
	}
	stop := errors.New("stop")
	q := &store.Query{Type: article, Locales: store.LocaleSet{Codes: []string{"en"}}, Limit: -1}
	blocks := 0
	err := s.View(func(snap *store.Snapshot) error {
		return snap.Each(q, nil, func([]store.Record) error { blocks++; return stop })
	})
	if !errors.Is(err, stop) || blocks != 1 {
		t.Errorf("after an error of yield: %v, %d blocks", err, blocks)
	}
}
