package gateway_test

import (
	"strings"
	"testing"
)

// graphqlConfig returns the files of a project with settings under graphql.config.
func graphqlConfig(config string) map[string]string {
	return map[string]string{"config/plugins.yaml": "graphql: {config: {" + config + "}}\n" +
		peopleFiles["config/plugins.yaml"]}
}

// The answers to batches are those of the reference, apart from limits.
func TestGraphQLBatchesAnswerAsTheReference(t *testing.T) {
	a := serve(t, graphqlConfig("subscriptions: true, limits: {batch: 3}, apolloServer: {allowBatchedHttpRequests: true}"))
	for _, c := range []struct {
		name, body string
		status     int
		want       string
	}{
		{"two queries", `[{"query":"{a:__typename}"},{"query":"{b:__typename}"}]`, 200,
			`[{"data":{"a":"Query"}},{"data":{"b":"Query"}}]`},
		{"one that is not valid", `[{"query":"{a:__typename}"},{"query":"{"}]`, 400,
			`[{"data":{"a":"Query"}},{"errors":[{"message":"Syntax Error: Expected Name, found <EOF>.","locations":[{"line":1,"column":2}],"extensions":{"code":"GRAPHQL_PARSE_FAILED"}}]}]`},
		{"variables of one",
			`[{"query":"{a:__typename}"},{"query":"query($s:Boolean!){a:__typename @skip(if:$s) b:__typename}","variables":{"s":true}}]`, 200, `[{"data":{"a":"Query"}},{"data":{"b":"Query"}}]`},
		{"a persisted query that is not known",
			`[{"query":"{a:__typename}"},{"extensions":{"persistedQuery":{"version":1,"sha256Hash":"00"}}}]`, 200,
			`[{"data":{"a":"Query"}},{"errors":[{"message":"PersistedQueryNotFound","extensions":{"code":"PERSISTED_QUERY_NOT_FOUND"}}]}]`},
		{"none", `[]`, 400, "No operations found in request."},
		{"no object", `[{"query":"{a:__typename}"},5]`, 400,
			"POST body missing, invalid Content-Type, or JSON object has no keys."},
		{"a batch in a batch", `[[]]`, 400, "POST body missing, invalid Content-Type, or JSON object has no keys."},
		{"variables that are no object", `[{"query":"{a:__typename}"},{"variables":5,"query":"{b:__typename}"}]`, 400,
			"`variables` in a POST body must be an object if provided."},
		{"too many", `[` + strings.Repeat(`{"query":"{a:__typename}"},`, 3) + `{}]`, 400,
			"Too many operations: at most 3 are allowed (graphql.config.limits.batch)."},
		{"a single operation", `{"query":"{a:__typename}"}`, 200, `{"data":{"a":"Query"}}`},
	} {
		r := a.do("POST", "/graphql", "full", c.body, "Content-Type", "application/json")
		if r.status != c.status || !strings.Contains(strings.ReplaceAll(r.text, "\n", ""), c.want) {
			t.Errorf("%s: %d %s, want %d %s", c.name, r.status, r.text, c.status, c.want)
		}
	}
	for accept, want := range map[string]int{"text/event-stream": 400, "image/png": 406,
		"application/graphql-response+json": 200} {
		if r := a.do("POST", "/graphql", "full", `[{"query":"{a:__typename}"}]`, "Content-Type", "application/json",
			"Accept", accept); r.status != want {
			t.Errorf("%s: %d %s", accept, r.status, r.text)
		}
	}
	if r := a.do("POST", "/graphql", "full", `[{"query":"{a:__typename}"}]`, "Content-Type",
		"text/plain"); r.status != 400 || !strings.Contains(r.text, "cross-site request forgery") {
		t.Errorf("without a preflight: %d %s", r.status, r.text)
	}
	usual := serve(t, nil)
	if r := usual.do("POST", "/graphql", "full", `[{"query":"{a:__typename}"}]`, "Content-Type",
		"application/json"); r.status != 400 || !strings.Contains(r.text, "Operation batching disabled.") {
		t.Errorf("without the setting: %d %s", r.status, r.text)
	}
}

