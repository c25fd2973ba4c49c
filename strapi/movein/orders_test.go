package movein_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"lectern/internal/servertest"
	"lectern/jsontree"
	"lectern/strapi/archive"
	"lectern/strapi/movein"
	"lectern/strapi/remote"
)

// A side is one of the two types of a relation.
type side struct {
	name              string // singular; the plural ends in s
	field             string
	drafts, localized bool
	many              bool // holds a list
	rows              []*orderedRow
}

// An orderedRow is a version of a document.
type orderedRow struct {
	id             uint64
	document       int
	status, locale string // "" if the type has no drafts, or no locales
	links          []*orderedLink
}

func (r *orderedRow) name() string { return fmt.Sprint(r.document, r.locale) }

// An orderedLink leads from a row of the owning type to one of the other. at has its positions in the lists of both.
type orderedLink struct {
	rows [2]*orderedRow
	at   [2]float64
}

// A twoSided is a relation with an attribute in both types; the first owns it.
type twoSided struct {
	kind  string
	sides [2]side
	links []*orderedLink
}

// twoSidedRelations returns all kinds of relations between types with and without drafts and locales, and five
// documents of each type in all versions. The links are in lists in random orders.
func twoSidedRelations(random *rand.Rand) (list []*twoSided) {
	for i, kind := range []string{"manyToOne", "manyToMany", "oneToOne"} {
		for n := range 16 {
			name := string("omx"[i]) + strings.NewReplacer("0", "n", "1", "y").Replace(
				fmt.Sprintf("%04b", n)) // yes or no for drafts and locales
			r := &twoSided{kind: kind, sides: [2]side{
				{name: "a" + name, field: "to", drafts: n&8 > 0, localized: n&4 > 0, many: kind == "manyToMany"},
				{name: "b" + name, field: "from", drafts: n&2 > 0, localized: n&1 > 0, many: kind != "oneToOne"},
			}}
			for i := range r.sides {
				r.sides[i].addRows()
			}
			r.addLinks(random)
			list = append(list, r)
		}
	}
	return list
}

func (s *side) addRows() {
	statuses, locales := []string{""}, []string{""}
	if s.drafts {
		statuses = []string{"draft", "published"}
	}
	if s.localized {
		locales = []string{"en", "es"}
	}
	for document := range 5 {
		for _, locale := range locales {
			for _, status := range statuses {
				s.rows = append(s.rows, &orderedRow{id: uint64(len(s.rows) + 1), document: document, status: status,
					locale: locale})
			}
		}
	}
}

// addLinks links the rows of both sides, and gives each link a place in each list.
func (r *twoSided) addLinks(random *rand.Rand) {
	targets := random.Perm(5)
	for _, from := range r.sides[0].rows {
		for _, to := range r.sides[1].rows {
			switch {
			case from.status != "" && to.status != "" && from.status != to.status, from.locale != "" &&
				to.locale != "" && from.locale != to.locale:
			case r.kind == "manyToOne" && to.document != targets[0], r.kind == "oneToOne" &&
				to.document != targets[from.document]:
			default:
				l := &orderedLink{rows: [2]*orderedRow{from, to}}
				r.links, from.links, to.links = append(r.links, l), append(from.links, l), append(to.links, l)
			}
		}
	}
	for i, s := range r.sides {
		for _, row := range s.rows {
			random.Shuffle(len(row.links), func(a, b int) { row.links[a], row.links[b] = row.links[b], row.links[a] })
			first, step := []float64{0, 1, -2, 0.5}[random.IntN(4)], []float64{1, 0.25, 7}[random.IntN(3)]
			for n, l := range row.links {
				l.at[i] = first + step*float64(n)
			}
		}
	}
	random.Shuffle(len(r.links), func(a, b int) { r.links[a], r.links[b] = r.links[b], r.links[a] })
}

// list returns what the attribute of a row shows at a status: the names of the rows at the other end, in order.
func (row *orderedRow) list(side int, status string) (names []string) {
	for _, l := range row.links {
		if far := l.rows[1-side]; far.status == "" || far.status == status {
			names = append(names, far.name())
		}
	}
	return names
}

