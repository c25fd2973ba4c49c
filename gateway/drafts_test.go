package gateway_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"

	"lectern/gateway"
	"lectern/internal/servertest"
)

// draftFiles are a project whose drafts hold texts with the word SECRET. Shelves have no drafts, but lead to books that
// do.
var draftFiles = map[string]string{
	"content-types/book.yaml": `
kind: collectionType
info: {singularName: book, pluralName: books, displayName: Book}
options: {draftAndPublish: true}
attributes:
  title: {type: string}
  author: {type: relation, relation: manyToOne, target: api::writer.writer, inversedBy: books}
  shelves: {type: relation, relation: manyToMany, target: api::shelf.shelf, mappedBy: books}
`,
	"content-types/writer.yaml": `
kind: collectionType
info: {singularName: writer, pluralName: writers, displayName: Writer}
options: {draftAndPublish: true}
attributes:
  name: {type: string}
  books: {type: relation, relation: oneToMany, target: api::book.book, mappedBy: author}
`,
	"content-types/shelf.yaml": `
kind: collectionType
info: {singularName: shelf, pluralName: shelves, displayName: Shelf}
attributes:
  name: {type: string}
  books: {type: relation, relation: manyToMany, target: api::book.book, inversedBy: shelves}
  any: {type: relation, relation: morphToMany}
`,
	"config/plugins.yaml": "graphql: {config: {documentActions: true, subscriptions: true, " +
		"apolloServer: {allowBatchedHttpRequests: true}}}\n",
	"config/permissions.yaml": `
roles:
  public:
    api::book.book: [find, findOne, stream, history, restore]
    api::writer.writer: [find, findOne, stream]
    api::shelf.shelf: [find, findOne, stream]
tokens:
  - name: editor
    type: custom
    permissions: [api::book.book.find, api::book.book.findOne, api::book.book.findDrafts, api::book.book.history,
      api::book.book.create, api::book.book.stream, api::writer.writer.find, api::shelf.shelf.find]
`,
}

// A draftProject is a server with drafts.
type draftProject struct {
	*api
	ada, bob, book, next, first, second string // documentIds
}

// serveDrafts serves drafts. The published version of a book leads to Ada, whose draft has another name. Its draft
// leads to Bob, who has no published version.
func serveDrafts(t *testing.T, drafts string) *draftProject {
	files := map[string]string{"config/api.yaml": drafts}
	for name, text := range draftFiles {
		files[name] = text
	}
	a := &draftProject{api: serve(t, files)}
	create := func(path string, data object) string {
		return a.want(201, "POST", "/api/"+path, "full", object{"data": data}).at("data.documentId").(string)
	}
	change := func(path string, data object) {
		a.want(200, "PUT", "/api/"+path+"?status=draft", "full", object{"data": data})
	}
	a.ada = create("writers?status=published", object{"name": "Ada"})
	a.bob = create("writers?status=draft", object{"name": "SECRET Bob"})
	a.book = create("books?status=published", object{"title": "Book", "author": a.ada})
	a.next = create("books?status=draft", object{"title": "SECRET Next", "author": a.ada})
	change("writers/"+a.ada, object{"name": "SECRET Ada"})
	change("books/"+a.book, object{"title": "SECRET Book", "author": a.bob})
	morph := func(uid, id string) object { return object{"__type": uid, "documentId": id} }
	a.first = create("shelves", object{"name": "first", "books": []any{a.book, a.next},
		"any": []any{morph("api::book.book", a.book), morph("api::writer.writer", a.bob)}})
	a.second = create("shelves", object{"name": "second", "books": []any{a.book}})
	return a
}

