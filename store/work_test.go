package store_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"lectern/contenttypes"
	"lectern/store"
)

const circled = 20 // of either type

// circle creates a store of articles and tags in which each article has each tag.
func circle(t *testing.T) (s *store.Store, article *contenttypes.ContentType, tags, articles *contenttypes.Attribute) {
	s = newStore(t)
	article, tag := s.Model().Type("api::article.article"), s.Model().Type("api::tag.tag")
	tags, articles = article.Attribute("tags"), tag.Attribute("articles")
	write(t, s, func(tx *store.Tx) error {
		var b store.Batch
		var from, to []uint64
		for range circled {
			from, to = append(from, tx.NewDoc()), append(to, tx.NewDoc())
			b.PutRow(newRow(tx, article, from[len(from)-1], store.Published, "en", nil))
			b.PutRow(newRow(tx, tag, to[len(to)-1], store.Published, "", nil))
		}
		for i, f := range from {
			for j, o := range to {
				b.PutLink(store.Link{
					Attr: tags, From: store.Ref{Type: article.UID, Doc: f, Locale: "en"},
					To:      store.Ref{Type: tag.UID, Doc: o},
					FromPos: uint64(j + 1), ToPos: uint64(i + 1),
				})
			}
		}
		return tx.Apply(&b)
	})
	return s, article, tags, articles
}

