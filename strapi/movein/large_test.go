package movein_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"lectern/gateway"
	"lectern/jsontree"
	"lectern/strapi/archive"
	"lectern/strapi/movein"
)

var large = flag.Int("large", 0, "how many entities TestLarge moves in; 0 skips it")

// writeLarge writes an archive with the definitions of the kitchen and this many entities: categories, people, and
// restaurants with reviews. A restaurant has a draft and a published version, three categories in each, an owner and a
// component.
func writeLarge(t *testing.T, path string, entities int) {
	t.Helper()
	from, to := rewrite(t, kitchen, path, "", nil)
	g := &generator{t: t, w: to}
	for s, err := range from.Configuration(t.Context()) {
		g.check(err)
		g.check(to.WriteSetting(s))
	}
	for i := range 100 {
		g.row("api::category.category", uint64(2*i+1), i, "", `"name":"Category %d"`, i)
		g.row("api::category.category", uint64(2*i+2), i, now, `"name":"Category %d"`, i)
	}
	people := entities / 10
	for i := range people {
		g.row("api::person.person", uint64(i+1), i, now,
			`"firstName":"First %d","lastName":"Last","age":40,"email":"p%d@example.org"`, i, i)
	}
	for i := 0; g.rows < entities; i++ {
		for v, published := range []string{"", now} {
			id := uint64(2*i + v + 1)
			g.row("api::restaurant.restaurant", id, i, published,
				`"locale":"en","name":"Restaurant %d","slug":"restaurant-%d","summary":"%s","seats":%d,"vegan":true,`+
					`"tier":"gold","address":{"id":%d,"street":"Long street","city":"Rome","geo":null},"dz":[]`, i, i,
				strings.Repeat("text ", 40), 1+i%900, id)
			for c := range 3 {
				g.link("manyToMany", "api::restaurant.restaurant", "categories", id, float64(c+1),
					"api::category.category", "restaurants", uint64(2*((i+c*7)%100)+v+1), float64(i+1))
			}
			g.link("manyToOne", "api::restaurant.restaurant", "owner", id, 0, "api::person.person", "restaurants",
				uint64(i%people+1), float64(i+1))
			g.row("api::review.review", id, 1_000_000+int(id), now, `"stars":4,"comment":"Comment %d"`, i)
			g.link("manyToOne", "api::review.review", "restaurant", id, 0, "api::restaurant.restaurant", "reviews",
				uint64(2*i+1), float64(v+1))
			g.link("manyToOne", "api::review.review", "restaurant", id, 0, "api::restaurant.restaurant", "reviews",
				uint64(2*i+2), float64(v+1))
		}
	}
	g.check(to.Close(from.Metadata))
	t.Logf("%d entities with %d links", g.rows, g.links)
}

const now = "2026-11-22T13:21:15.005Z"

// A generator writes rows and links.
type generator struct {
	t           *testing.T
	w           *archive.Writer
	rows, links int
}

func (g *generator) check(err error) {
	if err != nil {
		g.t.Helper()
		g.t.Fatal(err)
	}
}

func (g *generator) row(uid string, id uint64, document int, published, format string, args ...any) {
	at := "null"
	if published != "" {
		at = `"` + published + `"`
	}
	text := fmt.Sprintf(`{"documentId":"d%023d","createdAt":%q,"updatedAt":%q,"publishedAt":%s,`+format+`}`,
		append([]any{document, now, now, at}, args...)...)
	data, err := jsontree.Parse([]byte(text), 10)
	g.check(err)
	g.check(g.w.WriteEntity(archive.Entity{Type: uid, ID: id, Data: data.(*jsontree.Object)}))
	g.rows++
}

func (g *generator) link(kind, fromType, fromField string, from uint64, pos float64, toType, toField string, to uint64,
	toPos float64) {
	g.check(g.w.WriteLink(archive.Link{Kind: "relation.basic", Relation: kind,
		Left:  archive.End{Type: fromType, Field: fromField, ID: from, Pos: pos},
		Right: archive.End{Type: toType, Field: toField, ID: to, Pos: toPos}}))
	g.links++
}

// TestLarge moves a large archive in, and logs how long that takes and how much memory.
func TestLarge(t *testing.T) {
	if *large == 0 {
		t.Skip("-large is 0")
	}
	path := filepath.Join(t.TempDir(), "large.tar.gz")
	writeLarge(t, path, *large)
	peak, began, last, phase := 0, time.Now(), time.Now(), ""
	_, report := move(t, movein.Options{Source: path, Project: gateway.Options{}, Progress: func(p movein.Progress) {
		if p.Phase != phase {
			t.Logf("%6.1f s  %4d MB  %s", time.Since(began).Seconds(), rssAnon()>>10, p.Phase)
			phase = p.Phase
		}
		if time.Since(last) > 50*time.Millisecond {
			peak, last = max(peak, rssAnon()), time.Now()
		}
	}})
	if report.Compared < *large {
		t.Errorf("%d versions arrived", report.Compared)
	}
	seconds := time.Since(began).Seconds()
	t.Logf("%.1f s, %.0f entities/s, peak RssAnon %d MB", seconds, float64(report.Compared)/seconds, peak>>10)
}

// rssAnon returns the anonymous resident memory of this process in kB, or 0 where the system does not tell.
func rssAnon() int {
	text, _ := os.ReadFile("/proc/self/status")
	_, text2, _ := strings.Cut(string(text), "RssAnon:")
	fields := strings.Fields(text2)
	if len(fields) == 0 {
		return 0
	}
	n, _ := strconv.Atoi(fields[0])
	return n
}
