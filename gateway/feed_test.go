package gateway_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// changesFiles are the files of a project with two types, and tokens that may find one of them or none.
var changesFiles = map[string]string{
	"content-types/article.yaml": `
kind: collectionType
info: {singularName: article, pluralName: articles, displayName: Article}
options: {draftAndPublish: true}
attributes:
  title: {type: string}
  hidden: {type: string, private: true}
  code: {type: password}
  notes: {type: relation, relation: oneToMany, target: api::note.note}
`,
	"content-types/note.yaml": `
kind: collectionType
info: {singularName: note, pluralName: notes, displayName: Note}
attributes:
  title: {type: string}
`,
	"config/permissions.yaml": `
roles:
  public:
    api::article.article: [find]
tokens:
  - {name: notes, type: custom, permissions: ["api::note.note.find"]}
  - {name: none, type: custom, permissions: ["api::note.note.create"]}
`,
}

// A feedPage is a page of changes as a client reads it.
type feedPage struct {
	lines     []string // one for each change
	documents []any
	last      string
	pending   float64
	reset     bool
}

// changes gets a page.
func (a *api) changes(query, as string) (p feedPage) {
	a.t.Helper()
	r := a.want(200, "GET", "/api/_changes?"+query, as, nil)
	results, _ := r.at("results").([]any)
	for _, v := range results {
		o := v.(object)
		p.lines = append(p.lines, fmt.Sprint(o["change"], " ", strings.TrimPrefix(fmt.Sprint(o["type"]), "api::"), " ",
			o["documentId"]))
		p.documents = append(p.documents, o["document"])
	}
	p.last, _ = r.at("last_seq").(string)
	p.pending, _ = r.at("pending").(float64)
	p.reset, _ = r.at("reset").(bool)
	return p
}

// create creates a document and returns its id.
func (a *api) create(path, title string) string {
	a.t.Helper()
	id, _ := a.want(201, "POST", "/api/"+path, "full", object{"data": object{"title": title}}).at("data.documentId").(string)
	return id
}

// tells fails the test unless a page tells of these changes, and of no others that follow.
func (p feedPage) tells(t *testing.T, want ...string) feedPage {
	t.Helper()
	if !slices.Equal(p.lines, want) || p.pending > 0 || p.reset {
		t.Errorf("the page tells %q (%v pending, reset %v), want %q", p.lines, p.pending, p.reset, want)
	}
	return p
}

// TestChangesListWhatWasWritten reads changes at once: all documents, what has changed since, as a caller with other
// permissions, and with the documents.
func TestChangesListWhatWasWritten(t *testing.T) {
	a := serve(t, changesFiles)
	one, note := a.create("articles", "one"), a.create("notes", "a note")
	all := a.changes("", "full").tells(t, "create article.article "+one, "create note.note "+note)
	a.changes("since="+all.last, "full").tells(t)
	a.changes("types=notes", "full").tells(t, "create note.note "+note)
	a.want(200, "PUT", "/api/articles/"+one, "full", object{"data": object{"title": "two", "notes": []string{note}}})
	p := a.changes("include=document&populate=*&since="+all.last, "full").tells(t, "publish article.article "+one)
	if shown, listed := fmt.Sprint(p.documents[0]),
		fmt.Sprint(a.want(200, "GET", "/api/articles/"+one+"?populate=*", "full", nil).at("data")); shown != listed {
		t.Errorf("the feed shows %s, the document is %s", shown, listed)
	}
	a.changes("since="+all.last, "").tells(t, "delete note.note "+note, "publish article.article "+one)
	a.changes("since=now", "").tells(t)
	if p := a.changes("since=nonsense", ""); !p.reset || p.last != "0" || p.pending != 1 {
		t.Errorf("after nonsense comes %+v", p)
	}
	if p := a.changes("since="+all.last+"&status=draft", "full"); !p.reset {
		t.Errorf("with another status comes %+v", p)
	}
	a.want(204, "DELETE", "/api/notes/"+note, "full", nil)
	a.changes("types=api::note.note&since="+all.last, "notes").tells(t, "delete article.article "+one,
		"delete note.note "+note)
}

// TestFeedRefusesWrongRequests sends requests that the feed refuses.
func TestFeedRefusesWrongRequests(t *testing.T) {
	a := serve(t, changesFiles)
	for _, c := range []struct {
		status int
		query  string
		as     string
		says   string
	}{
		{403, "", "none", "Forbidden"},
		{403, "since=nonsense", "none", "Forbidden"},
		{403, "types=notes", "", "Forbidden"},
		{401, "", "unknown", "Missing or invalid credentials"},
		{400, "type=notes", "full", `there is no such parameter; did you mean "types"?`},
		{400, "filters[title]=one", "full", "there is no such parameter"},
		{400, "types=nothing", "full", `there is no content-type "nothing"`},
		{400, "types=", "full", "it must not be empty"},
		{400, "limit=0", "full", "it must be a number from 1 to 10000"},
		{400, "limit=x", "full", "it must be a number"},
		{400, "feed=forever", "full", "it must be normal or longpoll or eventsource"},
		{400, "status=all", "full", "it must be published or draft"},
		{400, "include=all", "full", "it must be document"},
		{400, "fields=title", "full", "it needs include=document"},
		{400, "include=document&fields=nothing", "full", "nothing"},
		{400, "heartbeat=soon", "full", "it must be a number of milliseconds"},
		{400, "since[]=1", "full", "it must be one text"},
	} {
		if r := a.do("GET", "/api/_changes?"+c.query, c.as, nil); r.status != c.status ||
			!strings.Contains(r.message(), c.says) {
			t.Errorf("%s as %q: %d %s, want %d %s", c.query, c.as, r.status, r.text, c.status, c.says)
		}
	}
}
