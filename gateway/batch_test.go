package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"lectern/documents"
	"lectern/documents/apierror"
	"lectern/gateway"
)

var batchFiles = map[string]string{
	"content-types/writer.yaml": `
kind: collectionType
info: {singularName: writer, pluralName: writers, displayName: Writer}
attributes:
  name: {type: string, unique: true}
  secret: {type: string, private: true}
`,
	"content-types/book.yaml": `
kind: collectionType
info: {singularName: book, pluralName: books, displayName: Book}
options: {draftAndPublish: true}
pluginOptions: {i18n: {localized: true}}
attributes:
  title: {type: string, required: true, pluginOptions: {i18n: {localized: true}}}
  about: {type: json}
  writers: {type: relation, relation: manyToMany, target: api::writer.writer}
  chapters: {type: component, component: book.chapter, repeatable: true}
`,
	"content-types/shop.yaml": `
kind: singleType
info: {singularName: shop, pluralName: shops, displayName: Shop}
attributes:
  name: {type: string}
  bestseller: {type: relation, relation: oneToOne, target: api::book.book}
`,
	"components/book/chapter.yaml": `
info: {displayName: Chapter}
attributes:
  heading: {type: string}
  writer: {type: relation, relation: oneToOne, target: api::writer.writer}
`,
	"config/permissions.yaml": `
roles:
  public:
    api::writer.writer: [find, findOne]
tokens:
  - {name: clerk, type: custom, permissions: [api::writer.writer.create, api::writer.writer.find, api::book.book.create]}
  - {name: apprentice, type: custom, permissions: [api::book.book.create]}
`,
	"config/plugins.yaml": "i18n: {config: {locales: [en, de]}}\n",
}

func ref(name string) object { return object{"$ref": name} }

// batch sends operations in one request.
func (a *api) batch(status int, as string, operations ...object) reply {
	a.t.Helper()
	return a.want(status, "POST", "/api/_batch", as, object{"operations": operations})
}

// statuses returns the statuses of the results of a batch.
func statuses(r reply) string { return strings.Join(items(r, "status"), " ") }

// state returns what identifies all content: the position behind the last change, and every document.
func (a *api) state() string {
	a.t.Helper()
	feed := a.want(200, "GET", "/api/_changes?since=now", "full", nil)
	return fmt.Sprint(feed.at("last_seq"), a.want(200, "GET", "/api/writers", "full", nil).text,
		a.want(200, "GET", "/api/books?status=draft&locale=*", "full", nil).text)
}

// TestBatchWritesAllInOrder makes documents of several types that refer to each other, changes and publishes them, and
// removes one, in one request.
func TestBatchWritesAllInOrder(t *testing.T) {
	a := serve(t, batchFiles)
	old := a.want(201, "POST", "/api/writers", "full", object{"data": object{"name": "old"}}).at("data.documentId").(string)
	r := a.batch(200, "full",
		object{"op": "create", "type": "writers", "as": "ada", "data": object{"name": "Ada", "secret": "x"}},
		object{"op": "create", "type": "api::writer.writer", "as": "bob", "data": object{"name": "Bob"},
			"fields": []string{"name"}},
		object{"op": "create", "type": "books", "as": "book", "status": "draft",
			"populate": object{"writers": object{"fields": []string{"name"}}}, "data": object{
				"title": "One", "about": object{"$ref": "#/a/value"}, "writers": []any{ref("ada"), old},
				"chapters": []any{object{"heading": "first", "writer": object{"documentId": ref("bob")}}},
			}},
		object{"op": "update", "type": "books", "documentId": ref("book"), "status": "draft",
			"data": object{"writers": object{"connect": []any{object{"documentId": ref("bob"),
				"position": object{"before": ref("ada")}}}}}},
		object{"op": "publish", "type": "books", "documentId": ref("book"),
			"populate": []string{"writers", "chapters.writer"}},
		object{"op": "update", "type": "books", "documentId": ref("book"), "locale": "de",
			"data": object{"title": "Eins"}},
		object{"op": "update", "type": "shop", "data": object{"name": "corner", "bestseller": ref("book")},
			"populate": "*"},
		object{"op": "delete", "type": "writers", "documentId": old},
	)
	if got := statuses(r); got != "201 201 201 200 200 200 200 204" {
		t.Fatalf("the results are %s: %s", got, r.text)
	}
	results := r.at("data").([]any)
	if text := fmt.Sprint(results[1]); strings.Contains(text, "createdAt") || strings.Contains(r.text, `"secret"`) {
		t.Errorf("the results show fields that were not asked for or are hidden: %s", r.text)
	}
	published := results[4].(object)["data"].(object)
	var writers []string
	for _, w := range published["writers"].([]any) {
		writers = append(writers, w.(object)["name"].(string))
	}
	if !slices.Equal(writers, []string{"Bob", "Ada", "old"}) || published["about"].(object)["$ref"] != "#/a/value" {
		t.Errorf("the book was published as %v", published)
	}
	if chapter := published["chapters"].([]any)[0].(object); chapter["writer"].(object)["name"] != "Bob" {
		t.Errorf("the chapter is %v", chapter)
	}
	id := published["documentId"].(string)
	if got := a.want(200, "GET", "/api/books/"+id+"?locale=de", "full", nil).at("data.title"); got != "Eins" {
		t.Errorf("the German title is %v", got)
	}
	if got := a.want(200, "GET", "/api/shop?populate=*", "full", nil).at("data.bestseller.documentId"); got != id {
		t.Errorf("the shop shows %v", got)
	}
	a.want(404, "GET", "/api/writers/"+old, "full", nil)
	if got := items(a.want(200, "GET", "/api/books/"+id+"/_history", "full", nil), "action", "status",
		"locale"); !slices.Equal(got,
		[]string{"create draft de", "publish published de", "create draft en", "publish published en"}) {
		t.Errorf("the history of the book is %q", got)
	}
	if empty := a.batch(200, "full", []object{}...); empty.text != `{"data":[],"meta":{}}` {
		t.Errorf("an empty batch is answered with %s", empty.text)
	}
}

