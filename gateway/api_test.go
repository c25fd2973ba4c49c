package gateway_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"lectern/gateway"
)

// peopleFiles are the files of a project in which users write articles.
var peopleFiles = map[string]string{
	"content-types/article.yaml": `
kind: collectionType
info: {singularName: article, pluralName: articles, displayName: Article}
attributes:
  title: {type: string}
  hidden: {type: string, private: true}
  code: {type: password}
  author: {type: relation, relation: manyToOne, target: plugin::users-permissions.user}
  parts: {type: component, component: page.part, repeatable: true}
  zone: {type: dynamiczone, components: [page.part]}
  related: {type: relation, relation: manyToMany, target: api::article.article, inversedBy: relating}
  relating: {type: relation, relation: manyToMany, target: api::article.article, mappedBy: related}
`,
	"components/page/part.yaml": `
info: {displayName: Part}
attributes:
  label: {type: string}
  hidden: {type: string, private: true}
  reader: {type: relation, relation: oneToOne, target: plugin::users-permissions.user}
`,
	"config/permissions.yaml": `
roles:
  public:
    api::article.article: [find, findOne]
  authenticated:
    api::article.article: [find, findOne, create, update]
  keeper:
    plugin::users-permissions.user: [me, find, findOne, count, create, update, destroy]
    api::article.article: [find, findOne]
`,
	"config/plugins.yaml": `
users-permissions:
  config:
    jwtSecret: ` + testSecret + `
    ratelimit: {enabled: false}
`,
}

const testSecret = "a secret of the tests, which nobody ships"

// with returns peopleFiles with other files added or replaced.
func with(files map[string]string) map[string]string {
	all := map[string]string{}
	for _, set := range []map[string]string{peopleFiles, files} {
		for name, text := range set {
			all[name] = text
		}
	}
	return all
}

// An api sends requests to a test server as a client does.
type api struct {
	t *testing.T
	gateway.Ready
	client http.Client
}

// serve runs a project of peopleFiles and files.
func serve(t *testing.T, files map[string]string) *api {
	t.Helper()
	ready, _ := run(t, writeProject(t, with(files)), gateway.Options{Ephemeral: true}, nil)
	return newAPI(t, ready)
}

func newAPI(t *testing.T, ready gateway.Ready) *api {
	a := &api{t: t, Ready: ready}
	a.client.Transport = &http.Transport{}
	a.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	t.Cleanup(a.client.CloseIdleConnections)
	return a
}

// A reply is what a server answered.
type reply struct {
	status int
	header http.Header
	text   string
	body   any // the decoded JSON body; nil if the body is not JSON
}

// at returns the part of an answer at a dotted path.
func (r reply) at(path string) any {
	v := r.body
	for key := range strings.SplitSeq(path, ".") {
		o, _ := v.(map[string]any)
		v = o[key]
	}
	return v
}

func (r reply) message() string { s, _ := r.at("error.message").(string); return s }

// do sends a request. as is the name of a token, a JWT, or "" for the public. A body that is a string is sent
// unchanged; any other body is sent as JSON. headers are pairs of name and value.
func (a *api) do(method, path, as string, body any, headers ...string) reply {
	a.t.Helper()
	var sent io.Reader
	switch body := body.(type) {
	case nil:
	case string:
		sent = strings.NewReader(body)
	default:
		text, err := json.Marshal(body)
		if err != nil {
			a.t.Fatal(err)
		}
		sent = bytes.NewReader(text)
	}
	req, err := http.NewRequest(method, a.Base+path, sent)
	if err != nil {
		a.t.Fatal(err)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if key := a.Tokens[as]; key != "" {
		as = key
	}
	if as != "" {
		req.Header.Set("Authorization", "Bearer "+as)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	if host := req.Header.Get("Host"); host != "" { // net/http sends req.Host and ignores the header
		req.Host = host
	}
	res, err := a.client.Do(req)
	if err != nil {
		a.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		a.t.Fatal(err)
	}
	r := reply{status: res.StatusCode, header: res.Header, text: string(text)}
	if json.Unmarshal(text, &r.body) != nil {
		r.body = nil
	}
	return r
}

// want sends a request like do, and fails the test if the answer has another status.
func (a *api) want(status int, method, path, as string, body any, headers ...string) reply {
	a.t.Helper()
	r := a.do(method, path, as, body, headers...)
	if r.status != status {
		a.t.Fatalf("%s %s %v: %d %s, want %d", method, path, body, r.status, r.text, status)
	}
	return r
}

// object is a JSON object.
type object = map[string]any

// register registers a user with the password "secret-" + name, and returns the user's JWT and id.
func (a *api) register(name string) (jwt string, id int) {
	a.t.Helper()
	r := a.want(200, "POST", "/api/auth/local/register", "",
		object{"username": name, "email": name + "@people.test", "password": "secret-" + name})
	jwt, _ = r.at("jwt").(string)
	n, _ := r.at("user.id").(float64)
	return jwt, int(n)
}

// login logs a user in and returns the new JWT.
func (a *api) login(name, password string) string {
	a.t.Helper()
	jwt, _ := a.want(200, "POST", "/api/auth/local", "", object{"identifier": name, "password": password}).at("jwt").(string)
	return jwt
}

// roleID returns the id of a role by its type.
func (a *api) roleID(kind string) int {
	a.t.Helper()
	roles, _ := a.want(200, "GET", "/api/users-permissions/roles", "full", nil).at("roles").([]any)
	for _, r := range roles {
		if role, _ := r.(map[string]any); role["type"] == kind {
			return int(role["id"].(float64))
		}
	}
	a.t.Fatalf("no role %s", kind)
	return 0
}

func userPath(id int) string { return fmt.Sprintf("/api/users/%d", id) }
