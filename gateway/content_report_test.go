package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"lectern/documents"
	"lectern/documents/misfits"
	"lectern/documents/permission"
	"lectern/gateway"
	"lectern/internal/shell"
	"lectern/jsontree"
	"lectern/store"
	"lectern/store/evolve"
)

// The content is written under the loose definitions, and then compared with the strict ones, which it does not fit.
// There are as many documents as dishes says. Each has a draft and a published version in en and in de, except for one
// that has only a draft in de: 763 versions in de.
const (
	dishes    = 382
	looseDish = dishHead + "  name: {type: string, " + own + "}\n  code: {type: string, " + own +
		"}\n  price: {type: integer}\n  kind: {type: string}\n  word: {type: text, " + own + "}\n" + dishLines + "}\n"
	strictDish = dishHead + "  name: {type: string, minLength: 7, regex: '^dish [0-9]+$', " + own +
		"}\n  code: {type: string, unique: true, " + own + "}\n" +
		"  price: {type: integer, min: 3, max: 380}\n  kind: {type: string, required: true, default: plain}\n  word: {type: text, required: true, " + own + "}\n" +
		"  stars: {type: integer, required: true, min: 1}\n" + dishLines + ", max: 1}\n"
	dishHead = "kind: collectionType\ninfo: {singularName: dish, pluralName: dishes, displayName: D}\noptions: {draftAndPublish: true}\n" +
		"pluginOptions: {i18n: {localized: true}}\nattributes:\n"
	own       = "pluginOptions: {i18n: {localized: true}}"
	dishLines = "  lines: {type: component, component: part.line, repeatable: true"
	looseLine = "info: {displayName: L}\nattributes: {text: {type: string}, mark: {type: string}}\n"
	lineRules = "info: {displayName: L}\nattributes: {text: {type: string, required: true}, mark: {type: string, unique: true}}\n"
)

// misfitProject creates a project whose content does not fit its files any more, and returns its directory.
func misfitProject(t *testing.T) (dir string) {
	t.Helper()
	files := map[string]string{"content-types/dish.yaml": looseDish, "components/part/line.yaml": looseLine,
		"config/plugins.yaml": "i18n: {config: {locales: [en, de]}}\n"}
	dir = writeProject(t, files)
	p, closeProject := openProject(t, dir, gateway.Options{})
	dish := p.Definition().Model.Type("api::dish.dish")
	for i := range dishes {
		write := func(do func(context.Context, documents.Write) error, locale string, st store.Status) {
			t.Helper()
			body, err := jsontree.Parse(
				fmt.Appendf(nil, `{"name":"dish %d","code":"c%d","price":%d,"lines":[{"mark":"m"},{"text":"x","mark":"m"}]}`, i, max(1, i), i), 10)
			if err != nil {
				t.Fatal(err)
			}
			id := fmt.Sprintf("d%03d", i)
			if err := do(t.Context(), documents.Write{Type: dish, DocumentID: id, Locale: locale, Status: st,
				Data: body.(*jsontree.Object), Access: permission.FullAccess}); err != nil {
				t.Fatal(err)
			}
		}
		write(p.Documents().Create, "", store.Published)
		if i == 0 {
			write(p.Documents().Update, "de", store.Draft)
		} else {
			write(p.Documents().Update, "de", store.Published)
		}
	}
	closeProject()
	writeFiles(t, dir, map[string]string{"content-types/dish.yaml": strictDish, "components/part/line.yaml": lineRules,
		"config/plugins.yaml": "i18n: {config: {locales: [en]}}\n"})
	return dir
}

// wantMisfits lists all misfits of the project.
var wantMisfits = []string{
	"api::dish.dish has content in the locale de, which config/plugins.yaml does not list: 763 versions",
	// The draft of d000 in de was never published, so only the rules for drafts apply to it.
	"api::dish.dish.code is unique and has a value that another document has: 2 versions",
	"api::dish.dish.kind is required and missing: 763 versions, and 764 drafts that cannot be published without it",
	"api::dish.dish.lines must have at most 1 items: 763 versions",
	"api::dish.dish.name must be at least 7 characters: 19 versions",
	"api::dish.dish.price must be greater than or equal to 3: 5 versions",
	"api::dish.dish.price must be less than or equal to 380: 4 versions",
	"api::dish.dish.stars is required and missing: 763 versions, and 764 drafts that cannot be published without it",
	"api::dish.dish.word is required and missing: 763 versions, and 764 drafts that cannot be published without it",
	"part.line.mark in api::dish.dish is unique and has one value in several components of a version: 763 versions",
	"part.line.text in api::dish.dish is required and missing: 763 versions, and 764 drafts that cannot be published without it",
}