// TestRefusedBatchLeavesNothing sends a thousand operations of which the last one fails, in each phase of its work, and
// none has an effect.
func TestRefusedBatchLeavesNothing(t *testing.T) {
	a := serve(t, batchFiles)
	list := make([]object, 1000)
	for i := range list[:999] {
		list[i] = object{"op": "create", "type": "writers", "data": object{"name": fmt.Sprint("writer ", i)}}
	}
	before := a.state()
	for message, fault := range map[string]object{
		"Invalid key nam":               object{"op": "create", "type": "writers", "data": object{"nam": "x"}},
		"This attribute must be unique": object{"op": "create", "type": "writers", "data": object{"name": "writer 7"}},
		"Not Found": object{"op": "update", "type": "writers", "documentId": "nobody",
			"data": object{"name": "x"}},
		`no operation before this one`: object{"op": "create", "type": "books",
			"data": object{"title": "x", "writers": []any{ref("later")}}},
		"op must be create":              object{"op": "upsert", "type": "writers"},
		`there is no content-type "writ`: object{"op": "create", "type": "writter", "data": object{}},
	} {
		list[999] = fault
		r := a.do("POST", "/api/_batch", "full", object{"operations": list})
		if r.status < 400 || !strings.Contains(r.message(), message) || r.at("error.details.operation") != 999.0 {
			t.Errorf("want %q of operation 999, got %d %.300s", message, r.status, r.text)
		}
		if after := a.state(); after != before {
			t.Fatalf("the batch that ended with %q has changed content:\n%.300s\nwas\n%.300s", message, after, before)
		}
	}
	list[999] = object{"op": "create", "type": "writers", "data": object{"name": "last"}}
	if r := a.batch(200, "full", list...); len(r.at("data").([]any)) != 1000 {
		t.Errorf("the batch has %d results", len(r.at("data").([]any)))
	}
}

