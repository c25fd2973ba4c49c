package documents_test

import (
	"errors"
	"io/fs"
	"path/filepath"
	"testing"
	"testing/fstest"

	"lectern/documents"
	"lectern/documents/apierror"
	"lectern/documents/permission"
	"lectern/internal/storetest"
	"lectern/store"
)

// TestUniqueInsideLater makes an attribute of a component unique when two documents share a value already. They are
// served as they are; a write is refused if it gives the shared value, and only then.
func TestUniqueInsideLater(t *testing.T) {
	path := filepath.Join(t.TempDir(), "content.db")
	files := func(options string) fs.FS {
		return fstest.MapFS{
			"components/part/line.yaml": {Data: []byte("info: {displayName: L}\nattributes: {code: {type: string" +
				options + "}, text: {type: string}}\n")},
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
			w := documents.Write{Type: model.Type("api::note.note"), DocumentID: id, Data: body(t, data),
				Access: permission.FullAccess}
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
			if errors.As(err, &refused) != c.refused || err != nil &&
				refused.Message != "This attribute must be unique" {
				t.Errorf("%s %s: %v", c.id, c.data, err)
			}
		}
	})
}

func isNotFound(err error) bool {
	var e *apierror.Error
	return errors.As(err, &e) && e.Status == 404
}
