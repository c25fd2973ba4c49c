package store_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"lectern/contenttypes"
	"lectern/store"
)

// guideModel is a guide of restaurants, as in the benchmark of the whole server.
var guideModel = fstest.MapFS{
	"content-types/restaurant.yaml": {Data: []byte(`
kind: collectionType
info: {singularName: restaurant, pluralName: restaurants, displayName: Restaurant}
pluginOptions: {i18n: {localized: true}}
attributes:
  name: {type: string}
  seats: {type: integer}
  tier: {type: enumeration, enum: [bronze, silver, gold]}
  rare: {type: integer}
  openedOn: {type: date}
  categories: {type: relation, relation: manyToMany, target: "api::category.category"}
  owner: {type: relation, relation: manyToOne, target: "api::person.person", inversedBy: restaurants}
  address: {type: component, component: place.address}
`)},
	"content-types/category.yaml": {Data: []byte(`
kind: collectionType
info: {singularName: category, pluralName: categories, displayName: Category}
attributes:
  name: {type: string}
`)},
	"content-types/person.yaml": {Data: []byte(`
kind: collectionType
info: {singularName: person, pluralName: people, displayName: Person}
attributes:
  name: {type: string}
  age: {type: integer}
  town: {type: relation, relation: manyToOne, target: "api::town.town"}
  restaurants: {type: relation, relation: oneToMany, target: "api::restaurant.restaurant", mappedBy: owner}
`)},
	"content-types/town.yaml": {Data: []byte(`
kind: collectionType
info: {singularName: town, pluralName: towns, displayName: Town}
attributes:
  name: {type: string}
  size: {type: integer}
`)},
	"components/place/address.yaml": {Data: []byte(`
info: {displayName: Address}
attributes:
  street: {type: string}
  town: {type: string}
`)},
}

// A guide is a store of guideModel with a number of restaurants, 3 in 4 of them in English.
type guide struct {
	store                              *store.Store
	restaurant, category, person, town *contenttypes.ContentType
	links                              map[uint64]uint64 // how many lead to each document
}

func newGuide(t testing.TB, scale int) *guide {
	m, problems := contenttypes.LoadFS(guideModel, contenttypes.Options{})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	s, err := store.Open(t.TempDir()+"/content.db", m, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	g := &guide{s, m.Type("api::restaurant.restaurant"), m.Type("api::category.category"),
		m.Type("api::person.person"), m.Type("api::town.town"), map[uint64]uint64{}}
	towns := g.fill(t, g.town, max(20, scale/100), func(i int, _ *rand.Rand) (map[string]string, []store.Link) {
		return map[string]string{"name": strconv.Quote(fmt.Sprint("town ", i)), "size": strconv.Itoa(i % 100)}, nil
	})
	people := g.fill(t, g.person, max(20, scale/5), func(i int, rnd *rand.Rand) (map[string]string, []store.Link) {
		return map[string]string{"name": strconv.Quote(fmt.Sprint("person ", i)), "age": strconv.Itoa(18 + i%60)},
			[]store.Link{g.link(g.person.Attribute("town"), g.town, towns[rnd.IntN(len(towns))], 0)}
	})
	categories := g.fill(t, g.category, 50, func(i int, _ *rand.Rand) (map[string]string, []store.Link) {
		return map[string]string{"name": strconv.Quote(fmt.Sprint("category ", i))}, nil
	})
	g.fill(t, g.restaurant, scale, func(i int, rnd *rand.Rand) (map[string]string, []store.Link) {
		c := rnd.IntN(50)
		links := []store.Link{
			g.link(g.restaurant.Attribute("owner"), g.person, people[rnd.IntN(len(people))], 0),
			g.link(g.restaurant.Attribute("categories"), g.category, categories[c], 0),
			g.link(g.restaurant.Attribute("categories"), g.category, categories[(c+1+rnd.IntN(49))%50], 1),
		}
		return map[string]string{
			"name":     strconv.Quote(fmt.Sprintf("%08d name %d", rnd.IntN(1<<26), i)),
			"seats":    strconv.Itoa(1 + rnd.IntN(400)),
			"tier":     strconv.Quote([]string{"bronze", "silver", "gold"}[rnd.IntN(3)]),
			"rare":     strconv.Itoa(rnd.IntN(max(1, scale/20))),
			"openedOn": strconv.Quote(fmt.Sprintf("20%d-0%d-1%d", 10+rnd.IntN(15), 1+rnd.IntN(9), rnd.IntN(9))),
		}, links
	})
	return g
}

// link makes the k-th link of a document, behind all others that lead to its target.
func (g *guide) link(a *contenttypes.Attribute, target *contenttypes.ContentType, to uint64, k int) store.Link {
	g.links[to]++
	return store.Link{Attr: a, Set: store.PublishedLinks, To: store.Ref{Type: target.UID, Doc: to},
		FromPos: uint64(k+1) * store.PosStep, ToPos: g.links[to] * store.PosStep}
}

// fill stores n documents of a type and returns their numbers.
func (g *guide) fill(t testing.TB, ct *contenttypes.ContentType, n int,
	make func(int, *rand.Rand) (map[string]string, []store.Link)) (docs []uint64) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for done := 0; done < n; {
		write(t, g.store, func(tx *store.Tx) error {
			var batch store.Batch
			for range min(5000, n-done) {
				locale := ""
				if ct.Localized {
					locale = []string{"en", "en", "en", "de"}[done%4]
				}
				doc := tx.NewDoc()
				values, links := make(done, rnd)
				batch.PutRow(newRow(tx, ct, doc, store.Published, locale, values))
				for _, l := range links {
					l.From = store.Ref{Type: ct.UID, Doc: doc, Locale: locale}
					batch.PutLink(l)
				}
				docs, done = append(docs, doc), done+1
			}
			return tx.Apply(&batch)
		})
	}
	return docs
}

