package documents_test

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"lectern/documents"
	"lectern/documents/apierror"
	"lectern/documents/permission"
	"lectern/internal/storetest"
	"lectern/store"
)

// TestImportUniqueInside imports unique values in components: two lines may not have one at the same path, nor may a line have that of a document in
// the store, unless the file gives that document another one.
func TestImportUniqueInside(t *testing.T) {
	model := testModel(t)
	const (
		x = `{"type":"api::unit.unit","documentId":"x","locale":"en","data":{"zone":[{"__component":"part.coded","number":7,"marks":[{"tag":"m"}]}]}}` + "\n"
		y = `{"type":"api::unit.unit","documentId":"y","locale":"en","data":{"zone":[{"__component":"part.coded","number":7}]}}` + "\n"
		z = `{"type":"api::unit.unit","documentId":"z","locale":"en","data":{"zone":[{"__component":"part.coded","marks":[{"tag":"m"}]}]}}` + "\n"
	)
	for _, c := range []struct{ name, stored, file, want string }{
		{"other values", x, strings.NewReplacer(`"y"`, `"y"`, "7", "8").Replace(y), ""},
		{"the value of a line", "", x + y, "zone.part.coded.number: must be unique, and line 1 has 7 as well"},
		{"the value of a document", x, y, "zone.part.coded.number: must be unique, and document x has 7 as well"},
		{"the same, deeper", x, z, `zone.part.coded.marks.tag: must be unique, and document x has "m" as well`},
		{"a value that the file frees", x, strings.Replace(x, "7", "8", 1) + y, ""},
		{"a draft", x, strings.Replace(y, `"data"`, `"status":"draft","data"`, 1), ""},
		{"another locale", x, strings.Replace(y, `"en"`, `"fr"`, 1), ""},
		{"its own value", x, x, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			svc := documents.NewService(storetest.Open(t, model), model, "en")
			if _, err := svc.Import(t.Context(), strings.NewReader(c.stored), documents.ImportOptions{}); err != nil {
				t.Fatal(err)
			}
			_, err := svc.Import(t.Context(), strings.NewReader(c.file), documents.ImportOptions{})
			var wrong documents.LineProblems
			if errors.As(err, &wrong); c.want == "" && err != nil || c.want != "" && (len(wrong) != 1 || !strings.Contains(wrong[0].Message, c.want)) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// TestUniqueInsideLater makes an attribute of a component unique when two documents share a value already. They are served as they are; a write is
// refused if it gives the shared value, and only then.
func TestUniqueInsideLater(t *testing.T) {
	path := filepath.Join(t.TempDir(), "content.db")
	files := func(options string) fs.FS {
		return fstest.MapFS{
			"components/part/line.yaml": {Data: []byte("info: {displayName: L}\nattributes: {code: {type: string" + options + "}, text: {type: string}}\n")},
			"content-types/note.yaml": {Data: []byte("kind: collectionType\ninfo: {singularName: note, pluralName: notes, displayName: N}\n" +
				"attributes: {name: {type: string}, line: {type: component, component: part.line}}\n")},
		}
	}
	model := storetest.Model(t, files(""))
	serve := func(work func(*store.Store, func(id, data string) error)) {
		st, err := store.Open(path, model, store.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := st.Close(); err != nil {
				t.Error(err)
			}
		}()
		svc := documents.NewService(st, model, "en")
		work(st, func(id, data string) error {
			w := documents.Write{Type: model.Type("api::note.note"), DocumentID: id, Data: body(t, data), Access: permission.FullAccess}
			if id == "new" {
				w.DocumentID = ""
				return svc.Create(t.Context(), w)
			}
			if err := svc.Update(t.Context(), w); err == nil || !isNotFound(err) {
				return err
			}
			return svc.Create(t.Context(), w)
		})
		if err := st.Check(); err != nil {
			t.Error(err)
		}
	}
	serve(func(_ *store.Store, write func(id, data string) error) {
		for _, id := range []string{"a", "b"} {
			if err := write(id, `{"line":{"code":"same","text":"x"}}`); err != nil {
				t.Fatal(err)
			}
		}
	})
	model = storetest.Model(t, files(", unique: true"))
	serve(func(st *store.Store, write func(id, data string) error) {
		if n := count(t, st, model.Type("api::note.note"), store.Published); n != 2 {
			t.Errorf("%d documents", n)
		}
		for _, c := range []struct {
			id, data string
			refused  bool
		}{
			{"a", `{"name":"renamed"}`, false},
			{"a", `{"line":{"code":"same"}}`, true},
			{"new", `{"line":{"code":"same"}}`, true},
			{"a", `{"line":{"code":"other"}}`, false},
			{"b", `{"line":{"code":"other"}}`, true},
			{"b", `{"line":{"code":"same"}}`, false},
		} {
			err := write(c.id, c.data)
			var refused *apierror.Error
			if errors.As(err, &refused) != c.refused || err != nil && refused.Message != "This attribute must be unique" {
				t.Errorf("%s %s: %v", c.id, c.data, err)
			}
		}
	})
}

func isNotFound(err error) bool {
	var e *apierror.Error
	return errors.As(err, &e) && e.Status == 404
}
