package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gorilla/mux"
	"github.com/graphql-go/graphql"

	"lectern/auth"
	"lectern/documents"
	"lectern/documents/apierror"
	"lectern/documents/permission"
	"lectern/gateway"
	"lectern/shadowcrud/graphql/schema"
	"lectern/store"
)

// extendedFiles are a project whose permissions grant the actions of extensions.
var extendedFiles = map[string]string{
	"content-types/author.yaml": `
kind: collectionType
info: {singularName: author, pluralName: authors, displayName: Author}
attributes:
  name: {type: string}
  articles: {type: relation, relation: oneToMany, target: "api::article.article", mappedBy: writer}
`,
	"content-types/article.yaml": `
kind: collectionType
info: {singularName: article, pluralName: articles, displayName: Article}
options: {draftAndPublish: true}
attributes:
  title: {type: string}
  writer: {type: relation, relation: manyToOne, target: "api::author.author", inversedBy: articles}
`,
	"config/permissions.yaml": `
roles:
  public: {api::article.article: [findOne, seen]}
tokens:
  - {name: writer, type: custom, permissions: [api::article.article.create, api::article.article.seen, api::stats.stats.count]}
`,
}

// A trace records the calls that are made for a request.
type trace struct {
	mu    sync.Mutex
	calls []string
}

func (tr *trace) add(format string, args ...any) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.calls = append(tr.calls, fmt.Sprintf(format, args...))
}

// A routeCall is a request with the token named key, and its expected effects: want is "STATUS BODY" of the answer, and
// calls is the trace.
type routeCall struct {
	method, path, key string
	want, calls       string
}

// expect sends requests and checks their answers and the trace. The key "wrong" stands for a token that does not exist.
func (tr *trace) expect(t *testing.T, ready gateway.Ready, calls []routeCall) {
	t.Helper()
	for _, c := range calls {
		t.Run(strings.TrimPrefix(c.method+" "+c.path+" "+c.key, "GET "), func(t *testing.T) {
			tr.calls = nil
			key := ready.Tokens[c.key]
			if c.key == "wrong" {
				key = "wrong"
			}
			status, body := send(t, c.method, ready.Base+c.path, key, "")
			if got := fmt.Sprint(status, " ", body); got != c.want {
				t.Errorf("got %s\nwant %s", got, c.want)
			}
			if got := strings.Join(tr.calls, ", "); got != c.calls {
				t.Errorf("called %s, want %s", got, c.calls)
			}
		})
	}
}

// policy returns a policy with a fixed result that records its configuration in the trace.
func (tr *trace) policy(name string, passes bool, err error) gateway.Policy {
	return func(c *gateway.PolicyContext, s gateway.Host) (bool, error) {
		if s.Store() == nil || s.Documents() == nil || s.Log() == nil || gateway.CallerOf(c.Context).HTTP == nil {
			return false, errors.New("a policy is not told the server and the request")
		}
		tr.add("%s(%v)", name, c.Config)
		return passes, err
	}
}

// middleware returns a middleware that records its options and the status of the answer in the trace.
func (tr *trace) middleware(name string) gateway.MiddlewareMaker {
	return func(options any) (gateway.Middleware, error) {
		if options == "wrong" {
			return nil, errors.New("no such option")
		}
		return func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				tr.add("%s(%v)", name, options)
				w.Header().Set("X-"+name, "was here")
				seen := &statusWriter{ResponseWriter: w}
				next.ServeHTTP(seen, r)
				tr.add("%s saw %d", name, seen.status)
			})
		}, nil
	}
}

type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// say returns a handler that answers with a text and the path variable id.
func say(text string) func(http.ResponseWriter, *http.Request, *permission.Access) error {
	return func(w http.ResponseWriter, r *http.Request, access *permission.Access) error {
		if access == nil || gateway.CallerOf(r.Context()).Access != access {
			return errors.New("a handler is not told who asks")
		}
		_, err := io.WriteString(w, text+mux.Vars(r)["id"])
		return err
	}
}

