package store_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"lectern/contenttypes"
	"lectern/internal/span"
	"lectern/store"
)

// newLibrary returns a store of 200 articles in English and as many in French, each with the tag of its level.
func newLibrary(t testing.TB) *store.Store {
	s := newStore(t)
	article, tag := s.Model().Type("api::article.article"), s.Model().Type("api::tag.tag")
	levels := []string{"low", "middle", "high"}
	write(t, s, func(tx *store.Tx) error {
		var b store.Batch
		var tags []uint64
		for _, name := range levels {
			tags = append(tags, tx.NewDoc())
			b.PutRow(newRow(tx, tag, tags[len(tags)-1], store.Published, "", map[string]string{"name": fmt.Sprintf("%q", name)}))
		}
		for i := range 400 {
			doc, locale := tx.NewDoc(), []string{"en", "fr"}[i%2]
			b.PutRow(newRow(tx, article, doc, store.Published, locale, map[string]string{
				"title": fmt.Sprintf(`"title %03d"`, i), "rank": fmt.Sprint(i), "level": fmt.Sprintf("%q", levels[i%3])}))
			b.PutLink(store.Link{Attr: article.Attribute("tags"), From: store.Ref{Type: article.UID, Doc: doc, Locale: locale},
				To: store.Ref{Type: tag.UID, Doc: tags[i%3]}, FromPos: 1, ToPos: uint64(i + 1)})
		}
		return tx.Apply(&b)
	})
	return s
}

