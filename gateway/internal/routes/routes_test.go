package routes_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"lectern/gateway"
	"lectern/internal/servertest"
)

// serve serves a project with a localized type, whose public may read notes, and with a token that may do little.
func serve(t *testing.T) gateway.Ready {
	t.Helper()
	return servertest.Serve(t, servertest.WriteProject(t, map[string]string{
		"content-types/note.yaml": `
kind: collectionType
info: {singularName: note, pluralName: notes, displayName: Note}
options: {draftAndPublish: true}
pluginOptions: {i18n: {localized: true}}
attributes:
  title: {type: string, required: true, pluginOptions: {i18n: {localized: true}}}
  part: {type: component, component: page.part}
  next: {type: relation, relation: oneToOne, target: api::note.note}
`,
		"components/page/part.yaml": "info: {displayName: Part}\nattributes: {label: {type: string}}\n",
		"config/plugins.yaml":       "i18n: {config: {defaultLocale: de, locales: [en, de]}}\n",
		"config/server.yaml":        "limits: {operations: 3}\n",
		"config/permissions.yaml": `
roles:
  public:
    api::note.note: [find, findOne]
tokens:
  - {name: clerk, type: custom, permissions: [api::note.note.create]}
  - {name: editor, type: custom, permissions: [api::note.note.find, api::note.note.publish]}
  - {name: loader, type: custom, permissions: [plugin::content-type-builder.content-types.getContentTypes]}
`,
	}), nil)
}

// TestBatchIsAllOrNothing carries out several operations in one request: all of them, or none.
func TestBatchIsAllOrNothing(t *testing.T) {
	s := serve(t)
	const create = `{"op":"create","type":"notes","data":{"title":"a"}}`
	wrong := strings.Replace(create, `"a"`, `null`, 1)
	for _, e := range []servertest.Exchange{
		{As: "full", Body: create + "," + create, Status: 200, Want: `"status":201`},
		{As: "clerk", Body: create, Status: 200, Want: `"status":201`},
		{As: "full", Body: create + "," + wrong, Status: 400, Want: "title"},
		{As: "full", Body: create + "," + create + "," + create + "," + create, Status: 413, Want: "allows 3"},
		{As: "full", Body: "", Status: 200, Want: `"data":[]`},
		{As: "full", Body: "1", Status: 400, Want: "ValidationError"},
		{As: "", Body: create, Status: 403, Want: "Forbidden"},
		{As: "editor", Body: create, Status: 403, Want: "Forbidden"},
	} {
		e.Method, e.Path, e.Body = "POST", "/api/_batch", `{"operations":[`+e.Body+`]}`
		e.Send(t, s)
	}
	servertest.Exchange{Method: "GET", Path: "/api/notes", Status: 200, Want: `"total":3`}.Send(t, s)
}

// TestBatchIsCarriedOutOnce repeats a batch with the same key. It is answered as the first one was.
func TestBatchIsCarriedOutOnce(t *testing.T) {
	s := serve(t)
	batch := servertest.Exchange{Method: "POST", Path: "/api/_batch", As: "full",
		Header: http.Header{"Idempotency-Key": {"k1"}}, Status: 200, Want: `"status":201`,
		Body: `{"operations":[{"op":"create","type":"notes","data":{"title":"a"}}]}`}
	first := batch.Send(t, s)
	if again := batch.Send(t, s); again != first {
		t.Errorf("repeated: %s, first %s", again, first)
	}
	servertest.Exchange{Method: "GET", Path: "/api/notes", Status: 200, Want: `"total":1`}.Send(t, s)
	batch.Body = strings.Replace(batch.Body, `"a"`, `"b"`, 1)
	batch.Status, batch.Want = 422, "Idempotency-Key"
	batch.Send(t, s)
}

// TestDefinitionsAreShown reads definitions as loaders of site generators do at Strapi.
func TestDefinitionsAreShown(t *testing.T) {
	s := serve(t)
	for _, e := range []servertest.Exchange{
		{Path: "content-types/api::note.note", As: "full", Status: 200, Want: `{"data":{"uid":"api::note.note",` +
			`"apiID":"note","schema":{"draftAndPublish":true,"displayName":"Note","singularName":"note",` +
			`"pluralName":"notes","description":"","pluginOptions":{"i18n":{"localized":true}},`},
		{Path: "content-types/api::note.note", As: "full", Status: 200, Want: `"next":{"type":"relation",` +
			`"relation":"oneToOne","target":"api::note.note","required":false,"private":false,"targetAttribute":null}`},
		{Path: "content-types/plugin::upload.file", As: "full", Status: 200, Want: `"visible":false`},
		{Path: "content-types/lectern::schedule", As: "full", Status: 404, Want: "NotFoundError"},
		{Path: "content-types/api::other.other", As: "full", Status: 404, Want: "NotFoundError"},
		{Path: "content-types", As: "loader", Status: 200, Want: `"uid":"api::note.note"`},
		{Path: "content-types?kind=singleType", As: "full", Status: 200, Want: `{"data":[]}`},
		{Path: "content-types?kind=plural", As: "full", Status: 400, Want: "kind must be one of"},
		{Path: "components", As: "full", Status: 200, Want: `{"data":[{"uid":"page.part","category":"page",`},
		{Path: "components/page.part", As: "full", Status: 200, Want: `"attributes":{"label":{"type":"string"}}`},
		{Path: "components/page.other", As: "full", Status: 404, Want: "NotFoundError"},
		{Path: "components", As: "loader", Status: 403, Want: "Forbidden"},
		{Path: "content-types", As: "", Status: 403, Want: "Forbidden"},
	} {
		e.Method, e.Path = "GET", "/api/content-type-builder/"+e.Path
		e.Send(t, s)
	}
}

