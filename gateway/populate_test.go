package gateway_test

import (
	"encoding/json"
	"strings"
	"testing"

	"lectern/gateway"
)

var populateFiles = map[string]string{
	"content-types/person.yaml": `
kind: collectionType
info: {singularName: person, pluralName: people}
attributes:
  name: {type: string}
  club: {type: relation, relation: manyToOne, target: api::club.club}`,
	"content-types/club.yaml": `
kind: collectionType
info: {singularName: club, pluralName: clubs}
attributes: {name: {type: string}}`,
	"content-types/book.yaml": `
kind: collectionType
info: {singularName: book, pluralName: books}
options: {draftAndPublish: true}
attributes:
  title: {type: string}
  author: {type: relation, relation: manyToOne, target: api::person.person}
  readers: {type: relation, relation: manyToMany, target: api::person.person}
  seo: {type: component, component: shared.seo}`,
	"content-types/front.yaml": `
kind: singleType
info: {singularName: front, pluralName: fronts}
attributes:
  title: {type: string}
  book: {type: relation, relation: oneToOne, target: api::book.book}`,
	"components/shared/seo.yaml": `attributes: {description: {type: string}}`,
	"config/api.yaml": `
populate:
  api::book.book:
    author: {fields: [name], populate: {club: true}}
    readers: {filters: {club: {name: {$eq: Chess}}}, sort: "name:desc", fields: name}
    seo: true
  api::front.front: book.author
  api::person.person: "*"`,
	"config/permissions.yaml": `
roles:
  public:
    api::book.book: [find, findOne]
tokens:
  - {name: people, type: custom, permissions: [api::book.book.find, api::person.person.find]}
  - {name: clubs, type: custom, permissions: [api::person.person.find, api::club.club.find, api::book.book.create]}`,
}

// TestPopulateDefaultsApply reads documents of types that have a default populate: over REST, where the defaults apply
// as far as the caller may see, and over GraphQL, where they do not apply.
func TestPopulateDefaultsApply(t *testing.T) {
	ready, _ := run(t, writeProject(t, populateFiles), gateway.Options{Ephemeral: true}, nil)
	a := newAPI(t, ready)
	id := func(path, body string) string {
		r := a.do("POST", path, "full", body)
		if r.status != 201 {
			t.Fatal(path, r.status, r.text)
		}
		return r.at("data.documentId").(string)
	}
	chess, golf := id("/api/clubs", `{"data":{"name":"Chess"}}`), id("/api/clubs", `{"data":{"name":"Golf"}}`)
	ada := id("/api/people", `{"data":{"name":"Ada","club":"`+chess+`"}}`)
	bob := id("/api/people", `{"data":{"name":"Bob","club":"`+golf+`"}}`)
	cleo := id("/api/people", `{"data":{"name":"Cleo","club":"`+chess+`"}}`)
	const book = `{"data":{"title":"B","author":"ADA","readers":["ADA","BOB","CLEO"],"seo":{"description":"d"}}}`
	body := strings.NewReplacer("ADA", ada, "BOB", bob, "CLEO", cleo).Replace(book)
	one := id("/api/books", body)
	if r := a.do("PUT", "/api/front", "full", `{"data":{"title":"F","book":"`+one+`"}}`); r.status != 200 ||
		!strings.Contains(r.text, `"name":"Ada"`) {
		t.Error("the answer to a write of a single type:", r.status, r.text)
	}

	const all, people, public = "author:Ada club:Chess readers:Cleo,Ada seo:d", "author:Ada seo:d", "seo:d"
	for _, c := range []struct{ method, path, key, body, want string }{
		{"GET", "/api/books", "full", "", all},
		{"GET", "/api/books/" + one, "full", "", all},
		{"GET", "/api/books?populate", "full", "", all}, // a populate without a value counts as absent
		{"GET", "/api/books?fields=title&status=draft&pagination[pageSize]=1", "readonly", "", all},
		{"POST", "/api/books", "full", body, all},
		{"PUT", "/api/books/" + one, "full", `{"data":{}}`, all},
		{"POST", "/api/books/" + one + "/actions/publish", "full", "", all},

		{"GET", "/api/books", "people", "", people}, // no clubs, and no readers since they are chosen by clubs
		{"GET", "/api/books", "", "", public},
		{"GET", "/api/books/" + one, "", "", public},
		{"POST", "/api/books", "clubs", body, all},

		{"GET", "/api/books?populate=seo", "full", "", "seo:d"},
		{"GET", "/api/books?populate=author", "full", "", "author:Ada"}, // and not the club of the default
		{"GET", "/api/books?populate=", "full", "", ""},
		{"GET", "/api/books?populate[readers][fields]=name", "full", "", "readers:Ada,Bob,Cleo"},
		{"GET", "/api/people?filters[name]=Ada", "full", "", "club:Chess"},
		{"GET", "/api/front", "full", "", "book:B author:Ada"},
		{"GET", "/api/clubs", "full", "", ""},
	} {
		r := a.do(c.method, c.path, c.key, c.body)
		if got := populated(r.text); r.status >= 300 || got != c.want {
			t.Errorf("%s %s as %q: %d, %q, want %q\n%s", c.method, c.path, c.key, r.status, got, c.want, r.text)
		}
	}
	if r := a.do("GET", "/api/books?populate[readers][filters][club][name]=Chess", "people", ""); r.status != 400 {
		t.Errorf("what the default leaves out is refused where it is asked for: %d %s", r.status, r.text)
	}
	r := a.do("POST", "/graphql", "full", `{"query":"{ books { title } }"}`)
	if strings.Contains(r.text, "Ada") || r.status != 200 {
		t.Errorf("GraphQL: %d %s", r.status, r.text)
	}
}

// populated describes what is populated in the first document of an answer: attributes by name, documents by their
// names.
func populated(answer string) string {
	var a struct{ Data any }
	json.Unmarshal([]byte(answer), &a)
	if list, ok := a.Data.([]any); ok && len(list) > 0 {
		a.Data = list[0]
	}
	var words []string
	var show func(v any)
	show = func(v any) {
		o, _ := v.(map[string]any)
		for _, name := range []string{"author", "readers", "club", "book", "seo"} {
			switch v := o[name].(type) {
			case map[string]any:
				words = append(words, name+":"+named(v))
				show(v)
			case []any:
				var names []string
				for _, item := range v {
					names = append(names, named(item.(map[string]any)))
				}
				words = append(words, name+":"+strings.Join(names, ","))
			}
		}
	}
	show(a.Data)
	return strings.Join(words, " ")
}

func named(o map[string]any) string {
	for _, key := range []string{"name", "title", "description"} {
		if s, ok := o[key].(string); ok {
			return s
		}
	}
	return ""
}
