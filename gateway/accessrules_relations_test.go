package gateway_test

import (
	"slices"
	"strings"
	"testing"
)

// TestRulesBehindRelations reads shelves as callers who may find some books only, by a rule. The other books are as if
// no link led to them.
func TestRulesBehindRelations(t *testing.T) {
	files := with(draftFiles)
	files["config/permissions.yaml"] = `
roles:
  public:
    api::book.book: {find: {where: {title: {$startsWith: Open}}}, findOne: true}
    api::writer.writer: [find, findOne]
    api::shelf.shelf: [find, findOne, stream]
`
	a := serve(t, files)
	create := func(path string, data object) string {
		return a.want(201, "POST", "/api/"+path, "full", object{"data": data}).at("data.documentId").(string)
	}
	ada := create("writers", object{"name": "Ada"})
	open := create("books", object{"title": "Open book", "author": ada})
	secret := create("books", object{"title": "SECRET book", "author": ada})
	morph := []any{object{"__type": "api::book.book", "documentId": open},
		object{"__type": "api::book.book", "documentId": secret}}
	create("shelves", object{"name": "first", "books": []any{open, secret}, "any": morph})
	create("shelves", object{"name": "second", "books": []any{open}})
	create("shelves", object{"name": "third", "books": []any{secret}})
	for _, tt := range []struct {
		name, path string
		has        []string // texts in the answer, or not in it behind "!"
	}{
		{"populated", "shelves?populate=books,any&populate[2]=books.author", []string{"Open book", `"books":[]`}},
		{"populated by the other side", "writers?populate=books", []string{"Open book"}},
		{"several types", "shelves?populate[any][on][api::book.book]=true&filters[name]=first", []string{"Open book"}},
		{"counted", "shelves?populate[books][count]=true&filters[name]=first", []string{`"count":1`}},
		{"counted by the other side", "writers?populate[books][count]=true", []string{`"count":1`}},
		{"a filter", "shelves?filters[books][title][$contains]=SECRET", []string{`"total":0`}},
		{"by id", "shelves?filters[books][documentId]=" + secret, []string{`"total":0`}},
		{"none is seen", "shelves?filters[books][title][$null]=true", []string{`"total":1`, "third"}},
		{"a negation", "shelves?filters[$not][books][title]=Open+book", []string{`"total":0`}},
		{"another title", "shelves?filters[books][title][$ne]=Open+book", []string{`"total":0`}},
		{"two relations", "writers?filters[books][title][$contains]=SECRET", []string{`"total":0`}},
		{"through what is hidden", "shelves?filters[books][author][name]=Ada", []string{`"total":2`, "!third"}},
	} {
		r := a.do("GET", "/api/"+tt.path, "", nil)
		if r.status != 200 || strings.Contains(r.text, "SECRET") {
			t.Errorf("%s: %d %s", tt.name, r.status, r.text)
		}
		for _, text := range tt.has {
			text, without := strings.CutPrefix(text, "!")
			if strings.Contains(r.text, text) == without {
				t.Errorf("%s: %q in it is %v: %s", tt.name, text, !without, r.text)
			}
		}
	}
	// The greatest title that is seen is the same on the first two shelves.
	r := a.want(200, "GET", "/api/shelves?sort[0]=books.title:desc&sort[1]=name:desc", "", nil)
	if got := items(r, "name"); !slices.Equal(got, []string{"second", "first", "third"}) {
		t.Errorf("sorted: %v", got)
	}
	for query, want := range map[string]string{
		`{shelves(sort: "name"){name books{title} any{... on Book{title}}}}`: `{"data":{"shelves":[` +
			`{"name":"first","books":[{"title":"Open book"}],"any":[{"title":"Open book"}]},` +
			`{"name":"second","books":[{"title":"Open book"}],"any":[]},{"name":"third","books":[],"any":[]}]}}`,
		`{shelves(filters: {books: {title: {contains: "SECRET"}}}){name}}`:       `{"data":{"shelves":[]}}`,
		`{writers{books_connection(filters: {title: {ne: "x"}}){nodes{title}}}}`: `{"data":{"writers":[{"books_connection":{"nodes":[{"title":"Open book"}]}}]}}`,
	} {
		if r := a.graphql("", query); strings.TrimSpace(r.text) != want {
			t.Errorf("%s\n got %s\nwant %s", query, r.text, want)
		}
	}
}
