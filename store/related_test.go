package store_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"lectern/contenttypes"
	"lectern/store"
)

// TestRelatedAllAgreesWithOneAtATime links documents at random, some of them to what is not there, and compares what many rows
// show at once with what each shows by itself.
func TestRelatedAllAgreesWithOneAtATime(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 7))
			s := newStore(t)
			article := s.Model().Type("api::article.article")
			linkAtRandom(t, s, article, rnd)
			if seed%2 == 1 {
				defer store.PlacesAfter(0)()
				if err := s.View(func(*store.Snapshot) error { return nil }); err != nil {
					t.Fatal(err)
				}
			}
			err := s.View(func(snap *store.Snapshot) error {
				page, err := snap.Find(&store.Query{Type: article, Locales: store.LocaleSet{Codes: []string{"en"}}, Limit: -1})
				if err != nil {
					return err
				}
				rnd.Shuffle(len(page.Rows), func(i, j int) { page.Rows[i], page.Rows[j] = page.Rows[j], page.Rows[i] })
				rows := append(page.Rows, store.Record{}, page.Rows[0])
				var all store.Related
				for _, a := range article.Attributes {
					if a.IsScalar() || a.Type == contenttypes.DynamicZone {
						continue
					}
					for range 20 {
						if err := compareRelated(snap, rows, a, randomRelated(rnd, a), &all); err != nil {
							return err
						}
					}
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
}

func compareRelated(snap *store.Snapshot, rows []store.Record, a *contenttypes.Attribute, q *store.Query, all *store.Related) error {
	if err := snap.RelatedAll(rows, a, store.Published, q, all); err != nil {
		return err
	}
	for i, r := range rows {
		var got, want []uint64
		for _, row := range all.Of(i) {
			got = append(got, all.Rows[row].ID())
		}
		switch {
		case !r.Exists():
		case q != nil:
			page, err := snap.FindRelated(r, a, store.Published, q)
			if err != nil {
				return err
			}
			for _, target := range page.Rows {
				want = append(want, target.ID())
			}
		case a.IsRelation():
			snap.Related(r, a, store.Published, func(target store.Record) bool { want = append(want, target.ID()); return true })
		default:
			r.Each(a, func(target store.Record) bool { want = append(want, target.ID()); return true })
		}
		if !slices.Equal(got, want) {
			return fmt.Errorf("%s of row %d with %+v: %v, want %v", a.Name, i, q, got, want)
		}
	}
	return compareBounded(snap, rows, a, q, all)
}

// shownIDs are the ids of all that rows show, one row after the other.
func shownIDs(all *store.Related) (ids []uint64) {
	for _, row := range all.Items {
		ids = append(ids, all.Rows[row].ID())
	}
	return ids
}

// compareBounded finds again what all holds, with a bound that is far away and one that is one too low.
func compareBounded(snap *store.Snapshot, rows []store.Record, a *contenttypes.Attribute, q *store.Query, all *store.Related) error {
	found := len(all.Items)
	bounded := store.Related{Most: 1 << 20}
	if err := snap.RelatedAll(rows, a, store.Published, q, &bounded); err != nil {
		return err
	}
	if bounded.Over || !slices.Equal(shownIDs(&bounded), shownIDs(all)) {
		return fmt.Errorf("%s with %+v: %d items are found below a bound, and %d without one", a.Name, q, len(bounded.Items), found)
	}
	if found < 2 || q != nil && (q.Filter != nil || len(q.Sort) > 0) {
		return nil
	}
	bounded.Most = found - 1
	if err := snap.RelatedAll(rows, a, store.Published, q, &bounded); err != nil {
		return err
	}
	if !bounded.Over {
		return fmt.Errorf("%s with %+v: %d items are found within a bound of %d", a.Name, q, len(bounded.Items), bounded.Most)
	}
	return nil
}

// randomRelated is a query for what a leads to, nil for all of it.
func randomRelated(rnd *rand.Rand, a *contenttypes.Attribute) *store.Query {
	q := &store.Query{Offset: rnd.IntN(3), Limit: rnd.IntN(5) - 1}
	var s *contenttypes.Schema
	switch {
	case a.Target != nil:
		s = &a.Target.Schema
	case a.Component != nil:
		s = &a.Component.Schema
	}
	if s == nil || rnd.IntN(6) == 0 {
		return nil
	}
	id := s.Attribute("id")
	if rnd.IntN(3) == 0 {
		q.Filter = store.Compare{Attr: id, Op: store.Gt, Values: []any{float64(rnd.IntN(30))}}
	}
	if rnd.IntN(3) == 0 {
		q.Sort = []store.SortKey{{Path: []*contenttypes.Attribute{id}, Desc: rnd.IntN(2) == 0}}
	}
	return q
}

// linkAtRandom makes articles, some without a published version, and joins them under every relation.
func linkAtRandom(t *testing.T, s *store.Store, article *contenttypes.ContentType, rnd *rand.Rand) {
	t.Helper()
	write(t, s, func(tx *store.Tx) error {
		var b store.Batch
		docs := map[*contenttypes.ContentType][]uint64{}
		for _, ct := range s.Model().Types {
			if ct.BuiltIn {
				continue
			}
			for range 25 {
				doc := tx.NewDoc()
				docs[ct] = append(docs[ct], doc)
				status := store.Published
				if ct.DraftAndPublish && rnd.IntN(4) == 0 {
					status = store.Draft
				}
				b.PutRow(newRow(tx, ct, doc, status, localeOf(ct), nil))
			}
		}
		for _, a := range article.Attributes {
			to := a.Target
			if !a.IsRelation() || a.Mapped || a.System || to == nil || docs[to] == nil {
				continue
			}
			for _, from := range docs[article] {
				n := rnd.IntN(6)
				if !a.ToMany() {
					n = min(n, 1)
				}
				for i := range n {
					target := docs[to][rnd.IntN(len(docs[to]))]
					b.PutLink(store.Link{
						Attr: a, Plane: store.Published, From: store.Ref{Type: article.UID, Doc: from, Locale: localeOf(article)},
						To:      store.Ref{Type: to.UID, Doc: target, Locale: localeOf(to)},
						FromPos: uint64(i+1) * store.PosStep, ToPos: (from*10 + uint64(i)) * store.PosStep,
					})
				}
			}
		}
		return tx.Apply(&b)
	})
}

func localeOf(ct *contenttypes.ContentType) string {
	if ct.Localized {
		return "en"
	}
	return ""
}
