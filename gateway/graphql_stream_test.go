package gateway_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"lectern/auth"
	"lectern/gateway"
)

// noteFiles are the files of a project with subscriptions, drafts and locales.
var noteFiles = map[string]string{
	"content-types/note.yaml": `
kind: collectionType
info: {singularName: note, pluralName: notes, displayName: Note}
options: {draftAndPublish: true}
pluginOptions: {i18n: {localized: true}}
attributes:
  title: {type: string, pluginOptions: {i18n: {localized: true}}}
  rank: {type: integer}
  article: {type: relation, relation: manyToOne, target: api::article.article}
`,
	"config/permissions.yaml": `
roles:
  public: {api::note.note: [find, findOne]}
  authenticated: {api::note.note: [find, findOne], api::article.article: [find]}
  keeper: {}
tokens:
  - {name: reader, type: custom, permissions: [api::note.note.find]}
`,
	"config/plugins.yaml": `
i18n: {config: {locales: [en, fr]}}
graphql: {config: {subscriptions: true, documentActions: true}}
users-permissions: {config: {jwtSecret: "` + testSecret + `", ratelimit: {enabled: false}}}
`,
}

// An event is a server-sent event.
type event struct {
	name, id string
	data     string
}

// A stream is an answer of server-sent events.
type stream struct {
	t      *testing.T
	status int
	header http.Header
	events chan event // closed at the end of the answer
	stop   func()
}

// subscribe sends an operation and reads the events of the answer until the test or stop ends it. It returns when the
// head of the answer has arrived: changes after that are delivered.
func (a *api) subscribe(query, as string, headers ...string) *stream {
	a.t.Helper()
	text, _ := json.Marshal(object{"query": query})
	return a.stream("POST", "/graphql", as, text, headers...)
}