// TestExtendedRoutesAnswerAsStrapi calls routes of extensions, and generated routes that extensions configure, as
// different callers. The messages are those of Strapi.
func TestExtendedRoutesAnswerAsStrapi(t *testing.T) {
	const (
		failed    = `403 {"data":null,"error":{"status":403,"name":"PolicyError","message":"Policy Failed","details":{}}}`
		forbidden = `403 {"data":null,"error":{"status":403,"name":"ForbiddenError","message":"Forbidden","details":{}}}`
		unknown   = `401 {"data":null,"error":{"status":401,"name":"UnauthorizedError","message":"Missing or invalid credentials","details":{}}}`
		internal  = `500 {"data":null,"error":{"status":500,"name":"InternalServerError","message":"Internal Server Error"}}`
	)
	tr := &trace{}
	refusal := &apierror.Error{Status: 403, Name: "PolicyError", Message: "no way"}
	x := &gateway.Extensions{}
	x.Policy("pass", tr.policy("pass", true, nil))
	x.Policy("fail", tr.policy("fail", false, nil))
	x.Policy("refuse", tr.policy("refuse", true, refusal))
	x.Policy("break", tr.policy("break", true, errors.New("the secret")))
	x.Middleware("one", tr.middleware("one"))
	x.Middleware("two", tr.middleware("two"))
	named := func(names ...string) (list []gateway.PolicyUse) {
		for _, name := range names {
			list = append(list, gateway.PolicyUse{Name: name})
		}
		return list
	}
	stop := func(http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
	}
	lost := func(next http.Handler) http.Handler {
		return http.HandlerFunc(
			func(w http.ResponseWriter, r *http.Request) { next.ServeHTTP(w, r.WithContext(context.Background())) })
	}
	around := []gateway.MiddlewareUse{{Name: "one", Options: 1}, {Name: "two"}}
	x.Handle(
		gateway.Route{Method: "GET", Path: "/hello/{id}", Handle: say("hello ")},
		gateway.Route{Method: "GET", Path: "/open", Handle: say("open"), Open: true},
		gateway.Route{Method: "POST", Path: "/api/articles/{id}/seen", Handle: say("seen "),
			Action: "api::article.article.seen"},
		gateway.Route{Method: "GET", Path: "/api/stats", Handle: say("stats"), Action: "api::stats.stats.count"},
		gateway.Route{Method: "GET", Path: "/api/scoped", Handle: say("scoped"), Action: "api::stats.stats.other",
			Scopes: []string{"api::stats.stats.count", "api::article.article.create"}},
		gateway.Route{Method: "GET", Path: "/policies", Handle: say("passed"), Policies: named("pass", "pass")},
		gateway.Route{Method: "GET", Path: "/fail", Handle: say("not reached"), Policies: named("pass", "fail", "pass"),
			Middlewares: around},
		gateway.Route{Method: "GET", Path: "/refuse", Handle: say("not reached"), Policies: named("refuse")},
		gateway.Route{Method: "GET", Path: "/break", Handle: say("not reached"), Policies: named("break")},
		gateway.Route{Method: "GET", Path: "/around/{id}", Handle: say("around "), Middlewares: around,
			Policies: []gateway.PolicyUse{{Name: "pass", Config: "c"}, {Func: tr.policy("inline", true, nil)}}},
		gateway.Route{Method: "GET", Path: "/stop", Handle: say("not reached"),
			Middlewares: []gateway.MiddlewareUse{{Name: "one"}, {Func: stop}}},
		gateway.Route{Method: "GET", Path: "/lost", Handle: say("not reached"),
			Middlewares: []gateway.MiddlewareUse{{Func: lost}}},
		gateway.Route{Method: "GET", Path: "/error", Middlewares: around,
			Handle: func(http.ResponseWriter, *http.Request, *permission.Access) error { return apierror.NotFound() }},
	)
	x.Route("api::article.article.find",
		gateway.RouteConfig{Open: true, Middlewares: []gateway.MiddlewareUse{{Name: "one"}}})
	x.Route("GET /api/articles", gateway.RouteConfig{Policies: named("pass")})
	x.Route("GET /api/articles/{documentId}", gateway.RouteConfig{Policies: named("fail")})
	x.Route("api::author.author.find", gateway.RouteConfig{Scopes: []string{"api::article.article.create"}})
	ready, _ := run(t, writeProject(t, extendedFiles), gateway.Options{Ephemeral: true, Extensions: x}, nil)
	tr.expect(t, ready, []routeCall{
		{"GET", "/hello/a%20b", "", "200 hello a b", ""},
		{"GET", "/hello/x", "readonly", "200 hello x", ""},
		{"GET", "/hello/x", "wrong", unknown, ""},
		{"GET", "/open", "wrong", "200 open", ""},
		{"POST", "/api/articles/7/seen", "", "200 seen 7", ""},
		{"POST", "/api/articles/7/seen", "writer", "200 seen 7", ""},
		{"POST", "/api/articles/7/seen", "readonly", forbidden, ""},
		{"POST", "/api/articles/7/seen", "full", "200 seen 7", ""},
		{"GET", "/api/stats", "", forbidden, ""},
		{"GET", "/api/stats", "writer", "200 stats", ""},
		{"GET", "/api/scoped", "writer", "200 scoped", ""},
		{"GET", "/api/scoped", "readonly", forbidden, ""},
		{"GET", "/policies", "", "200 passed", "pass(<nil>), pass(<nil>)"},
		{"GET", "/fail", "", failed, "pass(<nil>), fail(<nil>)"},
		{"GET", "/refuse", "", strings.Replace(failed, "Policy Failed", "no way", 1), "refuse(<nil>)"},
		{"GET", "/break", "", internal, "break(<nil>)"},
		{"GET", "/around/x", "", "200 around x", "pass(c), inline(<nil>), one(1), two(<nil>), two saw 0, one saw 0"},
		{"GET", "/stop", "", "418 ", "one(<nil>), one saw 418"},
		{"GET", "/lost", "", internal, ""},
		{"GET", "/error", "",
			`404 {"data":null,"error":{"status":404,"name":"NotFoundError","message":"Not Found","details":{}}}`,
			"one(1), two(<nil>), two saw 404, one saw 404"},
		{"GET", "/api/articles", "wrong",
			`200 {"data":[],"meta":{"pagination":{"page":1,"pageSize":25,"pageCount":0,"total":0}}}`,
			"pass(<nil>), one(<nil>), one saw 200"},
		// Every caller of an open route sees what the public may see: no authors.
		{"GET", "/api/articles?filters[writer][name]=x", "full",
			`400 {"data":null,"error":{"status":400,"name":"ValidationError",` +
				`"message":"Invalid key writer","details":{"key":"writer","path":"writer","source":"query","param":"filters"}}}`,
			"pass(<nil>), one(<nil>), one saw 400"},
		{"GET", "/api/articles/x", "", failed, "fail(<nil>)"},
		{"GET", "/api/articles/x", "writer", forbidden, ""},
		{"GET", "/api/authors", "writer",
			`200 {"data":[],"meta":{"pagination":{"page":1,"pageSize":25,"pageCount":0,"total":0}}}`, ""},
		{"GET", "/api/authors", "readonly", forbidden, ""},
	})
}