// TestBatchNeedsThePermissionOfEachWrite sends operations of callers who may do some of them.
func TestBatchNeedsThePermissionOfEachWrite(t *testing.T) {
	a := serve(t, batchFiles)
	writer := object{"op": "create", "type": "writers", "as": "w", "data": object{"name": "Ada"}}
	id := a.batch(200, "clerk", writer).at("data").([]any)[0].(object)["data"].(object)["documentId"]
	second := object{"op": "create", "type": "writers", "data": object{"name": "Bob"}}
	for _, c := range []struct {
		as string
		op object
	}{
		{"clerk", object{"op": "update", "type": "writers", "documentId": id, "data": object{"name": "x"}}},
		{"clerk", object{"op": "delete", "type": "writers", "documentId": id}},
		{"clerk", object{"op": "publish", "type": "books", "documentId": "x"}},
		{"clerk", object{"op": "update", "type": "shop", "data": object{}}},
		{"readonly", second},
		{"", second},
	} {
		r := a.batch(403, c.as, second, c.op)
		want := 1.0
		if c.as != "clerk" {
			want = 0
		}
		if got := r.at("error.details.operation"); got != want {
			t.Errorf("%s may not do operation %v of %v", c.as, got, c.op)
		}
	}
	linked := object{"op": "create", "type": "books", "data": object{"title": "x", "writers": []any{id}},
		"populate": "writers"}
	if alone, r := a.want(400, "POST", "/api/books", "apprentice", object{"data": linked["data"]}),
		a.batch(400, "apprentice", linked); alone.message() != r.message() {
		t.Errorf("a book with a writer whom the caller may not find: %q, and alone %q", r.message(), alone.message())
	}
	if r := a.batch(200, "clerk", linked); !strings.Contains(r.text, `"name":"Ada"`) {
		t.Errorf("the clerk does not see the writer: %s", r.text)
	}
	a.want(401, "POST", "/api/_batch", "unknown", object{"operations": []object{}})
}

// TestBatchWritesIfNothingHasChanged changes documents together only if none of them has changed since it was read.
func TestBatchWritesIfNothingHasChanged(t *testing.T) {
	a := serve(t, batchFiles)
	made := a.batch(200, "full", object{"op": "create", "type": "writers", "data": object{"name": "Ada"}},
		object{"op": "create", "type": "writers", "data": object{"name": "Bob"}})
	var ids, tags []string
	for _, result := range made.at("data").([]any) {
		id := result.(object)["data"].(object)["documentId"].(string)
		ids, tags = append(ids, id),
			append(tags, a.want(200, "GET", "/api/writers/"+id, "full", nil).header.Get("Etag"))
	}
	rename := func(i int, name string) object {
		return object{"op": "update", "type": "writers", "documentId": ids[i], "ifMatch": tags[i],
			"data": object{"name": name}}
	}
	tags[1] = strings.TrimSuffix(tags[1], `"`) + `-gzip"` // of the same answer, compressed
	a.batch(200, "full", rename(0, "Ada 2"), rename(0, "Ada 3"), rename(1, "Bob 2"))
	before := a.state()
	tags[0] = a.want(200, "GET", "/api/writers/"+ids[0], "full", nil).header.Get("Etag")
	if r := a.batch(412, "full", rename(0, "Ada 4"), rename(1, "Bob 3")); r.at("error.details.operation") != 1.0 ||
		a.state() != before {
		t.Errorf("Bob has changed: %s", r.text)
	}
	list := []object{rename(0, "Ada 4"), rename(1, "Bob 3"),
		{"op": "delete", "type": "writers", "documentId": ids[1], "ifMatch": tags[1]},
		{"op": "update", "type": "writers", "documentId": "nobody", "ifMatch": "*", "data": object{}},
		{"op": "update", "type": "shop", "ifMatch": "*", "data": object{}}}
	if r := a.want(200, "POST", "/api/_batch", "full", object{"atomic": false, "operations": list}); statuses(
		r) != "200 412 412 404 412" {
		t.Errorf("each by itself: %s", r.text)
	}
	for _, wrong := range []object{{"op": "delete", "type": "writers", "documentId": "x", "ifMatch": 1},
		{"op": "delete", "type": "writers", "documentId": "x", "ifMatch": strings.Repeat(`"x",`, 2000)},
		{"op": "delete", "type": "writers", "documentId": ref("w"), "ifMatch": "*"}} {
		a.batch(400, "full", object{"op": "create", "type": "writers", "as": "w", "data": object{}}, wrong)
	}
}