// TestDraftsAreGranted asks by every way for drafts as callers who may read the published versions only, and as one who
// may read the drafts of books, but not those of writers.
func TestDraftsAreGranted(t *testing.T) {
	a := serveDrafts(t, "drafts: granted\n")
	lines := []string{"Accept", "application/x-ndjson"}
	for _, tt := range []struct {
		name, path, as string
		headers        []string
		status         int
		has            []string // texts in the answer, which must have all or none of those behind "!"
	}{
		{"a list", "books?status=draft", "", nil, 403, nil},
		{"one", "books/" + a.book + "?status=draft", "", nil, 403, nil},
		{"one that has no draft", "books/none?status=draft", "", nil, 403, nil},
		{"a stream", "books?status=draft", "", lines, 403, nil},
		{"another value of status", "books?status=x", "", nil, 403, nil},
		{"published", "books?populate=author", "", nil, 200, []string{"Book", "Ada"}},
		{"a published stream", "books?populate=author", "", lines, 200, []string{"Book", "Ada"}},
		{"one that is not published", "books/" + a.next, "", nil, 404, nil},
		{"modified", "books?publicationFilter=modified", "", nil, 403, nil},
		{"with a draft", "books?publicationFilter=published-with-draft", "", nil, 403, nil},
		{"never published", "books?hasPublishedVersion=false", "", nil, 403, nil},
		{"with a published version", "books?hasPublishedVersion=true", "", nil, 200, []string{`"total":1`, "Book"}},
		{"populated", "shelves?status=draft&populate[books][populate]=author&populate[any]=true", "", nil, 200,
			[]string{"Book", "Ada", `"any":[{"`}},
		{"populated one", "shelves/" + a.first + "?status=draft&populate[books][populate]=author", "", nil, 200,
			[]string{"Book", "Ada"}},
		{"a populated stream", "shelves?status=draft&populate[books][populate]=author", "", lines, 200,
			[]string{"Book", "Ada"}},
		{"counted", "shelves?status=draft&populate[books][count]=true&populate[any][count]=true", "", nil, 200,
			[]string{`"count":1`, `!"count":2`}},
		{"a filter", "shelves?status=draft&filters[books][title][$contains]=SECRET", "", nil, 200, []string{`"total":0`}},
		{"a filter of what is published", "shelves?status=draft&filters[books][title]=Book", "", nil, 200,
			[]string{`"total":2`}},
		{"a negated filter", "shelves?status=draft&filters[$not][books][title]=Book", "", nil, 200, []string{`"total":0`}},
		{"a deep filter", "shelves?status=draft&filters[books][author][name][$null]=true", "", nil, 200,
			[]string{`"total":0`}},
		{"a filter in populate", "shelves?status=draft&populate[books][filters][author][name][$contains]=SECRET", "", nil,
			200, []string{`"total":2`, "!Book"}},
		{"a sort", "shelves?status=draft&sort[0]=books.title:desc&sort[1]=name:asc", "", nil, 200, []string{`"total":2`}},

		{"drafts of books", "books?status=draft&populate=author&sort=title", "editor", nil, 200,
			[]string{"SECRET Book", "SECRET Next", `"author":null`, `"name":"Ada"`, "!Bob", "!SECRET Ada"}},
		{"a draft", "books/" + a.book + "?status=draft&populate=author", "editor", nil, 200,
			[]string{"SECRET Book", `"author":null`}},
		{"a stream of drafts", "books?status=draft&populate=author", "editor", lines, 200,
			[]string{"SECRET Book", `"name":"Ada"`, "!Bob", "!SECRET Ada"}},
		{"drafts of writers", "writers?status=draft", "editor", nil, 403, nil},
		{"writers behind drafts", "books?status=draft&filters[author][name][$contains]=SECRET", "editor", nil, 200,
			[]string{`"total":0`}},
		{"published writers behind drafts", "books?status=draft&filters[author][name]=Ada", "editor", nil, 200,
			[]string{`"total":1`, "SECRET Next"}},
		{"no visible writer", "books?status=draft&filters[author][name][$null]=true", "editor", nil, 200,
			[]string{`"total":1`, "SECRET Book"}},
		{"modified books", "books?publicationFilter=modified&populate=author", "editor", nil, 200,
			[]string{`"total":1`, `"name":"Ada"`}},
		{"books of published writers", "writers?populate=books", "editor", nil, 200, []string{`"title":"Book"`, "!SECRET"}},
		{"a read-only token", "books?status=draft&populate=author", "readonly", nil, 200,
			[]string{"SECRET Book", "SECRET Bob", "SECRET Ada"}},
	} {
		r := a.do("GET", "/api/"+tt.path, tt.as, nil, tt.headers...)
		if r.status != tt.status {
			t.Errorf("%s: %d %s, want %d", tt.name, r.status, r.text, tt.status)
		}
		if tt.as == "" && strings.Contains(r.text, "SECRET") {
			t.Errorf("%s: %s", tt.name, r.text)
		}
		for _, text := range tt.has {
			text, without := strings.CutPrefix(text, "!")
			if strings.Contains(r.text, text) == without {
				t.Errorf("%s: %q in it is %v: %s", tt.name, text, !without, r.text)
			}
		}
	}
	if r := a.want(200, "GET", "/api/shelves?status=draft&sort[0]=books.title:desc&sort[1]=name:desc", "", nil); !slices.Equal(
		items(r, "name"), []string{"second", "first"}) {
		t.Errorf("sorted by drafts: %s", r.text) // SECRET Next comes after SECRET Book
	}
}