// send sends a request with a JSON body; "" is no body.
func send(t *testing.T, method, url, key, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json") // GraphQL refuses a GET without it
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(text)
}

// If the definitions change during a request, the new generation answers it with its policies and middlewares. These
// may run twice, but the client receives one answer.
func TestExtensionsRunAgainUnderChangedDefinitions(t *testing.T) {
	tr := &trace{}
	runtime := func(handle func(http.ResponseWriter, *http.Request, *permission.Access) error) gateway.Runtime {
		x := &gateway.Extensions{}
		x.Handle(gateway.Route{Method: "POST", Path: "/x", Handle: handle,
			Middlewares: []gateway.MiddlewareUse{{Name: "one"}}})
		x.Middleware("one", tr.middleware("one"))
		return gateway.Runtime{Extensions: x}
	}
	begun := make(chan struct{})
	s, err := gateway.NewServer(gateway.Config{},
		runtime(func(_ http.ResponseWriter, r *http.Request, _ *permission.Access) error {
			if _, err := io.ReadAll(r.Body); err != nil {
				return err
			}
			close(begun)
			return store.ErrRedefined
		}))
	if err != nil {
		t.Fatal(err)
	}
	answer := httptest.NewRecorder()
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.Handler().ServeHTTP(answer, httptest.NewRequest("POST", "/x", strings.NewReader("sent")))
	}()
	<-begun
	if err := gateway.SwapTo(s, runtime(func(w http.ResponseWriter, r *http.Request, _ *permission.Access) error {
		_, err := io.Copy(w, r.Body)
		return err
	})); err != nil {
		t.Fatal(err)
	}
	<-done
	if answer.Code != 200 || answer.Body.String() != "sent" {
		t.Error(answer.Code, answer.Body)
	}
	if got := strings.Join(tr.calls, ", "); got != "one(<nil>), one saw 0, one(<nil>), one saw 0" {
		t.Error(got)
	}
}

