package gateway_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"lectern/auth"
	"lectern/documents"
	"lectern/gateway"
)

// keyedFiles are the files of a project for requests with keys: articles with drafts, pages without, and users who
// write both.
var keyedFiles = map[string]string{
	"content-types/article.yaml": `
kind: collectionType
info: {singularName: article, pluralName: articles, displayName: Article}
options: {draftAndPublish: true}
attributes:
  title: {type: string}
  text: {type: text}
`,
	"content-types/home.yaml": `
kind: singleType
info: {singularName: home, pluralName: homes, displayName: Home}
options: {draftAndPublish: false}
attributes: {title: {type: string}}
`,
	"config/permissions.yaml": `
roles:
  public: {api::article.article: [find, create]}
  authenticated: {api::article.article: [find, findOne, create, update]}
`,
	"config/plugins.yaml": `
graphql: {config: {subscriptions: true, documentActions: true}}
users-permissions:
  config:
    jwtSecret: ` + testSecret + `
    ratelimit: {enabled: false}
`,
}

// keyed runs a project of keyedFiles.
func keyed(t *testing.T, settings string, o gateway.Options) *api {
	t.Helper()
	files := map[string]string{"config/server.yaml": settings}
	for name, text := range keyedFiles {
		files[name] = text
	}
	o.Ephemeral = true
	ready, _ := run(t, writeProject(t, files), o, nil)
	return newAPI(t, ready)
}

// articles returns how many articles there are.
func (a *api) articles() int {
	a.t.Helper()
	list, _ := a.want(200, "GET", "/api/articles?status=draft&pagination[pageSize]=100", "full", nil).at("data").([]any)
	return len(list)
}

// rows returns the lists at some paths.
func (a *api) rows(paths ...string) string {
	a.t.Helper()
	var text strings.Builder
	for _, path := range paths {
		text.WriteString(a.want(200, "GET", path, "full", nil).text)
	}
	return text.String()
}

// createArticle creates an article without a key, and returns its path.
func (a *api) createArticle(title string) string {
	a.t.Helper()
	r := a.want(201, "POST", "/api/articles?status=draft", "full", object{"data": object{"title": title}})
	return fmt.Sprint("/api/articles/", r.at("data.documentId"))
}

