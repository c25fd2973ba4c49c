package gateway_test

import (
	"fmt"
	"strings"
	"testing"
)

// publishesFiles are a project in which everybody writes, and the token editor may publish too.
var publishesFiles = map[string]string{
	"content-types/book.yaml": `
kind: collectionType
info: {singularName: book, pluralName: books, displayName: Book}
options: {draftAndPublish: true}
attributes:
  title: {type: string}
  cover: {type: media}
`,
	"content-types/home.yaml": `
kind: singleType
info: {singularName: home, pluralName: homes, displayName: Home}
options: {draftAndPublish: true}
attributes:
  title: {type: string}
`,
	"content-types/shelf.yaml": `
kind: collectionType
info: {singularName: shelf, pluralName: shelves, displayName: Shelf}
attributes:
  title: {type: string}
`,
	"config/permissions.yaml": `
roles:
  public:
    plugin::upload.content-api: [upload]
    api::book.book: [find, findOne, findDrafts, create, update]
    api::home.home: [find, update]
    api::shelf.shelf: [find, findOne, create, update]
tokens:
  - name: editor
    type: custom
    permissions: [plugin::upload.content-api.upload, api::book.book.create, api::book.book.update, api::book.book.publish,
      api::home.home.update, api::home.home.publish, api::shelf.shelf.create, api::shelf.shelf.update]
`,
}

// TestPublishingIsGranted writes without the permission to publish, in every way in which a write publishes, or would
// if it were not of a draft. It is refused where drafts are granted.
func TestPublishingIsGranted(t *testing.T) {
	for drafts, as := range map[string]map[string]bool{"granted": {"": false, "editor": true, "full": true},
		"readable": {"": true, "editor": true, "full": true}} {
		t.Run(drafts, func(t *testing.T) {
			files := map[string]string{"config/api.yaml": "drafts: " + drafts + "\n"}
			for name, text := range publishesFiles {
				files[name] = text
			}
			a := serve(t, files)
			made := a.want(201, "POST", "/api/books?status=published", "full", object{"data": object{"title": "Old"}})
			id, _ := made.at("data.documentId").(string)
			data := object{"data": object{"title": "New"}}
			batch := func(as, op, status string) reply {
				o := object{"op": op, "type": "books", "data": object{"title": "New"}}
				if op == "update" {
					o["documentId"] = id
				}
				if status != "" {
					o["status"] = status
				}
				return a.do("POST", "/api/_batch", as, object{"operations": []object{o}})
			}
			graphql := func(as, query string) reply {
				r := a.graphql(as, "mutation {"+query+" {title}}")
				if strings.Contains(r.text, "FORBIDDEN") {
					r.status = 403
				}
				return r
			}
			upload := func(as, status string) reply {
				row := fmt.Sprint(a.want(200, "GET", "/api/books/"+id+"?status="+status, "full", nil).at("data.id"))
				f := formWith("a.txt", "a text", "ref", "api::book.book", "refId", row, "field", "cover")
				r, _ := a.upload(as, f)
				return r
			}
			for way, do := range map[string]func(as string) reply{
				"create":           func(as string) reply { return a.do("POST", "/api/books", as, data) },
				"create published": func(as string) reply { return a.do("POST", "/api/books?status=published", as, data) },
				"update":           func(as string) reply { return a.do("PUT", "/api/books/"+id, as, data) },
				"single":           func(as string) reply { return a.do("PUT", "/api/home", as, data) },
				"batch create":     func(as string) reply { return batch(as, "create", "") },
				"batch update":     func(as string) reply { return batch(as, "update", "published") },
				"GraphQL create":   func(as string) reply { return graphql(as, `createBook(data: {title: "New"})`) },
				"GraphQL update": func(as string) reply {
					return graphql(as, fmt.Sprintf(`updateBook(documentId: %q, data: {title: "New"})`, id))
				},
				"upload": func(as string) reply { return upload(as, "published") },
			} {
				for as, may := range as {
					before := a.want(200, "GET", "/api/books?sort=documentId&populate=*", "full", nil).text
					r := do(as)
					if ok := r.status/100 == 2; ok != may || !ok && (r.status != 403 || !strings.Contains(r.text, "status=draft")) {
						t.Errorf("%s as %q: %d %s", way, as, r.status, r.text)
					}
					if now := a.want(200, "GET", "/api/books?sort=documentId&populate=*", "full", nil).text; !may && now != before {
						t.Errorf("%s as %q changed what is published: %s", way, as, now)
					}
				}
			}
			for way, do := range map[string]func() reply{
				"create":       func() reply { return a.do("POST", "/api/books?status=draft", "", data) },
				"update":       func() reply { return a.do("PUT", "/api/books/"+id+"?status=draft", "", data) },
				"single":       func() reply { return a.do("PUT", "/api/home?status=draft", "", data) },
				"batch":        func() reply { return batch("", "update", "draft") },
				"GraphQL":      func() reply { return graphql("", `createBook(status: DRAFT, data: {title: "New"})`) },
				"upload":       func() reply { return upload("", "draft") },
				"no drafts":    func() reply { return a.do("POST", "/api/shelves", "", data) },
				"nothing such": func() reply { r := a.do("PUT", "/api/books/none?status=draft", "", data); r.status -= 204; return r },
			} {
				if r := do(); r.status/100 != 2 {
					t.Errorf("%s of a draft: %d %s", way, r.status, r.text)
				}
			}
		})
	}
}