func (a *api) stream(method, path, as string, body []byte, headers ...string) *stream {
	a.t.Helper()
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	a.t.Cleanup(stop)
	req, err := http.NewRequestWithContext(ctx, method, a.Base+path, bytes.NewReader(body))
	if err != nil {
		a.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "text/event-stream")
	if key := a.Tokens[as]; key != "" {
		as = key
	}
	if as != "" {
		req.Header.Set("Authorization", "Bearer "+as)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := a.client.Do(req)
	if err != nil {
		a.t.Fatal(err)
	}
	s := &stream{t: a.t, status: res.StatusCode, header: res.Header, events: make(chan event, 1000), stop: stop}
	go func() {
		defer close(s.events)
		defer res.Body.Close()
		var e event
		for lines := bufio.NewScanner(res.Body); lines.Scan(); {
			field, value, _ := strings.Cut(lines.Text(), ": ")
			switch field {
			case "event":
				e.name = value
			case "id":
				e.id = value
			case "data":
				e.data += value
			case "":
				if e.name != "" {
					s.events <- e
				}
				e = event{}
			}
		}
	}()
	return s
}

// next returns the next event; ok is false at the end of the stream.
func (s *stream) next() (e event, ok bool) {
	s.t.Helper()
	select {
	case e, ok = <-s.events:
	case <-time.After(20 * time.Second):
		s.t.Fatal("no event")
	}
	return e, ok
}

// want expects the next event to be a result, and returns it.
func (s *stream) want(data string) event {
	s.t.Helper()
	e, ok := s.next()
	if !ok || e.name != "next" || e.data != data {
		s.t.Fatalf("event %q with %s, want %s", e.name, e.data, data)
	}
	return e
}

// wantEnd expects an error as the last result.
func (s *stream) wantEnd(message string) {
	s.t.Helper()
	if e, _ := s.next(); e.name != "next" || !strings.Contains(e.data, message) || strings.Contains(e.data, `"data"`) {
		s.t.Fatalf("event %q with %s, want %s", e.name, e.data, message)
	}
	if e, _ := s.next(); e.name != "complete" || e.data != "" {
		s.t.Fatalf("event %q with %s, want complete", e.name, e.data)
	}
	if e, ok := s.next(); ok {
		s.t.Fatalf("event %q after complete", e.name)
	}
}

// serveNotes serves noteFiles with a token of the name reader.
func serveNotes(t *testing.T) *api { return serve(t, noteFiles) }

// note creates a published note and returns its documentId.
func (a *api) note(data object, query ...string) string {
	a.t.Helper()
	id, _ := a.want(201, "POST", "/api/notes"+strings.Join(query, ""), "full", object{"data": data}).at(
		"data.documentId").(string)
	return id
}

func (a *api) changeNote(id string, data object, query ...string) {
	a.t.Helper()
	a.want(200, "PUT", "/api/notes/"+id+strings.Join(query, ""), "full", object{"data": data})
}

func (a *api) deleteNote(id string) {
	a.t.Helper()
	a.want(204, "DELETE", "/api/notes/"+id, "full", nil)
}

// TestGraphQLStreamsOneResult sends operations that are answered by one result.
func TestGraphQLStreamsOneResult(t *testing.T) {
	a := serveNotes(t)
	post := func(query string) []byte { text, _ := json.Marshal(object{"query": query}); return text }
	const all = "text/event-stream, application/json;q=0.5"
	for _, c := range []struct {
		name, method, path string
		body               []byte
		headers            []string
		status             int
		want               string // of the result; without a stream, a part of the answer
		plain              bool   // the answer is no stream
	}{
		{name: "a query", method: "POST", body: post("{notes{title}}"), status: 200, want: `{"data":{"notes":[]}}`},
		{name: "a query by GET", method: "GET", path: "?query=" + url.QueryEscape("{notes{title}}"), status: 200,
			want: `{"data":{"notes":[]}}`},
		{name: "a mutation", method: "POST", body: post(`mutation{deleteNote(documentId:"x"){documentId}}`),
			status: 200,
			want:   `{"errors":[{"message":"Forbidden access","path":["deleteNote"],"extensions":{"code":"FORBIDDEN","error":{"name":"ForbiddenError","message":"Forbidden access","details":{}}}}],"data":{"deleteNote":null}}`},
		{name: "no document", method: "POST", body: post("{"), status: 200,
			want: `{"errors":[{"message":"Syntax Error: Expected Name, found <EOF>.","locations":[{"line":1,"column":2}],"extensions":{"code":"GRAPHQL_PARSE_FAILED"}}]}`},
		{name: "no permission", method: "POST", body: post("subscription{articleChanged{seq}}"), status: 200,
			want: `{"errors":[{"message":"Forbidden access","path":["articleChanged"],"extensions":{"code":"FORBIDDEN","error":{"name":"ForbiddenError","message":"Forbidden access","details":{}}}}]}`},
		{name: "two fields", method: "POST", body: post("subscription{a:noteChanged{seq} b:noteChanged{seq}}"),
			status: 200,
			want:   `{"errors":[{"message":"Anonymous Subscription must select only one top level field.","locations":[{"line":1,"column":33}],"extensions":{"code":"GRAPHQL_VALIDATION_FAILED"}}]}`},
		{name: "a position of another store", method: "POST", body: post("subscription{noteChanged{seq}}"),
			headers: []string{"Last-Event-ID", "0123456789abcdef-3"}, status: 200,
			want: `{"errors":[{"message":"The log does not have all changes since then. Read the documents again, and subscribe without Last-Event-ID.","extensions":{"code":"CHANGES_LOST"}}]}`},
		{name: "no position", method: "POST", body: post("subscription{noteChanged{seq}}"),
			headers: []string{"Last-Event-ID", "x"}, status: 200,
			want: `{"errors":[{"message":"The log does not have all changes since then. Read the documents again, and subscribe without Last-Event-ID.","extensions":{"code":"CHANGES_LOST"}}]}`},
		{name: "a stream is preferred", method: "POST", body: post("{__typename}"), headers: []string{"Accept", all},
			status: 200, want: `{"data":{"__typename":"Query"}}`},
		{name: "JSON is preferred", method: "POST", body: post("{__typename}"),
			headers: []string{"Accept", "application/json, text/event-stream"}, status: 200,
			want: `{"data":{"__typename":"Query"}}`, plain: true},
		{name: "anything", method: "POST", body: post("{__typename}"), headers: []string{"Accept", "*/*"}, status: 200,
			want: `{"data":{"__typename":"Query"}}`, plain: true},
		{name: "a subscription as JSON", method: "POST", body: post("subscription{noteChanged{seq}}"),
			headers: []string{"Accept", "application/json"}, status: 406,
			want: "send the header accept: text/event-stream", plain: true},
		{name: "a mutation by GET", method: "GET", path: "?query=" + url.QueryEscape("mutation{__typename}"),
			status: 405, want: "GET requests only support query operations", plain: true},
		{name: "no query", method: "POST", body: []byte(`{"query":""}`), status: 400, want: "non-empty `query`",
			plain: true},
		{name: "a batch", method: "POST", body: []byte(`[{"query":"{__typename}"}]`), status: 400, want: "batching",
			plain: true},
		{name: "what a page can send", method: "GET", path: "?query={__typename}",
			headers: []string{"Content-Type", ""}, status: 400, want: "cross-site", plain: true},
		{name: "a key that does not work", method: "POST", body: post("{__typename}"),
			headers: []string{"Authorization", "Bearer x"}, status: 401, want: "UnauthorizedError", plain: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.plain {
				var body any
				if c.body != nil {
					body = string(c.body)
				}
				headers := append([]string{"Accept", "text/event-stream", "Content-Type", "application/json"},
					c.headers...)
				if r := a.do(c.method, "/graphql"+c.path, "", body, headers...); r.status != c.status ||
					!strings.Contains(r.text, c.want) {
					t.Errorf("%d %s, want %d %s", r.status, r.text, c.status, c.want)
				}
				return
			}
			s := a.stream(c.method, "/graphql"+c.path, "", c.body, c.headers...)
			if kind := s.header.Get("Content-Type"); s.status != c.status ||
				kind != "text/event-stream; charset=utf-8" {
				t.Fatalf("%d %s", s.status, kind)
			}
			s.want(c.want)
			if e, _ := s.next(); e.name != "complete" || e.data != "" {
				t.Errorf("event %q with %s, want complete", e.name, e.data)
			}
			if e, ok := s.next(); ok {
				t.Errorf("event %q after complete", e.name)
			}
		})
	}
}