// TestLocalesAreListedInOrder lists the configured locales, without an envelope.
func TestLocalesAreListedInOrder(t *testing.T) {
	s := serve(t)
	body := servertest.Exchange{Method: "GET", Path: "/api/i18n/locales", As: "full", Status: 200}.Send(t, s)
	var locales []struct {
		Code, Name, DocumentID string
		IsDefault              bool
	}
	if err := json.Unmarshal([]byte(body), &locales); err != nil || len(locales) != 2 || locales[0].Code != "en" ||
		locales[0].IsDefault || locales[1].Code != "de" || !locales[1].IsDefault || locales[1].DocumentID == "" {
		t.Errorf("%s (%v)", body, err)
	}
	servertest.Exchange{Method: "GET", Path: "/api/i18n/locales", Status: 403, Want: "Forbidden"}.Send(t, s)
}

// TestSchedulesAreThoseOfCallers lists and cancels schedules. Callers see those whose action they may use themselves.
func TestSchedulesAreThoseOfCallers(t *testing.T) {
	s := serve(t)
	servertest.Exchange{Method: "POST", Path: "/api/notes?status=draft", As: "full", Body: `{"data":{"title":"a"}}`,
		Status: 201}.Send(t, s)
	var list struct{ Data []struct{ DocumentID string } }
	parse := func(body string) {
		t.Helper()
		if err := json.Unmarshal([]byte(body), &list); err != nil || len(list.Data) != 1 {
			t.Fatalf("%s (%v)", body, err)
		}
	}
	parse(servertest.Exchange{Method: "GET", Path: "/api/notes?status=draft", As: "full", Status: 200}.Send(t, s))
	servertest.Exchange{Method: "POST", As: "full", Status: 202, Body: `{"data":{"publishAt":"2999-01-01T00:00:00Z"}}`,
		Path: "/api/notes/" + list.Data[0].DocumentID + "/actions/publish"}.Send(t, s)
	parse(servertest.Exchange{Method: "GET", Path: "/api/_schedules", As: "full", Status: 200}.Send(t, s))
	id := list.Data[0].DocumentID
	for _, e := range []servertest.Exchange{
		{Method: "GET", As: "editor", Status: 200, Want: id},
		{Method: "GET", As: "clerk", Status: 403, Want: "Forbidden"},
		{Method: "GET", As: "", Status: 403, Want: "Forbidden"},
		{Method: "DELETE", Path: "/" + id, As: "clerk", Status: 403, Want: "Forbidden"},
		{Method: "DELETE", Path: "/unknown", As: "editor", Status: 404, Want: "NotFoundError"},
		{Method: "DELETE", Path: "/" + id, As: "editor", Status: 204, Want: "-"},
		{Method: "DELETE", Path: "/" + id, As: "editor", Status: 404, Want: "NotFoundError"},
		{Method: "GET", As: "full", Status: 200, Want: `"total":0`},
	} {
		e.Path = "/api/_schedules" + e.Path
		e.Send(t, s)
	}
}

// TestOpenAPIShowsWhatCallerMayDo reads the OpenAPI document, which is another one for each set of permissions.
func TestOpenAPIShowsWhatCallerMayDo(t *testing.T) {
	s := serve(t)
	for as, mayCreate := range map[string]bool{"": false, "editor": false, "clerk": true, "full": true} {
		body := servertest.Exchange{Method: "GET", Path: "/api/_openapi.json", As: as, Status: 200,
			Want: `"openapi":"3.`}.Send(t, s)
		var document struct {
			Paths map[string]map[string]any
		}
		if err := json.Unmarshal([]byte(body), &document); err != nil {
			t.Fatal(err)
		}
		if notes := document.Paths["/api/notes"]; (notes["post"] != nil) != mayCreate {
			t.Errorf("of %q: create: %v", as, notes["post"] != nil)
		}
	}
	answer, err := http.Get(s.Base + "/api/_openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	for name, c := range map[string]struct {
		header string
		status int
	}{
		"known":        {"If-None-Match", 304},
		"same":         {"If-Match", 200},
		"of any kind":  {"If-None-Match: *", 304},
		"of a stale":   {`If-Match: "stale"`, 412},
		"another kept": {`If-None-Match: "stale"`, 200},
	} {
		header, value, given := strings.Cut(c.header, ": ")
		if !given {
			value = answer.Header.Get("Etag")
		}
		t.Run(name, func(t *testing.T) {
			servertest.Exchange{Method: "GET", Path: "/api/_openapi.json", Status: c.status,
				Header: http.Header{header: {value}}}.Send(t, s)
		})
	}
}