// A read ends with its context.
func TestWorkEnds(t *testing.T) {
	s, article, tags, articles := circle(t)
	var f store.Filter = store.Compare{Attr: article.Attribute("rank"), Op: store.Eq, Values: []any{1.0}}
	for range 40 {
		f = store.Through{Attr: tags, Filter: store.Through{Attr: articles, Filter: f}}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	err := s.View(func(snap *store.Snapshot) error {
		snap.Within(ctx, 0)
		_, err := snap.Find(&store.Query{Type: article, Locales: store.LocaleSet{Codes: []string{"en"}}, Filter: f,
			Limit: 25, Sort: []store.SortKey{{Path: []*contenttypes.Attribute{article.Attribute("title")}}}})
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

// A filter through relations that lead in circles takes as many steps as there are links, for each relation of its
// path. It must not take as many as there are paths.
func TestCircles(t *testing.T) {
	s, article, tags, articles := circle(t)
	title := article.Attribute("title")
	var none, all store.Filter = store.Compare{Attr: title, Op: store.Contains, Values: []any{"x"}},
		store.Compare{Attr: title, Op: store.Null}
	const turns = 6 // 20^12 ways
	path := []*contenttypes.Attribute{title}
	for range turns {
		none = store.Through{Attr: tags, Filter: store.Through{Attr: articles, Filter: none}}
		all = store.Through{Attr: tags, Filter: store.Through{Attr: articles, Filter: all}}
		path = append([]*contenttypes.Attribute{tags, articles}, path...)
	}
	published := store.LocaleSet{Codes: []string{"en"}}
	for _, c := range []struct {
		what string
		q    store.Query
		rows int
	}{
		{"a filter that nothing meets", store.Query{Filter: none}, 0},
		{"a filter that all meet", store.Query{Filter: all}, circled},
		{"what not all meet", store.Query{Filter: store.Not{Filter: all}}, 0},
		{"an order", store.Query{Sort: []store.SortKey{{Path: path}, {Path: path, Desc: true}}}, circled},
	} {
		before := s.Stats()
		err := s.View(func(snap *store.Snapshot) error {
			c.q.Type, c.q.Locales, c.q.Limit = article, published, -1
			page, err := snap.Find(&c.q)
			if len(page.Rows) != c.rows {
				t.Errorf("%s: %d rows, want %d", c.what, len(page.Rows), c.rows)
			}
			var shown store.Related
			within := store.Query{Filter: store.Through{Attr: articles, Filter: none}, Limit: -1}
			if err == nil {
				err = snap.RelatedAll(page.Rows, tags, store.Published, &within, &shown)
			}
			if err == nil { // to count is no more work
				_, err = snap.RelatedCounts(page.Rows, tags, store.Published, &within, nil, nil)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		after := s.Stats()
		keys := max(1, len(c.q.Sort))
		if most := uint64(circled * circled * (2*turns*keys +
			2*(2*turns+2)) * 3 / 2); after.Links-before.Links > most || after.Rows-before.Rows > most {
			t.Errorf("%s: %d links and %d rows for %d links that there are", c.what, after.Links-before.Links,
				after.Rows-before.Rows, circled*circled)
		}
	}
}

// A page over several localizations must read no more rows of each than the page may show.
func TestPagesAcrossLocales(t *testing.T) {
	s := newStore(t)
	article := s.Model().Type("api::article.article")
	write(t, s, func(tx *store.Tx) error {
		var b store.Batch
		for i := range 60 {
			b.PutRow(newRow(tx, article, tx.NewDoc(), store.Published, []string{"en", "fr"}[i%2], nil))
		}
		return tx.Apply(&b)
	})
	for _, q := range []store.Query{
		{Limit: 5}, {Offset: 3, Limit: 4},
		{Limit: 5, Sort: []store.SortKey{{Path: []*contenttypes.Attribute{article.Attribute("id")}, Desc: true}}},
	} {
		q.Type, q.Locales = article, store.LocaleSet{All: true}
		before := s.Stats()
		if err := s.View(func(snap *store.Snapshot) error {
			page, err := snap.Find(&q)
			if len(page.Rows) != q.Limit {
				t.Errorf("%d rows, want %d", len(page.Rows), q.Limit)
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
		if rows, most := s.Stats().Rows-before.Rows, uint64(2*(q.Offset+q.Limit)); rows > most {
			t.Errorf("%d rows were read for the rows %d to %d of two localizations, want %d at most", rows, q.Offset,
				q.Offset+q.Limit, most)
		}
	}
}

// RelatedAll returns each target once, even if many rows show it, and no targets beyond the page.
func TestRelatedShowsAllItsRows(t *testing.T) {
	s, article, tags, _ := circle(t)
	if err := s.View(func(snap *store.Snapshot) error {
		page, err := snap.Find(&store.Query{Type: article, Locales: store.LocaleSet{Codes: []string{"en"}}, Limit: -1})
		if err != nil {
			return err
		}
		var all store.Related
		for _, q := range []store.Query{
			{Offset: 3, Limit: 2}, {Offset: circled, Limit: 2},
			{Limit: 2, Sort: []store.SortKey{{Path: []*contenttypes.Attribute{tags.Target.Attribute("id")},
				Desc: true}}},
		} {
			q.Type = tags.Target
			want := q.Limit
			if q.Offset == circled {
				want = 0
			}
			if err := snap.RelatedAll(page.Rows, tags, store.Published, &q, &all); err != nil {
				return err
			}
			if len(all.Rows) != want || len(all.Items) != want*circled {
				t.Errorf("rows %d to %d of %d articles with the same tags have %d rows and %d items, want %d and %d",
					q.Offset, q.Offset+q.Limit, circled, len(all.Rows), len(all.Items), want, want*circled)
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

// A countdown is a context that ends after it was asked a number of times.
type countdown struct {
	context.Context
	left int
}

func (c *countdown) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

// A write whose context ends during a look-up must fail with the error of the context, even if it ignores that it found
// nothing. The other writes of its transaction must not run again.
func TestAWriteIsEndedAlone(t *testing.T) {
	s := newStore(t)
	tag := s.Model().Type("api::tag.tag")
	put := func(tx *store.Tx) error {
		var b store.Batch
		b.PutRow(newRow(tx, tag, tx.NewDoc(), store.Published, "", nil))
		return tx.Apply(&b)
	}
	before := s.Stats()
	var wg sync.WaitGroup
	waiting := make(chan struct{})
	calls := 0 // of the other; the writer is one goroutine
	ended := func(ctx context.Context, f func(tx *store.Tx) error, want error) {
		if err := s.Write(ctx, f); !errors.Is(err, want) {
			t.Errorf("%v, want %v", err, want)
		}
	}
	wg.Go(func() { // keeps the writer until the others wait
		ended(t.Context(), func(*store.Tx) error { <-waiting; return nil }, nil)
	})
	lookUp := func(tx *store.Tx) error {
		for i := range 20_000 {
			tx.Document(tag, documentID(uint64(i)))
		}
		return nil
	}
	for _, f := range []func(tx *store.Tx) error{
		func(tx *store.Tx) error { return errors.Join(lookUp(tx), put(tx)) },
		func(tx *store.Tx) error { return errors.Join(lookUp(tx), errors.New("found nothing")) },
		lookUp,
	} {
		wg.Go(func() { ended(&countdown{t.Context(), 3}, f, context.Canceled) })
	}
	wg.Go(func() {
		ended(t.Context(), func(tx *store.Tx) error { calls++; return errors.Join(lookUp(tx), put(tx)) }, nil)
	})
	// A write that has begun to apply batches must complete.
	wg.Go(func() {
		ended(&countdown{t.Context(), 7}, func(tx *store.Tx) error { return errors.Join(put(tx), lookUp(tx), put(tx)) },
			nil)
	})
	close(waiting)
	wg.Wait()
	if after := s.Stats(); calls != 1 || after.Writes-before.Writes != 2 {
		t.Errorf("%d writes, and the other one was carried out %d times; want 2, and once", after.Writes-before.Writes,
			calls)
	}
	if page := find(t, s, &store.Query{Type: tag, Limit: -1}); len(page.Docs) != 3 {
		t.Errorf("%d rows, want the 3 of the writes that went on", len(page.Docs))
	}
}
