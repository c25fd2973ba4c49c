package openapi_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"lectern/documents/permission"
	"lectern/internal/storetest"
	"lectern/shadowcrud/openapi"
	"lectern/shadowcrud/rest"
)

// describe returns the API of the test files.
func describe(t *testing.T) *openapi.API {
	t.Helper()
	model := storetest.Model(t, storetest.Archive(t, "testdata/model.txtar"))
	api := &openapi.API{Title: "Test", Version: "1", Prefix: "/api", Model: model, Locales: []string{"en", "fr"},
		DefaultLimit: 25, MaxLimit: 100,
		Public: permission.NewAccess([]string{"api::tag.tag.find"})}
	for _, r := range rest.New(model, nil, nil, nil).Routes() {
		api.Routes = append(api.Routes, openapi.Route{Method: r.Method, Path: "/api" + r.Path,
			Scopes: []string{r.Type.UID + "." + r.Action}, Type: r.Type, Action: r.Action})
	}
	return api
}

// valid parses a document and checks it against the specification.
func valid(t *testing.T, text []byte, options ...openapi3.ValidationOption) *openapi3.T {
	t.Helper()
	d, err := openapi3.NewLoader().LoadFromData(text)
	if err == nil {
		err = d.Validate(t.Context(), options...)
	}
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestDescribesWhatTheReaderMayDo checks which operations readers find, and that nothing in a document names what they
// may not see.
func TestDescribesWhatTheReaderMayDo(t *testing.T) {
	const article = "api::article.article."
	api := describe(t)
	everything := api.Describe(permission.FullAccess)
	for _, tt := range []struct {
		name       string
		access     *permission.Access
		operations []string
		has, lacks []string
	}{
		{"nobody", permission.NewAccess(nil), nil, nil, []string{"Article", "Writer", "stars"}},
		{"a reader", permission.NewAccess([]string{article + "find", "api::tag.tag.find"}),
			[]string{"findArticles", "findTags"},
			[]string{`"title"`, `"topics"`, `"word"`, `"parts"`},
			[]string{"riter", "secretNote", "phrase", "asOf", "ndjson", "createArticle"}},
		{"one who may stream and look back",
			permission.NewAccess(
				[]string{article + "find", article + "findOne", article + "stream", article + "history"}),
			[]string{"deletedArticles", "findArticles", "findOneArticle", "historyArticle"},
			[]string{"asOf", "application/x-ndjson"},
			[]string{"riter", `"word"`, `"topics"`}},
		{"a writer", permission.NewAccess([]string{article + "create", article + "publish"}),
			[]string{"createArticle", "publishArticle"},
			[]string{`"phrase"`, `"secretNote"`, "publishAt"}, []string{"secretFriend", "riter", `"topics"`}},
		{"a writer who may find the targets of a private relation",
			permission.NewAccess([]string{article + "create", article + "findOne", "api::tag.tag.find"}),
			[]string{"createArticle", "findOneArticle", "findTags"}, []string{`"secretTags"`, `"topics"`},
			[]string{"secretFriend", "riter"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			text := api.Describe(tt.access)
			var found []string
			for _, item := range valid(t, text).Paths.Map() {
				for _, op := range item.Operations() {
					found = append(found, op.OperationID)
				}
			}
			if slices.Sort(found); !slices.Equal(found, tt.operations) {
				t.Errorf("operations %v", found)
			}
			for _, part := range tt.has {
				if !bytes.Contains(text, []byte(part)) {
					t.Errorf("%s is missing", part)
				}
			}
			for _, part := range tt.lacks {
				if bytes.Contains(text, []byte(part)) {
					t.Errorf("%s appears", part)
				}
				if !bytes.Contains(everything, []byte(part)) {
					t.Errorf("%s does not appear in the document of everything either", part)
				}
			}
		})
	}
}

// TestNamesAreUniqueAndStable checks that a schema has the same name for all readers, and that types whose names would
// clash have different ones.
func TestNamesAreUniqueAndStable(t *testing.T) {
	api := describe(t)
	d := valid(t, api.Describe(permission.FullAccess))
	list, article := d.Components.Schemas["ArticleList"], d.Components.Schemas["Article2"]
	if list == nil || list.Value.Properties["word"] == nil || article == nil ||
		article.Value.Properties["title"] == nil {
		t.Errorf("schemas %v", slices.Sorted(maps.Keys(d.Components.Schemas)))
	}
	alone := valid(t, api.Describe(permission.NewAccess([]string{"api::article.article.find"})))
	if alone.Components.Schemas["Article2"] == nil {
		t.Errorf("another name for a reader who does not see the other type: %v",
			slices.Sorted(maps.Keys(alone.Components.Schemas)))
	}
	if again := describe(t).Describe(permission.FullAccess); !bytes.Equal(again, api.Describe(permission.FullAccess)) {
		t.Error("the same definitions gave two documents")
	}
}

// TestSchemas checks schemas of documents, inputs and parameters by values that they accept and refuse.
func TestSchemas(t *testing.T) {
	api := describe(t)
	api.Routes = append(api.Routes, openapi.Route{Method: "GET", Path: "/api/_changes"})
	schemas := valid(t, api.Describe(permission.FullAccess)).Components.Schemas
	for _, tt := range []struct {
		schema, value string
		fits          bool
	}{
		{"Article2", `{"id": 1, "documentId": "a", "title": null, "level": "high", "writer": {"id": 2, "documentId": "b"}}`, true},
		{"Article2", `{"id": 1, "title": "no documentId"}`, false},
		{"Article2", `{"id": 1, "documentId": "a", "level": "middle"}`, false},
		{"Article2", `{"id": 1, "documentId": "a", "parts": [{"__component": "page.quote", "id": 1, "text": "x"}]}`,
			true},
		{"Article2", `{"id": 1, "documentId": "a", "parts": [{"__component": "page.other", "id": 1}]}`, false},
		{"Article2Input", `{"title": "Ink", "topics": {"connect": ["a", {"documentId": "b", "position": {"after": "a"}}], "disconnect": [3]}}`, true},
		{"Article2Input", `{"topics": {"connekt": ["a"]}}`, false},
		{"Article2Input", `{"stars": 6}`, false},
		{"Article2Input", `{"titel": "misspelled"}`, false},
		{"Article2Input", `{"cover": {"id": 7, "name": "as it was read"}}`, true},
		{"Article2Filters", `{"secretNote": "x"}`, false},
		{"Article2Populate", `{"secretTags": true}`, false},
		{"Article2Input", `{"secretNote": "x", "secretTags": ["a"]}`, true},
		{"Article2Input", `{"secretNote": 3}`, false},
		{"Article2Input", `{"secretTags": {"add": ["a"]}}`, false},
		{"Article2Input", `{"cover": 7, "phrase": "hidden", "parts": [{"__component": "page.credit", "writer": null}]}`,
			true},
		{"WriterCreate", `{}`, false},
		{"Article2Filters", `{"title": {"$containsi": "ink"}, "$or": [{"stars": {"$between": [1, 3]}}, {"writer": {"penName": {"$null": true}}}]}`, true},
		{"Article2Filters", `{"title": {"$contians": "ink"}}`, false},
		{"Article2Filters", `{"$and": [{"writer": {"name": "misspelled"}}]}`, false},
		{"Article2Populate",
			`{"writer": {"fields": ["penName"]}, "parts": {"on": {"page.quote": true}}, "localizations": true}`, true},
		{"Article2Populate", `{"writer": {"fields": ["password"]}}`, false},
		{"Article2Populate", `{"parts": {"populate": "*"}, "writer": {"count": true}}`, true},
		{"Article2Populate", `{"parts": {"count": true}}`, false},
		{"GuidePopulate", `{"about": {"count": true}}`, false},
		{"Article2Input", `{"quote": null, "parts": []}`, true},
		{"Article2Input", `{"parts": null}`, false},
		{"GuideInput", `{"steps": null}`, false},
		{"GuideCreate", `{"steps": [], "parts": []}`, true},
		{"GuideCreate", `{"title": "Ink", "steps": []}`, false},
		{"GuideCreate", `{"title": "Ink", "parts": []}`, false},
		{"Change", `{"seq": "1", "type": "a", "documentId": "b", "locale": null, "change": "publish", "at": "2030-01-01T09:00:00Z"}`, true},
		{"Change", `{"seq": "1", "type": "a", "documentId": "b", "locale": null, "change": "published", "at": "2030-01-01T09:00:00Z"}`, false},
	} {
		var value any
		if err := json.Unmarshal([]byte(tt.value), &value); err != nil {
			t.Fatal(err)
		}
		if err := schemas[tt.schema].Value.VisitJSON(value, openapi3.EnableJSONSchema2020()); (err == nil) != tt.fits {
			t.Errorf("%s accepts %s: %v, %v", tt.schema, tt.value, !tt.fits, err)
		}
	}
}

// TestOperations checks the parameters, media types and answers of operations.
func TestOperations(t *testing.T) {
	api := describe(t)
	for _, path := range []string{"GET /api/_changes", "GET /api/_openapi.json", "GET /api/_schedules",
		"POST /api/upload", "GET /uploads/{path}", "POST /api/users-permissions/roles"} {
		method, path, _ := strings.Cut(path, " ")
		api.Routes = append(api.Routes, openapi.Route{Method: method, Path: path})
	}
	operations := map[string]*openapi3.Operation{}
	for _, item := range valid(t, api.Describe(permission.FullAccess)).Paths.Map() {
		for _, op := range item.Operations() {
			operations[op.OperationID] = op
		}
	}
	for _, tt := range []struct {
		operation  string
		has, lacks []string // parameters, media types of the body, statuses, and headers of responses
	}{
		{"publishArticle", []string{"fields", "locale", "202", "200"}, []string{"status"}},
		{"unpublishArticle", []string{"202"}, []string{"status"}},
		{"discardDraftArticle", []string{"populate"}, []string{"status", "202"}},
		{"restoreArticle", []string{"populate"}, []string{"status", "202"}},
		{"updateArticle", []string{"status", "404", "412"}, []string{"202"}},
		{"changes", []string{"Last-Event-ID", "429"}, nil},
		{"openapi", []string{"429", "304"}, nil},
		{"findSchedules", []string{"If-None-Match", "If-Match", "304", "412"}, nil},
		{"findOneArticle", []string{"If-None-Match", "If-Match", "304", "412", "200 ETag"}, []string{"415"}},
		{"upload", []string{"multipart/form-data", "415"}, []string{"application/json"}},
		{"fileContent", []string{"412", "416"}, []string{"415"}},
		{"createRole", []string{"415", "415 Accept-Encoding", "429 Retry-After", "401 WWW-Authenticate"}, nil},
	} {
		op := operations[tt.operation]
		if op == nil {
			t.Errorf("there is no operation %s", tt.operation)
			continue
		}
		found := slices.Collect(maps.Keys(op.Responses.Map()))
		for status, response := range op.Responses.Map() {
			for header := range response.Value.Headers {
				found = append(found, status+" "+header)
			}
		}
		for _, p := range op.Parameters {
			found = append(found, p.Value.Name)
		}
		if op.RequestBody != nil {
			found = slices.AppendSeq(found, maps.Keys(op.RequestBody.Value.Content))
		}
		for _, name := range tt.has {
			if !slices.Contains(found, name) {
				t.Errorf("%s lacks %s: %v", tt.operation, name, found)
			}
		}
		for _, name := range tt.lacks {
			if slices.Contains(found, name) {
				t.Errorf("%s has %s", tt.operation, name)
			}
		}
	}
}

// TestPrivateAttributes checks that attributes that no answer shows are in the schemas of inputs alone, and are marked
// there.
func TestPrivateAttributes(t *testing.T) {
	schemas := valid(t, describe(t).Describe(permission.FullAccess)).Components.Schemas
	for _, name := range []string{"secretNote", "secretTags", "secretFriend", "phrase"} {
		if schemas["Article2"].Value.Properties[name] != nil {
			t.Errorf("answers have %s", name)
		}
		if in := schemas["Article2Input"].Value.Properties[name]; in == nil || !in.Value.WriteOnly {
			t.Errorf("inputs have %s as %v", name, in)
		}
	}
	if schemas["Article2Input"].Value.Properties["title"].Value.WriteOnly {
		t.Error("title is marked as if no answer showed it")
	}
}

// TestSecurity checks that an operation needs a token unless the public may use it.
func TestSecurity(t *testing.T) {
	d := valid(t, describe(t).Describe(permission.FullAccess))
	for path, want := range map[string]int{"/api/tags": 2, "/api/writers": 1} {
		if got := len(*d.Paths.Value(path).Get.Security); got != want {
			t.Errorf("%s has %d ways to authenticate", path, got)
		}
	}
}