// TestDraftLinksAreGranted changes in a draft to which documents without drafts it leads. Who may not read the draft
// sees what they saw.
func TestDraftLinksAreGranted(t *testing.T) {
	a := serveDrafts(t, "drafts: granted\n")
	queries := []string{"populate[books][populate]=author", "populate[books][count]=true", "filters[books][title]=Book",
		"filters[$not][books][title]=Book", "sort[0]=books.title:desc&sort[1]=name", "filters[books][author][name]=Ada"}
	seen := func(as string) (list []string) {
		for _, query := range queries {
			list = append(list, a.want(200, "GET", "/api/shelves?status=draft&fields[0]=name&"+query, as, nil).text)
		}
		return list
	}
	public, editor := seen(""), seen("editor")
	a.want(200, "PUT", "/api/books/"+a.book+"?status=draft", "full", object{"data": object{"shelves": []any{a.second}}})
	for i, text := range seen("") {
		if text != public[i] {
			t.Errorf("%s: %s\nwas %s", queries[i], text, public[i])
		}
	}
	if slices.Equal(seen("editor"), editor) {
		t.Error("who may read the draft does not see its links")
	}
}

// TestDraftsAreGrantedInGraphQL is TestDraftsAreGranted for queries.
func TestDraftsAreGrantedInGraphQL(t *testing.T) {
	a := serveDrafts(t, "drafts: granted\n")
	for _, tt := range []struct{ query, as, want string }{
		{`{books(status: DRAFT){title}}`, "", "Forbidden access"},
		{`{books_connection(status: DRAFT){pageInfo{total}}}`, "", "Forbidden access"},
		{`{book(documentId: "` + a.book + `", status: DRAFT){title}}`, "", "Forbidden access"},
		{`{books(publicationFilter: MODIFIED){title}}`, "", "Forbidden access"},
		{`{books(hasPublishedVersion: false){title}}`, "", "Forbidden access"},
		{`{books(hasPublishedVersion: true){title}}`, "", `{"data":{"books":[{"title":"Book"}]}}`},
		{`{shelves(status: DRAFT){name books{title author{name}}}}`, "",
			`{"data":{"shelves":[{"name":"first","books":[{"title":"Book","author":{"name":"Ada"}}]},` +
				`{"name":"second","books":[{"title":"Book","author":{"name":"Ada"}}]}]}}`},
		{`{shelves(status: DRAFT){books_connection{nodes{title}}}}`, "",
			`{"data":{"shelves":[{"books_connection":{"nodes":[{"title":"Book"}]}},{"books_connection":{"nodes":[{"title":"Book"}]}}]}}`},
		{`{shelves(status: DRAFT, filters: {books: {title: {contains: "SECRET"}}}){name}}`, "", `{"data":{"shelves":[]}}`},
		{`{shelves(status: DRAFT){books(filters: {author: {name: {contains: "SECRET"}}}){title}}}`, "",
			`{"data":{"shelves":[{"books":[]},{"books":[]}]}}`},
		{`{books(status: DRAFT, sort: "title"){title author{name}}}`, "editor",
			`{"data":{"books":[{"title":"SECRET Book","author":null},{"title":"SECRET Next","author":{"name":"Ada"}}]}}`},
		{`{books(status: DRAFT, filters: {author: {name: {contains: "SECRET"}}}){title}}`, "editor", `{"data":{"books":[]}}`},
		{`{writers{books{title}}}`, "editor", `{"data":{"writers":[{"books":[{"title":"Book"}]}]}}`},
	} {
		if r := a.graphql(tt.as, tt.query); r.status != 200 || !strings.Contains(r.text, tt.want) {
			t.Errorf("%s\n got %d %s\nwant %s", tt.query, r.status, r.text, tt.want)
		}
	}
}