// takenInside is found only after a start with the strict definitions has made an index of the marks.
const takenInside = "part.line.mark in api::dish.dish is unique and has a value that another document has: 763 versions"

// TestMisfitsAreFound compares stored content with files that have changed since. It does so for a stopped server, for
// a running server before it serves the files, and while it serves them.
func TestMisfitsAreFound(t *testing.T) {
	dir := misfitProject(t)
	o := gateway.Options{}
	check := func() (lines []string, report misfits.Report) {
		t.Helper()
		d, problems, _, err := gateway.Check(dir, o)
		if len(problems) > 0 || err != nil {
			t.Fatal(problems, err)
		}
		forecast, err := gateway.Directory(dir, o).Foresee(t.Context(), d.Definition)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range forecast.Content.Misfits {
			lines = append(lines, m.String())
			if len(m.Examples) != min(3, m.Versions) {
				t.Errorf("%s: examples %v", m, m.Examples)
			}
		}
		return lines, forecast.Content
	}
	before, report := check()
	if diff := cmp.Diff(wantMisfits, before); diff != "" || report.Versions != 1527 ||
		!slices.Equal(report.Unindexed, []string{"api::dish.dish.lines.mark"}) {
		t.Errorf("%d versions, without index %v\n%s", report.Versions, report.Unindexed, diff)
	}
	for _, m := range report.Misfits {
		if strings.Contains(m.Problem, "greater than") {
			want := []misfits.Example{{DocumentID: "d000", Locale: "en", Status: "published"},
				{DocumentID: "d001", Locale: "en", Status: "published"},
				{DocumentID: "d002", Locale: "en", Status: "published"}}
			if diff := cmp.Diff(want, m.Examples); diff != "" {
				t.Error(diff)
			}
		}
	}

	// A server that still serves the former files reports the same misfits of the new ones. It runs in production,
	// where changed files are not reloaded.
	writeFiles(t, dir, map[string]string{"content-types/dish.yaml": looseDish, "components/part/line.yaml": looseLine,
		"config/plugins.yaml": "i18n: {config: {locales: [en, de]}}\n"})
	_, stop := run(t, dir, gateway.Options{Production: true}, nil)
	writeFiles(t, dir, map[string]string{"content-types/dish.yaml": strictDish, "components/part/line.yaml": lineRules,
		"config/plugins.yaml": "i18n: {config: {locales: [en]}}\n"})
	if online, _ := check(); !slices.Equal(online, before) {
		t.Error(cmp.Diff(before, online))
	}
	stop()

	e := newEditingAt(t, dir)
	e.awaitLog(`lack a required value`, `attribute=part.line.text`, `versions=763 drafts=764 fill="lectern migrate `+
		shell.Path(dir)+` fill api::dish.dish.kind"`,
		`fill="lectern migrate `+shell.Path(dir)+` fill api::dish.dish.stars VALUE"`,
		`locale=de type=api::dish.dish versions=763`)
	indexed := slices.Sorted(slices.Values(append(slices.Clone(before), takenInside)))
	if served, report := check(); !slices.Equal(served, indexed) || len(report.Unindexed) > 0 {
		t.Errorf("without index %v\n%s", report.Unindexed, cmp.Diff(indexed, served))
	}

	// Content in a locale that is no longer configured can be read and deleted, but not added.
	for _, test := range []struct {
		method, path string
		body         any
		status       int
	}{
		{"GET", "/api/dishes/d001?locale=de", nil, 200},
		{"PUT", "/api/dishes/d001?locale=de", object{"data": object{"price": 5}}, 400},
		{"POST", "/api/dishes?locale=de", object{"data": object{"price": 5}}, 400},
		{"POST", "/api/dishes/d001/actions/publish?locale=de", nil, 400},
		{"POST", "/api/dishes/d001/actions/unpublish?locale=de", nil, 200},
		{"DELETE", "/api/dishes/d001?locale=de", nil, 204},
	} {
		status, body := e.do(t.Context(), test.method, test.path, test.body)
		if status != test.status || status == 400 &&
			!strings.Contains(string(body), `"ValidationError","message":"Locale de is not available"`) {
			t.Errorf("%s %s: %d %s, want %d", test.method, test.path, status, body, test.status)
		}
	}
}

