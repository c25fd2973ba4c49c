package gateway_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"regexp"
	"strings"
	"testing"

	"github.com/graphql-go/graphql"

	"lectern/gateway"
	"lectern/internal/servertest"
	"lectern/shadowcrud/graphql/schema"
)

// TestResolversServeEachKindOfCaller queries fields of extensions over HTTP as each kind of caller.
func TestResolversServeEachKindOfCaller(t *testing.T) {
	x := &gateway.Extensions{}
	x.Policy("agent", func(c *gateway.PolicyContext, s gateway.Host) (bool, error) {
		return s.Documents().Model().Type("api::article.article") != nil &&
			gateway.CallerOf(c.Context).HTTP.UserAgent() != c.Config, nil
	})
	x.GraphQL().Use(schema.Extension{
		TypeDefs: "extend type Query { who: String! open: Int boom: Int kept: Int scoped: Int }",
		Resolvers: schema.Resolvers{"Query": {
			"who": func(p graphql.ResolveParams) (any, error) {
				a := gateway.CallerOf(p.Context)
				return fmt.Sprint(a.User.ID, " ", a.HTTP.URL.Path), nil
			},
			"open":   func(graphql.ResolveParams) (any, error) { return 1, nil },
			"scoped": func(graphql.ResolveParams) (any, error) { return 1, nil },
			"kept":   func(graphql.ResolveParams) (any, error) { return 1, nil },
			"boom":   func(graphql.ResolveParams) (any, error) { panic("a secret") },
		}},
		ResolversConfig: map[string]schema.FieldConfig{
			"Query.open": {Auth: schema.NoAuth},
			"Query.boom": {Auth: schema.NoAuth},
			"Query.kept": {Auth: schema.NoAuth,
				Policies: []schema.PolicyUse{{Name: "agent", Config: "Go-http-client/1.1"}}},
			"Query.scoped": {Auth: schema.Scopes("api::article.article.findOne", "api::article.article.find")},
		},
	})
	log := &servertest.LogBuffer{}
	files := maps.Clone(extendedFiles)
	files["config/permissions.yaml"] = "roles: {public: {api::article.article: [findOne], plugin::users-permissions.auth: [register]}, authenticated: {api::article.article: [find, findOne]}}"
	ready, _ := run(t, writeProject(t, files),
		gateway.Options{Ephemeral: true, Extensions: x, Log: slog.New(slog.NewTextHandler(log, nil))}, nil)
	ask := func(as, query string) string {
		t.Helper()
		_, body := send(t, "POST", ready.Base+"/graphql", as, fmt.Sprintf(`{"query":%q}`, query))
		return strings.TrimSuffix(body, "\n")
	}
	var registered struct {
		Data struct{ Register struct{ JWT string } }
	}
	if err := json.Unmarshal(
		[]byte(ask("", `mutation{register(input:{username:"ann",email:"ann@example.org",password:"Secret12"}){jwt}}`)),
		&registered); err != nil {
		t.Fatal(err)
	}
	failed := func(message, code, name, path string) string {
		return fmt.Sprintf(`{"errors":[{"message":%q,"path":[%q],"extensions":{"code":%q,"error":{"name":%q,"message":%q,"details":{}}}}],"data":`, message, path, code, name, message)
	}
	forbidden := func(path, data string) string {
		return failed("Forbidden access", "FORBIDDEN", "ForbiddenError", path) + data + "}"
	}
	user := registered.Data.Register.JWT
	for _, tt := range []struct{ as, query, want string }{
		{"", "{who}", forbidden("who", "null")},
		{ready.Tokens["readonly"], "{who}", forbidden("who", "null")},
		{ready.Tokens["full"], "{who}", `{"data":{"who":"0 /graphql"}}`},
		{user, "{who}", `{"data":{"who":"1 /graphql"}}`},
		{"", "{open}", `{"data":{"open":1}}`},
		{"", "{scoped}", forbidden("scoped", `{"scoped":null}`)},
		{user, "{scoped}", `{"data":{"scoped":1}}`},
		{ready.Tokens["readonly"], "{scoped}", `{"data":{"scoped":1}}`},
		{"", "{kept}", failed("Policy Failed", "FORBIDDEN", "PolicyError", "kept") + `{"kept":null}}`},
		{"", "{boom open}", failed("Internal Server Error", "INTERNAL_SERVER_ERROR", "InternalServerError", "boom") +
			`{"boom":null,"open":1}}`},
	} {
		if got := ask(tt.as, tt.query); got != tt.want {
			t.Errorf("%s answers %s\nwant %s", tt.query, got, tt.want)
		}
	}
	if text := log.String(); !strings.Contains(text, "a secret") ||
		!regexp.MustCompile(`id=\w+-\w+ path=\[boom\]`).MatchString(text) {
		t.Errorf("the panic was not logged: %s", text)
	}
}