// TestDraftsAreGrantedInTheFeed reads changes and histories.
func TestDraftsAreGrantedInTheFeed(t *testing.T) {
	a := serveDrafts(t, "drafts: granted\n")
	a.want(403, "GET", "/api/_changes?status=draft&types=books", "", nil)
	feed := a.want(200, "GET", "/api/_changes?status=draft&include=document&populate[books][populate]=author&types=shelves,books,writers",
		"", nil)
	if !strings.Contains(feed.text, "Ada") || strings.Contains(feed.text, "SECRET") || strings.Contains(feed.text, a.next) {
		t.Errorf("the feed: %s", feed.text)
	}
	query := "status=draft&include=document&types=shelves&populate[books][filters][author][name][$contains]=" +
		url.QueryEscape("SECRET")
	if feed := a.want(200, "GET", "/api/_changes?"+query, "", nil); strings.Contains(feed.text, `"title"`) {
		t.Errorf("a filter in the feed: %s", feed.text)
	}
	feed = a.want(200, "GET", "/api/_changes?status=draft&include=document&populate=author&types=books,writers", "editor",
		nil)
	if !strings.Contains(feed.text, "SECRET Next") || strings.Contains(feed.text, "Bob") ||
		strings.Contains(feed.text, "SECRET Ada") {
		t.Errorf("the feed of the editor: %s", feed.text)
	}
	if r := a.graphql("", `subscription{bookChanged(status: DRAFT){documentId}}`, "Accept", "text/event-stream"); !strings.Contains(r.text,
		"Forbidden access") {
		t.Errorf("a subscription: %d %s", r.status, r.text)
	}

	a.want(403, "GET", "/api/books/"+a.book+"/_history?status=draft", "", nil)
	a.want(404, "GET", "/api/books/"+a.next+"/_history", "", nil)
	if r := a.want(200, "GET", "/api/books/"+a.book+"/_history", "", nil); slices.Contains(items(r, "status"), "draft") ||
		len(items(r, "status")) == 0 || fmt.Sprint(r.at("meta.pagination.total")) != fmt.Sprint(len(items(r, "status"))) {
		t.Errorf("the history: %s", r.text)
	}
	if r := a.want(200, "GET", "/api/books/"+a.book+"/_history", "editor", nil); !slices.Contains(items(r, "status"),
		"draft") {
		t.Errorf("the history of the editor: %s", r.text)
	}
	seq := items(a.want(200, "GET", "/api/books/"+a.book+"/_history", "full", nil), "seq")[0]
	past := "/api/books/" + a.book + "?status=draft&asOf=" + url.QueryEscape(seq)
	a.want(403, "GET", past, "", nil)
	if r := a.want(200, "GET", past, "editor", nil); !strings.Contains(r.text, "SECRET") {
		t.Errorf("a draft of the past: %s", r.text)
	}
}

// TestDraftsAreReadable expects everybody who may read a type to read its drafts: as in the reference, unless
// config/api.yaml says otherwise.
func TestDraftsAreReadable(t *testing.T) {
	for _, setting := range []string{"", "drafts: readable\n"} {
		a := serveDrafts(t, setting)
		r := a.want(200, "GET", "/api/books?status=draft&populate=author", "", nil)
		if !strings.Contains(r.text, "SECRET Book") || !strings.Contains(r.text, "SECRET Bob") {
			t.Errorf("%q: %s", setting, r.text)
		}
		a.want(200, "GET", "/api/books?publicationFilter=modified", "", nil)
		if r := a.graphql("", `{books(status: DRAFT){title author{name}}}`); !strings.Contains(r.text, "SECRET Bob") {
			t.Errorf("%q: %s", setting, r.text)
		}
	}
}

// TestDraftsInAnswersToWrites expects the answer to a write to show the draft that was written, and the published
// versions of what it leads to.
func TestDraftsInAnswersToWrites(t *testing.T) {
	a := serveDrafts(t, "drafts: granted\n")
	r := a.want(201, "POST", "/api/books?status=draft&populate=author", "editor",
		object{"data": object{"title": "SECRET Third", "author": a.ada}})
	if r.at("data.title") != "SECRET Third" || r.at("data.author.name") != "Ada" {
		t.Errorf("the draft that was written: %s", r.text)
	}
}

