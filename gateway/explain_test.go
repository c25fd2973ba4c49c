package gateway_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"

	"lectern/gateway"
	"lectern/store"
)

// explained are a forum with tokens that may, and may not, have reads explained.
func explained() map[string]string {
	files := maps.Clone(forumFiles)
	files["config/permissions.yaml"] += `
  - name: watcher
    type: custom
    permissions:
      api::post.post: {find: {where: {state: approved}}}
      lectern::server: [explain]
  - name: closed
    type: custom
    permissions:
      lectern::server: [explain]
`
	return files
}

// An explanation is the header Lectern-Explain of an answer.
type explanation struct {
	Took    float64
	Queries []store.ExplainedQuery
	Omitted int
	Work    store.Work
}

func explanationOf(t *testing.T, r reply) (e explanation) {
	t.Helper()
	text := r.header.Get("Lectern-Explain")
	if err := json.Unmarshal([]byte(text), &e); err != nil {
		t.Fatalf("%d with %q: %v", r.status, text, err)
	}
	if len(text) > 4096 {
		t.Errorf("the header has %d bytes", len(text))
	}
	if got := r.header.Get("Cache-Control"); got != "no-store" {
		t.Errorf("Cache-Control: %s", got)
	}
	return e
}

// TestExplainHeader has reads over REST and GraphQL explained, also one that the client has, and one that fails.
func TestExplainHeader(t *testing.T) {
	ready, _ := run(t, writeProject(t, explained()), gateway.Options{Ephemeral: true}, nil)
	a := newAPI(t, ready)
	topic := a.want(201, "POST", "/api/topics", "full", object{"data": object{"name": "news"}}).at("data.documentId")
	for i := range 30 {
		a.want(201, "POST", "/api/posts", "full", object{"data": object{"title": fmt.Sprint("post ", i),
			"state": []string{"pending", "approved", "refused"}[i%3], "topic": topic}})
	}
	asks := append([]string{"Lectern-Explain", "1"}, preflight...)
	for _, c := range []struct {
		name, as, path string
		status, found  int
		condition      string
	}{
		{"a list", "full", "/api/posts?filters[state]=approved", 200, 10, "state $eq"},
		{"a relation", "full", "/api/posts?filters[topic][name]=news&populate=topic", 200, 25, "topic.name $eq"},
		{"the rule of the caller", "watcher", "/api/posts?pagination[pageSize]=5", 200, 5, "state $eq"},
		{"GraphQL", "full", byGET(`{posts(filters:{title:{contains:"post 1"}}){title}}`), 200, 10, "title $contains"},
	} {
		r := a.do("GET", c.path, c.as, nil, asks...)
		e := explanationOf(t, r)
		if r.status != c.status || len(e.Queries) != 1 || e.Queries[0].Type != "api::post.post" ||
			e.Queries[0].Found != c.found || e.Queries[0].Conditions[0].Attribute+" "+e.Queries[0].Conditions[0].Operator != c.condition {
			t.Errorf("%s: %d, %+v", c.name, r.status, e)
		}
		if e.Took <= 0 || e.Work.Rows < uint64(c.found) || e.Work.Rows < e.Queries[0].Work.Rows {
			t.Errorf("%s: %+v", c.name, e)
		}
		known := a.do("GET", c.path, c.as, nil, append(asks, "If-None-Match", r.header.Get("ETag"))...)
		if known.status != 200 || len(explanationOf(t, known).Queries) != 1 {
			t.Errorf("%s: of an answer that the client has: %d, %v", c.name, known.status, known.header)
		}
		plain := a.do("GET", c.path, c.as, nil, preflight...)
		if plain.status != r.status || plain.text != r.text || plain.header["Lectern-Explain"] != nil {
			t.Errorf("%s: unexplained, the answer is %d %s, not %s", c.name, plain.status, plain.text, r.text)
		}
	}
	failed := a.do("GET", "/api/posts/none", "full", nil, asks...)
	if e := explanationOf(t, failed); failed.status != 404 || e.Work.Seeks == 0 {
		t.Errorf("of a failure: %d, %+v", failed.status, e)
	}
}

// TestExplainHeaderIsRefused expects callers who lack the permission to learn nothing of the work: neither the public,
// nor tokens that read all, nor those that read what a rule lets them. Their requests are not answered either.
func TestExplainHeaderIsRefused(t *testing.T) {
	ready, _ := run(t, writeProject(t, explained()), gateway.Options{Ephemeral: true}, nil)
	a := newAPI(t, ready)
	graphQL := byGET("{posts{title}}")
	for _, c := range []struct {
		as, path, asks string
		status         int
		message        string
	}{
		{"readonly", "/api/posts", "1", 403, "needs the permission lectern::server.explain"},
		{"approved", "/api/posts", "1", 403, "needs the permission lectern::server.explain"},
		{"readonly", graphQL, "1", 403, "needs the permission lectern::server.explain"},
		{"", graphQL, "1", 403, "needs the permission lectern::server.explain"},
		{"", "/api/posts", "1", 403, "Forbidden"},
		{"closed", "/api/posts", "1", 403, "Forbidden"},
		{"wrong", "/api/posts", "1", 401, ""},
		{"readonly", "/api/posts", "0", 200, ""},
		{"full", "/api/posts", "0", 200, ""},
	} {
		r := a.do("GET", c.path, c.as, nil, "Lectern-Explain", c.asks)
		if r.status != c.status || !strings.Contains(r.text, c.message) || r.header["Lectern-Explain"] != nil {
			t.Errorf("%q asks for %s: %d %s, %v", c.as, c.path, r.status, r.text, r.header["Lectern-Explain"])
		}
	}
}

// TestExplainHeaderIsBounded asks one operation so many queries that what they did does not fit a header.
func TestExplainHeaderIsBounded(t *testing.T) {
	ready, _ := run(t, writeProject(t, explained()), gateway.Options{Ephemeral: true}, nil)
	a := newAPI(t, ready)
	var query strings.Builder
	for i := range 50 {
		fmt.Fprintf(&query, " p%d: posts(filters:{and:[{title:{contains:%q}},{state:{eq:\"approved\"}},{topic:{name:{eq:\"x\"}}}]}){title}", i, fmt.Sprint(i))
	}
	r := a.do("POST", "/graphql", "full", object{"query": "{" + query.String() + "}"}, "Lectern-Explain", "1")
	if e := explanationOf(t, r); r.status != http.StatusOK || len(e.Queries)+e.Omitted != 50 || e.Omitted == 0 ||
		len(e.Queries) < 5 {
		t.Errorf("%d %.200s: %d queries, %d omitted", r.status, r.text, len(e.Queries), e.Omitted)
	}
}