// TestFaultyExtensionsAreNamed expects faulty extensions to be reported when a project is loaded, before any request.
func TestFaultyExtensionsAreNamed(t *testing.T) {
	tr := &trace{}
	ok := say("")
	for want, extend := range map[string]func(*gateway.Extensions){
		`extensions: route GET /x: there is no policy "nope"; there are fine`: func(x *gateway.Extensions) {
			x.Handle(gateway.Route{Method: "GET", Path: "/x", Handle: ok,
				Policies: []gateway.PolicyUse{{Name: "nope"}}})
		},
		`extensions: route GET /x: there is no middleware "nope"; there are known`: func(x *gateway.Extensions) {
			x.Handle(gateway.Route{Method: "GET", Path: "/x", Handle: ok,
				Middlewares: []gateway.MiddlewareUse{{Name: "nope"}}})
		},
		`extensions: route GET /x: middleware known: no such option`: func(x *gateway.Extensions) {
			x.Handle(gateway.Route{Method: "GET", Path: "/x", Handle: ok,
				Middlewares: []gateway.MiddlewareUse{{Name: "known", Options: "wrong"}}})
		},
		`extensions: route GET /x: the route has no Handle`: func(x *gateway.Extensions) {
			x.Handle(gateway.Route{Method: "GET", Path: "/x"})
		},
		`extensions: route FETCH /x: a route's method is one of`: func(x *gateway.Extensions) {
			x.Handle(gateway.Route{Method: "FETCH", Path: "/x", Handle: ok})
		},
		`extensions: route GET x: the path must begin with a slash`: func(x *gateway.Extensions) {
			x.Handle(gateway.Route{Method: "GET", Path: "x", Handle: ok})
		},
		`extensions: route GET /x: "feature" is no permission`: func(x *gateway.Extensions) {
			x.Handle(gateway.Route{Method: "GET", Path: "/x", Handle: ok, Action: "feature"})
		},
		`extensions: action: "promote" is no permission`: func(x *gateway.Extensions) { x.Action("promote") },
		`extensions: route api::article.article.find: api::article.article has no action "demote"; its actions are find, findOne, create, update, delete, history, restore, stream, promote; a program adds actions of its own by Extensions.Action`: func(x *gateway.Extensions) {
			x.Action("api::article.article.promote")
			x.Route("api::article.article.find",
				gateway.RouteConfig{Scopes: []string{"api::article.article.promote", "api::article.article.demote"}})
		},
		`extensions: route GET /x: api::article.article has no action "nope"`: func(x *gateway.Extensions) {
			x.Handle(gateway.Route{Method: "GET", Path: "/x", Handle: ok,
				Scopes: []string{"api::article.article.nope"}})
		},
		`extensions: route api::article.article.find: an open route looks at nobody's permissions`: func(
			x *gateway.Extensions) {
			x.Route("api::article.article.find",
				gateway.RouteConfig{Open: true, Scopes: []string{"api::article.article.find"}})
		},
		`extensions: route api::article.article.fnid: there is no generated route of that name`: func(
			x *gateway.Extensions) {
			x.Route("api::article.article.fnid", gateway.RouteConfig{})
		},
		`extensions: route GET /api/article: there is no generated route of that name`: func(x *gateway.Extensions) {
			x.Route("GET /api/article", gateway.RouteConfig{})
		},
		`extensions: hooks: there is no content-type "api::nope.nope"`: func(x *gateway.Extensions) {
			x.Hooks(documents.Hooks{}, "api::nope.nope")
		},
		`extensions: policy fine is registered twice`: func(
			x *gateway.Extensions) {
			x.Policy("fine", tr.policy("fine", true, nil))
		},
		`extensions: middleware known is registered twice`: func(
			x *gateway.Extensions) {
			x.Middleware("known", tr.middleware("known"))
		},
		`extensions: resolversConfig of Query.articles: there is no policy "nope"`: func(x *gateway.Extensions) {
			x.GraphQL().Use(schema.Extension{ResolversConfig: map[string]schema.FieldConfig{
				"Query.articles": {Policies: []schema.PolicyUse{{Name: "fine"}, {Name: "nope"}}},
			}})
		},
		`extensions: resolversConfig of Query.articles: there is no middleware "known"`: func(
			x *gateway.Extensions) { // this name is registered for routes only
			x.GraphQL().Use(schema.Extension{ResolversConfig: map[string]schema.FieldConfig{
				"Query.articles": {Middlewares: []schema.MiddlewareUse{{Name: "known"}}},
			}})
		},
		`config/permissions.yaml:1: api::article.article has no action "feature"`: func(*gateway.Extensions) {},
	} {
		files := map[string]string{}
		if strings.HasPrefix(want, "config") {
			files["config/permissions.yaml"] = "roles: {public: {api::article.article: [feature]}}"
		}
		x := &gateway.Extensions{}
		x.Policy("fine", tr.policy("fine", true, nil))
		x.Middleware("known", tr.middleware("known"))
		extend(x)
		_, err := gateway.Load(writeProject(t, files), x)
		if err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v\nwant %s", err, want)
		}
	}
}

