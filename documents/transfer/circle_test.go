package transfer_test

import (
	"fmt"
	"strings"
	"testing"

	"lectern/documents"
	"lectern/documents/transfer"
	"lectern/internal/storetest"
)

// TestImportLinksNewLocalizations imports translations of documents that exist and link to each other, in a circle:
// each link has to wait until its target has the translation, and so has its target.
func TestImportLinksNewLocalizations(t *testing.T) {
	model := storetest.Model(t, storetest.Files(map[string]string{
		"content-types/page.yaml": `
kind: collectionType
info: {singularName: page, pluralName: pages, displayName: Page}
pluginOptions: {i18n: {localized: true}}
attributes:
  title: {type: string, pluginOptions: {i18n: {localized: true}}}
  next: {type: relation, relation: oneToOne, target: api::page.page}
  boxes: {type: component, component: parts.box, repeatable: true, pluginOptions: {i18n: {localized: true}}}
`,
		"content-types/start.yaml": `
kind: singleType
info: {singularName: start, pluralName: starts, displayName: Start}
pluginOptions: {i18n: {localized: true}}
attributes: {page: {type: relation, relation: oneToOne, target: api::page.page}}
`,
		"components/parts/box.yaml": `
info: {displayName: Box}
attributes: {page: {type: relation, relation: oneToOne, target: api::page.page}, start: {type: relation, relation: oneToOne, target: api::start.start}}
`,
	}))
	const times = `"createdAt":"2026-01-02T03:04:05.678Z","updatedAt":"2026-01-02T03:04:05.678Z","publishedAt":"2026-01-02T03:04:05.678Z"`
	ids := map[string]int{}
	line := func(typ, id, locale, data string) string {
		name := typ + id + locale
		if ids[name] == 0 {
			ids[name] = 10 * (len(ids) + 1)
		}
		data = strings.NewReplacer("LOCALE", `"locale":"`+locale+`"`, "ID", fmt.Sprint(ids[name])).Replace(data)
		return fmt.Sprintf(`{"type":"api::%s.%[1]s","documentId":%q,"locale":%q,"id":%d,"status":"published",%s,"data":{%s}}`+"\n", typ, id, locale, ids[name], times, data)
	}
	circle := func(locale, start string) (lines string) {
		for i, id := range []string{"a", "b", "c"} {
			next := `{"documentId":"` + []string{"b", "c", "a"}[i] + `",LOCALE}`
			lines += line("page", id, locale, `"title":"`+id+`","next":`+next+`,"boxes":[{"id":ID,"page":`+next+
				`,"start":{"documentId":"`+start+`",LOCALE}}]`)
		}
		return lines + line("start", start, locale, `"page":{"documentId":"a",LOCALE}`)
	}
	before, after := circle("en", "s"), circle("en", "r")+
		circle("de", "r") // the single type has another documentId afterwards
	want := storetest.ComparableExport(t, imported(t, model, after))
	for _, chunk := range []int{1, 1 << 20} {
		transfer.SetImportChunk(t, chunk)
		st := storetest.Open(t, model)
		svc := documents.NewService(st, model, "en")
		importInto(t, svc, before)
		if res, err := transfer.Import(t.Context(), svc, strings.NewReader(after),
			transfer.ImportOptions{}); err != nil || res.Versions != 8 || res.NewIDs != 0 {
			t.Errorf("chunks of %d bytes: %+v, %v", chunk, res, err)
		}
		if got := storetest.ComparableExport(t, export(t, st, model)); got != want {
			t.Errorf("chunks of %d bytes: %s", chunk, storetest.Difference(want, got))
		}
	}
}

// TestImportLocalizationsOfOne takes a document without locales to another store that holds two localizations of one
// document in an attribute for one. Two documents in it are refused.
func TestImportLocalizationsOfOne(t *testing.T) {
	model := storetest.Model(t, storetest.Files(map[string]string{
		"content-types/page.yaml": `
kind: collectionType
info: {singularName: page, pluralName: pages, displayName: Page}
pluginOptions: {i18n: {localized: true}}
attributes:
  notes: {type: relation, relation: oneToMany, target: api::note.note, mappedBy: page}
`,
		"content-types/note.yaml": `
kind: collectionType
info: {singularName: note, pluralName: notes, displayName: Note}
attributes:
  page: {type: relation, relation: manyToOne, target: api::page.page, inversedBy: notes}
`,
	}))
	line := func(typ, id, locale, data string) string {
		return fmt.Sprintf(`{"type":"api::%s.%[1]s","documentId":%q,%s"data":{%s}}`+"\n", typ, id, locale, data)
	}
	pages := line("page", "a", `"locale":"en",`, "") + line("page", "a", `"locale":"es",`, "") +
		line("page", "b", `"locale":"en",`, "")
	const both = `"page":[{"documentId":"a","locale":"en","order":1},{"documentId":"a","locale":"es","order":1}]`
	st := storetest.Open(t, model)
	if _, err := transfer.Import(t.Context(), documents.NewService(st, model, "en"),
		strings.NewReader(pages+line("note", "n", "", both)), transfer.ImportOptions{}); err != nil {
		t.Fatal(err)
	}
	var first, second strings.Builder
	if err := transfer.Export(t.Context(), st, model, &first, nil); err != nil {
		t.Fatal(err)
	}
	again := storetest.Open(t, model)
	if _, err := transfer.Import(t.Context(), documents.NewService(again, model, "en"),
		strings.NewReader(first.String()), transfer.ImportOptions{}); err != nil {
		t.Fatal(err, first.String())
	}
	if err := transfer.Export(t.Context(), again, model, &second, nil); err != nil {
		t.Fatal(err)
	}
	if first.String() != second.String() || strings.Count(first.String(), `"documentId":"a","locale":"e`) != 4 {
		t.Errorf("the first store has\n%s\nthe second\n%s", first.String(), second.String())
	}
	two := line("note", "n", "", strings.Replace(both, `"a","locale":"es"`, `"b","locale":"en"`, 1))
	_, err := transfer.Import(t.Context(), documents.NewService(again, model, "en"), strings.NewReader(two),
		transfer.ImportOptions{})
	if err == nil || err.Error() != "line 1: page: holds one document" {
		t.Errorf("error %v", err)
	}
}