// TestDraftsAreGrantedInBatches reads drafts by batches: of GraphQL, and by what the writes of a batch show.
func TestDraftsAreGrantedInBatches(t *testing.T) {
	a := serveDrafts(t, "drafts: granted\n")
	queries := fmt.Sprintf(`[{"query":"{books(status: DRAFT){title}}"},{"query":"{books{title author{name}}}"},`+
		`{"query":"{book(documentId: \"%s\", status: DRAFT){title author{name}}}"},`+
		`{"query":"{shelves(status: DRAFT, filters: {name: {eq: \"first\"}}){books{title author{name}}}}"}]`, a.book)
	const books, shelf = `{"data":{"books":[{"title":"Book","author":{"name":"Ada"}}]}}`,
		`{"data":{"shelves":[{"books":[{"title":"Book","author":{"name":"Ada"}}]}]}}`
	answers, _ := a.want(200, "POST", "/graphql", "", queries).body.([]any)
	if len(answers) != 4 {
		t.Fatal(answers)
	}
	for i, want := range []string{"FORBIDDEN", books, "FORBIDDEN", shelf} {
		text, err := json.Marshal(answers[i])
		var same any
		if err == nil && json.Unmarshal([]byte(want), &same) == nil {
			if !reflect.DeepEqual(same, answers[i]) {
				t.Errorf("query %d: %s, want %s", i, text, want)
			}
		} else if !strings.Contains(string(text), `"Forbidden access"`) {
			t.Errorf("query %d: %s", i, text)
		}
		if strings.Contains(string(text), "SECRET") {
			t.Errorf("query %d: %s", i, text)
		}
	}
	write := object{"op": "create", "type": "books", "status": "draft", "populate": "author",
		"data": object{"title": "Third", "author": a.ada}}
	r := a.batch(200, "editor", write)
	if !strings.Contains(r.text, `"name":"Ada"`) || strings.Contains(r.text, "SECRET") {
		t.Errorf("the draft that was written: %s", r.text)
	}
	update := object{"op": "update", "type": "books", "documentId": a.book, "status": "draft", "populate": "author",
		"data": object{}}
	a.batch(403, "editor", update)
	if r := a.batch(200, "full", update); !strings.Contains(r.text, "SECRET Bob") {
		t.Errorf("with full access: %s", r.text)
	}
}

// TestUnstatedDrafts expects a warning with the remedy if a role reads drafts without anybody having said so.
func TestUnstatedDrafts(t *testing.T) {
	const remedy = "write `drafts: granted` into config/api.yaml"
	permissions := func(actions string) string { return "roles: {public: {api::book.book: [" + actions + "]}}\n" }
	for _, tt := range []struct {
		setting, actions string
		warns            bool
	}{
		{"", "find", true},
		{"", "findOne", true},
		{"", "create", false},
		{"", "find, findDrafts", false},
		{"drafts: granted\n", "find", false},
		{"drafts: readable\n", "find", false},
	} {
		files := with(draftFiles)
		files["config/api.yaml"], files["config/permissions.yaml"] = tt.setting, permissions(tt.actions)
		_, problems, warnings, err := gateway.Check(writeProject(t, files), gateway.Options{})
		if err != nil || len(problems) > 0 {
			t.Fatal(err, problems)
		}
		if got := strings.Contains(strings.Join(warnings, "\n"), remedy); got != tt.warns {
			t.Errorf("%q with %s: warns %v: %q", tt.setting, tt.actions, got, warnings)
		}
	}
	for _, production := range []bool{true, false} {
		var log servertest.LogBuffer
		_, stop := run(t, writeProject(t, with(draftFiles)),
			gateway.Options{Ephemeral: true, Production: production, LogTo: &log}, nil)
		stop() // so that all was logged
		if strings.Contains(log.String(), remedy) != production {
			t.Errorf("production %v: %s", production, log.String())
		}
	}
	files := with(draftFiles)
	files["config/api.yaml"] = "drafts: everybody\n"
	_, problems, _, _ := gateway.Check(writeProject(t, files), gateway.Options{})
	if want := `config/api.yaml:1: drafts must be granted or readable, not "everybody"`; len(problems) != 1 ||
		problems[0].String() != want {
		t.Errorf("problems %v, want %s", problems, want)
	}
}