// TestStreamsOfEventsAreNotCompressed checks that answers are compressed unless they are streams of events, whatever
// else the client accepts.
func TestStreamsOfEventsAreNotCompressed(t *testing.T) {
	a := serveNotes(t)
	for range 20 {
		a.note(object{"title": strings.Repeat("a long title ", 10)})
	}
	for accept, want := range map[string]string{
		"application/json":                          "gzip",
		"application/json, text/event-stream":       "gzip",
		"text/event-stream;q=0.5, application/json": "gzip",
		"text/event-stream":                         "",
		"text/event-stream, application/json;q=0.9": "",
		"application/json;q=0.9, text/event-stream": "",
	} {
		s := a.stream("POST", "/graphql", "", []byte(`{"query":"{notes(pagination:{limit:20}){title}}"}`), "Accept",
			accept, "Accept-Encoding", "gzip")
		if got := s.header.Get("Content-Encoding"); s.status != 200 || got != want {
			t.Errorf("accept %s: %d %q, want %q", accept, s.status, got, want)
		}
		stream := s.header.Get("Content-Type") == "text/event-stream; charset=utf-8"
		if stream != (want == "") {
			t.Errorf("accept %s: %s", accept, s.header.Get("Content-Type"))
		}
	}
}

// TestSubscriptionsAreOffByDefault checks that a server without the setting has no subscriptions and no streams.
func TestSubscriptionsAreOffByDefault(t *testing.T) {
	a := serve(t, nil)
	if r := a.do("POST", "/graphql", "", object{"query": "{__typename}"}, "Accept",
		"text/event-stream"); r.status != 406 {
		t.Errorf("a stream: %d %s", r.status, r.text)
	}
	if r := a.do("POST", "/graphql", "", object{"query": "subscription{articleChanged{seq}}"}); r.status != 200 ||
		!strings.Contains(r.text, "Schema is not configured to execute subscription operation.") {
		t.Errorf("a subscription: %d %s", r.status, r.text)
	}
}

