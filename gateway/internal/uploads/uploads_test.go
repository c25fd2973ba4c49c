package uploads_test

import (
	"bytes"
	"encoding/json"
	"io"
	"mime/multipart"
	"net/http"
	"testing"

	"lectern/gateway"
	"lectern/internal/servertest"
)

// serve serves a project with a type that has a file, and with tokens that may do some of what concerns files.
func serve(t *testing.T, x *gateway.Extensions) gateway.Ready {
	t.Helper()
	const files = "plugin::upload.content-api."
	return servertest.Serve(t, servertest.WriteProject(t, map[string]string{
		"content-types/note.yaml": "kind: collectionType\ninfo: {singularName: note, pluralName: notes, displayName: N}\n" +
			"attributes: {title: {type: string}, cover: {type: media}}\n",
		"config/permissions.yaml": `
tokens:
  - {name: sender, type: custom, permissions: [` + files + `upload]}
  - {name: reader, type: custom, permissions: [` + files + `find, ` + files + `findOne]}
`,
	}), x)
}

// A form is a multipart body.
type form struct {
	files  []string // their names; each file holds its name
	fields map[string]string
}

// upload returns the exchange that sends a form.
func (f form) upload(t *testing.T, query, as string, status int, want string) servertest.Exchange {
	t.Helper()
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	for name, value := range f.fields {
		if err := w.WriteField(name, value); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range f.files {
		part, err := w.CreateFormFile("files", name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(part, name); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return servertest.Exchange{Method: "POST", Path: "/api/upload" + query, As: as, Body: body.String(),
		Header: http.Header{"Content-Type": {w.FormDataContentType()}}, Status: status, Want: want}
}

// A file is what the tests read of an answer.
type file struct {
	ID        int
	Name, URL string
}

// stored returns the files that an answer to an upload lists.
func stored(t *testing.T, body string) (list []file) {
	t.Helper()
	if err := json.Unmarshal([]byte(body), &list); err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	return list
}

// TestFilesAreStored uploads files, and reads, changes and deletes them.
func TestFilesAreStored(t *testing.T) {
	s := serve(t, nil)
	both := form{files: []string{"a.txt", "b.txt"}}
	list := stored(t, both.upload(t, "", "sender", 201, `"isUrlSigned":false`).Send(t, s))
	if len(list) != 2 || list[0].ID != 1 || list[0].Name != "a.txt" || list[1].Name != "b.txt" {
		t.Fatalf("stored %v", list)
	}
	a := list[0]
	renamed := map[string]string{"fileInfo": `{"name":"c.txt"}`}
	for _, e := range []servertest.Exchange{
		{Method: "GET", Path: a.URL, Status: 200, Want: "a.txt"},
		{Method: "GET", Path: a.URL + "/", Status: 404},
		{Method: "GET", Path: "/uploads/unknown.txt", Status: 404},
		{Method: "GET", Path: "/api/upload/files", As: "reader", Status: 200, Want: `[{"id":1,`},
		{Method: "GET", Path: "/api/upload/files?filters[name]=x", As: "reader", Status: 200, Want: `[]`},
		{Method: "GET", Path: "/api/upload/files", As: "sender", Status: 403, Want: "Forbidden"},
		{Method: "GET", Path: "/api/upload/files/1", As: "reader", Status: 200, Want: `"name":"a.txt"`},
		{Method: "GET", Path: "/api/upload/files/9", As: "reader", Status: 404, Want: "NotFoundError"},
		{Method: "GET", Path: "/api/upload/files/x", As: "reader", Status: 404, Want: "NotFoundError"},
		{Method: "GET", Path: "/api/upload/files/1", As: "", Status: 403, Want: "Forbidden"},
		form{fields: renamed}.upload(t, "?id=1", "sender", 200, `"name":"c.txt"`),
		form{fields: renamed}.upload(t, "?id=9", "sender", 404, "NotFoundError"),
		form{fields: renamed}.upload(t, "?id=x", "sender", 404, "NotFoundError"),
		form{fields: renamed}.upload(t, "?id=1", "reader", 403, "Forbidden"),
		form{fields: renamed}.upload(t, "?id[0]=1&id[1]=2", "sender", 400, "must be a single value"),
		{Method: "POST", Path: "/api/upload?id=1", As: "sender", Body: `{"fileInfo":{"name":"d.txt"}}`, Status: 200,
			Want: `"name":"d.txt"`},
		form{files: []string{"new.txt"}}.upload(t, "?id=1", "sender", 200, `"id":1,`),
		{Method: "GET", Path: a.URL, Status: 200, Want: "new.txt"},
		{Method: "DELETE", Path: "/api/upload/files/1", As: "sender", Status: 403, Want: "Forbidden"},
		{Method: "DELETE", Path: "/api/upload/files/1", As: "full", Status: 200, Want: `"id":1,`},
		{Method: "DELETE", Path: "/api/upload/files/1", As: "full", Status: 404, Want: "NotFoundError"},
		{Method: "DELETE", Path: "/api/upload/files/x", As: "full", Status: 404, Want: "NotFoundError"},
		{Method: "GET", Path: a.URL, Status: 404},
	} {
		e.Send(t, s)
	}
}

// TestBadFormsAreRefused sends bodies that hold no files.
func TestBadFormsAreRefused(t *testing.T) {
	s := serve(t, nil)
	for _, e := range []servertest.Exchange{
		form{}.upload(t, "", "sender", 400, "Files are empty"),
		{Body: `{}`, Status: 400, Want: "Files are empty"},
		{Body: `{`, Status: 400, Want: "Error"},
		{Body: "x", Header: http.Header{"Content-Type": {"multipart/form-data"}}, Status: 400, Want: "no boundary"},
		{Body: "x", Header: http.Header{"Content-Type": {"multipart/form-data; boundary=y"}}, Status: 400, Want: "Error"},
		{Body: "x", Header: http.Header{"Content-Type": {"multipart/form-data; boundary=y"}, "Content-Encoding": {"rot13"}},
			Status: 415, Want: "Error"},
	} {
		e.Method, e.Path, e.As = "POST", "/api/upload", "sender"
		e.Send(t, s)
	}
}

// TestFilesAreLinkedWithPermission links an uploaded file to a document, which needs the permission to change it.
func TestFilesAreLinkedWithPermission(t *testing.T) {
	s := serve(t, nil)
	servertest.Exchange{Method: "POST", Path: "/api/notes", As: "full", Body: `{"data":{"title":"n"}}`,
		Status: 201}.Send(t, s)
	link := form{files: []string{"a.txt"},
		fields: map[string]string{"ref": "api::note.note", "refId": "1", "field": "cover"}}
	link.upload(t, "", "sender", 403, "Forbidden").Send(t, s)
	servertest.Exchange{Method: "GET", Path: "/api/upload/files", As: "full", Status: 200, Want: "[]"}.Send(t, s)
	link.upload(t, "", "full", 201, `"name":"a.txt"`).Send(t, s)
	servertest.Exchange{Method: "GET", Path: "/api/notes?populate=cover", As: "full", Status: 200,
		Want: `"name":"a.txt"`}.Send(t, s)
}

// TestFilesAreNotLinkedPastCodeOfProgram expects an upload not to link its files if code of the program must see each
// change of such a document.
func TestFilesAreNotLinkedPastCodeOfProgram(t *testing.T) {
	var x gateway.Extensions
	x.Route("api::note.note.update", gateway.RouteConfig{Policies: []gateway.PolicyUse{{
		Func: func(*gateway.PolicyContext, gateway.Host) (bool, error) { return true, nil }}}})
	s := serve(t, &x)
	servertest.Exchange{Method: "POST", Path: "/api/notes", As: "full", Body: `{"data":{"title":"n"}}`,
		Status: 201}.Send(t, s)
	form{files: []string{"a.txt"}, fields: map[string]string{"ref": "api::note.note", "refId": "1", "field": "cover"}}.
		upload(t, "", "full", 403, "upload the files without ref").Send(t, s)
}

// TestUploadIsCarriedOutOnce repeats requests with the same key. The boundary of a form may be another one each time.
func TestUploadIsCarriedOutOnce(t *testing.T) {
	s := serve(t, nil)
	key := func(e servertest.Exchange, key string) servertest.Exchange {
		e.Header.Set("Idempotency-Key", key)
		return e
	}
	a := form{files: []string{"a.txt"}}
	first := key(a.upload(t, "", "sender", 201, ""), "k").Send(t, s)
	if again := key(a.upload(t, "", "sender", 201, ""), "k").Send(t, s); again != first {
		t.Errorf("repeated: %s, first %s", again, first)
	}
	key(form{files: []string{"b.txt"}}.upload(t, "", "sender", 422, "Idempotency-Key"), "k").Send(t, s)
	key(a.upload(t, "?id=1", "sender", 400, "no answer is kept when the content of a file is replaced"), "l").Send(t, s)
	body := servertest.Exchange{Method: "GET", Path: "/api/upload/files", As: "reader", Status: 200}.Send(t, s)
	if list := stored(t, body); len(list) != 1 {
		t.Errorf("stored %v", list)
	}
}
