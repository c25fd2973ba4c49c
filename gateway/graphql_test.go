package gateway_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"lectern/gateway"
)

// graphql sends an operation to a project of peopleFiles.
func (a *api) graphql(as, query string, headers ...string) reply {
	a.t.Helper()
	return a.do("POST", "/graphql", as, object{"query": query}, headers...)
}

// TestGraphQLLoginsAreCounted expects each alias of a field to count for the rate limit, and logins over GraphQL to
// count together with logins over REST.
func TestGraphQLLoginsAreCounted(t *testing.T) {
	a := serve(t, plugins("    ratelimit: {enabled: true, interval: 1h, max: 3}\n"))
	var query strings.Builder
	query.WriteString("mutation{")
	for i := range 5 {
		fmt.Fprintf(&query, `a%d:changePassword(currentPassword:"x",password:"secret",passwordConfirmation:"secret"){jwt} `, i)
	}
	query.WriteString("}")
	r := a.graphql("full", query.String())
	if n := strings.Count(r.text, `"code":"STRAPI_RATE_LIMIT_ERROR"`); n != 2 {
		t.Errorf("%d of 5 aliases were refused: %s", n, r.text)
	}
	login := `mutation{login(input:{identifier:"nobody",password:"secret"}){jwt}}`
	for range 2 {
		a.graphql("", login)
	}
	if r := a.do("POST", "/api/auth/local", "", object{"identifier": "nobody", "password": "secret"}); r.status != 400 {
		t.Errorf("the third login: %d %s", r.status, r.text)
	}
	if r := a.graphql("", login); !strings.Contains(r.text, "Too many requests") || r.header.Get("Retry-After") == "" {
		t.Errorf("the fourth: %s", r.text)
	}
}

// The server does not execute an operation if the client does not accept the media type of a GraphQL answer.
func TestGraphQLRunsNothingThatIsNotAcceptable(t *testing.T) {
	a := serve(t, nil)
	mutation := `mutation{createArticle(data:{title:"x"}){title}}`
	if r := a.graphql("full", mutation, "Accept", "text/html"); r.status != http.StatusNotAcceptable {
		t.Errorf("%d %s", r.status, r.text)
	}
	if r := a.graphql("full", `{articles{title}}`); r.text != "{\"data\":{\"articles\":[]}}\n" {
		t.Error(r.text)
	}
}

func TestGraphQLSettingsAreRead(t *testing.T) {
	with := func(graphql string) *api {
		return serve(t, map[string]string{"config/plugins.yaml": "graphql:\n" + graphql +
			peopleFiles["config/plugins.yaml"]})
	}
	if r := with("  enabled: false\n").graphql("full", "{__typename}"); r.status != 404 && r.status != 405 {
		t.Errorf("switched off: %d %s", r.status, r.text)
	}
	a := with("  config:\n    endpoint: /api/query\n    limits: {aliases: 2, tokens: 50, cost: 20, conditions: 2, sortKeys: 2}\n")
	for query, want := range map[string]string{
		"{__typename}":                                             `"__typename":"Query"`,
		"{a:__typename b:__typename}":                              `"b":"Query"`,
		"{a:__typename b:__typename c:__typename}":                 "more than 2 aliases",
		"{" + strings.Repeat("__typename ", 60) + "}":              "more than 50 tokens",
		"{articles(pagination:{limit:10}){related{title}}}":        "more than 20 objects",
		"{__schema{queryType{name}}}":                              "objects",
		"{articles(filters:{documentId:{in:[1,2,3]}}){title}}":     "Too many conditions: at most 2 are allowed",
		"{articles(sort:[\"title\",\"id\",\"createdAt\"]){title}}": "Too many sort keys: at most 2 are allowed",
		"{articles(sort:\"title,id,createdAt\"){title}}":           "Too many sort keys: at most 2 are allowed",
	} {
		if r := a.do("POST", "/api/query", "full", object{"query": query}); !strings.Contains(r.text, want) {
			t.Errorf("%s: %s", query, r.text)
		}
	}
	if r := a.do("POST", "/graphql", "full", object{"query": "{__typename}"}); r.status == 200 {
		t.Errorf("at the usual path: %s", r.text)
	}
}

// The settings limit what an operation may ask for; a limit can be lower or higher than its default.
func TestGraphQLLimitsCanBeRaised(t *testing.T) {
	var keys []string
	paths := []string{""}
	for len(keys) < 101 {
		for _, leaf := range []string{"title", "id", "documentId", "createdAt", "updatedAt"} {
			keys = append(keys, `"`+paths[0]+leaf+`"`)
		}
		paths = append(paths[1:], paths[0]+"related.", paths[0]+"relating.")
	}
	queries := map[string]string{
		"{articles(filters:{documentId:{in:[" + strings.Repeat("1 ", 4001) +
			"]}}){title}}": "Too many conditions: at most 4000 are allowed",
		"{articles(sort:[" + strings.Join(keys[:101], " ") +
			"]){title}}": "Too many sort keys: at most 100 are allowed",
		`{articles(sort:"` + strings.ReplaceAll(strings.Join(keys[:101], ","), `"`, "") +
			`"){title}}`: "Too many sort keys: at most 100 are allowed",
		`{__type(name:"Article"){fields{type{fields{type{fields{name}}}}}}}`: "Maximum introspection depth exceeded",
	}
	const raised = "graphql: {config: {limits: {conditions: 5000, sortKeys: 101, introspectionDepth: 3}}}\n"
	usual, more := serve(t, nil),
		serve(t, map[string]string{"config/plugins.yaml": raised + peopleFiles["config/plugins.yaml"]})
	for query, want := range queries {
		if r := usual.graphql("full", query); !strings.Contains(r.text, want) {
			t.Errorf("usually, %.60s: %.300s", query, r.text)
		}
		if r := more.graphql("full", query); r.status != 200 || strings.Contains(r.text, `"errors"`) {
			t.Errorf("where more is allowed, %.60s: %.300s", query, r.text)
		}
	}
	less := serve(t, map[string]string{"config/plugins.yaml": "graphql: {config: {limits: {introspectionDepth: 1}}}\n" +
		peopleFiles["config/plugins.yaml"]})
	for query, refused := range map[string]bool{"fields{name type{name}}": false, "fields{type{fields{name}}}": true} {
		if r := less.graphql("full", `{__type(name:"Article"){`+query+"}}"); strings.Contains(
			r.text, "Maximum introspection depth exceeded") != refused {
			t.Errorf("%s: %.300s", query, r.text)
		}
	}
}

