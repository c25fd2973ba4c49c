package transfer_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"lectern/contenttypes"
	"lectern/documents"
	"lectern/documents/permission"
	"lectern/documents/transfer"
	"lectern/internal/storetest"
	"lectern/store"
)

func export(t *testing.T, st *store.Store, model *contenttypes.Model) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := transfer.Export(context.Background(), st, model, &out, nil); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestImportRefuses imports files of three valid lines and a wrong one. The import stores nothing, or the valid lines
// if it is partial.
func TestImportRefuses(t *testing.T) {
	model := testModel(t)
	const fine = `{"type":"api::tag.tag","documentId":"t1","data":{"name":"One"}}
{"type":"api::article.article","documentId":"a1","locale":"en","data":{"title":"First","slug":"first","tags":["t1"],"page":"p1"}}
{"type":"api::page.page","documentId":"p1","data":{"name":"P","box":{"title":"b"},"boxes":[{"title":"c"}]}}
`
	cases := []struct{ name, line, want string }{
		{"no JSON", `{"type":`, "not valid JSON"},
		{"no object", `[1]`, "a line must be a JSON object"},
		{"no type", `{"documentId":"x"}`, "type is missing"},
		{"a type that is not there", `{"type":"api::x.x","documentId":"x"}`, `there is no content-type "api::x.x"`},
		{"an internal type",
			`{"type":"lectern::api-token","documentId":"x","data":{"name":"evil","type":"full-access"}}`,
			"there is no content-type"},
		{"an unknown key", `{"type":"api::tag.tag","documentId":"x","Data":{}}`, `unknown key "Data"`},
		{"no documentId", `{"type":"api::tag.tag"}`, "documentId must be"},
		{"an odd documentId", `{"type":"api::tag.tag","documentId":"a/b"}`, "documentId must be"},
		{"a locale where there are none", `{"type":"api::tag.tag","documentId":"x","locale":"en"}`,
			"api::tag.tag has no locales"},
		{"all locales", `{"type":"api::article.article","documentId":"x","locale":"*"}`, "no locale"},
		{"an odd status", `{"type":"api::tag.tag","documentId":"x","status":"gone"}`, "draft or published"},
		{"a draft where there are none", `{"type":"api::writer.writer","documentId":"x","status":"draft"}`,
			"has no drafts"},
		{"an odd time", `{"type":"api::tag.tag","documentId":"x","createdAt":"soon"}`, "createdAt must be a time"},
		{"the same version twice", `{"type":"api::tag.tag","documentId":"t1","status":"draft","data":{"name":"Two"}}`,
			"line 1 is the same version"},
		{"an unknown attribute", `{"type":"api::tag.tag","documentId":"x","data":{"nam":"x"}}`,
			"nam: api::tag.tag has no such attribute"},
		{"a system attribute", `{"type":"api::tag.tag","documentId":"x","data":{"id":1}}`, "id: is not part of data"},
		{"the mapped side", `{"type":"api::tag.tag","documentId":"x","data":{"articles":["a1"]}}`,
			"articles: shows the relation tags of api::article.article; give it there"},
		{"a wrong type", `{"type":"api::article.article","documentId":"x","data":{"rank":"high"}}`,
			"rank must be a `number` type"},
		{"a choice that is none", `{"type":"api::article.article","documentId":"x","data":{"mood":"odd"}}`,
			"mood must be one of"},
		{"an odd date", `{"type":"api::article.article","documentId":"x","data":{"day":"tomorrow"}}`,
			"day: Invalid format"},
		{"a password as it is", `{"type":"api::article.article","documentId":"x","data":{"secret":"secret"}}`,
			"secret: must be the bcrypt hash"},
		{"a taken value of the file", `{"type":"api::tag.tag","documentId":"x","data":{"name":"One"}}`,
			`name: must be unique, and line 1 has "One" as well`},
		{"a value within a component",
			`{"type":"api::article.article","documentId":"x","data":{"boxes":[{"title":"b"},{"leaf":{"size":"x"}}]}}`,
			"boxes[1].leaf.size must be a `number`"},
		{"no list", `{"type":"api::article.article","documentId":"x","data":{"boxes":{}}}`, "boxes: must be a list"},
		{"an odd component",
			`{"type":"api::article.article","documentId":"x","data":{"zone":[{"__component":"part.none"}]}}`,
			"zone[0]: __component must be one of part.box, part.leaf"},
		{"a document that is not there", `{"type":"api::article.article","documentId":"x","data":{"tags":["t9"]}}`,
			"tags: there is no document t9 of api::tag.tag"},
		{"a localization that is not there",
			`{"type":"api::plan.plan","documentId":"x","locale":"fr","data":{"places":["a1"]}}`,
			"no document a1 of api::article.article in fr"},
		{"within a component, too",
			`{"type":"api::article.article","documentId":"x","data":{"box":{"title":"b","tags":["t9"]}}}`,
			"box.tags: there is no document t9"},
		{"two where one may be", `{"type":"api::article.article","documentId":"x","data":{"writer":["w1","w2"]}}`,
			"writer: holds one document"},
		{"the same document twice", `{"type":"api::article.article","documentId":"x","data":{"tags":["t1","t1"]}}`,
			"tags: document t1 is there twice"},
		{"a document that another line holds", `{"type":"api::article.article","documentId":"x","data":{"page":"p1"}}`,
			"page: document p1 may be linked once, and line 2 does so"},
		{"an entry without type", `{"type":"api::any.any","documentId":"x","data":{"one":{"documentId":"t1"}}}`,
			"one: type is missing"},
		{"an odd entry", `{"type":"api::article.article","documentId":"x","data":{"tags":[{"id":1}]}}`,
			"id must be a text"},
		{"an odd key of an entry",
			`{"type":"api::article.article","documentId":"x","data":{"tags":[{"documentId":"t1","plane":"both"}]}}`,
			"unknown key or value plane"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			st := storetest.Open(t, model)
			svc := documents.NewService(st, model, "en")
			file := strings.NewReader(fine + c.line + "\n")
			_, err := transfer.Import(context.Background(), svc, file, transfer.ImportOptions{})
			var wrong transfer.LineProblems
			if !errors.As(err, &wrong) || len(wrong) != 1 || wrong[0].Line != 4 ||
				!strings.Contains(wrong[0].Message, c.want) {
				t.Fatalf("got %v, want line 4: …%s…", err, c.want)
			}
			if n := bytes.Count(export(t, st, model), []byte("\n")); n != 1 {
				t.Errorf("%d versions were stored", n-1)
			}
			result, err := transfer.Import(context.Background(), svc, file, transfer.ImportOptions{Partial: true})
			skipped, versions := 1, 5
			if strings.Contains(c.line, `"t1","status"`) { // the document of line 1, to which line 2 has a link
				skipped, versions = 2, 3
			}
			if !errors.As(err, &wrong) || result.Versions != versions || result.Skipped != skipped {
				t.Errorf("partial: %+v, %v", result, err)
			}
		})
	}
}

