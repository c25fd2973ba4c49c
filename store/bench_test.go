package store_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"lectern/contenttypes"
	"lectern/store"
)

// benchScale is how many documents the benchmarks run on: LECTERN_BENCH_DOCUMENTS, 10,000 by default. To see how little
// the number matters, run them with 1000000 as well and compare.
func benchScale(b *testing.B) int {
	text := os.Getenv("LECTERN_BENCH_DOCUMENTS")
	if text == "" {
		return 10_000
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		b.Fatal(err)
	}
	return n
}

// fillArticles writes n articles with different titles and random numbers.
func fillArticles(b *testing.B, s *store.Store, n int) {
	ct := s.Model().Type("api::article.article")
	rnd := rand.New(rand.NewPCG(1, 2))
	levels := []string{`"low"`, `"middle"`, `"high"`}
	for done := 0; done < n; {
		write(b, s, func(tx *store.Tx) error {
			var batch store.Batch
			for range min(2000, n-done) {
				batch.PutRow(newRow(tx, ct, tx.NewDoc(), store.Published, "en", map[string]string{
					"title": strconv.Quote(fmt.Sprintf("title %08d", rnd.IntN(1<<30))),
					"body":  `"some text of a body that is longer than the title, so that rows have a size like those of real content"`,
					"rank":  strconv.Itoa(rnd.IntN(1_000_000)),
					"level": levels[rnd.IntN(3)],
					"on":    strconv.FormatBool(rnd.IntN(2) == 0),
					"price": strconv.FormatFloat(float64(rnd.IntN(100000))/100, 'f', -1, 64),
				}))
			}
			done += min(2000, n-done)
			return tx.Apply(&batch)
		})
	}
}

func BenchmarkFind(b *testing.B) {
	n := benchScale(b)
	s, err := store.Open(b.TempDir()+"/content.db", loadModel(b), store.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := s.Close(); err != nil {
			b.Error(err)
		}
	})
	fillArticles(b, s, n)
	ct := s.Model().Type("api::article.article")
	attr := func(name string) *contenttypes.Attribute { return ct.Attribute(name) }
	sortBy := func(name string, desc bool) []store.SortKey {
		return []store.SortKey{{Path: []*contenttypes.Attribute{attr(name)}, Desc: desc}}
	}
	title := ""
	if err := s.View(func(snap *store.Snapshot) error {
		page, err := snap.Find(&store.Query{Type: ct, Locales: store.LocaleSet{Codes: []string{"en"}}, Offset: n / 2,
			Limit: 1})
		title = string(page.Rows[0].JSON(attr("title")))
		return err
	}); err != nil {
		b.Fatal(err)
	}
	deep := min(20_000, n/25-1) * 25
	compare := func(name string, op store.Op, values ...any) store.Compare {
		return store.Compare{Attr: attr(name), Op: op, Values: values}
	}
	for _, c := range []struct {
		name  string
		query store.Query
	}{
		{"first page", store.Query{Count: true}},
		{"deep page", store.Query{Count: true, Offset: deep}},
		{"unique equality", store.Query{Count: true, Filter: compare("title", store.Eq, title[1:len(title)-1])}},
		{"one of three values", store.Query{Count: true, Filter: compare("level", store.Eq, "middle")}},
		{"sorted, first page", store.Query{Count: true, Sort: sortBy("rank", false)}},
		{"sorted, deep page", store.Query{Count: true, Sort: sortBy("rank", false), Offset: deep}},
		{"sorted down, deep page", store.Query{Count: true, Sort: sortBy("title", true), Offset: deep}},
		{"range", store.Query{Filter: compare("rank", store.Gte, 500_000.0)}},
		{"two conditions", store.Query{Filter: store.And{compare("rank", store.Gte, 300_000.0),
			compare("level", store.Eq, "high")}}},
		{"two conditions, counted, sorted", store.Query{Count: true, Sort: sortBy("title", true),
			Filter: store.And{compare("rank", store.Gte, 300_000.0), compare("level", store.Eq, "high")}}},
		{"contains", store.Query{Count: true, Filter: compare("title", store.ContainsI, "e 0001")}},
		{"contains rare", store.Query{Count: true, Filter: compare("title", store.ContainsI, title[8:len(title)-1])}},
		{"contains common", store.Query{Filter: compare("title", store.ContainsI, "title")}},
		{"contains common, counted", store.Query{Count: true, Filter: compare("title", store.ContainsI, "title")}},
		{"contains short", store.Query{Filter: compare("title", store.Contains, "77")}},
		{"contains short, counted", store.Query{Count: true, Filter: compare("title", store.Contains, "77")}},
		{"ends with", store.Query{Count: true, Filter: compare("title", store.EndsWith, title[10:len(title)-1])}},
		{"equal but for case", store.Query{Count: true, Filter: compare("title", store.EqI, "T"+title[2:len(title)-1])}},
	} {
		q := c.query
		q.Type, q.Limit, q.Locales = ct, 25, store.LocaleSet{Codes: []string{"en"}}
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			before := s.Stats()
			for b.Loop() {
				if err := s.View(func(snap *store.Snapshot) error {
					_, err := snap.Find(&q)
					return err
				}); err != nil {
					b.Fatal(err)
				}
			}
			after := s.Stats()
			b.ReportMetric(float64(after.Entries-before.Entries)/float64(b.N), "entries/op")
			b.ReportMetric(float64(after.Rows-before.Rows)/float64(b.N), "rows/op")
			b.ReportMetric(float64(after.Seeks-before.Seeks)/float64(b.N), "seeks/op")
		})
	}
}

