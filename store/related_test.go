package store_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"lectern/contenttypes"
	"lectern/store"
)

// TestRelatedAllAgreesWithOneAtATime links documents at random, some to documents without a published version. It
// compares what RelatedAll finds for many rows with what a naive search finds for each, filtered, sorted and limited.
func TestRelatedAllAgreesWithOneAtATime(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 7))
			s := newStore(t)
			article := s.Model().Type("api::article.article")
			linkAtRandom(t, s, article, rnd)
			if seed%2 == 1 {
				defer store.CacheAfter(0)()
				if err := s.View(func(*store.Snapshot) error { return nil }); err != nil {
					t.Fatal(err)
				}
			}
			err := s.View(func(snap *store.Snapshot) error {
				for _, of := range []*contenttypes.ContentType{article, s.Model().Type("api::tag.tag")} {
					if err := compareRelations(snap, of, rnd); err != nil {
						return err
					}
				}
				return compareUses(snap, article)
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
}

// compareRelations compares what RelatedAll finds for the documents of a type, in random order, by random queries.
func compareRelations(snap *store.Snapshot, of *contenttypes.ContentType, rnd *rand.Rand) error {
	page, err := snap.Find(&store.Query{Type: of, Locales: store.LocaleSet{Codes: []string{localeOf(of)}}, Limit: -1})
	if err != nil {
		return err
	}
	rnd.Shuffle(len(page.Rows), func(i, j int) { page.Rows[i], page.Rows[j] = page.Rows[j], page.Rows[i] })
	rows := append(page.Rows, store.Record{}, page.Rows[0])
	var all store.Related
	for _, a := range of.Attributes {
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
}

// naiveRelated lists the published targets of one row. It can sort by id only.
func naiveRelated(snap *store.Snapshot, r store.Record, a *contenttypes.Attribute, q *store.Query) (ids []uint64) {
	add := func(target store.Record) bool {
		if q == nil || q.Filter == nil || snap.Matches(target, q.Filter, store.Published) {
			ids = append(ids, target.ID())
		}
		return true
	}
	if a.IsRelation() {
		snap.Related(r, a, store.Published, add)
	} else {
		r.Each(a, add)
	}
	if q == nil {
		return ids
	}
	if len(q.Sort) > 0 {
		if slices.Sort(ids); q.Sort[0].Desc {
			slices.Reverse(ids)
		}
	}
	ids = ids[min(q.Offset, len(ids)):]
	if q.Limit >= 0 {
		ids = ids[:min(q.Limit, len(ids))]
	}
	return ids
}

// compareUses finds the articles that link to each tag by two attributes: once for all tags together, and once for each
// tag.
func compareUses(snap *store.Snapshot, article *contenttypes.ContentType) error {
	page, err := snap.Find(&store.Query{Type: article.Attribute("tags").Target, Limit: -1})
	if err != nil {
		return err
	}
	rows := append(page.Rows, store.Record{}, page.Rows[0])
	attrs := []*contenttypes.Attribute{article.Attribute("tags"), article.Attribute("tags")} // there is but one
	for _, f := range []store.Filter{nil,
		store.Compare{Attr: article.Attribute("id"), Op: store.Gt, Values: []any{12.0}}} {
		all := store.Related{Most: 1 << 20}
		if err := snap.UsesAll(rows, attrs, store.Published, f, &all); err != nil {
			return err
		}
		for i, r := range rows {
			var got, want []uint64
			for _, row := range all.Of(i) {
				got = append(got, all.Rows[row].ID())
			}
			for _, a := range attrs {
				if !r.Exists() {
					break
				}
				snap.LinksTo(a, store.PublishedLinks, r.Ref(), func(l store.Link) bool {
					user := snap.Version(article, l.From.Doc, store.Published, l.From.Locale)
					if user.Exists() && (f == nil || snap.Matches(user, f, store.Published)) {
						want = append(want, user.ID())
					}
					return true
				})
			}
			if !slices.Equal(got, want) {
				return fmt.Errorf("uses of row %d with %+v: %v, want %v", i, f, got, want)
			}
		}
		if f != nil {
			continue
		}
		all.Most = len(all.Items) - 1
		if err := snap.UsesAll(rows, attrs, store.Published, nil, &all); err != nil || !all.Over {
			return fmt.Errorf("uses are found beyond a bound of %d: %v", all.Most, err)
		}
	}
	return nil
}

func compareRelated(snap *store.Snapshot, rows []store.Record, a *contenttypes.Attribute, q *store.Query,
	all *store.Related) error {
	if err := snap.RelatedAll(rows, a, store.Published, q, all); err != nil {
		return err
	}
	counts, err := snap.RelatedCounts(rows, a, store.Published, q, nil, nil)
	if err != nil {
		return err
	}
	seen := map[uint64]bool{}
	for _, r := range all.Rows {
		if a.IsRelation() && !a.System && seen[r.ID()] {
			return fmt.Errorf("%s with %+v: target %d is in Rows twice", a.Name, q, r.ID())
		}
		seen[r.ID()] = true
	}
	for i, r := range rows {
		var got, want []uint64
		for _, row := range all.Of(i) {
			got = append(got, all.Rows[row].ID())
		}
		if r.Exists() {
			want = naiveRelated(snap, r, a, q)
		}
		if counts[i] != len(want) {
			return fmt.Errorf("%s of row %d with %+v: %d are counted, want %d", a.Name, i, q, counts[i], len(want))
		}
		if !slices.Equal(got, want) {
			return fmt.Errorf("%s of row %d with %+v: %v, want %v", a.Name, i, q, got, want)
		}
	}
	return compareBounded(snap, rows, a, q, all)
}

// shownIDs returns the ids of the targets of all rows, row after row.
func shownIDs(all *store.Related) (ids []uint64) {
	for _, row := range all.Items {
		ids = append(ids, all.Rows[row].ID())
	}
	return ids
}

// compareBounded repeats a search with a bound that is not reached, and with one that is exceeded by one.
func compareBounded(snap *store.Snapshot, rows []store.Record, a *contenttypes.Attribute, q *store.Query,
	all *store.Related) error {
	found := len(all.Items)
	bounded := store.Related{Most: 1 << 20}
	if err := snap.RelatedAll(rows, a, store.Published, q, &bounded); err != nil {
		return err
	}
	if bounded.Over || !slices.Equal(shownIDs(&bounded), shownIDs(all)) {
		return fmt.Errorf("%s with %+v: %d items are found below a bound, and %d without one", a.Name, q,
			len(bounded.Items), found)
	}
	if found < 2 || q != nil && (q.Filter != nil || len(q.Sort) > 0) {
		return nil
	}
	bounded.Most = found - 1
	if err := snap.RelatedAll(rows, a, store.Published, q, &bounded); err != nil {
		return err
	}
	if !bounded.Over {
		return fmt.Errorf("%s with %+v: %d items are found within a bound of %d", a.Name, q, len(bounded.Items),
			bounded.Most)
	}
	return nil
}

// randomRelated returns a random query for the targets of a, or nil for all targets.
func randomRelated(rnd *rand.Rand, a *contenttypes.Attribute) *store.Query {
	q := &store.Query{Offset: rnd.IntN(3), Limit: rnd.IntN(5) - 1}
	s := a.TargetSchema()
	if s == nil || rnd.IntN(6) == 0 {
		return nil
	}
	id := s.Attribute("id")
	switch rnd.IntN(4) {
	case 0:
		q.Filter = store.Compare{Attr: id, Op: store.Gt, Values: []any{float64(rnd.IntN(30))}}
	case 1:
		if back := s.Attribute("articles"); back != nil {
			q.Filter = store.Through{Attr: back, Filter: store.Compare{Attr: back.Target.Attribute("id"), Op: store.Lt,
				Values: []any{float64(rnd.IntN(30))}}}
		}
	}
	if rnd.IntN(3) == 0 {
		q.Sort = []store.SortKey{{Path: []*contenttypes.Attribute{id}, Desc: rnd.IntN(2) == 0}}
	}
	return q
}

// linkAtRandom creates articles, some without a published version, and links them by every relation.
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
						Attr: a, Set: store.PublishedLinks,
						From:    store.Ref{Type: article.UID, Doc: from, Locale: localeOf(article)},
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