// TestFillSetsMissingValues fills in the values of new required attributes, without which GraphQL cannot read the
// documents.
func TestFillSetsMissingValues(t *testing.T) {
	dir := misfitProject(t)
	fill := func(want string, words ...string) int {
		t.Helper()
		ms, err := evolve.ParseMigrations(words)
		if err != nil {
			t.Fatal(err)
		}
		filled, err := gateway.Directory(dir, gateway.Options{}).Fill(t.Context(), ms, nil)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%v: %v, want %q", words, err, want)
		}
		return filled.Versions
	}
	const versions = 763 + 764
	// Fill works on a stopped server. After an interruption, the same call continues.
	ctx, cancel := context.WithCancel(t.Context())
	ms, _ := evolve.ParseMigrations([]string{"fill", "api::dish.dish.kind"})
	first, err := gateway.Directory(dir, gateway.Options{}).Fill(ctx, ms, func(string, int, int) { cancel() })
	if !errors.Is(err, context.Canceled) || first.Versions == 0 || first.Versions == versions {
		t.Errorf("interrupted after %d: %v", first.Versions, err)
	}
	if n := fill("", "fill", "api::dish.dish.kind"); n+first.Versions != versions {
		t.Errorf("%d and %d versions were filled, of %d", first.Versions, n, versions)
	}
	if n := fill("", "fill", "api::dish.dish.kind"); n != 0 {
		t.Errorf("%d versions were filled again", n)
	}

	e := newEditingAt(t, dir)
	graphql := func() (dishes []map[string]any, wrong int) {
		t.Helper()
		status, body := e.do(t.Context(), "POST", "/graphql",
			object{"query": "{ dishes(pagination: {limit: 2}) { stars word kind lines { text } } }"})
		var answer struct {
			Data   struct{ Dishes []map[string]any }
			Errors []any
		}
		if err := json.Unmarshal(body, &answer); err != nil || status != 200 {
			t.Fatalf("%d %s", status, body)
		}
		return answer.Data.Dishes, len(answer.Errors)
	}
	if dishes, wrong := graphql(); wrong == 0 || len(dishes) != 2 || dishes[0] != nil {
		t.Fatalf("before: %v, %d errors", dishes, wrong)
	}
	// Fill works on a running server. If one value does not fit its attribute, the call fills in nothing, not even its
	// other values.
	for _, test := range []struct{ want, words string }{
		{"fill api::dish.dish.stars: it has no default; name a value", "fill api::dish.dish.stars"},
		{"stars must be greater than or equal to 1", "fill api::dish.dish.word w fill api::dish.dish.stars 0"},
		{"a value of type integer is JSON", "fill api::dish.dish.stars many"},
		{"null is what is missing", "fill api::dish.dish.stars null"},
		{"it is unique", "fill api::dish.dish.code x"},
		{"it is a component; write the components over the API", "fill api::dish.dish.lines []"},
		{"the server gives it its values", "fill api::dish.dish.createdAt x"},
		{`api::dish.dish has no attribute "nothing"`, "fill api::dish.dish.nothing x"},
		{`there is no content-type or component "part.nothing"`, "fill part.nothing.x x"},
	} {
		if n := fill(test.want, strings.Fields(test.words)...); n != 0 {
			t.Errorf("%s filled %d", test.words, n)
		}
	}
	if n := fill("", "fill", "api::dish.dish.stars", "3", "fill", "api::dish.dish.word", "a word", "fill",
		"part.line.text", `"quoted"`); n != 3*versions {
		t.Errorf("%d versions were filled, want %d", n, 3*versions)
	}
	dishes, wrong := graphql()
	if diff := cmp.Diff(map[string]any{"stars": 3.0, "word": "a word", "kind": "plain", "lines": []any{
		map[string]any{"text": "quoted"}, map[string]any{"text": "x"}}}, dishes[0]); diff != "" || wrong > 0 {
		t.Errorf("after: %d errors\n%s", wrong, diff)
	}
	// Filters find the filled-in values, with an index and without one.
	for _, filter := range []string{"filters[stars]=3", "filters[kind]=plain", "filters[word][$contains]=word",
		"filters[lines][text]=quoted"} {
		_, body := e.do(t.Context(), "GET", "/api/dishes?pagination[pageSize]=1&"+filter, nil)
		if !strings.Contains(string(body), `"total":382}`) {
			t.Errorf("%s: %s", filter, body)
		}
	}
}