// writeOrders writes relations as an archive: a directory, and the schemas in it. archive.Writer leaves out positions
// of 0, so the links are written by hand.
func writeOrders(t *testing.T, relations []*twoSided) (dir string, schemas []*jsontree.Object) {
	dir = filepath.Join(t.TempDir(), "export")
	w, err := archive.CreateDirectory(dir)
	g := &generator{t: t}
	g.check(err)
	var links strings.Builder
	for _, r := range relations {
		for i, s := range r.sides {
			other, kind, mapped := r.sides[1-i], r.kind, "inversedBy"
			if i == 1 {
				mapped = "mappedBy"
				if kind == "manyToOne" {
					kind = "oneToMany"
				}
			}
			schema, err := jsontree.Parse(
				fmt.Appendf(nil, `{"uid":%q,"modelType":"contentType","kind":"collectionType","info":{"singularName":%q,"pluralName":"%ss","displayName":%q},
				"options":{"draftAndPublish":%t},"pluginOptions":{"i18n":{"localized":%t}},"attributes":{"name":{"type":"string","pluginOptions":{"i18n":{"localized":%t}}},
				%q:{"type":"relation","relation":%q,"target":%q,%q:%q}}}`, s.uid(), s.name, s.name, s.name, s.drafts, s.localized, s.localized,
					s.field, kind, other.uid(), mapped, other.field), 20)
			g.check(err)
			schemas = append(schemas, schema.(*jsontree.Object))
			g.check(w.WriteSchema(archive.Schema{UID: s.uid(), Data: schema.(*jsontree.Object)}))
			for _, row := range s.rows {
				data := jsontree.ObjectOf("documentId", fmt.Sprintf("%s%d", s.name, row.document), "name", row.name(),
					"createdAt", now, "updatedAt", now,
					"publishedAt", any(now), "locale", nil)
				if row.status == "draft" {
					data.Set("publishedAt", nil)
				}
				if s.localized {
					data.Set("locale", row.locale)
				}
				g.check(w.WriteEntity(archive.Entity{Type: s.uid(), ID: row.id, Data: data}))
			}
		}
		for _, l := range r.links {
			end := func(i int) string {
				s, pos := &r.sides[i], ""
				if s.many {
					pos = fmt.Sprintf(`,"pos":%v`, l.at[i])
				}
				return fmt.Sprintf(`{"type":%q,"field":%q,"ref":%d%s}`, s.uid(), s.field, l.rows[i].id, pos)
			}
			fmt.Fprintf(&links, `{"kind":"relation.basic","relation":%q,"left":%s,"right":%s}`+"\n", r.kind, end(0),
				end(1))
		}
	}
	for id, code := range map[uint64]string{1: "en", 2: "es"} {
		g.check(w.WriteEntity(archive.Entity{Type: "plugin::i18n.locale", ID: id,
			Data: jsontree.ObjectOf("documentId", code, "code", code, "name", code)}))
	}
	g.check(w.Close(archive.Metadata{Version: "5.54.0", CreatedAt: now}))
	g.check(os.MkdirAll(filepath.Join(dir, "links"), 0o700))
	g.check(os.WriteFile(filepath.Join(dir, "links", "links_00001.jsonl"), []byte(links.String()), 0o600))
	return dir, schemas
}

func (s *side) uid() string { return fmt.Sprintf("api::%s.%[1]s", s.name) }

// TestOrders moves lists in known orders in by an archive, out and in again, and in from the server that has them. Each
// keeps its order on both sides, in drafts and published versions of all locales.
func TestOrders(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine")
	}
	relations := twoSidedRelations(rand.New(rand.NewPCG(1, 2)))
	source, schemas := writeOrders(t, relations)
	dir, _ := move(t, movein.Options{Source: source})
	out := filepath.Join(t.TempDir(), "out.tar.gz")
	file, err := os.Create(out)
	if err != nil {
		t.Fatal(err)
	}
	p := open(t, dir)
	if err := cmp.Or(p.ExportStrapi(t.Context(), file, ""), file.Close(), p.Close()); err != nil {
		t.Fatal(err)
	}
	base, key := servertest.ServeStored(t, dir)
	testOrders(t, "archive", relations, base, key)

	again, _ := move(t, movein.Options{Source: out})
	base2, key2 := servertest.ServeStored(t, again)
	testOrders(t, "out and in again", relations, base2, key2)

	read := t.TempDir()
	if _, err := remote.Read(t.Context(), read,
		remote.Options{URL: base, Token: key, Schemas: schemas, Rate: 1e6}); err != nil {
		t.Fatal(err)
	}
	from, _ := move(t, movein.Options{Source: remote.Archive(read)})
	base3, key3 := servertest.ServeStored(t, from)
	testOrders(t, "from a server", relations, base3, key3)
}

// testOrders compares the lists that a server shows with those of the relations.
func testOrders(t *testing.T, way string, relations []*twoSided, base, key string) {
	t.Helper()
	lists, wrong := 0, 0
	for _, r := range relations {
		for i := range r.sides {
			s := &r.sides[i]
			for _, status := range []string{"draft", "published"} {
				for _, locale := range []string{"en", "es"} {
					if !s.localized && locale == "es" {
						continue
					}
					shown := s.shown(t, base, key, status, locale)
					for _, row := range s.rows {
						if row.status != "" && row.status != status || s.localized && row.locale != locale {
							continue
						}
						want, got := row.list(i, status), shown[row.name()]
						ok := slices.Equal(got, want)
						if !s.many { // of several localizations, one is shown
							ok = len(got) == 1 && slices.Contains(want, got[0]) || len(got)+len(want) == 0
						}
						if lists++; !ok {
							if wrong++; wrong < 10 {
								t.Errorf("%s: %s %s of row %s, %s: %v, want %v", way, r.kind, s.name, row.name(),
									status, got, want)
							}
						}
					}
				}
			}
		}
	}
	if wrong > 0 || lists < 1000 {
		t.Errorf("%s: %d of %d lists are wrong", way, wrong, lists)
	}
}

// shown returns the lists that a server shows, by the names of the rows.
func (s *side) shown(t *testing.T, base, key, status, locale string) map[string][]string {
	url := fmt.Sprintf("%s/api/%ss?populate=%s&pagination[pageSize]=100&status=%s", base, s.name, s.field, status)
	if s.localized {
		url += "&locale=" + locale
	}
	text := get(t, url, key)
	var answer struct{ Data []map[string]any }
	if err := json.Unmarshal([]byte(text), &answer); err != nil || len(answer.Data) != 5 {
		t.Fatalf("%s: %v %s", url, err, text)
	}
	shown := map[string][]string{}
	for _, d := range answer.Data {
		var names []string
		targets, isList := d[s.field].([]any)
		if !isList && d[s.field] != nil {
			targets = []any{d[s.field]}
		}
		for _, target := range targets {
			names = append(names, fmt.Sprint(target.(map[string]any)["name"]))
		}
		shown[fmt.Sprint(d["name"])] = names
	}
	return shown
}