// A guideQuery makes the i-th of a series of queries, which differ in their values.
type guideQuery struct {
	name string
	make func(i int) store.Query
}

func (g *guide) queries(scale int) []guideQuery {
	attr := func(name string) *contenttypes.Attribute { return g.restaurant.Attribute(name) }
	is := func(name string, op store.Op, values ...any) store.Filter {
		return store.Compare{Attr: attr(name), Op: op, Values: values}
	}
	through := func(a *contenttypes.Attribute, f store.Filter) store.Filter { return store.Through{Attr: a, Filter: f} }
	age := func(op store.Op, n int) store.Filter {
		return store.Compare{Attr: g.person.Attribute("age"), Op: op, Values: []any{float64(n)}}
	}
	sort := func(name string, desc bool) []store.SortKey {
		return []store.SortKey{{Path: []*contenttypes.Attribute{attr(name)}, Desc: desc}}
	}
	tier := func(i int) store.Filter { return is("tier", store.Eq, []string{"bronze", "silver", "gold"}[i%3]) }
	category := func(i int) store.Filter {
		return through(attr("categories"), store.Compare{Attr: g.category.Attribute("name"), Op: store.Eq,
			Values: []any{fmt.Sprint("category ", i%50)}})
	}
	where := func(f func(i int) store.Filter) func(int) store.Query {
		return func(i int) store.Query { return store.Query{Filter: f(i)} }
	}
	return []guideQuery{
		{"equality rare", where(func(i int) store.Filter { return is("rare", store.Eq, float64(i%max(1, scale/20))) })},
		{"equality common", where(tier)},
		{"range", where(func(i int) store.Filter { return is("seats", store.Gte, float64(i%300)) })},
		{"range of dates", where(func(i int) store.Filter {
			return is("openedOn", store.Between, fmt.Sprintf("201%d-01-01", i%9), "2020-06-01")
		})},
		{"two, sorted by a third", func(i int) store.Query {
			return store.Query{Filter: store.And{is("seats", store.Gte, float64(i%300)), tier(i)}, Sort: sort("name", true)}
		}},
		{"common, sorted by another", func(i int) store.Query { return store.Query{Filter: tier(i), Sort: sort("name", true)} }},
		{"rare, sorted by another", func(i int) store.Query {
			return store.Query{Filter: is("rare", store.Eq, float64(i%max(1, scale/20))), Sort: sort("name", false)}
		}},
		{"category and age of owner", where(func(i int) store.Filter {
			return store.And{category(i), through(attr("owner"), age(store.Lt, 30+i%40))}
		})},
		{"common age of owner", where(func(i int) store.Filter { return through(attr("owner"), age(store.Lt, 30+i%40)) })},
		{"rare owner", where(func(i int) store.Filter {
			return through(attr("owner"), store.Compare{Attr: g.person.Attribute("name"), Op: store.Eq,
				Values: []any{fmt.Sprint("person ", i%max(20, scale/5))}})
		})},
		{"common owner, rare of the two", where(func(i int) store.Filter {
			return store.And{is("rare", store.Eq, float64(i%max(1, scale/20))), through(attr("owner"), age(store.Lt, 60))}
		})},
		{"rare town of owner", where(func(i int) store.Filter {
			return through(attr("owner"), through(g.person.Attribute("town"), store.Compare{
				Attr: g.town.Attribute("name"), Op: store.Eq, Values: []any{fmt.Sprint("town ", i%max(20, scale/100))}}))
		})},
		{"common town of owner", where(func(i int) store.Filter {
			return through(attr("owner"), through(g.person.Attribute("town"), store.Compare{
				Attr: g.town.Attribute("size"), Op: store.Lt, Values: []any{float64(30 + i%40)}}))
		})},
		{"no owner", where(func(int) store.Filter {
			return through(attr("owner"), store.Compare{Attr: g.person.Attribute("id"), Op: store.Null})
		})},
		{"or", where(func(i int) store.Filter { return store.Or{is("seats", store.Gte, float64(100+i%300)), tier(i)} })},
		{"or, sorted", func(i int) store.Query {
			return store.Query{Filter: store.Or{is("seats", store.Gte, float64(100+i%300)), tier(i)}, Sort: sort("name", false)}
		}},
		{"not", where(func(i int) store.Filter { return store.Not{Filter: store.And{tier(i), is("seats", store.Lt, 200.0)}} })},
		{"not equal", where(func(i int) store.Filter { return is("tier", store.Ne, []string{"bronze", "silver", "gold"}[i%3]) })},
		{"null", where(func(int) store.Filter { return is("openedOn", store.Null) })},
		{"not null", where(func(int) store.Filter { return is("openedOn", store.NotNull) })},
		{"several locales", func(i int) store.Query {
			return store.Query{Filter: tier(i), Sort: sort("name", true), Locales: store.LocaleSet{All: true}}
		}},
		{"several locales, range", func(i int) store.Query {
			return store.Query{Filter: store.And{tier(i), is("seats", store.Gte, float64(i%300))},
				Locales: store.LocaleSet{All: true}}
		}},
	}
}