// Strapi's settings for Apollo Server have an effect if they mean something here. The others are named in a warning at
// start.
func TestGraphQLSettingsWithoutEffectAreNamed(t *testing.T) {
	var log bytes.Buffer
	files := with(map[string]string{"config/plugins.yaml": `
graphql:
  config:
    playgroundAlways: false
    apolloServer: {introspection: false, tracing: true, cache: bounded, plugins: []}
`})
	ready, stop := run(t, writeProject(t, files),
		gateway.Options{Ephemeral: true, Log: slog.New(slog.NewTextHandler(&log, nil))}, nil)
	if r := newAPI(t, ready).graphql("full", "{__schema{queryType{name}}}"); !strings.Contains(
		r.text, "introspection is not allowed") {
		t.Errorf("introspection: %s", r.text)
	}
	stop()
	for _, want := range []string{
		"playgroundAlways is deprecated: set landingPage",
		"apolloServer.tracing has no effect: answers hold no traces",
		"apolloServer.cache has no effect: limits.plans and limits.persisted limit the caches",
		"apolloServer.plugins has no effect",
	} {
		if n := strings.Count(log.String(), want); n != 1 {
			t.Errorf("%d lines of the log say %q:\n%s", n, want, log.String())
		}
	}
	if strings.Contains(log.String(), "introspection has no effect") {
		t.Error(log.String())
	}
}

// Introspection is allowed in development only, unless the settings say otherwise.
func TestGraphQLIntrospectionIsForDevelopment(t *testing.T) {
	for _, tt := range []struct {
		production bool
		setting    string
		allowed    bool
	}{{false, "", true}, {true, "", false}, {true, "{introspection: true}", true},
		{false, "{introspection: false}", false}} {
		files := with(map[string]string{"config/plugins.yaml": "graphql: {config: {apolloServer: " + tt.setting +
			"}}\n" + peopleFiles["config/plugins.yaml"]})
		ready, stop := run(t, writeProject(t, files), gateway.Options{Ephemeral: true, Production: tt.production}, nil)
		if r := newAPI(t, ready).graphql("", "{__schema{queryType{name}}}"); (r.status == 200) != tt.allowed {
			t.Errorf("%+v: %d %s", tt, r.status, r.text)
		}
		stop()
	}
}

// Queries are persisted after they have been validated, up to the configured number.
func TestGraphQLPersistsValidQueriesOnly(t *testing.T) {
	a := serve(t, map[string]string{"config/plugins.yaml": "graphql:\n  config:\n    limits: {persisted: 2}\n" +
		peopleFiles["config/plugins.yaml"]})
	persisted := func(query string, send bool) reply {
		sum := sha256.Sum256([]byte(query))
		body := object{"extensions": object{"persistedQuery": object{"version": 1,
			"sha256Hash": hex.EncodeToString(sum[:])}}}
		if send {
			body["query"] = query
		}
		return a.do("POST", "/graphql", "full", body)
	}
	known := func(query string) bool {
		return !strings.Contains(persisted(query, false).text, "PersistedQueryNotFound")
	}
	one, two, three, wrong := "{a:__typename}", "{b:__typename}", "{c:__typename}", "{nope}"
	for _, q := range []string{one, two, wrong} {
		persisted(q, true)
	}
	if !known(one) || !known(two) || known(wrong) {
		t.Error("valid ones are kept, others not")
	}
	known(one)
	persisted(three, true)
	if !known(one) || known(two) || !known(three) {
		t.Error("the one that was not used for the longest time goes")
	}
}

// Pages of all origins may read GraphQL answers, unless the configuration lists origins.
func TestGraphQLOriginsAreThoseOfTheSettings(t *testing.T) {
	for config, origins := range map[string]map[string]string{
		"host: 127.0.0.1": {"": "", "https://a.example": "*"},
		"cors: {origin: https://a.example}": {"": "", "https://a.example": "https://a.example",
			"https://b.example": ""},
	} {
		a := serve(t, map[string]string{"config/server.yaml": config})
		for origin, want := range origins {
			if got := a.graphql("", "{__typename}", "Origin", origin).header.Get(
				"Access-Control-Allow-Origin"); got != want {
				t.Errorf("%s: origin %q: allowed %q, want %q", config, origin, got, want)
			}
		}
	}
}