// TestBatchThatIsNotAtomicGoesOn carries out the operations that can be, and says why the others were not.
func TestBatchThatIsNotAtomicGoesOn(t *testing.T) {
	a := serve(t, batchFiles)
	r := a.want(200, "POST", "/api/_batch", "full", object{"atomic": false, "operations": []object{
		{"op": "create", "type": "writers", "as": "ada", "data": object{"name": "Ada"}},
		{"op": "create", "type": "writers", "as": "twin", "data": object{"name": "Ada"}},
		{"op": "create", "type": "books", "as": "lost", "data": object{"title": "Lost", "writers": []any{ref("twin")}}},
		{"op": "publish", "type": "books", "documentId": ref("lost")},
		{"op": "create", "type": "books", "data": object{"title": "Kept", "writers": []any{ref("ada")}}},
		{"op": "create", "type": "nothing", "as": "none"},
		{"op": "delete", "type": "writers", "documentId": ref("none")},
		{"op": "update", "type": "writers", "documentId": "nobody", "data": object{}},
		{"op": "delete", "type": "writers", "documentId": "nobody"},
	}})
	if got := statuses(r); got != "201 400 424 424 201 400 424 404 204" || r.at("meta.failed") != 6.0 {
		t.Fatalf("the results are %s: %s", got, r.text)
	}
	if e := r.at("data").([]any)[1].(object)["error"].(object); e["name"] != "ValidationError" ||
		e["message"] != "This attribute must be unique" {
		t.Errorf("the second writer is refused with %v", e)
	}
	if got := items(a.want(200, "GET", "/api/books?populate=writers", "full", nil), "title"); !slices.Equal(
		got, []string{"Kept"}) {
		t.Errorf("the books are %q", got)
	}
	if mixed := a.want(200, "POST", "/api/_batch", "clerk", object{"atomic": false, "operations": []object{
		{"op": "delete", "type": "writers", "documentId": "x"},
		{"op": "create", "type": "writers", "data": object{"name": "Bob"}},
	}}); statuses(mixed) != "403 201" {
		t.Errorf("operations that the caller may and may not do: %s", mixed.text)
	}
}

// TestBatchRefusesWrongBodies sends bodies that are no batch.
func TestBatchRefusesWrongBodies(t *testing.T) {
	a := serve(t, batchFiles)
	create := func(more object) object {
		o := object{"op": "create", "type": "writers", "data": object{"name": "x"}}
		for k, v := range more {
			o[k] = v
		}
		return o
	}
	for _, c := range []struct {
		body    any
		message string
	}{
		{nil, "the body must be JSON"},
		{[]any{}, "the body must be JSON"},
		{object{}, "operations must be a list"},
		{object{"operations": object{}}, "operations must be a list"},
		{object{"operations": []any{}, "atomic": "no"}, "atomic must be"},
		{object{"operations": []any{}, "more": 1}, "Invalid key more"},
		{object{"operations": []any{1}}, "an operation must be an object"},
		{object{"operations": []any{create(object{"documentId": "x"})}}, `no key "documentId"`},
		{object{"operations": []any{create(object{"as": 1})}}, "as must be a name"},
		{object{"operations": []any{create(object{"as": "x"}), create(object{"as": "x", "data": object{}})}},
			"taken by operation 0"},
		{object{"operations": []any{create(object{"data": nil})}}, `Missing "data" payload`},
		{object{"operations": []any{create(object{"fields": []string{"secret"}})}}, "Invalid key secret"},
		{object{"operations": []any{object{"op": "create", "type": "shop", "data": object{}}}}, "single type"},
		{object{"operations": []any{object{"op": "update", "type": "shop", "documentId": "x", "data": object{}}}},
			"single type"},
		{object{"operations": []any{object{"op": "publish", "type": "writers", "documentId": "x"}}}, "Not Found"},
		{object{"operations": []any{object{"op": "publish", "type": "books", "documentId": "x", "data": object{}}}},
			`no key "data"`},
		{object{"operations": []any{object{"op": "delete", "type": "books"}}}, "documentId must be one"},
		{object{"operations": []any{object{"op": "delete", "type": "books", "documentId": ref("")}}},
			"documentId must be one"},
		{object{"operations": []any{object{"op": "create", "type": "books",
			"data": object{"title": "x", "writers": object{"$ref": "x", "id": 1}}}}}, "a reference has one key"},
		{object{"operations": []any{object{"op": "create", "type": "users", "data": object{}}}},
			"there is no content-type"},
	} {
		if r := a.do("POST", "/api/_batch", "full", c.body); r.status != 400 && r.status != 404 ||
			!strings.Contains(r.message(), c.message) {
			t.Errorf("%v: %d %s, want %q", c.body, r.status, r.text, c.message)
		}
	}
	for as, known := range map[string]string{"": "none", "apprentice": "books",
		"clerk": "writers"} { // types on which a caller may not write stay hidden
		r := a.batch(400, as, object{"op": "create", "type": "zzz", "data": object{}})
		if !strings.Contains(r.message(), known) || as != "clerk" && strings.Contains(r.message(), "writer") ||
			strings.Contains(r.message(), "shop") {
			t.Errorf("%q is told %s", as, r.message())
		}
	}
	a.want(405, "PUT", "/api/_batch", "full", object{})
	a.want(404, "GET", "/api/_batch", "full", nil)
}