// TestWritesWithAKeyAreCarriedOutOnce sends each kind of write twice with the same key. The second time nothing is
// written, and the answer is the same.
func TestWritesWithAKeyAreCarriedOutOnce(t *testing.T) {
	a := keyed(t, "", gateway.Options{})
	soup := a.createArticle("Soup")
	id := strings.TrimPrefix(soup, "/api/articles/")
	_, user := a.register("ada")
	eve := fmt.Sprint("/api/users/", user)
	a.want(202, "POST", a.createArticle("Tea")+"/actions/publish", "full",
		object{"data": object{"publishAt": "2999-01-01T00:00:00Z"}})
	a.want(202, "POST", a.createArticle("Cocoa")+"/actions/publish", "full",
		object{"data": object{"publishAt": "2999-01-01T00:00:00Z"}})
	schedule := func(i int) string {
		return fmt.Sprint(a.want(200, "GET", "/api/_schedules?sort=id", "full",
			nil).at("data").([]any)[i].(object)["documentId"])
	}
	first, second := schedule(0), schedule(1)
	roles := "/api/users-permissions/roles"
	a.want(200, "POST", roles, "full", object{"name": "Baker", "description": "bakes"})
	baker := a.roleID("baker")
	mutation := func(text string) object { return object{"query": "mutation {" + text + "}"} }
	for i, c := range []struct {
		method, path string
		body         any
		status       int
	}{
		{"POST", "/api/articles", object{"data": object{"title": "Bread"}}, 201},
		{"POST", "/api/articles?status=draft&fields=title", object{"data": object{"title": "Cake"}}, 201},
		{"PUT", soup, object{"data": object{"title": "Stew"}}, 200},
		{"PUT", "/api/home", object{"data": object{"title": "Welcome"}}, 200},
		{"POST", soup + "/actions/publish", nil, 200},
		{"POST", soup + "/actions/unpublish", object{"data": object{"unpublishAt": "2999-01-01T00:00:00Z"}}, 202},
		{"POST", soup + "/actions/unpublish", nil, 200},
		{"POST", soup + "/actions/publish", object{"data": object{"publishAt": "2999-01-01T00:00:00Z"}}, 202},
		{"DELETE", "/api/home", nil, 204},
		{"POST", "/api/_batch",
			object{"operations": []any{object{"op": "create", "type": "articles", "data": object{"title": "Ham"}},
				object{"op": "create", "type": "articles", "data": object{"title": "Egg"}}}}, 200},
		{"POST", "/api/_batch",
			object{"atomic": false,
				"operations": []any{object{"op": "create", "type": "articles", "data": object{"nope": 1}},
					object{"op": "create", "type": "articles", "data": object{"title": "Jam"}}}}, 200},
		{"POST", "/api/users", object{"username": "eve", "email": "eve@people.test", "password": "secret-eve",
			"role": 1}, 201},
		{"PUT", eve, object{"username": "eva", "password": "secret-eva"}, 200},
		{"DELETE", eve, nil, 200},
		{"DELETE", "/api/_schedules/" + first, nil, 204},
		{"POST", roles, object{"name": "Cook", "description": "cooks"}, 200},
		{"PUT", fmt.Sprint(roles, "/", baker), object{"name": "Brewer", "description": "brews"}, 200},
		{"DELETE", fmt.Sprint(roles, "/", baker), nil, 200},
		{"POST", "/graphql",
			object{"query": `mutation {createArticle(data: {title: "Tart"}) {documentId title updatedAt}}`}, 200},
		{"POST", "/graphql",
			object{"query": `mutation ($id: ID!) {updateArticle(documentId: $id, data: {title: "Pie"}) {title updatedAt}}`, "variables": object{"id": id}}, 200},
		{"POST", "/graphql", mutation(`publishArticle(documentId: "` + id + `") {publishedAt}`), 200},
		{"POST", "/graphql", mutation(`cancelLecternSchedule(documentId: "` + second + `") {documentId}`), 200},
		{"POST", "/graphql",
			mutation(`createUsersPermissionsUser(data: {username: "joe", email: "joe@people.test", password: "secret-joe", role: "1"}) {data {username updatedAt}}`), 201},
		{"POST", "/graphql",
			mutation(fmt.Sprintf(`updateUsersPermissionsUser(id: %d, data: {username: "jim"}) {data {username updatedAt}}`, user+1)), 200},
		{"POST", "/graphql", mutation(fmt.Sprintf(`deleteUsersPermissionsUser(id: %d) {data {username}}`, user+1)),
			200},
		{"POST", "/graphql", mutation(`createUsersPermissionsRole(data: {name: "Guest", description: "eats"}) {ok}`),
			200},
		{"POST", "/graphql", object{"query": `mutation {deleteArticle(documentId: "` + id + `") {id: documentId}}`},
			200},
	} {
		t.Run(fmt.Sprint(c.method, " ", c.path, " ", i), func(t *testing.T) {
			a := *a
			a.t = t
			key := fmt.Sprintf("key %d", i)
			first := a.want(c.status, c.method, c.path, "full", c.body, "Idempotency-Key", `"`+key+`"`)
			if strings.Contains(first.text, `"errors"`) {
				t.Fatal(first.text)
			}
			if c.path == "/graphql" && strings.Contains(first.text, ":null") {
				t.Fatal(first.text)
			}
			n, written := a.articles(), a.rows("/api/users", roles, "/api/_schedules")
			second := a.want(c.status, c.method, c.path, "full", c.body, "Idempotency-Key", `"`+key+`"`)
			if second.text != first.text || second.header.Get("Content-Type") != first.header.Get("Content-Type") ||
				second.header.Get("Cache-Control") != first.header.Get("Cache-Control") {
				t.Errorf("answered %q %v\nand then %q %v", first.text, first.header, second.text, second.header)
			}
			if a, b := first.header.Get("Idempotency-Replayed"), second.header.Get("Idempotency-Replayed"); a != "" ||
				b != "true" {
				t.Errorf("Idempotency-Replayed is %q and then %q", a, b)
			}
			if a.articles() != n {
				t.Errorf("there were %d articles, and are %d", n, a.articles())
			}
			if now := a.rows("/api/users", roles, "/api/_schedules"); now != written {
				t.Errorf("there was %s\nand is %s", written, now)
			}
		})
	}
}