// changeEvent returns the expected result of a change.
func changeEvent(change, id, document string) string {
	return fmt.Sprintf(`{"data":{"noteChanged":{"change":%q,"documentId":%q,"document":%s}}}`, change, id, document)
}

// TestSubscriptionsSendWhatChanges checks which changes are delivered, and as what.
func TestSubscriptionsSendWhatChanges(t *testing.T) {
	a := serveNotes(t)
	const fields = "{change documentId document{title}}"
	other := a.note(object{"title": "other"})
	all := a.subscribe("subscription{noteChanged"+fields+"}", "")
	one := a.subscribe(`subscription{noteChanged(documentId:"`+other+`")`+fields+"}", "")
	drafts := a.subscribe("subscription{noteChanged(status:DRAFT)"+fields+"}", "full")
	french := a.subscribe(`subscription{noteChanged(locale:"fr")`+fields+"}", "")
	everywhere := a.subscribe(`subscription{noteChanged(locale:"*"){locale document{title}}}`, "")
	ranked := a.subscribe("subscription{noteChanged(filters:{rank:{gt:5}})"+fields+"}", "")

	id := a.note(object{"title": "one", "rank": 7})
	all.want(changeEvent("PUBLISH", id, `{"title":"one"}`))
	drafts.want(changeEvent("CREATE", id, `{"title":"one"}`))
	ranked.want(changeEvent("PUBLISH", id, `{"title":"one"}`))
	everywhere.want(`{"data":{"noteChanged":{"locale":"en","document":{"title":"one"}}}}`)

	a.changeNote(id, object{"title": "two", "rank": 3})
	all.want(changeEvent("PUBLISH", id, `{"title":"two"}`))
	drafts.want(changeEvent("PUBLISH", id, `{"title":"two"}`))
	ranked.want(changeEvent("DELETE", id, `null`))
	everywhere.want(`{"data":{"noteChanged":{"locale":"en","document":{"title":"two"}}}}`)

	a.changeNote(id, object{"title": "draft"}, "?status=draft")
	drafts.want(changeEvent("UPDATE", id, `{"title":"draft"}`))

	a.changeNote(id, object{"title": "deux"}, "?locale=fr")
	french.want(changeEvent("PUBLISH", id, `{"title":"deux"}`))
	everywhere.want(`{"data":{"noteChanged":{"locale":"fr","document":{"title":"deux"}}}}`)

	a.want(200, "POST", "/api/notes/"+id+"/actions/unpublish", "full", nil)
	all.want(changeEvent("DELETE", id, `null`))
	drafts.want(changeEvent("UNPUBLISH", id, `{"title":"draft"}`))
	ranked.want(changeEvent("DELETE", id, `null`))
	everywhere.want(`{"data":{"noteChanged":{"locale":"en","document":null}}}`)

	a.deleteNote(other)
	all.want(changeEvent("DELETE", other, `null`))
	one.want(changeEvent("DELETE", other, `null`))
	drafts.want(changeEvent("DELETE", other, `null`))
}

