package gateway

import (
	"bufio"
	"cmp"
	"crypto/md5"
	"encoding/hex"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"lectern/auth"
	"lectern/documents/permission"
	"lectern/documents/transfer"
	"lectern/store"
)

// scales are the numbers of restaurants of TestQueriesAtScale.
var scales = flag.String("scales", "", "time queries of as many documents as `LIST` says: 1000,20000")

// guideFiles are a guide of restaurants in two languages.
var guideFiles = map[string]string{
	"config/server.yaml":  "log: {keep: 0}\n",
	"config/plugins.yaml": "i18n: {config: {defaultLocale: en, locales: [en, de]}}\n",
	"content-types/restaurant.yaml": `
kind: collectionType
info: {singularName: restaurant, pluralName: restaurants, displayName: Restaurant}
pluginOptions: {i18n: {localized: true}}
attributes:
  name: {type: string}
  code: {type: integer}
  seats: {type: integer}
  tier: {type: enumeration, enum: [bronze, silver, gold]}
  openedOn: {type: date}
  about: {type: text}
  categories: {type: relation, relation: manyToMany, target: api::category.category}
  owner: {type: relation, relation: manyToOne, target: api::person.person, inversedBy: restaurants}
`,
	"content-types/category.yaml": `
kind: collectionType
info: {singularName: category, pluralName: categories, displayName: Category}
attributes: {name: {type: string}}
`,
	"content-types/person.yaml": `
kind: collectionType
info: {singularName: person, pluralName: people, displayName: Person}
attributes:
  name: {type: string}
  age: {type: integer}
  town: {type: relation, relation: manyToOne, target: api::town.town}
  restaurants: {type: relation, relation: oneToMany, target: api::restaurant.restaurant, mappedBy: owner}
`,
	"content-types/town.yaml": `
kind: collectionType
info: {singularName: town, pluralName: towns, displayName: Town}
attributes: {name: {type: string}}
`,
}

// A guide is a project of guideFiles that answers requests, with n restaurants, n/5 people and n/100 towns. About 20
// restaurants have each code and the needle of it in their name, whatever n is.
type guide struct {
	n       int
	project *Project
	handler http.Handler
	key     string
}