// TestIdempotencyKeysBelongToRequestAndCaller sends the same key with other requests and as other callers.
func TestIdempotencyKeysBelongToRequestAndCaller(t *testing.T) {
	a := keyed(t, "", gateway.Options{})
	ada, _ := a.register("ada")
	bob, _ := a.register("bob")
	const path = "/api/articles?status=draft"
	body := object{"data": object{"title": "Soup"}}
	first := a.want(201, "POST", path, ada, body, "Idempotency-Key", "one")
	for _, c := range []struct {
		name, method, path, as string
		body                   any
		key                    string
		status                 int
		replayed               bool
		message                string
	}{
		{"the same", "POST", path, ada, body, "one", 201, true, ""},
		{"quoted", "POST", path, ada, body, `"one"`, 201, true, ""},
		{"another body", "POST", path, ada, object{"data": object{"title": "Stew"}}, "one", 422, false,
			"was used for another request"},
		{"another query", "POST", "/api/articles", ada, body, "one", 422, false, "was used for another request"},
		{"another method", "PUT", fmt.Sprint("/api/articles/", first.at("data.documentId")), ada, body, "one", 422,
			false, "was used for another request"},
		{"a mutation", "POST", "/graphql", ada,
			object{"query": `mutation {createArticle(data: {title: "Soup"}) {title}}`}, "one", 422, false,
			"was used for another request"},
		{"another user", "POST", path, bob, body, "one", 201, false, ""},
		{"a token", "POST", path, "full", body, "one", 201, false, ""},
		{"the public", "POST", path, "", body, "one", 201, false, ""},
		{"the public again", "POST", path, "", body, "one", 201, true, ""},
		{"another key", "POST", path, ada, body, "One", 201, false, ""},
		{"not valid", "POST", path, ada, object{"data": object{"nope": 1}}, "invalid", 400, false, "Invalid key nope"},
		{"valid now", "POST", path, ada, body, "invalid", 201, false, ""},
		{"no permission", "DELETE", fmt.Sprint("/api/articles/", first.at("data.documentId")), ada, nil, "one", 403,
			false, "Forbidden"},
		{"no key", "POST", path, ada, body, "", 400, false, "Idempotency-Key must be"},
		{"a wrong key", "POST", path, ada, body, "a, b", 400, false, "Idempotency-Key must be"},
		{"a read", "GET", path, ada, nil, "one", 200, false, ""},
	} {
		r := a.do(c.method, c.path, c.as, c.body, "Idempotency-Key", c.key)
		if r.status != c.status || (r.header.Get("Idempotency-Replayed") != "") != c.replayed ||
			!strings.Contains(r.message(), c.message) {
			t.Errorf("%s: %d %s %v", c.name, r.status, r.text, r.header)
		}
		if c.replayed && c.as == ada && r.text != first.text {
			t.Errorf("%s: %s\nwant %s", c.name, r.text, first.text)
		}
	}
}

