package mcp_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"lectern/gateway"
	"lectern/internal/servertest"
)

var files = map[string]string{
	"content-types/article.yaml": `
kind: collectionType
info: {singularName: article, pluralName: articles, displayName: Article, description: What we print}
options: {draftAndPublish: true}
pluginOptions: {i18n: {localized: true}}
attributes:
  title: {type: string, required: true, maxLength: 40, pluginOptions: {i18n: {localized: true}}}
  rank: {type: integer, min: 1}
  secret: {type: string, private: true}
  code: {type: password}
  author: {type: relation, relation: manyToOne, target: api::author.author}
  note: {type: relation, relation: manyToOne, target: api::note.note}
  cover: {type: media}
  parts: {type: component, component: page.part, repeatable: true}
`,
	"content-types/author.yaml": `
kind: collectionType
info: {singularName: author, pluralName: authors, displayName: Author}
attributes: {name: {type: string}}
`,
	"content-types/note.yaml": `
kind: collectionType
info: {singularName: note, pluralName: notes, displayName: Note}
attributes: {text: {type: text}}
`,
	"content-types/home.yaml": `
kind: singleType
info: {singularName: home, pluralName: homes, displayName: Home}
attributes: {title: {type: string}}
`,
	"components/page/part.yaml": `
info: {displayName: Part}
attributes: {label: {type: string}, hidden: {type: string, private: true}, parts: {type: component, component: page.piece}}
`,
	"components/page/piece.yaml": `
info: {displayName: Piece}
attributes: {size: {type: enumeration, enum: [small, big], default: small}}
`,
	"config/plugins.yaml": "mcp: {enabled: true}\ni18n: {config: {locales: [en, de]}}\n",
	"config/permissions.yaml": `
roles:
  public:
    api::author.author: [find]
tokens:
  - name: reader
    type: custom
    permissions: [api::article.article.find, api::article.article.findOne, api::author.author.find]
`,
}

// serve serves the project, with other files added or replaced.
func serve(t *testing.T, others map[string]string) gateway.Ready {
	t.Helper()
	all := maps.Clone(files)
	maps.Copy(all, others)
	return servertest.Serve(t, servertest.WriteProject(t, all), nil)
}

// An assistant is a client of the SDK.
type assistant struct {
	t       *testing.T
	session *sdk.ClientSession
}

// bearer sends a token with each request.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	if r = r.Clone(r.Context()); b != "" {
		r.Header.Set("Authorization", "Bearer "+string(b))
	}
	return http.DefaultTransport.RoundTrip(r)
}

// connect connects an assistant with a token to a server.
func connect(t *testing.T, server gateway.Ready, token string) *assistant {
	t.Helper()
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &sdk.StreamableClientTransport{
		Endpoint: server.Base + "/mcp", HTTPClient: &http.Client{Transport: bearer(server.Tokens[token])},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := session.Close(); err != nil {
			t.Error(err)
		}
	})
	return &assistant{t, session}
}

type object = map[string]any

// call calls a tool, and returns its result and whether that is an error.
func (a *assistant) call(tool string, arguments any) (result object, failed bool) {
	a.t.Helper()
	r, err := a.session.CallTool(a.t.Context(), &sdk.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		a.t.Fatalf("%s %v: %v", tool, arguments, err)
	}
	text := r.Content[0].(*sdk.TextContent).Text
	if strings.HasPrefix(text, "[") {
		text = `{"list":` + text + `}`
	}
	if err := json.Unmarshal([]byte(text), &result); err != nil {
		a.t.Fatalf("%s %v: %s: %v", tool, arguments, text, err)
	}
	return result, r.IsError
}

// do calls a tool that must succeed, and returns its data.
func (a *assistant) do(tool string, arguments any) any {
	a.t.Helper()
	result, failed := a.call(tool, arguments)
	if failed {
		a.t.Fatalf("%s %v: %v", tool, arguments, result)
	}
	if list, ok := result["list"]; ok {
		return list
	}
	return result["data"]
}