// BenchmarkRelatedAll reads the targets of 25 scattered rows, by searches and from the relation cache.
func BenchmarkRelatedAll(b *testing.B) {
	for _, c := range []struct {
		name  string
		after uint64
	}{{"searched", math.MaxUint64}, {"cached", 1}} {
		b.Run(c.name, func(b *testing.B) {
			defer store.CacheAfter(c.after)()
			s := open(b, b.TempDir()+"/content.db")
			article, tags := fillTagged(b, s, 5000)
			var rows []store.Record
			var all store.Related
			rnd := rand.New(rand.NewPCG(1, 2))
			b.ReportAllocs()
			for b.Loop() {
				if err := s.View(func(snap *store.Snapshot) error {
					rows = rows[:0]
					for range 25 {
						rows = append(rows, snap.Version(article, 1+rnd.Uint64N(5000), store.Published, "en"))
					}
					return snap.RelatedAll(rows, tags, store.Published, nil, &all)
				}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// fillTagged writes n articles, the first documents there are, and as many tags, of which each article has three.
func fillTagged(b testing.TB, s *store.Store, n int) (article *contenttypes.ContentType, tags *contenttypes.Attribute) {
	article, tag := s.Model().Type("api::article.article"), s.Model().Type("api::tag.tag")
	tags = article.Attribute("tags")
	rnd := rand.New(rand.NewPCG(1, 2))
	write(b, s, func(tx *store.Tx) error {
		var batch store.Batch
		for range n {
			batch.PutRow(newRow(tx, article, tx.NewDoc(), store.Published, "en", nil))
		}
		for i := range n {
			to := tx.NewDoc()
			batch.PutRow(newRow(tx, tag, to, store.Published, "", nil))
			for k := range 3 {
				batch.PutLink(store.Link{
					Attr: tags, Set: store.PublishedLinks, To: store.Ref{Type: tag.UID, Doc: to},
					From:    store.Ref{Type: article.UID, Doc: 1 + rnd.Uint64N(uint64(n)), Locale: "en"},
					FromPos: uint64(3*i+k+1) * store.PosStep, ToPos: uint64(k+1) * store.PosStep,
				})
			}
		}
		return tx.Apply(&batch)
	})
	return article, tags
}

// BenchmarkOpen measures a start on as many documents, up to the first answer.
func BenchmarkOpen(b *testing.B) {
	path := b.TempDir() + "/content.db"
	model := loadModel(b)
	open := func() *store.Store {
		s, err := store.Open(path, model, store.Options{})
		if err != nil {
			b.Fatal(err)
		}
		return s
	}
	shut := func(s *store.Store) {
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
	s := open()
	fillArticles(b, s, benchScale(b))
	shut(s)
	for b.Loop() {
		s := open()
		find(b, s, &store.Query{Type: model.Type("api::article.article"),
			Locales: store.LocaleSet{Codes: []string{"en"}}, Limit: 25, Count: true})
		shut(s)
	}
}

// BenchmarkCompact compacts a store, and reports the size of the copy.
func BenchmarkCompact(b *testing.B) {
	s, err := store.Open(b.TempDir()+"/content.db", loadModel(b), store.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := s.Close(); err != nil {
			b.Error(err)
		}
	})
	fillArticles(b, s, benchScale(b))
	var last store.Compaction
	for b.Loop() {
		if last, err = s.Compact(b.Context(), nil); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(last.After)/1e6, "MB")
	b.ReportMetric(b.Elapsed().Seconds()/float64(b.N)/float64(last.After)*1e9, "s/GB")
}