func newGuide(t *testing.T, n int) *guide {
	dir := t.TempDir()
	for _, name := range slices.Sorted(maps.Keys(guideFiles)) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(guideFiles[name]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p, err := Open(dir, Options{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	g := &guide{n: n, project: p}
	file, err := os.CreateTemp(dir, "")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	w := bufio.NewWriterSize(file, 1<<20)
	documents := g.write(w)
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if _, err := transfer.Import(t.Context(), p.Documents(), file, transfer.ImportOptions{}); err != nil {
		t.Fatal(err)
	}
	took := time.Since(began)
	if err := os.Remove(file.Name()); err != nil {
		t.Fatal(err)
	}
	used, err := p.Store().Usage()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d restaurants: %d documents in %s, %.0f a second, %d bytes of the file for each", n, documents,
		took.Round(time.Millisecond), float64(documents)/took.Seconds(), used.Bytes/int64(documents))
	s, err := p.answering()
	if err != nil {
		t.Fatal(err)
	}
	g.handler = s.Handler()
	g.key = p.serving().owners.Lend(auth.Principal{Access: permission.FullAccess, Token: "bench"})
	return g
}

// codes is how many different codes there are, and names of people; towns is how many towns.
func (g *guide) codes() int  { return max(1, g.n/20) }
func (g *guide) people() int { return max(20, g.n/5) }
func (g *guide) towns() int  { return max(20, g.n/100) }

// needleOf returns the text that the names of about 20 restaurants have.
func needleOf(code int) string {
	sum := md5.Sum(strconv.AppendInt(nil, int64(code), 10))
	return hex.EncodeToString(sum[:4])
}

func guideID(kind string, i int) string {
	sum := md5.Sum(fmt.Appendf(nil, "%s%d", kind, i))
	return kind[:1] + hex.EncodeToString(sum[:])[:23]
}

// write writes the guide as an export, and returns how many documents it has.
func (g *guide) write(w io.Writer) (documents int) {
	rnd := rand.New(rand.NewPCG(1, 2))
	fmt.Fprintln(w, `{"format":"lectern-content","version":1}`)
	line := func(kind string, i int, locale, data string) {
		documents++
		fmt.Fprintf(w, `{"type":"api::%[1]s.%[1]s","documentId":"%[2]s","status":"published","locale":"%[3]s","id":%[4]d,`+
			`"createdAt":"2026-01-01T00:00:00.000Z","updatedAt":"2026-01-02T00:00:00.000Z",`+
			`"publishedAt":"2026-01-02T00:00:00.000Z","data":{%[5]s}}`+"\n", kind, guideID(kind, i), locale, i+1, data)
	}
	for i := range g.towns() {
		line("town", i, "", fmt.Sprintf(`"name":"town %d"`, i))
	}
	for i := range g.people() {
		line("person", i, "", fmt.Sprintf(`"name":"person %d","age":%d,"town":{"documentId":"%s","order":%d}`, i, 18+i%60,
			guideID("town", rnd.IntN(g.towns())), i+1))
	}
	for i := range 50 {
		line("category", i, "", fmt.Sprintf(`"name":"category %d"`, i))
	}
	words := []string{"bistro", "trattoria", "tavern", "osteria", "brasserie", "kitchen"}
	for i := range g.n {
		code := rnd.IntN(g.codes())
		line("restaurant", i, []string{"en", "en", "en", "de"}[i%4], fmt.Sprintf(`"name":"%s %s %s number %d","code":%d,`+
			`"seats":%d,"tier":"%s","openedOn":"20%d-0%d-1%d","about":"%s","owner":{"documentId":"%s","order":%d},`+
			`"categories":[{"documentId":"%s","order":%d}]`,
			needleOf(rnd.IntN(1<<30)), words[rnd.IntN(len(words))], needleOf(code), i, code, 1+rnd.IntN(400),
			[]string{"bronze", "silver", "gold"}[rnd.IntN(3)], 10+rnd.IntN(15), 1+rnd.IntN(9), rnd.IntN(9),
			strings.Repeat("Some words of a place. ", 5), guideID("person", rnd.IntN(g.people())), i+1,
			guideID("category", rnd.IntN(50)), i+1))
	}
	return documents
}

// A guideQuery makes the i-th request of a series of requests, which differ in their values. %d stands for i modulo a
// number.
type guideQuery struct {
	name    string
	rest    func(i int) string // the query string
	graphQL func(i int) string // the arguments of the same
}

func (g *guide) queries() []guideQuery {
	tier := func(i int) string { return []string{"bronze", "silver", "gold"}[i%3] }
	word := func(i int) string { return []string{"bistro", "trattoria", "tavern"}[i%3] }
	return []guideQuery{
		{"one page", func(i int) string { return fmt.Sprintf("pagination[page]=%d", 1+i%40) },
			func(i int) string { return fmt.Sprintf("pagination:{page:%d,pageSize:25}", 1+i%40) }},
		{"equality, rare", func(i int) string { return fmt.Sprintf("filters[code]=%d", i%g.codes()) },
			func(i int) string { return fmt.Sprintf("filters:{code:{eq:%d}}", i%g.codes()) }},
		{"equality, common", func(i int) string { return "filters[tier]=" + tier(i) },
			func(i int) string { return fmt.Sprintf("filters:{tier:{eq:%q}}", tier(i)) }},
		{"range", func(i int) string { return fmt.Sprintf("filters[seats][$gte]=%d", i%300) },
			func(i int) string { return fmt.Sprintf("filters:{seats:{gte:%d}}", i%300) }},
		{"contains, rare", func(i int) string { return "filters[name][$containsi]=" + needleOf(i%g.codes()) },
			func(i int) string { return fmt.Sprintf("filters:{name:{containsi:%q}}", needleOf(i%g.codes())) }},
		{"contains, common", func(i int) string { return "filters[name][$containsi]=" + word(i) },
			func(i int) string { return fmt.Sprintf("filters:{name:{containsi:%q}}", word(i)) }},
		{"_q, rare", func(i int) string { return "_q=" + needleOf(i%g.codes()) }, nil},
		{"_q, common", func(i int) string { return "_q=" + word(i) }, nil},
		{"relation, rare", func(i int) string { return fmt.Sprintf("filters[owner][name]=person %d", i%g.people()) },
			func(i int) string { return fmt.Sprintf("filters:{owner:{name:{eq:\"person %d\"}}}", i%g.people()) }},
		{"relation, common", func(i int) string { return fmt.Sprintf("filters[owner][age][$lt]=%d", 30+i%40) },
			func(i int) string { return fmt.Sprintf("filters:{owner:{age:{lt:%d}}}", 30+i%40) }},
		{"two relations, rare", func(i int) string { return fmt.Sprintf("filters[owner][town][name]=town %d", i%g.towns()) },
			func(i int) string { return fmt.Sprintf("filters:{owner:{town:{name:{eq:\"town %d\"}}}}", i%g.towns()) }},
		{"two relations, common", func(i int) string { return fmt.Sprintf("filters[owner][town][name][$gte]=town %d", 10+i%80) },
			func(i int) string { return fmt.Sprintf("filters:{owner:{town:{name:{gte:\"town %d\"}}}}", 10+i%80) }},
		{"$or of two attributes", func(i int) string {
			return fmt.Sprintf("filters[$or][0][tier]=%s&filters[$or][1][seats][$gte]=%d", tier(i), 100+i%300)
		}, func(i int) string {
			return fmt.Sprintf("filters:{or:[{tier:{eq:%q}},{seats:{gte:%d}}]}", tier(i), 100+i%300)
		}},
		{"filter, other sort", func(i int) string { return "sort=name:desc&filters[tier]=" + tier(i) },
			func(i int) string { return fmt.Sprintf("sort:\"name:desc\",filters:{tier:{eq:%q}}", tier(i)) }},
		{"two filters, other sort", func(i int) string {
			return fmt.Sprintf("sort=openedOn&filters[tier]=%s&filters[seats][$gte]=%d", tier(i), i%300)
		}, func(i int) string {
			return fmt.Sprintf("sort:\"openedOn\",filters:{tier:{eq:%q},seats:{gte:%d}}", tier(i), i%300)
		}},
		{"all locales", func(i int) string { return "locale=*&sort=name&filters[tier]=" + tier(i) }, nil},
	}
}

// requests returns the ways to ask a query: over REST and GraphQL, with and without the total.
func (q *guideQuery) requests() map[string]func(i int) string {
	ways := map[string]func(i int) string{
		"REST": func(i int) string {
			return "/api/restaurants?pagination[withCount]=false&" + strings.ReplaceAll(q.rest(i), " ", "%20")
		},
		"REST, total": func(i int) string { return "/api/restaurants?" + strings.ReplaceAll(q.rest(i), " ", "%20") },
	}
	if q.graphQL != nil {
		ask := func(arguments, of string) string {
			if !strings.Contains(arguments, "pagination") {
				arguments += ",pagination:{limit:25}"
			}
			return "/graphql?query=" + url.QueryEscape("{"+strings.ReplaceAll(of, "…", arguments)+"}")
		}
		ways["GraphQL"] = func(i int) string {
			return ask(q.graphQL(i), "restaurants(…){documentId name seats tier}")
		}
		ways["GraphQL, total"] = func(i int) string {
			return ask(q.graphQL(i), "restaurants_connection(…){nodes{documentId name seats tier} pageInfo{total}}")
		}
	}
	return ways
}

// A measured is what a series of requests took: the median, that of requests each of which came after a write, and what
// the store did for one of them on average.
type measured struct {
	took, written time.Duration
	work          store.Work
	plan          string
}

// send sends a request, which must succeed, and returns how long it took.
func (g *guide) send(t *testing.T, method, path, body string) time.Duration {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header["Authorization"] = []string{"Bearer " + g.key}
	r.Header["Content-Type"] = []string{"application/json"}
	w := httptest.NewRecorder()
	began := time.Now()
	g.handler.ServeHTTP(w, r)
	took := time.Since(began)
	if w.Code != 200 || strings.HasPrefix(w.Body.String(), `{"errors"`) {
		t.Fatalf("%s: %d %s", path, w.Code, w.Body)
	}
	return took
}

// measure sends a series of requests one after the other, for a time.
func (g *guide) measure(t *testing.T, path func(i int) string) (m measured) {
	const longest, most, writes = 2 * time.Second, 400, 5
	for i := range 3 { // so that the caller, the plan and the pages of the file are known
		g.send(t, "GET", path(1000+i), "")
	}
	before := g.project.Store().Stats()
	var took []time.Duration
	for began := time.Now(); len(took) < most && (len(took) < 5 || time.Since(began) < longest); {
		took = append(took, g.send(t, "GET", path(len(took)), ""))
	}
	after, n := g.project.Store().Stats(), uint64(len(took))
	m.took = median(took)
	m.work = store.Work{Seeks: (after.Seeks - before.Seeks) / n, Entries: (after.Entries - before.Entries) / n,
		Rows: (after.Rows - before.Rows) / n, Links: (after.Links - before.Links) / n}
	often := uint64(0)
	for kind := range after.Plans {
		if k := after.Plans[kind] - before.Plans[kind]; k > often {
			often, m.plan = k, store.PlanKind(kind).String()
		}
	}
	took = nil
	for i := range writes {
		g.send(t, "PUT", "/api/restaurants/"+guideID("restaurant", 4*i), fmt.Sprintf(`{"data":{"seats":%d}}`, 1+i))
		took = append(took, g.send(t, "GET", path(2000+i), ""))
	}
	m.written = median(took)
	return m
}

func median(of []time.Duration) time.Duration {
	slices.Sort(of)
	return of[len(of)/2]
}

// TestQueriesAtScale prints how many microseconds a page of 25 takes for different numbers of documents, and what the
// store does for it. It measures nothing unless the flag -scales is set:
//
//	go test ./gateway -run QueriesAtScale -v -timeout 2h -scales 1000,20000,1000000
func TestQueriesAtScale(t *testing.T) {
	if *scales == "" {
		t.Skip("measures nothing without -scales")
	}
	type row struct{ query, way string }
	var rows []row
	var columns []map[row]measured
	var names []string
	for text := range strings.SplitSeq(*scales, ",") {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, text)
		column := map[row]measured{}
		t.Run(text, func(t *testing.T) {
			g := newGuide(t, n)
			for _, q := range g.queries() {
				ways := q.requests()
				for _, way := range slices.Sorted(maps.Keys(ways)) {
					at := row{q.name, way}
					column[at] = g.measure(t, ways[way])
					if len(columns) == 0 {
						rows = append(rows, at)
					}
				}
			}
		})
		columns = append(columns, column)
	}
	slices.SortStableFunc(rows, func(a, b row) int { return cmp.Compare(a.way, b.way) })
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "query\tasked\t%s\tratio\tafter a write: %s\tratio\tplan\tentries\trows\tlinks\tseeks\n",
		strings.Join(names, "\t"), strings.Join(names, "\t"))
	for _, at := range rows {
		fmt.Fprintf(w, "%s\t%s", at.query, at.way)
		first, last := columns[0][at], columns[len(columns)-1][at]
		for _, column := range columns {
			fmt.Fprintf(w, "\t%d", column[at].took.Microseconds())
		}
		fmt.Fprintf(w, "\t%.2f", float64(last.took)/float64(first.took))
		for _, column := range columns {
			fmt.Fprintf(w, "\t%d", column[at].written.Microseconds())
		}
		fmt.Fprintf(w, "\t%.2f", float64(last.written)/float64(first.written))
		fmt.Fprintf(w, "\t%s\t%d → %d\t%d → %d\t%d → %d\t%d → %d\n", last.plan, first.work.Entries, last.work.Entries, first.work.Rows, last.work.Rows, first.work.Links, last.work.Links,
			first.work.Seeks, last.work.Seeks)
	}
	if err := w.Flush(); err != nil {
		t.Error(err)
	}
}