// fails calls a tool that must fail with an error of this name, whose message contains a text.
func (a *assistant) fails(tool string, arguments any, name, message string) {
	a.t.Helper()
	result, failed := a.call(tool, arguments)
	if text, _ := result["message"].(string); !failed || result["name"] != name || !strings.Contains(text, message) {
		a.t.Errorf("%s %v: %v (failed: %v), want %s %s", tool, arguments, result, failed, name, message)
	}
}

// TestEndpoint runs tests against one server. Their order matters: the earlier ones see no content of the later ones.
func TestEndpoint(t *testing.T) {
	server := serve(t, nil)
	for _, c := range []struct {
		name string
		test func(*testing.T, gateway.Ready)
	}{
		{"permissions", testPermissions}, {"definitions", testDefinitions}, {"errors", testErrors},
		{"transport", testTransport},
		{"no subscriptions", testNoSubscriptions}, {"cancellation", testCancellation},
		{"idempotency key", testIdempotencyKey},
		{"tools", testTools}, {"find", testFind}, {"long answer", testLongAnswer},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, server) })
	}
}

// testTools calls every tool with full access.
func testTools(t *testing.T, server gateway.Ready) {
	a := connect(t, server, "full")
	list, err := a.session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	slices.Sort(names)
	if want := "create delete discard_draft find list_types publish read unpublish update upload"; strings.Join(
		names, " ") != want {
		t.Errorf("tools %v, want %s", names, want)
	}
	types, _ := a.call("list_types", nil)
	if list := types["types"].([]any)[0].(object); list["name"] != "articles" ||
		fmt.Sprint(list["actions"]) != "[find findOne create update delete publish unpublish discardDraft]" {
		t.Errorf("list_types names other actions than there are tools for: %v", list)
	}
	if n := len(types["types"].([]any)); n != 4 {
		t.Errorf("%d types: %v", n, types)
	}
	png, _ := base64.StdEncoding.DecodeString(
		"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")
	file := a.do("upload", object{"fileName": "dot.png", "content": base64.StdEncoding.EncodeToString(png),
		"caption": "A dot"}).([]any)[0].(object)
	if file["name"] != "dot.png" || file["caption"] != "A dot" || file["mime"] != "image/png" {
		t.Errorf("uploaded %v", file)
	}
	ada := a.do("create", object{"type": "authors", "data": object{"name": "Ada"}}).(object)
	made := a.do("create",
		object{"type": "api::article.article", "status": "draft", "populate": []string{"author", "cover"},
			"data": object{"title": "One & two", "rank": int64(9007199254740993), "author": ada["documentId"],
				"cover": file["id"], "secret": "x", "parts": []any{object{"label": "a", "hidden": "y"}}}}).(object)
	if made["author"].(object)["name"] != "Ada" || made["cover"].(object)["name"] != "dot.png" ||
		made["secret"] != nil || made["publishedAt"] != nil {
		t.Errorf("created %v", made)
	}
	id := made["documentId"]
	one := object{"type": "articles", "documentId": id}
	a.fails("read", one, "NotFoundError", "Not Found")
	a.do("publish", one)
	if read := a.do("read", object{"type": "Articles", "documentId": id, "fields": "title",
		"populate": object{"author": object{}}}).(object); read["title"] != "One & two" ||
		read["rank"] != nil || read["author"].(object)["name"] != "Ada" {
		t.Errorf("read %v", read)
	}
	a.do("update", object{"type": "articles", "documentId": id, "status": "draft", "data": object{"title": "Changed"}})
	a.do("discard_draft", one)
	if read := a.do("read", object{"type": "articles", "documentId": id, "status": "draft"}).(object); read["title"] != "One & two" {
		t.Errorf("after discarding: %v", read)
	}
	a.do("update", object{"type": "articles", "documentId": id, "locale": "de", "data": object{"title": "Eins"}})
	if read := a.do("read", object{"type": "articles", "documentId": id, "locale": "de"}).(object); read["title"] != "Eins" {
		t.Errorf("in German: %v", read)
	}
	a.do("unpublish", one)
	a.fails("read", one, "NotFoundError", "Not Found")
	a.do("delete", one)
	a.fails("read", object{"type": "articles", "documentId": id, "status": "draft"}, "NotFoundError", "Not Found")
	a.do("update", object{"type": "home", "data": object{"title": "Welcome"}})
	if home := a.do("read", object{"type": "home"}).(object); home["title"] != "Welcome" {
		t.Errorf("home: %v", home)
	}
}