// BenchmarkPlans asks the same kinds of queries of stores with 1,000 and 20,000 restaurants, with and without the
// total. docs/queries.md says which of them may take longer where there are more. LECTERN_BENCH_SCALES names other
// numbers.
func BenchmarkPlans(b *testing.B) {
	scales := os.Getenv("LECTERN_BENCH_SCALES")
	if scales == "" {
		scales = "1000,20000"
	}
	for text := range strings.SplitSeq(scales, ",") {
		scale, err := strconv.Atoi(text)
		if err != nil {
			b.Fatal(err)
		}
		g := newGuide(b, scale)
		for _, c := range g.queries(scale) {
			for _, count := range []bool{false, true} {
				b.Run(fmt.Sprintf("%s/total=%v/n=%d", strings.ReplaceAll(c.name, " ", "-"), count, scale),
					func(b *testing.B) { g.bench(b, c, count) })
			}
		}
	}
}

func (g *guide) bench(b *testing.B, c guideQuery, count bool) {
	b.ReportAllocs()
	before, i := g.store.Stats(), 0
	for b.Loop() {
		q := c.make(i)
		i++
		g.ask(b, &q, count)
	}
	after := g.store.Stats()
	b.ReportMetric(float64(after.Entries-before.Entries)/float64(b.N), "entries/op")
	b.ReportMetric(float64(after.Rows-before.Rows)/float64(b.N), "rows/op")
	b.ReportMetric(float64(after.Seeks-before.Seeks)/float64(b.N), "seeks/op")
	b.ReportMetric(float64(after.Links-before.Links)/float64(b.N), "links/op")
}

// ask asks for the first page of a query.
func (g *guide) ask(b testing.TB, q *store.Query, count bool) (page store.Page) {
	q.Type, q.Limit, q.Count = g.restaurant, 25, count
	if !q.Locales.All {
		q.Locales.Codes = []string{"en"}
	}
	if err := g.store.View(func(snap *store.Snapshot) (err error) {
		page, err = snap.Find(q)
		return err
	}); err != nil {
		b.Fatal(err)
	}
	return page
}