// TestIdempotencyKeysAreRefusedWhereNothingIsKept sends keys with requests whose answers cannot be kept. All of them
// are refused, and nothing is done.
func TestIdempotencyKeysAreRefusedWhereNothingIsKept(t *testing.T) {
	a := keyed(t, "idempotency: {maxAnswer: 1kb, maxSize: 1mb}\n", gateway.Options{})
	for _, c := range []struct {
		name, path string
		body       any
		headers    []string
		message    string
	}{
		{"registration", "/api/auth/local/register",
			object{"username": "eve", "email": "eve@people.test", "password": "secret-eve"}, nil, "may hold a JWT"},
		{"login", "/api/auth/local", object{"identifier": "eve", "password": "secret-eve"}, nil, "may hold a JWT"},
		{"a mail", "/api/auth/send-email-confirmation", object{"email": "eve@people.test"}, nil, "keeps no answers"},
		{"a long answer", "/api/articles", object{"data": object{"text": strings.Repeat("x", 1024)}}, nil,
			"idempotency.maxAnswer"},
		{"a long answer of a mutation", "/graphql", object{"query": `mutation {createArticle(data: {text: "` +
			strings.Repeat("x", 1024) + `"}) {text}}`}, nil, "idempotency.maxAnswer"},
		{"two mutations", "/graphql",
			object{"query": `mutation {a: createArticle(data: {title: "a"}) {title} b: createArticle(data: {title: "b"}) {title}}`}, nil, "must have one field"},
		{"a login by GraphQL", "/graphql",
			object{"query": `mutation {login(input: {identifier: "eve", password: "secret-eve"}) {jwt}}`}, nil,
			"may hold a JWT"},
		{"__typename", "/graphql", object{"query": `mutation {__typename}`}, nil, "is for mutations that write"},
		{"a stream of events", "/graphql", object{"query": `mutation {createArticle(data: {title: "a"}) {title}}`},
			[]string{"Accept", "text/event-stream"}, "stream of events"},
	} {
		r := a.do("POST", c.path, "full", c.body, append(c.headers, "Idempotency-Key", "one")...)
		if r.status != 400 && !strings.HasPrefix(c.name, "a long answer of") || !strings.Contains(r.text, c.message) {
			t.Errorf("%s: %d %s", c.name, r.status, r.text)
		}
	}
	if n := a.articles(); n != 0 {
		t.Errorf("%d articles were written", n)
	}
	if users := a.want(200, "GET", "/api/users", "full", nil).text; users != "[]" {
		t.Error(users)
	}
	if r := a.want(200, "POST", "/graphql", "full", object{"query": `{articles {title}}`}, "Idempotency-Key",
		"one"); r.header.Get("Idempotency-Replayed") != "" {
		t.Error("a query was answered with a kept answer")
	}
	a.want(201, "POST", "/api/articles", "full", object{"data": object{"title": "a"}}, "Idempotency-Key", "form")
	a.want(422, "POST", "/api/articles", "full", object{"data": object{"title": "a"}}, "Idempotency-Key", "form",
		"Strapi-Response-Format", "v4")
	off := keyed(t, "idempotency: {keep: 0}\n", gateway.Options{})
	if r := off.do("POST", "/api/articles", "full", object{"data": object{"title": "a"}}, "Idempotency-Key",
		"one"); r.status != 400 || !strings.Contains(r.message(), "idempotency.keep") || off.articles() != 0 {
		t.Errorf("switched off: %d %s", r.status, r.text)
	}
}

