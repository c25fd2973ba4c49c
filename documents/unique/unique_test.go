package unique_test

import (
	"strings"
	"testing"

	"lectern/documents"
	"lectern/documents/permission"
	"lectern/documents/unique"
	"lectern/internal/storetest"
	"lectern/jsontree"
	"lectern/store"
)

// TestIsFree expects null and the empty string, and nothing else, to be free for any number of documents.
func TestIsFree(t *testing.T) {
	for raw, want := range map[string]bool{"": true, `""`: true, `" "`: false, "0": false, "false": false, `"x"`: false} {
		stored := []byte(raw)
		if raw == "" {
			stored = nil
		}
		if got := unique.IsFree(stored); got != want {
			t.Errorf("%q: %v, want %v", raw, got, want)
		}
	}
}

// TestOtherFindsVersionWithValue looks for the version that has a value, in a document itself and in its components.
func TestOtherFindsVersionWithValue(t *testing.T) {
	model := storetest.Model(t, storetest.Files(map[string]string{
		"components/part/line.yaml": "info: {displayName: L}\nattributes: {code: {type: string, unique: true}}\n",
		"content-types/note.yaml": "kind: collectionType\ninfo: {singularName: note, pluralName: notes, displayName: N}\n" +
			"options: {draftAndPublish: true}\nattributes:\n  name: {type: string, unique: true}\n" +
			"  lines: {type: component, component: part.line, repeatable: true}\n",
	}))
	long := strings.Repeat("long ", 40) // longer than what an index holds of a text
	st := storetest.Open(t, model)
	note := model.Type("api::note.note")
	docs := documents.NewService(st, model, "en")
	for _, d := range []struct {
		id, data string
		status   store.Status
	}{
		{"a", `{"name":"first","lines":[{"code":"x"},{"code":"y"}]}`, store.Published},
		{"b", `{"name":"second","lines":[{"code":"z"},{"code":"` + long + `1"}]}`, store.Published},
		{"c", `{"name":"only a draft","lines":[{"code":"w"}]}`, store.Draft},
	} {
		data, err := jsontree.Parse([]byte(d.data), jsontree.MaxDepth)
		if err != nil {
			t.Fatal(err)
		}
		if err := docs.Create(t.Context(), documents.Write{Type: note, DocumentID: d.id, Status: d.status,
			Data: data.(*jsontree.Object), Access: permission.FullAccess}); err != nil {
			t.Fatal(err)
		}
	}
	paths := note.UniquePaths()
	if len(paths) != 2 {
		t.Fatalf("%d unique attributes", len(paths))
	}
	name, code := paths[0], paths[1]
	if len(name) != 1 {
		name, code = code, name
	}
	published := store.Published
	for _, c := range []struct {
		status store.Status
		inside bool // the value is that of code, else of name
		raw    string
		own    string // the document that may have it
		want   string
	}{
		{published, false, `"first"`, "", "a"},
		{published, false, `"first"`, "a", ""},
		{published, false, `"first"`, "b", "a"},
		{published, false, `"First"`, "", ""},
		{published, false, `"firs"`, "", ""},
		{published, false, `"only a draft"`, "", ""},
		{store.Draft, false, `"only a draft"`, "", "c"},
		{published, false, `"x"`, "", ""}, // this is a code
		{published, true, `"x"`, "", "a"},
		{published, true, `"y"`, "", "a"},
		{published, true, `"y"`, "a", ""},
		{published, true, `"z"`, "a", "b"},
		{published, true, `"w"`, "", ""},
		{published, true, `"` + long + `1"`, "", "b"},
		{published, true, `"` + long + `2"`, "", ""},
		{published, true, `"first"`, "", ""},
	} {
		path := name
		if c.inside {
			path = code
		}
		if err := st.View(func(s *store.Snapshot) error {
			found := unique.Other(s, note, c.status, "", path, []byte(c.raw),
				func(r store.Record) bool { return c.own != "" && r.DocumentID() == c.own })
			got := ""
			if found.Exists() {
				got = found.DocumentID()
			}
			if got != c.want {
				t.Errorf("%+v: found %q", c, got)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
}