// testFind compares what the tool finds with what REST finds.
func testFind(t *testing.T, server gateway.Ready) {
	a := connect(t, server, "full")
	for i := range 5 {
		author := a.do("create", object{"type": "authors", "data": object{"name": fmt.Sprint("A", i)}}).(object)["documentId"]
		a.do("create", object{"type": "articles",
			"data": object{"title": fmt.Sprint("T", i), "rank": i + 1, "author": author}})
	}
	for _, c := range []struct {
		arguments object
		query     string
	}{
		{object{}, ""},
		{object{"filters": object{"rank": object{"$gte": 2, "$lt": 4.5}}, "sort": []string{"title:desc"}},
			"filters[rank][$gte]=2&filters[rank][$lt]=4.5&sort[0]=title:desc"},
		{object{"filters": object{"author": object{"name": object{"$in": []string{"A1", "A3"}}}},
			"fields": []string{"title"}},
			"filters[author][name][$in][0]=A1&filters[author][name][$in][1]=A3&fields[0]=title"},
		{object{"filters": object{"$or": []any{object{"title": "T0"}, object{"rank": object{"$null": true}}}}},
			"filters[$or][0][title]=T0&filters[$or][1][rank][$null]=true"},
		{object{"populate": "*", "pagination": object{"page": 2, "pageSize": 2}, "sort": "rank"},
			"populate=*&pagination[page]=2&pagination[pageSize]=2&sort=rank"},
		{object{"_q": "t3", "status": "draft", "locale": "en"}, "_q=t3&status=draft&locale=en"},
		{object{"populate": object{"author": object{"fields": []string{"name"}}}}, "populate[author][fields][0]=name"},
		{object{"populate": object{}, "filters": object{}}, ""},
		{object{"populate": object{"author": object{"populate": object{}, "filters": object{}}}},
			"populate[author]=true"},
		{object{"populate": object{"parts": object{"populate": object{"parts": object{}}}}},
			"populate[parts][populate][parts]=true"},
	} {
		c.arguments["type"] = "articles"
		got, failed := a.call("find", c.arguments)
		want := get(t, server, "/api/articles?"+c.query)
		if fmt.Sprint(got) != fmt.Sprint(want) || failed || want["data"] == nil {
			t.Errorf("%v: got %v\nwant %v", c.arguments, got, want)
		}
	}
}

// get reads a path with full access.
func get(t *testing.T, server gateway.Ready, path string) (body object) {
	t.Helper()
	r, err := (&http.Client{Transport: bearer(server.Tokens["full"])}).Get(server.Base + path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		t.Fatal(err)
	}
	return body
}