// explain answers a query whose read is explained.
func explain(ctx context.Context, t testing.TB, s *store.Store, q *store.Query) store.Explanation {
	t.Helper()
	ctx, explanation := store.Explain(ctx)
	if err := s.View(func(snap *store.Snapshot) error {
		snap.Within(ctx, 0)
		_, err := snap.Find(q)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return explanation()
}

// TestExplain expects the plan of each kind of query, what finds the rows that meet its conditions, and the work.
func TestExplain(t *testing.T) {
	s := newLibrary(t)
	article := s.Model().Type("api::article.article")
	is := func(name string, op store.Op, values ...any) store.Filter {
		return store.Compare{Attr: article.Attribute(name), Op: op, Values: values}
	}
	by := func(name string) []store.SortKey {
		return []store.SortKey{{Path: []*contenttypes.Attribute{article.Attribute(name)}, Desc: true}}
	}
	tags := article.Attribute("tags")
	english := store.LocaleSet{Codes: []string{"en"}}
	for _, c := range []struct {
		name       string
		query      store.Query
		plans      []string // one of them
		conditions []string // attribute, operator, and whether something finds the rows
		order      []string
		counted    string
		total      int
	}{
		{"all", store.Query{Count: true}, []string{"range_in_order"}, nil, nil, "index", 200},
		{"one range in order", store.Query{Count: true, Filter: is("rank", store.Gte, 300.0), Sort: by("rank")},
			[]string{"range_in_order"}, []string{"rank $gte true"}, []string{"rank:desc"}, "index", 50},
		{"a rare and a common one", store.Query{Filter: store.And{is("rank", store.Eq, 4.0), is("level", store.Eq, "middle")}},
			[]string{"cheapest_source", "intersection"}, []string{"rank $eq true", "level $eq true"}, nil, "", 0},
		{"a condition that no index answers", store.Query{Filter: is("body", store.Null)},
			[]string{"index_walk"}, []string{"body $null false"}, nil, "", 0},
		{"of a target", store.Query{Count: true, Filter: store.Through{Attr: tags, Filter: store.Compare{
			Attr: tags.Target.Attribute("name"), Op: store.Eq, Values: []any{"low"}}}},
			nil, []string{"tags.name $eq true"}, nil, "matches", 67},
		{"or", store.Query{Count: true, Filter: store.Or{is("rank", store.Eq, 4.0), is("level", store.Eq, "low")}},
			nil, []string{"rank,level $or true"}, nil, "matches", 68},
	} {
		c.query.Type, c.query.Locales, c.query.Limit = article, english, 25
		got := explain(t.Context(), t, s, &c.query)
		if len(got.Queries) != 1 {
			t.Errorf("%s: %+v", c.name, got)
			continue
		}
		q := got.Queries[0]
		if c.plans != nil && !slices.Contains(c.plans, q.Plan) || q.Type != article.UID || q.Locale != "en" {
			t.Errorf("%s: %+v, want a plan of %v", c.name, q, c.plans)
		}
		var conditions []string
		for _, c := range q.Conditions {
			conditions = append(conditions, fmt.Sprint(c.Attribute, " ", c.Operator, " ", c.Cost != nil))
		}
		if !slices.Equal(conditions, c.conditions) || !slices.Equal(q.Order, c.order) {
			t.Errorf("%s: conditions %v in order %v, want %v in order %v", c.name, conditions, q.Order, c.conditions, c.order)
		}
		if q.Counted != c.counted || (q.Total != nil) != c.query.Count || q.Total != nil && *q.Total != c.total {
			t.Errorf("%s: %+v, want a total of %d, found by %s", c.name, q, c.total, c.counted)
		}
		if q.Work != got.Work || q.Work.Rows < uint64(q.Found) || q.Work.Rows+q.Work.Entries == 0 {
			t.Errorf("%s: the work of %d rows is %+v, of all %+v", c.name, q.Found, q.Work, got.Work)
		}
		if _, err := json.Marshal(got); err != nil {
			t.Error(err)
		}
	}
}

// TestExplainLocales expects a query for each localization, whose work adds up.
func TestExplainLocales(t *testing.T) {
	s := newLibrary(t)
	article := s.Model().Type("api::article.article")
	got := explain(t.Context(), t, s, &store.Query{Type: article, Limit: 5, Locales: store.LocaleSet{All: true}})
	if len(got.Queries) != 2 || got.Queries[0].Locale != "en" || got.Queries[1].Locale != "fr" {
		t.Fatalf("%+v", got)
	}
	if n := got.Queries[0].Work.Rows + got.Queries[1].Work.Rows; n != 10 || got.Work.Rows != n {
		t.Errorf("%d rows of %d were read for the queries", n, got.Work.Rows)
	}
}

// TestExplainWithin expects the explanation of a traced request not to hide its spans, and bounded explanations.
func TestExplainWithin(t *testing.T) {
	s := newLibrary(t)
	traced := new(views)
	article := s.Model().Type("api::article.article")
	q := &store.Query{Type: article, Limit: 1, Locales: store.LocaleSet{Codes: []string{"en"}}}
	if got := explain(span.With(t.Context(), traced), t, s, q); len(got.Queries) != 1 || *traced != 1 {
		t.Errorf("%+v and %d spans of views", got, *traced)
	}
	ctx, explanation := store.Explain(t.Context())
	if err := span.Timed(ctx, "part", func() error { return nil }); err != nil {
		t.Error(err)
	}
	if err := s.View(func(snap *store.Snapshot) error {
		snap.Within(ctx, 0)
		for range 1000 {
			if _, err := snap.Find(q); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if got := explanation(); len(got.Queries)+got.Omitted != 1000 || len(got.Queries) > 100 || got.Work.Rows != 1000 {
		t.Errorf("%d queries are explained and %d omitted, of %+v", len(got.Queries), got.Omitted, got.Work)
	}
	// The next reader of the pooled snapshot has not asked.
	if _ = find(t, s, q); len(explanation().Queries)+explanation().Omitted != 1000 {
		t.Error("a read that did not ask is explained")
	}
}

// TestUnexplainedReadsPayNothing expects a read that can be explained, but is not, to allocate no more than one that
// cannot.
func TestUnexplainedReadsPayNothing(t *testing.T) {
	s := newLibrary(t)
	article := s.Model().Type("api::article.article")
	q := &store.Query{Type: article, Limit: 25, Count: true, Locales: store.LocaleSet{Codes: []string{"en"}}}
	read := func(ctx context.Context) func() {
		return func() {
			if err := s.View(func(snap *store.Snapshot) error {
				if ctx != nil {
					snap.Within(ctx, 0)
				}
				_, err := snap.Find(q)
				return err
			}); err != nil {
				t.Fatal(err)
			}
		}
	}
	ctx, _ := store.Explain(t.Context())
	plain, unexplained, explained := testing.AllocsPerRun(50, read(nil)), testing.AllocsPerRun(50, read(t.Context())),
		testing.AllocsPerRun(50, read(ctx))
	if plain != unexplained || explained <= plain {
		t.Errorf("a read takes %v allocations, one that can be explained %v, one that is explained %v", plain, unexplained,
			explained)
	}
}

// views counts the spans of views.
type views int

func (v *views) Child(name string, _ time.Time) span.Span {
	if name == "store.view" {
		*v++
	}
	return v
}
func (*views) SetInt(string, int64)   {}
func (*views) SetText(string, string) {}
func (*views) End(time.Time, error)   {}

// TestExplainKeptSets expects the second of two equal queries to tell that it used what the first one had found.
func TestExplainKeptSets(t *testing.T) {
	defer store.SetsFrom(1)()
	s := newLibrary(t)
	article := s.Model().Type("api::article.article")
	q := &store.Query{Type: article, Limit: 25, Count: true, Locales: store.LocaleSet{Codes: []string{"en"}},
		Filter: store.Or{store.Compare{Attr: article.Attribute("rank"), Op: store.Gte, Values: []any{100.0}},
			store.Compare{Attr: article.Attribute("level"), Op: store.Eq, Values: []any{"low"}}}}
	first, second := explain(t.Context(), t, s, q), explain(t.Context(), t, s, q)
	if first.Work.Kept > 0 || second.Work.Kept == 0 || second.Work.Entries >= first.Work.Entries {
		t.Errorf("first %+v, then %+v", first.Work, second.Work)
	}
}
