package store_test

import (
	"slices"
	"testing"

	"lectern/contenttypes"
	"lectern/store"
)

// TestUnlinked finds the documents to which no link leads, and those to which one does: before and after links are
// written and removed, in the transaction too. The work grows with the documents, not with the links to each.
func TestUnlinked(t *testing.T) {
	s, article, tags, _ := circle(t)
	tag := tags.Target
	var alone, linked uint64
	unlinked := store.Unlinked{Attrs: []*contenttypes.Attribute{tags}}
	find := func(snap *store.Snapshot, f store.Filter) (docs []uint64) {
		t.Helper()
		page, err := snap.Find(&store.Query{Type: tag, Filter: f, Limit: -1, Count: true})
		if err != nil || page.Total != len(page.Rows) {
			t.Fatal(page.Total, len(page.Rows), err)
		}
		for _, row := range page.Rows {
			docs = append(docs, row.Doc())
		}
		return docs
	}
	write(t, s, func(tx *store.Tx) error {
		var b store.Batch
		alone, linked = tx.NewDoc(), tx.NewDoc()
		from := tx.NewDoc()
		b.PutRow(newRow(tx, article, from, store.Published, "en", nil))
		b.PutRow(newRow(tx, tag, alone, store.Published, "", nil))
		b.PutRow(newRow(tx, tag, linked, store.Published, "", nil))
		link := store.Link{Attr: tags, From: store.Ref{Type: article.UID, Doc: from, Locale: "en"},
			To: store.Ref{Type: tag.UID, Doc: linked}, FromPos: 1, ToPos: 1}
		b.PutLink(link)
		if err := tx.Apply(&b); err != nil {
			return err
		}
		if got := find(tx.Snapshot, unlinked); !slices.Equal(got, []uint64{alone}) {
			t.Errorf("in the transaction: %v, want %d", got, alone)
		}
		return nil
	})
	before := s.Stats()
	err := s.View(func(snap *store.Snapshot) error {
		if got := find(snap, unlinked); !slices.Equal(got, []uint64{alone}) {
			t.Errorf("unlinked: %v, want %d", got, alone)
		}
		if got := find(snap, store.Not{Filter: unlinked}); len(got) != circled+1 || slices.Contains(got, alone) {
			t.Errorf("linked: %v", got)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if work := s.Stats(); work.Links != before.Links || work.Seeks-before.Seeks > 4*(circled+4) {
		t.Errorf("%d links, %d searches", work.Links-before.Links, work.Seeks-before.Seeks)
	}
}