// TestUploadsWithAKeyAreCarriedOutOnce sends writes of files twice with the same key. Clients separate the parts of a
// form by another boundary each time.
func TestUploadsWithAKeyAreCarriedOutOnce(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir) // where the data of the project will be
	a := keyed(t, "", gateway.Options{})
	text := func(content string, fields ...string) *form { return formWith("a.txt", content, fields...) }
	send := func(method, path, key string, f *form) reply {
		sent, err := io.ReadAll(f)
		if err != nil {
			t.Fatal(err)
		}
		return a.do(method, path, "full", string(sent), "Content-Type", f.kind, "Idempotency-Key", key)
	}
	twice := func(method, path, key string, body func() *form, status int) reply {
		t.Helper()
		first := send(method, path, key, body())
		second := send(method, path, key, body())
		if first.status != status || second.status != status || second.text != first.text ||
			second.header.Get("Idempotency-Replayed") != "true" {
			t.Errorf("%s %s: %d %s\nand then %d %s", method, path, first.status, first.text, second.status, second.text)
		}
		return first
	}
	stored := func() (files []string) {
		err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
			if err == nil && !e.IsDir() && strings.Contains(path, "uploads") && !strings.HasSuffix(path, "spare") {
				files = append(files, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return files
	}
	made := twice("POST", "/api/upload", "one", func() *form { return text("soup", "fileInfo", `{"caption":"Soup"}`) },
		201)
	for name, other := range map[string]*form{
		"content": text("soap", "fileInfo", `{"caption":"Soup"}`),
		"field":   text("soup", "fileInfo", `{"caption":"Soap"}`), "fields": text("soup"),
		"name": formWith("b.txt", "soup", "fileInfo", `{"caption":"Soup"}`),
	} {
		if r := send("POST", "/api/upload", "one", other); r.status != 422 {
			t.Errorf("another %s: %d %s", name, r.status, r.text)
		}
	}
	if files := stored(); len(files) != 1 {
		t.Errorf("stored: %v", files)
	}
	file := made.body.([]any)[0].(object)
	id := fmt.Sprint(file["id"])
	twice("POST", "/api/upload?id="+id, "two",
		func() *form { return formWith("", "", "fileInfo", `{"caption":"Stew"}`) }, 200)
	twice("POST", "/api/upload?id="+id, "three", func() *form {
		return &form{Reader: strings.NewReader(`{"fileInfo": {"caption": "Stock"}}`), kind: "application/json"}
	}, 200)
	if r := send("POST", "/api/upload?id="+id, "four", text("new")); r.status != 400 ||
		!strings.Contains(r.message(), "replaced") {
		t.Errorf("a replacement: %d %s", r.status, r.text)
	}
	if r := a.want(200, "GET", fmt.Sprint(file["url"]), "", nil); r.text != "soup" {
		t.Errorf("the content is %q", r.text)
	}
	if files := a.want(200, "GET", "/api/upload/files", "full", nil).body.([]any); len(files) != 1 ||
		files[0].(object)["caption"] != "Stock" {
		t.Errorf("files: %v", files)
	}
	twice("DELETE", "/api/upload/files/"+id, "five", func() *form { return &form{Reader: strings.NewReader("")} }, 200)
	if files := a.want(200, "GET", "/api/upload/files", "full", nil).body.([]any); len(files) != 0 {
		t.Errorf("files: %v", files)
	}
	if left := stored(); left != nil {
		t.Errorf("%v are left", left)
	}
	twice("POST", "/api/articles", "six",
		func() *form { return formWith("", "", "data[title]", "Soup", "data[text]", "hot") }, 201)
	if r := send("POST", "/api/articles", "six",
		formWith("", "", "data[title]", "Soup", "data[text]", "cold")); r.status != 422 || a.articles() != 1 {
		t.Errorf("another form: %d %s, and %d articles", r.status, r.text, a.articles())
	}
}

// TestIdempotencyKeysAtWorkAnswer409 sends a request while another with the same key is at work, in a hook. It is
// answered 409, and later with the kept answer.
func TestIdempotencyKeysAtWorkAnswer409(t *testing.T) {
	at, on := make(chan struct{}), make(chan struct{})
	x := &gateway.Extensions{}
	runs := 0
	x.Hooks(documents.Hooks{BeforeCreate: func(context.Context, *documents.Event) error {
		runs++
		at <- struct{}{}
		<-on
		return nil
	}}, "api::article.article")
	a := keyed(t, "", gateway.Options{Extensions: x})
	body := object{"data": object{"title": "Soup"}}
	var first reply
	var done sync.WaitGroup
	done.Go(func() { first = a.do("POST", "/api/articles", "full", body, "Idempotency-Key", "one") })
	<-at
	r := a.want(409, "POST", "/api/articles", "full", body, "Idempotency-Key", "one")
	if r.at("error.details.outcome") != "pending" || r.header.Get("Retry-After") == "" {
		t.Errorf("%s %v", r.text, r.header)
	}
	on <- struct{}{}
	done.Wait()
	r = a.want(201, "POST", "/api/articles", "full", body, "Idempotency-Key", "one")
	if r.text != first.text || first.status != 201 || runs != 1 || a.articles() != 1 {
		t.Errorf("%d %s and then %s; %d hooks ran", first.status, first.text, r.text, runs)
	}
}

// TestIdempotencyKeysExpire uses a key again after a day, and after the permissions of the caller have changed.
func TestIdempotencyKeysExpire(t *testing.T) {
	clock := newFakeClock()
	keys := map[string]string{}
	dir := writeProject(t, keyedFiles)
	ready, _ := run(t, dir, gateway.Options{Clock: clock}, func(g *gateway.Project) {
		for name, kind := range map[string]auth.Kind{"full": auth.FullAccess} {
			_, key, err := g.CreateToken(t.Context(), auth.Declaration{Name: name, Kind: kind})
			if err != nil {
				t.Fatal(err)
			}
			keys[name] = key
		}
	})
	ready.Tokens = keys
	a := newAPI(t, ready)
	body := object{"data": object{"title": "Soup"}}
	for _, c := range []struct {
		after    time.Duration
		replayed bool
	}{{0, false}, {time.Hour, true}, {22*time.Hour + 59*time.Minute, true}, {time.Minute, false}, {time.Minute, true}} {
		clock.pass(c.after)
		if r := a.want(201, "POST", "/api/articles", "full", body, "Idempotency-Key", "one"); (r.header.Get("Idempotency-Replayed") != "") != c.replayed {
			t.Errorf("after %s: %v", c.after, r.header)
		}
	}
	if a.articles() != 2 {
		t.Errorf("%d articles", a.articles())
	}
}

// TestIdempotencyKeysShowNothingAfterChangedPermissions does not show a kept answer to a caller whose permissions have
// changed.
func TestIdempotencyKeysShowNothingAfterChangedPermissions(t *testing.T) {
	a := keyed(t, "", gateway.Options{})
	jwt, id := a.register("ada")
	body := object{"data": object{"title": "Soup"}}
	a.want(201, "POST", "/api/articles", jwt, body, "Idempotency-Key", "one")
	a.want(200, "POST", "/api/users-permissions/roles", "full",
		object{"name": "writer", "description": "writes", "type": "writer",
			"permissions": object{"api::article": object{"controllers": object{"article": object{"create": object{"enabled": true}}}}}})
	a.want(200, "PUT", userPath(id), "full", object{"role": a.roleID("writer")})
	r := a.do("POST", "/api/articles", jwt, body, "Idempotency-Key", "one")
	if r.status != http.StatusConflict || r.at("error.details.outcome") != "applied" ||
		strings.Contains(r.text, "Soup") {
		t.Errorf("%d %s", r.status, r.text)
	}
	if a.articles() != 1 {
		t.Errorf("%d articles", a.articles())
	}
}

// TestIdempotencyKeysShowNothingMadePrivate does not show a kept answer after one of its attributes was made private,
// in a type or in a component.
func TestIdempotencyKeysShowNothingMadePrivate(t *testing.T) {
	for _, file := range []string{"content-types/note.yaml", "components/page/part.yaml"} {
		t.Run(file, func(t *testing.T) {
			note := noteHead + "  title: {type: string}\n  pin: {type: string}\n  part: {type: component, component: page.part}\n"
			part := "info: {displayName: Part}\nattributes:\n  pin: {type: string}\n"
			e := &editing{T: t, dir: t.TempDir()}
			e.write("content-types/note.yaml", note)
			e.write("components/page/part.yaml", part)
			e.serve(nil)
			const path, body = "/api/notes?populate=part",
				`{"data":{"title":"Soup","pin":"hidden later","part":{"pin":"hidden later"}}}`
			add := func() *http.Response {
				r, err := http.NewRequest("POST", e.base+path, strings.NewReader(body))
				e.must(err)
				r.Header.Set("Content-Type", "application/json")
				r.Header.Set("Authorization", "Bearer "+e.key)
				r.Header.Set("Idempotency-Key", "one")
				answer, err := e.client.Do(r)
				e.must(err)
				t.Cleanup(func() { answer.Body.Close() })
				return answer
			}
			if first := add(); first.StatusCode != http.StatusCreated {
				t.Fatal(first.Status)
			}
			text := map[string]string{"content-types/note.yaml": note, "components/page/part.yaml": part}[file]
			e.carryOut(edit{what: "private", file: file,
				text: strings.Replace(text, "pin: {type: string}", "pin: {type: string, private: true}", 1)})
			again := add()
			told, err := io.ReadAll(again.Body)
			e.must(err)
			if again.StatusCode != http.StatusConflict || !strings.Contains(string(told), `"outcome":"applied"`) ||
				strings.Contains(string(told), "hidden later") {
				t.Errorf("%s %s", again.Status, told)
			}
		})
	}
}