// TestSubscriptionsGoOnWhereTheyWere connects again with the id of an event, also after a restart of the server.
func TestSubscriptionsGoOnWhereTheyWere(t *testing.T) {
	dir := writeProject(t, with(noteFiles))
	var key string
	ready, stop := run(t, dir, gateway.Options{}, func(p *gateway.Project) {
		var err error
		if _, key, err = p.CreateToken(t.Context(), auth.Declaration{Name: "all", Kind: auth.FullAccess}); err != nil {
			t.Fatal(err)
		}
	})
	a := newAPI(t, ready)
	const query = "subscription{noteChanged{documentId seq}}"
	s := a.subscribe(query, "")
	write := func(title string) string {
		t.Helper()
		r := a.want(200, "POST", "/graphql", key,
			object{"query": `mutation{createNote(data:{title:"` + title + `"}){documentId}}`})
		id, _ := r.at("data.createNote.documentId").(string)
		return id
	}
	first := write("one")
	e, _ := s.next()
	if want := fmt.Sprintf(`{"data":{"noteChanged":{"documentId":%q,"seq":%q}}}`, first, e.id); e.data != want ||
		e.id == "" {
		t.Fatalf("%s, want %s", e.data, want)
	}
	s.stop()
	var missed []string
	for i := range 250 { // more than a listener reads at once
		missed = append(missed, write(fmt.Sprint(i)))
	}
	stop()
	if late, ok := s.next(); ok {
		t.Errorf("an event after the end: %+v", late)
	}
	ready, _ = run(t, dir, gateway.Options{}, nil)
	a = newAPI(t, ready)
	s = a.subscribe(query, "", "Last-Event-ID", e.id)
	for _, id := range missed {
		if e, _ := s.next(); !strings.Contains(e.data, id) {
			t.Fatalf("%s, want %s", e.data, id)
		}
	}
}