// TestActionsOfProgramsCanBeGranted expects an action of a program in the list of actions that roles can have, and
// grants it to a token and to a role.
func TestActionsOfProgramsCanBeGranted(t *testing.T) {
	x := &gateway.Extensions{}
	x.Handle(
		gateway.Route{Method: "GET", Path: "/api/articles/{id}/seen", Handle: say("seen "),
			Action: "api::article.article.seen"},
		gateway.Route{Method: "GET", Path: "/api/stats", Handle: say("stats"), Action: "api::stats.stats.count"},
	)
	var project *gateway.Project
	ready, _ := run(t, writeProject(t, extendedFiles), gateway.Options{Ephemeral: true, Extensions: x},
		func(p *gateway.Project) { project = p })
	_, key, err := project.CreateToken(t.Context(),
		auth.Declaration{Name: "seer", Kind: auth.Custom, Permissions: []string{"api::article.article.seen"}})
	if err != nil {
		t.Fatal(err)
	}
	if status, body := send(t, "GET", ready.Base+"/api/articles/3/seen", key, ""); status != 200 || body != "seen 3" {
		t.Error(status, body)
	}
	_, body := send(t, "GET", ready.Base+"/api/users-permissions/permissions", ready.Tokens["full"], "")
	var tree struct {
		Permissions map[string]struct{ Controllers map[string]map[string]any }
	}
	if err := json.Unmarshal([]byte(body), &tree); err != nil {
		t.Fatal(err, body)
	}
	for api, action := range map[string]string{"api::article": "seen", "api::stats": "count"} {
		found := false
		for _, controller := range tree.Permissions[api].Controllers {
			found = found || controller[action] != nil
		}
		if !found {
			t.Errorf("%s is none of %v", action, slices.Collect(maps.Keys(tree.Permissions)))
		}
	}
}

// A request that exceeds its time limit is answered with the name of the setting, over REST and over GraphQL.
func TestTooLongNamesItsSetting(t *testing.T) {
	x := &gateway.Extensions{}
	x.Handle(gateway.Route{Method: "GET", Path: "/api/slow",
		Handle: func(_ http.ResponseWriter, r *http.Request, _ *permission.Access) error {
			<-r.Context().Done()
			return r.Context().Err()
		}})
	x.GraphQL().Use(schema.Extension{
		TypeDefs: "extend type Query { slow: Int }",
		Resolvers: schema.Resolvers{"Query": {"slow": func(p graphql.ResolveParams) (any, error) {
			<-p.Context.Done()
			return nil, p.Context.Err()
		}}},
		ResolversConfig: map[string]schema.FieldConfig{"Query.slow": {Auth: schema.NoAuth}},
	})
	files := maps.Clone(extendedFiles)
	files["config/permissions.yaml"] = "{}"
	files["config/server.yaml"] = "timeouts: {request: 20ms}\n"
	ready, _ := run(t, writeProject(t, files), gateway.Options{Ephemeral: true, Extensions: x}, nil)
	for _, ask := range []struct{ method, path, body string }{{"GET", "/api/slow", ""},
		{"POST", "/graphql", `{"query":"{slow}"}`}} {
		status, body := send(t, ask.method, ready.Base+ask.path, "", ask.body)
		if status != 503 || !strings.Contains(body, "the request took longer than 20ms (timeouts.request)") {
			t.Errorf("%s: %d %s", ask.path, status, body)
		}
	}
}