// testErrors calls tools with arguments that are wrong: the result is the error of REST, or names the argument.
func testErrors(t *testing.T, server gateway.Ready) {
	a := connect(t, server, "full")
	for _, c := range []struct {
		tool          string
		arguments     any
		name, message string
	}{
		{"find", object{}, "ValidationError", "type is missing"},
		{"find", object{"type": 1}, "ValidationError", "type must be a text"},
		{"find", object{"type": "nope"}, "NotFoundError", "no content-type nope"},
		{"find", object{"type": "_batch"}, "NotFoundError", ""},
		{"find", object{"type": "home"}, "ValidationError", "use read"},
		{"create", object{"type": "home", "data": object{}}, "ValidationError", "use update"},
		{"read", object{"type": "articles"}, "ValidationError", "documentId is missing"},
		{"delete", object{"type": "articles", "documentId": ""}, "ValidationError", "documentId is missing"},
		{"read", object{"type": "home", "documentId": "x"}, "ValidationError", "leave documentId out"},
		{"read", object{"type": "articles", "documentId": "../authors"}, "NotFoundError", ""},
		{"read", object{"type": "articles", "documentId": "x?status=draft"}, "NotFoundError", ""},
		{"read", object{"type": "articles", "documentId": "x\x00"}, "BadRequestError", "Malicious Path"},
		{"find", object{"type": "articles", "filter": object{}}, "ValidationError", "no argument filter"},
		{"find", object{"type": "articles", "filters": object{"nope": 1}}, "ValidationError", "Invalid key nope"},
		{"find", object{"type": "articles", "filters": object{"title": object{"$in": []string{}}}}, "ValidationError",
			"filters[title][$in] is empty"},
		{"find", object{"type": "articles", "filters": object{"title": nil}}, "ValidationError",
			"filters[title] is empty"},
		{"find", object{"type": "articles", "filters": object{"title": object{}}}, "ValidationError",
			"filters[title] is empty"},
		{"find", object{"type": "articles", "populate": object{"parts": object{"on": object{}}}}, "ValidationError",
			"populate[parts][on] is empty"},
		{"find", object{"type": "articles", "populate": object{"author": object{"filters": object{"$or": []any{}}}}},
			"ValidationError", "populate[author][filters][$or] is empty"},
		{"create", object{"type": "articles", "data": object{"title": strings.Repeat("x", 41)}}, "ValidationError",
			"title must be at most 40 characters"},
		{"create", object{"type": "articles", "data": "title"}, "ValidationError", ""},
		{"create", object{"type": "articles"}, "ValidationError", "data is missing"},
		{"publish", object{"type": "authors", "documentId": "x"}, "MethodNotAllowedError", ""},
		{"upload", object{"fileName": "a", "content": "?"}, "ValidationError", "base64"},
	} {
		a.fails(c.tool, c.arguments, c.name, c.message)
	}
	if _, err := a.session.CallTool(t.Context(), &sdk.CallToolParams{Name: "aggregate"}); err == nil {
		t.Error("a tool that does not exist was called")
	}
}

// testPermissions looks at content as callers who may see a part of it.
func testPermissions(t *testing.T, server gateway.Ready) {
	full, reader, public, readonly := connect(t, server, "full"), connect(t, server, "reader"), connect(t, server, ""),
		connect(t, server, "readonly")
	note := full.do("create", object{"type": "notes", "data": object{"text": "hush"}}).(object)["documentId"]
	article := full.do("create",
		object{"type": "articles", "data": object{"title": "T", "secret": "hush", "code": "hush",
			"note": note}}).(object)["documentId"]
	one := object{"type": "articles", "documentId": article}

	for name, a := range map[string]*assistant{"reader": reader, "readonly": readonly} {
		if read := a.do("read", object{"type": "articles", "documentId": article, "populate": "*"}).(object); name == "reader" && strings.Contains(fmt.Sprint(read), "hush") || read["title"] != "T" {
			t.Errorf("%s reads %v", name, read)
		}
		for tool, arguments := range map[string]object{
			"create": {"type": "articles", "data": object{"title": "X"}},
			"update": {"type": "articles", "documentId": article, "data": object{"title": "X"}},
			"delete": one, "publish": one, "unpublish": one, "discard_draft": one,
			"upload": {"fileName": "a.txt", "content": "eA=="},
		} {
			a.fails(tool, arguments, "ForbiddenError", "Forbidden")
		}
		for _, key := range []string{"secret", "code"} {
			a.fails("find", object{"type": "articles", "filters": object{key: "hush"}}, "ValidationError",
				"Invalid key "+key)
			a.fails("find", object{"type": "articles", "sort": key}, "ValidationError", "Invalid key "+key)
		}
	}
	reader.fails("find", object{"type": "articles", "filters": object{"note": object{"text": "hush"}}},
		"ValidationError", "Invalid key note")
	reader.fails("find", object{"type": "notes"}, "ForbiddenError", "Forbidden")
	public.fails("find", object{"type": "articles"}, "ForbiddenError", "Forbidden")
	if list := public.do("find", object{"type": "authors"}).([]any); len(list) != 0 {
		t.Errorf("authors %v", list)
	}
	if read := full.do("read", object{"type": "articles", "documentId": article}).(object); read["title"] != "T" {
		t.Errorf("it was changed: %v", read)
	}
}