// TestImportRefusesOtherVersions imports a file of another version of the line format.
func TestImportRefusesOtherVersions(t *testing.T) {
	model := testModel(t)
	_, err := transfer.Import(t.Context(), documents.NewService(storetest.Open(t, model), model, "en"),
		strings.NewReader(`{"format":"lectern-content","version":2}`), transfer.ImportOptions{})
	if err == nil || !strings.Contains(err.Error(), "this program reads version 1") {
		t.Errorf("%v", err)
	}
}

// TestImportKeepsOthers imports new versions of documents that have links from other documents, and then reads the
// relations from all sides.
func TestImportKeepsOthers(t *testing.T) {
	model := testModel(t)
	st := storetest.Open(t, model)
	svc := documents.NewService(st, model, "en")
	for _, file := range []string{
		`{"type":"api::tag.tag","documentId":"t1","data":{"name":"One"}}
{"type":"api::tag.tag","documentId":"t2","data":{"name":"Two"}}
{"type":"api::article.article","documentId":"a1","locale":"en","data":{"title":"First","tags":["t2","t1"]}}
{"type":"api::article.article","documentId":"a1","locale":"fr","data":{"title":"Premier","tags":["t1"]}}
{"type":"api::plan.plan","documentId":"p","locale":"fr","data":{"name":"Plan","places":["a1"]}}
{"type":"api::front.front","documentId":"f","data":{"title":"Front"}}`,
		`{"format":"lectern-content","version":1}

{"type":"api::tag.tag","documentId":"t1","status":"published","data":{"name":"Uno"}}
{"type":"api::article.article","documentId":"a1","data":{"title":"Once more","tags":[{"documentId":"t1","order":7}]}}
{"type":"api::article.article","documentId":"a2","data":{"title":"Another","tags":[{"documentId":"t1","order":3}]}}
{"type":"api::front.front","documentId":"g","data":{"title":"Other","featured":["a2"]}}`,
	} {
		if _, err := transfer.Import(context.Background(), svc, strings.NewReader(file),
			transfer.ImportOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	err := st.View(func(s *store.Snapshot) error {
		for _, x := range []struct {
			uid, id, locale, relation string
			status                    store.Status
		}{
			{"api::tag.tag", "t1", "", "articles", store.Published},
			{"api::tag.tag", "t1", "", "articles", store.Draft},
			{"api::tag.tag", "t2", "", "articles", store.Published},
			{"api::plan.plan", "p", "fr", "places", store.Published},
			{"api::front.front", "f", "en", "featured", store.Published},
			{"api::front.front", "g", "en", "featured", store.Published},
		} {
			typ := model.Type(x.uid)
			doc, _ := s.Document(typ, x.id)
			r := s.Version(typ, doc, x.status, x.locale)
			line := x.id + " gone"
			if r.Exists() {
				line = x.id
				s.Related(r, typ.Attribute(x.relation), x.status, func(r store.Record) bool {
					line += " " + label(r)
					return true
				})
			}
			got = append(got, line)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"t1 Another@en Once more@en", "t1 gone", "t2", "p", "f gone", "g Another@en"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// TestRolesByType exports a user from one project and imports it into another, in which the same roles have other
// documentIds.
func TestRolesByType(t *testing.T) {
	model := testModel(t)
	role, user := model.Type("plugin::users-permissions.role"), model.Type("plugin::users-permissions.user")
	project := func(id string) (*store.Store, *documents.Service) {
		st := storetest.Open(t, model)
		svc := documents.NewService(st, model, "en")
		for _, kind := range []string{"public", "authenticated"} {
			w := documents.Write{Type: role, DocumentID: kind + id,
				Data: body(t, `{"name":"`+kind+`","type":"`+kind+`"}`), Access: permission.FullAccess}
			if err := svc.Create(t.Context(), w); err != nil {
				t.Fatal(err)
			}
		}
		return st, svc
	}
	from, svc := project("1")
	w := documents.Write{Type: user, DocumentID: "ann", Access: permission.FullAccess,
		Data: body(t, `{"username":"ann","email":"ann@example.com","role":"authenticated1"}`)}
	if err := svc.Create(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	file := export(t, from, model)
	if bytes.Contains(file, []byte(role.UID)) ||
		!bytes.Contains(file, []byte(`"role":{"documentId":"authenticated","order":`)) {
		t.Fatalf("exported:\n%s", file)
	}

	to, svc := project("2")
	for range 2 {
		if _, err := transfer.Import(t.Context(), svc, bytes.NewReader(file), transfer.ImportOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if again := export(t, to, model); storetest.ComparableExport(t, again) != storetest.ComparableExport(t, file) {
		t.Errorf("exported again:\n%s", again)
	}
	unknown := bytes.Replace(file, []byte(`"documentId":"authenticated"`), []byte(`"documentId":"authenticated1"`), 1)
	if _, err := transfer.Import(t.Context(), svc, bytes.NewReader(unknown), transfer.ImportOptions{}); err == nil {
		t.Error("a role that does not exist was taken")
	}
}
