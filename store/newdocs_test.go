package store_test

import (
	"strings"
	"testing"

	"lectern/store"
)

// TestLinksOfNewDocuments links documents in the transaction that adds them. The transaction sees its links and refuses
// positions that are taken. It does not search the file for them, however many there are.
func TestLinksOfNewDocuments(t *testing.T) {
	s := newStore(t)
	article, tag := s.Model().Type("api::article.article"), s.Model().Type("api::tag.tag")
	tags := article.Attribute("tags")
	searches := func(links int) uint64 {
		before := s.Stats().Seeks
		write(t, s, func(tx *store.Tx) error {
			from, to := store.Ref{Type: article.UID, Doc: tx.NewDoc(), Locale: "en"},
				store.Ref{Type: tag.UID, Doc: tx.NewDoc()}
			var rows store.Batch
			rows.PutRow(newRow(tx, article, from.Doc, store.Published, "en", nil))
			rows.PutRow(newRow(tx, tag, to.Doc, store.Published, "", nil))
			if err := tx.Apply(&rows); err != nil {
				return err
			}
			var b store.Batch
			link := func(pos uint64) store.Link {
				return store.Link{Attr: tags, From: from, To: to, FromPos: pos, ToPos: 2 * pos}
			}
			for i := range links {
				b.PutLink(link(uint64(i + 1)))
			}
			if err := tx.Apply(&b); err != nil {
				return err
			}
			var cut store.Batch
			cut.DeleteLink(link(uint64(links)))
			if err := tx.Apply(&cut); err != nil {
				return err
			}
			left := uint64(links - 1)
			if first, last := tx.LastFromPos(tags, store.PublishedLinks, from),
				tx.LastToPos(tags, store.PublishedLinks, to); first != left || last != 2*left {
				t.Errorf("the last positions are %d and %d, want %d and %d", first, last, left, 2*left)
			}
			if l, ok := tx.LinkTo(tags, store.PublishedLinks, to, 2); !ok || l != link(1) {
				t.Errorf("the first link is %v, %v", l, ok)
			}
			return nil
		})
		return s.Stats().Seeks - before
	}
	if few, many := searches(2), searches(60); many > few {
		t.Errorf("%d searches for 60 links, %d for 2", many, few)
	}
	err := s.Write(t.Context(), func(tx *store.Tx) error {
		from, to := store.Ref{Type: article.UID, Doc: tx.NewDoc(), Locale: "en"},
			store.Ref{Type: tag.UID, Doc: tx.NewDoc()}
		var b store.Batch
		b.PutRow(newRow(tx, article, from.Doc, store.Published, "en", nil))
		b.PutLink(store.Link{Attr: tags, From: from, To: to, FromPos: 1, ToPos: 1})
		b.PutLink(store.Link{Attr: tags, From: from, To: to, FromPos: 1, ToPos: 2})
		return tx.Apply(&b)
	})
	if err == nil || !strings.Contains(err.Error(), "one is taken") {
		t.Errorf("a link at a position that is taken: %v", err)
	}
}