// testDefinitions reads the resources of callers with different permissions.
func testDefinitions(t *testing.T, server gateway.Ready) {
	for _, c := range []struct{ token, types string }{{"full", "articles authors home notes"},
		{"reader", "articles authors"}, {"", "authors"}} {
		a := connect(t, server, c.token)
		list, err := a.session.ListResources(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, r := range list.Resources {
			names = append(names, r.Name)
		}
		slices.Sort(names)
		if strings.Join(names, " ") != c.types {
			t.Errorf("%s sees %v, want %s", c.token, names, c.types)
		}
		result, _ := a.call("list_types", nil)
		if n := len(result["types"].([]any)); n != len(names) {
			t.Errorf("%s: list_types has %d types", c.token, n)
		}
	}
	const uri = "lectern://types/api::article.article"
	text := connect(t, server, "reader").resource(uri)
	var got object
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatal(err)
	}
	attributes := got["attributes"].(object)
	for _, name := range []string{"secret", "code", "note"} {
		if attributes[name] != nil || strings.Contains(text, "hidden") {
			t.Errorf("the definition tells %s: %s", name, text)
		}
	}
	if want := "map[localized:true maxLength:40 required:true type:string]"; fmt.Sprint(attributes["title"]) != want {
		t.Errorf("title is %v, want %s", attributes["title"], want)
	}
	if want := "map[relation:manyToOne target:api::author.author type:relation]"; fmt.Sprint(
		attributes["author"]) != want &&
		fmt.Sprint(attributes["author"]) != "map[localized:true relation:manyToOne target:api::author.author type:relation]" {
		t.Errorf("author is %v, want %s", attributes["author"], want)
	}
	if components := got["components"].(object); components["page.part"] == nil || components["page.piece"] == nil {
		t.Errorf("components %v", components)
	}
	if fmt.Sprint(got["actions"]) != "[find findOne]" {
		t.Errorf("actions %v", got["actions"])
	}
	if _, err := connect(t, server, "").session.ReadResource(
		t.Context(), &sdk.ReadResourceParams{URI: uri}); err == nil || !strings.Contains(err.Error(), "not found") {
		t.Errorf("the public reads a definition: %v", err)
	}
}

// resource reads a resource.
func (a *assistant) resource(uri string) string {
	a.t.Helper()
	r, err := a.session.ReadResource(a.t.Context(), &sdk.ReadResourceParams{URI: uri})
	if err != nil {
		a.t.Fatal(err)
	}
	return r.Contents[0].Text
}

// TestOffByDefault asks a server that does not switch the endpoint on.
func TestOffByDefault(t *testing.T) {
	server := serve(t, map[string]string{"config/plugins.yaml": "i18n: {config: {locales: [en, de]}}\n"})
	if status, text := send(t, server, "GET", "", "", "full", ""); status != 404 {
		t.Error(status, text)
	}
	if status, text := send(t, server, "POST", "", "", "full", ping); status != 405 { // as for any path without a route
		t.Error(status, text)
	}
}

// testLongAnswer reads more than a tool may answer with.
func testLongAnswer(t *testing.T, server gateway.Ready) {
	a := connect(t, server, "full")
	for range 3 {
		a.do("create", object{"type": "notes", "data": object{"text": strings.Repeat("x", 400_000)}})
	}
	a.fails("find", object{"type": "notes"}, "PayloadTooLargeError", "ask for fewer")
	if list := a.do("find", object{"type": "notes", "pagination": object{"limit": 2}}).([]any); len(list) != 2 {
		t.Errorf("%d documents", len(list))
	}
}

// TestRateLimit counts the call of a tool as one request.
func TestRateLimit(t *testing.T) {
	server := serve(t, map[string]string{"config/api.yaml": "rateLimit: {token: {requests: 3, window: 1h}}\n"})
	const find = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"find","arguments":{"type":"authors"}}}`
	for i, want := range []int{200, 200, 200, 429} {
		if status, text := send(t, server, "POST", "", "", "full", find); status != want || want == 200 &&
			!strings.Contains(text, `data`) {
			t.Errorf("%d: %d %s", i, status, text)
		}
	}
}
