package remote_test

import (
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"lectern/jsontree"
	"lectern/strapi/archive"
	"lectern/strapi/remote"
)

// noteSchemas are the definitions of a server for the fuzz test.
const noteSchemas = `[
{"uid":"api::note.note","modelType":"contentType","kind":"collectionType","info":{"singularName":"note","pluralName":"notes"},
 "options":{"draftAndPublish":true},"pluginOptions":{"i18n":{"localized":true}},"attributes":{
  "title":{"type":"string"},"next":{"type":"relation","relation":"oneToOne","target":"api::note.note"},"cover":{"type":"media","multiple":true},
  "part":{"type":"component","component":"a.part","repeatable":true},"zone":{"type":"dynamiczone","components":["a.part"]}}},
{"uid":"a.part","modelType":"component","attributes":{"text":{"type":"string"},"part":{"type":"component","component":"a.part"}}}]`

// A cannedTransport answers requests for one path with one body, and all others as an empty server does.
type cannedTransport struct{ path, body string }

func (c cannedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	body := "[]"
	switch {
	case r.URL.Path == c.path &&
		(!strings.Contains(r.URL.RawQuery, "$gt") || strings.Contains(r.URL.RawQuery, "[$gt]=0")):
		body = c.body
	case r.URL.Path == "/api/notes":
		body = `{"data":[],"meta":{"pagination":{"total":0}}}`
	case strings.HasPrefix(r.URL.Path, "/api/users-permissions/"):
		body = `{"roles":[]}`
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
}

// schemasOf returns the definitions in a JSON text.
func schemasOf(t testing.TB, text string) []*jsontree.Object {
	t.Helper()
	v, err := jsontree.Parse([]byte(text), jsontree.MaxDepth)
	if err != nil {
		t.Fatal(err)
	}
	var schemas []*jsontree.Object
	for _, s := range v.([]any) {
		schemas = append(schemas, s.(*jsontree.Object))
	}
	return schemas
}

// FuzzAnswers lets a server answer anything. Reading must end, and an archive that is made must be one that can be
// read.
func FuzzAnswers(f *testing.F) {
	row := `{"id":1,"documentId":"a","locale":"en","title":"T","next":{"id":2,"documentId":"b","locale":"en"},"cover":[],"part":[{"id":1,"text":"x","part":null}],"zone":[{"__component":"a.part","id":2,"text":"y","part":{"id":3,"text":"z","part":null}}]}`
	f.Add("/api/notes", `{"data":[`+row+`],"meta":{"pagination":{"total":1}}}`)
	f.Add("/api/notes", `{"data":[`+strings.Replace(row, `"a.part"`, `["a.part"]`, 1)+`]}`)
	f.Add("/api/upload/files",
		`[{"id":1,"documentId":"f","hash":"h","ext":".png","url":"/uploads/h.png","formats":{"small":{"hash":"s","url":"//x"}}}]`)
	f.Add("/api/users", `[{"id":1,"documentId":"u","role":{"id":1,"documentId":"r"}}]`)
	f.Add("/api/i18n/locales", `[{"id":1,"code":"en","isDefault":true,"documentId":"l"}]`)
	f.Add("/api/users-permissions/roles",
		`{"roles":[{"id":1,"documentId":"r"}],"role":{"permissions":{"api::note":{"controllers":{"note":{"find":{"enabled":true}}}}}}}`)
	schemas := schemasOf(f, noteSchemas)
	memory := "/dev/shm" // a file system in memory: what the archive syncs there costs nothing
	if _, err := os.Stat(memory); err != nil {
		memory = ""
	}
	f.Fuzz(func(t *testing.T, path, body string) {
		dir, err := os.MkdirTemp(memory, "lectern-fuzz-")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		_, err = remote.Read(t.Context(), dir,
			remote.Options{URL: "http://strapi.example", Token: "key", Schemas: schemas, Clock: newFakeClock(),
				Transport: cannedTransport{path, body}, Attempts: 1})
		if err != nil {
			return
		}
		a, err := archive.Open(t.Context(), remote.Archive(dir), archive.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		for _, err := range a.Entities(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
		}
		for _, err := range a.Links(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
		}
	})
}
