package misfits_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"lectern/contenttypes"
	"lectern/documents"
	"lectern/documents/misfits"
	"lectern/documents/permission"
	"lectern/internal/storetest"
	"lectern/jsontree"
	"lectern/store"
)

const head = "kind: collectionType\ninfo: {singularName: note, pluralName: notes, displayName: N}\n" +
	"options: {draftAndPublish: true}\nattributes:\n"

func model(t *testing.T, attributes, line string) *contenttypes.Model {
	t.Helper()
	return storetest.Model(t, storetest.Files(map[string]string{
		"content-types/note.yaml":   head + attributes,
		"components/part/line.yaml": "info: {displayName: L}\nattributes: {text: {type: string" + line + "}}\n",
	}))
}

// TestContentIsComparedWithRules writes content under loose definitions, and opens it with strict ones: what does not
// fit is found, and values that are missing can be filled in.
func TestContentIsComparedWithRules(t *testing.T) {
	path := filepath.Join(t.TempDir(), "content.db")
	const lines = "  lines: {type: component, component: part.line, repeatable: true"
	loose := model(t, "  name: {type: string}\n  size: {type: integer}\n"+lines+"}\n", "")
	strict := model(t, "  name: {type: string, unique: true, minLength: 3}\n"+
		"  size: {type: integer, required: true, default: 7, max: 9}\n"+lines+", max: 1}\n", ", required: true")
	open := func(m *contenttypes.Model, work func(*store.Store)) {
		t.Helper()
		st, err := store.Open(path, m, store.Options{})
		if err != nil {
			t.Fatal(err)
		}
		work(st)
		if err := st.Close(); err != nil {
			t.Fatal(err)
		}
	}
	open(loose, func(st *store.Store) {
		docs := documents.NewService(st, loose, "en")
		for _, d := range []struct {
			data   string
			status store.Status
		}{
			{`{"name":"same","size":5}`, store.Published},
			{`{"name":"same","size":12}`, store.Published},
			{`{"name":"ab","lines":[{"text":"x"},{}]}`, store.Published},
			{`{"name":"draft"}`, store.Draft},
		} {
			data, err := jsontree.Parse([]byte(d.data), jsontree.MaxDepth)
			if err != nil {
				t.Fatal(err)
			}
			if err := docs.Create(t.Context(), documents.Write{Type: loose.Type("api::note.note"), Status: d.status,
				Data: data.(*jsontree.Object), Access: permission.FullAccess}); err != nil {
				t.Fatal(err)
			}
		}
	})
	missing := []string{
		"api::note.note.size is required and missing: 1 version, and 2 drafts that cannot be published without it",
		"part.line.text in api::note.note is required and missing: 1 version, and 1 draft that cannot be published " +
			"without it",
	}
	open(strict, func(st *store.Store) {
		same := func(found []misfits.Misfit, want ...string) {
			t.Helper()
			var got []string
			for _, m := range found {
				got = append(got, m.String())
			}
			slices.Sort(want)
			if slices.Sort(got); !slices.Equal(got, want) {
				t.Errorf("found:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		}
		var report misfits.Report
		if _, err := st.Inspect(strict, store.Options{}, func(p *store.Preview) (err error) {
			report, err = misfits.Find(t.Context(), p, []string{"en"})
			return err
		}); err != nil {
			t.Fatal(err)
		}
		same(report.Misfits, append(slices.Clone(missing),
			"api::note.note.name is unique and has a value that another document has: 2 versions",
			"api::note.note.name must be at least 3 characters: 1 version",
			"api::note.note.size must be less than or equal to 9: 2 versions",
			"api::note.note.lines must have at most 1 items: 1 version")...)
		found, err := misfits.MissingIn(t.Context(), st, strict)
		if err != nil {
			t.Fatal(err)
		}
		same(found, missing...)
		text := "t"
		for attribute, want := range map[string]string{
			"size": "names no attribute", "api::note.other.size": "no content-type", "api::note.note.sizes": "no attribute",
			"api::note.note.name": "it is unique", "api::note.note.lines": "it is a component",
			"part.line.text": "it has no default",
		} {
			_, err := misfits.Fill(t.Context(), st, strict,
				[]misfits.Filling{{Attribute: "api::note.note.size"}, {Attribute: attribute}}, nil)
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("fill %s: %v", attribute, err)
			}
		}
		filled, err := misfits.Fill(t.Context(), st, strict,
			[]misfits.Filling{{Attribute: "api::note.note.size"}, {Attribute: "part.line.text", Value: &text}}, nil)
		if err != nil || filled.Versions != 5 {
			t.Errorf("filled %d versions: %v", filled.Versions, err)
		}
		found, err = misfits.MissingIn(t.Context(), st, strict)
		if err != nil {
			t.Fatal(err)
		}
		same(found)
	})
}