// Mutations of a batch run in order. Each operation counts for the limits on requests.
func TestGraphQLBatchRunsMutationsInOrder(t *testing.T) {
	files := graphqlConfig("apolloServer: {allowBatchedHttpRequests: true}")
	files["config/api.yaml"] = "rateLimit: {token: {requests: 6, window: 1h}}\n"
	a := serve(t, files)
	create := func(title string) object {
		return object{"query": "mutation($t:String){createArticle(data:{title:$t}){title}}",
			"variables": object{"t": title}}
	}
	list := object{"query": "{articles(sort:\"id\"){title}}"}
	batch := []object{create("one"), list, create("two"), list}
	if r := a.do("POST", "/graphql", "full", batch, "Idempotency-Key", "once"); r.status != 400 ||
		!strings.Contains(r.text, "An Idempotency-Key is for one mutation") {
		t.Errorf("with a key: %d %s", r.status, r.text)
	}
	b := serve(t, files)
	want := `[{"data":{"createArticle":{"title":"one"}}},{"data":{"articles":[{"title":"one"}]}},` +
		`{"data":{"createArticle":{"title":"two"}}},{"data":{"articles":[{"title":"one"},{"title":"two"}]}}]`
	if r := b.do("POST", "/graphql", "full", batch); r.status != 200 || strings.ReplaceAll(r.text, "\n", "") != want {
		t.Errorf("%d %s", r.status, r.text)
	}
	if r := b.do("POST", "/graphql", "full", batch[:3]); r.status != 429 {
		t.Errorf("three more than the two that are left: %d %s", r.status, r.text)
	}
	if r := a.do("POST", "/graphql", "full", list); r.status != 200 {
		t.Errorf("the refused batch wrote, or counted twice: %d %s", r.status, r.text)
	}
}

// A batch whose answer is too long says so in the place of the results that have no room, since mutations before them
// are done.
func TestGraphQLBatchThatIsTooLongSaysSo(t *testing.T) {
	files := graphqlConfig("apolloServer: {allowBatchedHttpRequests: true}")
	files["config/server.yaml"] = "limits: {answer: 1kB}\n"
	a := serve(t, files)
	long := object{"query": "mutation($t:String){createArticle(data:{title:$t}){title}}",
		"variables": object{"t": strings.Repeat("x", 200)}}
	r := a.do("POST", "/graphql", "full", []object{long, long, long, long, long, {"query": "{__typename}"}})
	results, _ := r.body.([]any)
	if len(results) != 6 || strings.Count(r.text, `"createArticle"`) != 4 ||
		strings.Count(r.text, `"message":"The answer is too large`) != 2 {
		t.Errorf("%d results, status %d: %s", len(results), r.status, r.text)
	}
	if r := a.graphql("full", "{articles_connection{pageInfo{total}}}"); !strings.Contains(r.text, `"total":5`) {
		t.Error(r.text)
	}
}

// The settings of Apollo Server that Lectern has too.
func TestGraphQLObeysApolloSettings(t *testing.T) {
	const hashOnly = `{"query":"{__typename}","extensions":{"persistedQuery":{"version":1,"sha256Hash":"aa"}}}`
	for _, c := range []struct {
		setting, method, path, contentType, body string
		header                                   string
		status                                   int
		want                                     string
	}{
		{"csrfPrevention: true", "GET", "?query={__typename}", "", "", "", 400, "cross-site request forgery"},
		{"csrfPrevention: false", "GET", "?query={__typename}", "", "", "", 200, `"Query"`},
		{"csrfPrevention: false", "POST", "", "application/x-www-form-urlencoded", "query={__typename}", "", 200,
			`"Query"`},
		{"csrfPrevention: false", "POST", "", "text/plain", `{"query":"{__typename}"}`, "", 400, "POST body missing"},
		{"csrfPrevention: {requestHeaders: [x-own]}", "GET", "?query={__typename}", "", "", "X-Own", 200, `"Query"`},
		{"csrfPrevention: {requestHeaders: [x-own]}", "GET", "?query={__typename}", "", "", "Apollo-Require-Preflight",
			400, "cross-site request forgery"},
		{"csrfPrevention: {requestHeaders: []}", "GET", "?query={__typename}", "", "", "Apollo-Require-Preflight", 200,
			`"Query"`},
		{"persistedQueries: true", "POST", "", "application/json", hashOnly, "", 400,
			"provided sha does not match query"},
		{"persistedQueries: false", "POST", "", "application/json", hashOnly, "", 200,
			`"PERSISTED_QUERY_NOT_SUPPORTED"`},
		{"hideSchemaDetailsFromClientErrors: false", "POST", "", "application/json", `{"query":"{articlez{title}}"}`,
			"", 400, `Did you mean`},
		{"hideSchemaDetailsFromClientErrors: true", "POST", "", "application/json", `{"query":"{articlez{title}}"}`, "",
			400, `Cannot query field \"articlez\" on type \"Query\"."`},
		{"hideSchemaDetailsFromClientErrors: true", "POST", "", "application/json",
			`{"query":"query($s:PublicationStatus){articles(status:$s){title}}","variables":{"s":"DRAFTT"}}`, "", 400,
			`does not exist in \"PublicationStatus\" enum."`},
	} {
		a := serve(t, graphqlConfig("apolloServer: {"+c.setting+"}"))
		headers := []string{"Content-Type", c.contentType}
		if c.header != "" {
			headers = append(headers, c.header, "yes")
		}
		r := a.do(c.method, "/graphql"+c.path, "full", c.body, headers...)
		if r.status != c.status || !strings.Contains(r.text, c.want) {
			t.Errorf("%s, %s %s: %d %s", c.setting, c.method, c.body, r.status, r.text)
		}
	}
}
