package store_test

import (
	"context"
	"errors"
	"testing"

	"lectern/contenttypes"
	"lectern/store"
)

// A filter that goes round in circles through relations asks for more steps than can be taken; it ends with its context.
func TestWorkEnds(t *testing.T) {
	s := newStore(t)
	article, tag := s.Model().Type("api::article.article"), s.Model().Type("api::tag.tag")
	tags, articles := article.Attribute("tags"), tag.Attribute("articles")
	write(t, s, func(tx *store.Tx) error {
		var b store.Batch
		var from, to []uint64
		for range 20 {
			from, to = append(from, tx.NewDoc()), append(to, tx.NewDoc())
			b.PutRow(newRow(tx, article, from[len(from)-1], store.Published, "en", nil))
			b.PutRow(newRow(tx, tag, to[len(to)-1], store.Published, "", nil))
		}
		for i, f := range from {
			for j, o := range to {
				b.PutLink(store.Link{
					Attr: tags, From: store.Ref{Type: article.UID, Doc: f, Locale: "en"}, To: store.Ref{Type: tag.UID, Doc: o},
					FromPos: uint64(j + 1), ToPos: uint64(i + 1),
				})
			}
		}
		return tx.Apply(&b)
	})
	var f store.Filter = store.Compare{Attr: article.Attribute("rank"), Op: store.Eq, Values: []any{1.0}}
	for range 8 {
		f = store.Through{Attr: tags, Filter: store.Through{Attr: articles, Filter: f}}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	err := s.View(func(snap *store.Snapshot) error {
		snap.Within(ctx, 0)
		_, err := snap.Find(&store.Query{Type: article, Locales: store.LocaleSet{Codes: []string{"en"}}, Filter: f, Limit: 25, Sort: []store.SortKey{{Path: []*contenttypes.Attribute{article.Attribute("title")}}}})
		return err
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("the work ended with %v, want that of its context", err)
	}
	before := s.Stats()
	if before.Links > 10_000 {
		t.Errorf("%d links were walked over after the context had ended", before.Links)
	}
}