// TestSubscriptionsEndWithThePermission takes the permission, the credential or the definition away while a client
// listens.
func TestSubscriptionsEndWithThePermission(t *testing.T) {
	dir := writeProject(t, with(noteFiles))
	var project *gateway.Project
	ready := gateway.Ready{Tokens: map[string]string{}}
	served, stop := run(t, dir, gateway.Options{}, func(p *gateway.Project) {
		project = p
		for name, kind := range map[string]auth.Kind{"full": auth.FullAccess, "readonly": auth.ReadOnly} {
			_, key, err := p.CreateToken(t.Context(), auth.Declaration{Name: name, Kind: kind})
			if err != nil {
				t.Fatal(err)
			}
			ready.Tokens[name] = key
		}
	})
	ready.Base = served.Base
	a := newAPI(t, ready)
	const query = "subscription{noteChanged{change}}"
	for _, c := range []struct {
		name    string
		end     func(as string, id int) // as is the caller; id that of the user
		token   string
		deleted int // how many documents are told to be deleted
		message string
	}{
		{name: "another role", deleted: 1, message: "Forbidden access", end: func(_ string, id int) {
			a.want(200, "PUT", userPath(id), "full", object{"role": a.roleID("keeper")})
		}},
		{name: "no user", message: "nvalid credentials",
			end: func(_ string, id int) { a.want(200, "DELETE", userPath(id), "full", nil) }},
		{name: "no token", token: "readonly", message: "nvalid credentials", end: func(string, int) {
			if _, err := project.RevokeToken(t.Context(), "readonly"); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		as, id := c.token, 0
		if as == "" {
			as, id = a.register(strings.ReplaceAll(c.name, " ", "-"))
		}
		s := a.subscribe(query, as)
		a.note(object{"title": "one"})
		s.want(`{"data":{"noteChanged":{"change":"PUBLISH"}}}`)
		c.end(as, id)
		for range c.deleted {
			s.want(`{"data":{"noteChanged":{"change":"DELETE"}}}`)
		}
		s.wantEnd(c.message)
	}

	s := a.subscribe(query, "")
	stop() // fails the test if the stream keeps the server from stopping
	if e, ok := s.next(); ok {
		t.Errorf("event %q when the server stopped", e.name)
	}
}

// TestSubscriptionsTellWhatIsLost takes the permission from clients while they listen, and while they are away. Each is
// told of the documents that it asked for and could find, as deleted, and nothing else.
func TestSubscriptionsTellWhatIsLost(t *testing.T) {
	a := serveNotes(t)
	as, id := a.register("listener")
	const fields = "{change documentId document{title}}"
	first := a.note(object{"title": "first"})
	second := a.note(object{"title": "second"})
	a.note(object{"title": "a draft"}, "?status=draft")
	all := a.subscribe("subscription{noteChanged"+fields+"}", as)
	one := a.subscribe(`subscription{noteChanged(documentId:"`+second+`", filters:{title:{eq:"x"}})`+fields+"}", as)
	third := a.note(object{"title": "third"})
	before := all.want(changeEvent("PUBLISH", third, `{"title":"third"}`))
	a.want(200, "PUT", userPath(id), "full", object{"role": a.roleID("keeper")})
	lost := all.want(changeEvent("DELETE", first, "null"))
	all.want(changeEvent("DELETE", second, "null"))
	last := all.want(changeEvent("DELETE", third, "null"))
	all.wantEnd("Forbidden access")
	one.want(changeEvent("DELETE", second, "null"))
	one.wantEnd("Forbidden access")

	a.note(object{"title": "later"})
	for _, c := range []struct {
		after event
		told  []string
	}{{before, []string{first, second, third}}, {lost, []string{second, third}}, {last, nil}, {event{id: "0"}, nil},
		{event{}, nil}} {
		s := a.subscribe("subscription{noteChanged"+fields+"}", as, "Last-Event-ID", c.after.id)
		for _, id := range c.told {
			s.want(changeEvent("DELETE", id, "null"))
		}
		s.wantEnd("Forbidden access")
	}
}

// TestSubscriptionsSurviveChangedDefinitions listens while definitions change, until the operation is no longer valid.
func TestSubscriptionsSurviveChangedDefinitions(t *testing.T) {
	e := newEditingAt(t, writeProject(t, map[string]string{
		"content-types/note.yaml": noteFile("rank: {type: integer}"),
		"config/plugins.yaml":     "graphql: {config: {subscriptions: true}}",
	}))
	a := newAPI(t, gateway.Ready{Base: e.base, Tokens: map[string]string{"full": e.key}})
	s := a.subscribe("subscription{noteChanged{change document{title rank}}}", "full")
	a.note(object{"title": "one", "rank": 1})
	s.want(`{"data":{"noteChanged":{"change":"CREATE","document":{"title":"one","rank":1}}}}`)
	e.expect("another attribute",
		func() { e.write("content-types/note.yaml", noteFile("rank: {type: integer}", "more: {type: string}")) },
		"/api/notes?fields[0]=more", 200)
	a.note(object{"title": "two", "rank": 2})
	s.want(`{"data":{"noteChanged":{"change":"CREATE","document":{"title":"two","rank":2}}}}`)
	e.expect("a private attribute", func() {
		e.write("content-types/note.yaml", noteFile("rank: {type: integer, private: true}", "more: {type: string}"))
	},
		"/api/notes?fields[0]=rank", 400)
	s.wantEnd(`Cannot query field \"rank\"`)
}

// TestSubscriptionsTakeNoPlace listens more often than the server handles requests at a time, up to the limit of
// listeners.
func TestSubscriptionsTakeNoPlace(t *testing.T) {
	files := maps.Clone(noteFiles)
	files["config/server.yaml"] = "limits: {concurrent: 1, listeners: 5, listenersPerAddress: 5}"
	a := serve(t, files)
	var streams []*stream
	for range 5 {
		streams = append(streams, a.subscribe("subscription{noteChanged{documentId}}", ""))
	}
	if r := a.do("POST", "/graphql", "", object{"query": "subscription{noteChanged{seq}}"}, "Accept",
		"text/event-stream"); r.status != 503 || !strings.Contains(r.text, "limits.listeners: 5") {
		t.Errorf("one listener too many: %d %s", r.status, r.text)
	}
	for range 3 {
		id := a.note(object{"title": "one"})
		for _, s := range streams {
			s.want(`{"data":{"noteChanged":{"documentId":"` + id + `"}}}`)
		}
	}
}