// TestBatchIsBounded sends more than the settings allow.
func TestBatchIsBounded(t *testing.T) {
	files := map[string]string{"config/server.yaml": "limits: {operations: 3, links: 4, components: 5, json: 8kb}\n"}
	for name, text := range batchFiles {
		files[name] = text
	}
	a := serve(t, files)
	id := a.batch(200, "full", object{"op": "create", "type": "writers", "data": object{"name": "x"}}).at("data").([]any)[0].(object)["data"].(object)["documentId"]
	none := object{"op": "delete", "type": "writers", "documentId": "nobody"}
	linked := object{"op": "create", "type": "books", "data": object{"title": "x", "writers": []any{id, id, id}}}
	parts := object{"op": "create", "type": "books",
		"data": object{"title": "x", "chapters": []any{object{}, object{}, object{}}}}
	for setting, list := range map[string][]object{
		"limits.operations": {none, none, none, none}, "limits.links": {linked, linked},
		"limits.components": {parts, parts},
	} {
		if r := a.batch(413, "full", list...); !strings.Contains(r.message(), setting) {
			t.Errorf("more than %s: %s", setting, r.text)
		}
	}
	a.batch(200, "full", none, none, linked)
	a.batch(413, "full", object{"op": "create", "type": "writers", "data": object{"name": strings.Repeat("x", 8<<10)}})
}

// TestBatchObeysTheProgram sends operations of types to which a program has added hooks, a policy, a permission and a
// route.
func TestBatchObeysTheProgram(t *testing.T) {
	x := &gateway.Extensions{}
	x.Action("api::book.book.edit")
	x.Route("api::book.book.create", gateway.RouteConfig{Scopes: []string{"api::book.book.edit"}})
	x.Route("api::book.book.delete", gateway.RouteConfig{Policies: []gateway.PolicyUse{{
		Func: func(*gateway.PolicyContext, gateway.Host) (bool, error) { return true, nil }}}})
	var calls []string
	note := func(ctx context.Context, e *documents.Event) error {
		if gateway.CallerOf(ctx).HTTP == nil {
			return errors.New("the hook does not know the caller")
		}
		if e.Action == documents.UpdateAction && len(calls) < 3 && e.Data.Text("name") == "refused" {
			return apierror.Application("a hook says no")
		}
		calls = append(calls, e.Action.String())
		return nil
	}
	x.Hooks(documents.Hooks{BeforeCreate: note, AfterCreate: note, BeforeUpdate: note, AfterUpdate: note,
		BeforeDelete: note, AfterDelete: note}, "api::writer.writer")
	ready, _ := run(t, writeProject(t, with(batchFiles)), gateway.Options{Ephemeral: true, Extensions: x}, nil)
	a := newAPI(t, ready)
	book := object{"op": "create", "type": "books", "data": object{"title": "x"}}
	a.batch(403, "clerk", book)
	a.batch(200, "full", book)
	if r := a.batch(403, "full", object{"op": "delete", "type": "books", "documentId": "x"}); !strings.Contains(
		r.message(), "DELETE /api/books/{documentId}") {
		t.Errorf("a route with a policy: %s", r.text)
	}
	create := object{"op": "create", "type": "writers", "as": "w", "data": object{"name": "Ada"}}
	update := func(name string) object {
		return object{"op": "update", "type": "writers", "documentId": ref("w"), "data": object{"name": name}}
	}
	if r := a.batch(400, "full", create, update("refused")); r.message() != "a hook says no" ||
		r.at("error.details.operation") != 1.0 {
		t.Errorf("a hook refuses an operation: %s", r.text)
	}
	calls = nil
	a.batch(200, "full", create, update("Bob"), object{"op": "delete", "type": "writers", "documentId": ref("w")})
	if want := []string{"create", "update", "delete", "create", "update", "delete"}; !slices.Equal(calls, want) {
		t.Errorf("the hooks are called for %q, want %q", calls, want)
	}
}
