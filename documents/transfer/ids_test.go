package transfer_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
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

// idsOf lists the ids of all published rows of a type, each with the ids of the components in its attribute boxes.
func idsOf(t *testing.T, st *store.Store, typ *contenttypes.ContentType) (ids [][]uint64) {
	t.Helper()
	err := st.View(func(s *store.Snapshot) error {
		page, err := s.Find(&store.Query{Type: typ, Status: store.Published, Locales: store.LocaleSet{All: true},
			Limit: 100})
		for _, r := range page.Rows {
			row := []uint64{r.ID()}
			r.Each(typ.Attribute("boxes"), func(item store.Record) bool { row = append(row, item.ID()); return true })
			ids = append(ids, row)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

// TestImportIDs imports pages with ids, one file after the other into the same store.
func TestImportIDs(t *testing.T) {
	model := testModel(t)
	page := model.Type("api::page.page")
	st := storetest.Open(t, model)
	svc := documents.NewService(st, model, "en")
	for _, step := range []struct {
		name, file string
		newIDs     int
		want       [][]uint64
	}{
		{"all are kept", `{"type":"api::page.page","documentId":"a","id":7,"data":{"boxes":[{"id":50,"title":"x"},{"id":40,"title":"y"}]}}
{"type":"api::page.page","documentId":"b","id":3,"data":{"boxes":[{"id":9,"title":"z"}]}}`, 0, [][]uint64{{3, 9}, {7, 50, 40}}},
		{"new ids are greater than those in the file",
			`{"type":"api::page.page","documentId":"c","data":{"boxes":[{"title":"x"}]}}
{"type":"api::page.page","documentId":"d","id":20,"data":{"boxes":[{"id":60,"title":"x"}]}}`, 0, [][]uint64{{3, 9}, {7, 50, 40}, {20, 60}, {21, 61}}},
		{"other documents keep theirs",
			`{"type":"api::page.page","documentId":"e","id":3,"data":{"boxes":[{"id":40,"title":"x"},{"id":30,"title":"y"}]}}`, 2,
			[][]uint64{{3, 9}, {7, 50, 40}, {20, 60}, {21, 61}, {22, 62, 30}}},
		{"a document keeps its own",
			`{"type":"api::page.page","documentId":"a","id":7,"data":{"boxes":[{"id":40,"title":"y"},{"id":50,"title":"x"}]}}`, 0,
			[][]uint64{{3, 9}, {7, 40, 50}, {20, 60}, {21, 61}, {22, 62, 30}}},
		{"ids that are free again", `{"type":"api::page.page","documentId":"b","id":4,"data":{}}
{"type":"api::page.page","documentId":"f","id":1,"data":{"boxes":[{"id":1,"title":"x"}]}}`, 0,
			[][]uint64{{1, 1}, {4}, {7, 40, 50}, {20, 60}, {21, 61}, {22, 62, 30}}},
	} {
		result, err := transfer.Import(t.Context(), svc, strings.NewReader(step.file), transfer.ImportOptions{})
		if err != nil || result.NewIDs != step.newIDs {
			t.Fatalf("%s: %+v, %v", step.name, result, err)
		}
		if got := idsOf(t, st, page); !slices.EqualFunc(got, step.want, slices.Equal) {
			t.Fatalf("%s: got %v, want %v", step.name, got, step.want)
		}
	}
	err := svc.Create(t.Context(),
		documents.Write{Type: page, Data: body(t, `{"name":"new","box":{"title":"b"},"boxes":[{"title":"x"}]}`),
			Access: permission.FullAccess})
	if err != nil {
		t.Fatal(err)
	}
	if got := idsOf(t, st, page); got[6][0] != 23 || got[6][1] < 63 {
		t.Errorf("a page that was created afterwards has the ids %v", got[6])
	}
	if err := st.Check(); err != nil {
		t.Error(err)
	}
}

// TestImportRefusesIDs imports files whose last line has a wrong id.
func TestImportRefusesIDs(t *testing.T) {
	model := testModel(t)
	const first = `{"type":"api::page.page","documentId":"a","id":7,"data":{"boxes":[{"id":50,"title":"x"}]}}
`
	for line, want := range map[string]string{
		`{"type":"api::page.page","documentId":"b","id":7}`:                                                             "id: line 1 has the id 7 of api::page.page as well",
		`{"type":"api::page.page","documentId":"b","data":{"boxes":[{"title":"x"},{"id":50,"title":"x"}]}}`:             "id: line 1 has the id 50 of part.box as well",
		`{"type":"api::page.page","documentId":"b","data":{"boxes":[{"id":1,"title":"x"}],"box":{"id":1,"title":"x"}}}`: "id: the id 1 of part.box is there twice",
		`{"type":"api::page.page","documentId":"b","id":"7"}`:                                                           "id: must be a whole number from 1 to",
		`{"type":"api::page.page","documentId":"b","id":0}`:                                                             "id: must be a whole number from 1 to",
		`{"type":"api::page.page","documentId":"b","id":281474976710655}`:                                               "id: must be a whole number from 1 to",
		`{"type":"api::page.page","documentId":"b","data":{"boxes":[{"title":"x"},{"id":1.5,"title":"x"}]}}`:            "boxes[1].id: must be a whole number",
		`{"type":"api::tag.tag","documentId":"b","id":7}`:                                                               "id: give the line a status",
		`{"type":"api::article.article","documentId":"b","data":{"boxes":[{"id":3,"title":"x"}]}}`:                      "id: give the line a status",
	} {
		st := storetest.Open(t, model)
		_, err := transfer.Import(t.Context(), documents.NewService(st, model, "en"), strings.NewReader(first+line),
			transfer.ImportOptions{})
		var wrong transfer.LineProblems
		if !errors.As(err, &wrong) || len(wrong) != 1 || wrong[0].Line != 2 ||
			!strings.Contains(wrong[0].Message, want) {
			t.Errorf("%s: got %v, want %s", line, err, want)
		}
	}
	// The two schemas number their ids apart.
	st := storetest.Open(t, model)
	file := first + `{"type":"api::remark.remark","documentId":"b","id":7}
{"type":"api::any.any","documentId":"b","status":"draft","id":50}`
	if _, err := transfer.Import(t.Context(), documents.NewService(st, model, "en"), strings.NewReader(file),
		transfer.ImportOptions{}); err != nil {
		t.Error(err)
	}
}

// TestExportIntoChanged exports random content, changes the store, and imports the export again. The documents of the
// export are then as they were, with their ids; the others are not changed.
func TestExportIntoChanged(t *testing.T) {
	model := testModel(t)
	for seed := range uint64(5) {
		g := &contentGenerator{rng: rand.New(rand.NewPCG(seed, 3)), name: "before", ids: true}
		st := storetest.Open(t, model)
		svc := documents.NewService(st, model, "en")
		importInto(t, svc, g.file(0.5))
		first := export(t, st, model)

		empty := storetest.Open(t, model)
		importInto(t, documents.NewService(empty, model, "en"), string(first))
		if got := export(t, empty, model); storetest.ComparableExport(t, got) != storetest.ComparableExport(t, first) {
			t.Fatalf("seed %d, into an empty store: %s", seed,
				storetest.Difference(storetest.ComparableExport(t, first), storetest.ComparableExport(t, got)))
		}

		g.name, g.ids = "after", false
		importInto(t, svc, g.file(0.9)) // with new ids
		for i := range generatedDocuments / 3 {
			w := documents.Write{Type: model.Type("api::tag.tag"), DocumentID: fmt.Sprint("tag", i*3), Locale: "*",
				Access: permission.FullAccess}
			if err := svc.Delete(t.Context(), w); err != nil {
				t.Fatal(err)
			}
		}
		changed := export(t, st, model)
		result, err := transfer.Import(t.Context(), svc, bytes.NewReader(first), transfer.ImportOptions{})
		if err != nil || result.NewIDs > 0 {
			t.Fatalf("seed %d: %+v, %v", seed, result, err)
		}
		want, _ := documentStates(t, first)
		others, _ := documentStates(t, changed)
		got, _ := documentStates(t, export(t, st, model))
		for name, state := range want {
			if got[name] != state {
				t.Fatalf("seed %d: %s is\n%s, was exported as\n%s", seed, name, got[name], state)
			}
		}
		for name, state := range others {
			if _, exported := want[name]; !exported && got[name] != state {
				t.Fatalf("seed %d: %s is\n%s, was\n%s", seed, name, got[name], state)
			}
		}
		if err := st.Check(); err != nil {
			t.Fatal(err)
		}
	}
}
