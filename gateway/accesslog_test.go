package gateway_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"lectern/gateway"
	"lectern/internal/servertest"
)

// A lineLog is a log of requests.
type lineLog struct{ servertest.LogBuffer }

// requests returns the lines of requests, decoded.
func (l *lineLog) requests(t *testing.T) (lines []object) {
	t.Helper()
	for line := range strings.Lines(l.String()) {
		var o object
		if err := json.Unmarshal([]byte(line), &o); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		if o["msg"] == "request" {
			lines = append(lines, o)
		}
	}
	return lines
}

// request returns the line of the request with this id.
func (l *lineLog) request(t *testing.T, id any) object {
	t.Helper()
	for _, line := range l.requests(t) {
		if line["id"] == id {
			return line
		}
	}
	t.Fatalf("no line of request %v in\n%s", id, l)
	return nil
}

// TestAccessLogHoldsNoSecrets compares the lines of requests with what the access log promises, and expects nothing
// secret in them: no query, no body, no credential, no documentId, and of paths only those without a route.
func TestAccessLogHoldsNoSecrets(t *testing.T) {
	var log lineLog
	ready, stop := run(t, writeProject(t, with(nil)), gateway.Options{Ephemeral: true, Production: true, LogTo: &log},
		nil)
	a := newAPI(t, ready)
	jwt, id := a.register("ada")
	created := a.want(201, "POST", "/api/articles", "full",
		object{"data": object{"title": "secret-title", "code": "secret-code"}})
	documentID, _ := created.at("data.documentId").(string)
	graphql := object{"query": `{ articles(filters: {title: {eq: "secret-title"}}) { title } }`}
	tests := []struct {
		method, path, as string
		body             any
		want             object // attributes of the line
	}{
		{"GET", "/api/articles?filters[title]=secret-title", "", nil,
			object{"route": "/api/articles", "status": 200., "principal": "public"}},
		{"GET", "/API/Articles/" + documentID, "readonly", nil,
			object{"route": "/api/articles/{documentId}", "status": 200., "principal": "token", "name": "readonly"}},
		{"GET", "/api/articles", jwt, nil, object{"route": "/api/articles", "status": 200., "principal": "user",
			"name": "ada", "user": float64(id)}},
		{"GET", "/api/articles", "secret-credential", nil,
			object{"route": "/api/articles", "status": 401., "reason": "credential"}},
		{"POST", "/api/articles", "", object{"data": object{"title": "secret-body"}},
			object{"route": "/api/articles", "status": 403., "principal": "public", "reason": "permission"}},
		{"POST", "/api/articles", "full", strings.Repeat(" ", 1<<20+1), object{"route": "/api/articles", "status": 413.,
			"principal": "token", "name": "full", "reason": "body_size"}},
		{"GET", "/api/users/me", "", nil, object{"route": "/api/users/me", "status": 403., "principal": "public",
			"reason": "permission"}},
		{"GET", "/no%20such page\u00e9?secret-query", "", nil,
			object{"route": "none", "path": "/no%20such%20page%C3%A9", "status": 404.}},
		{"GET", "/" + strings.Repeat("a", 5000), "", nil,
			object{"route": "none", "path": "/" + strings.Repeat("a", 199) + "…", "status": 404.}},
		{"PROPFIND", "/api/articles", "", nil, object{"method": "other", "route": "/api/articles", "status": 405.}},
		{"POST", "/graphql", "full", graphql, object{"route": "/graphql", "status": 200., "principal": "token",
			"name": "full"}},
		{"GET", "/uploads/secret-file.png", "", nil, object{"route": "/uploads/{path:.*}", "status": 404.}},
	}
	for _, test := range tests {
		r := a.do(test.method, test.path, test.as, test.body)
		test.want["id"] = r.header.Get("X-Request-Id")
		test.want["bytes"] = float64(len(r.text))
		if test.want["method"] == nil {
			test.want["method"] = test.method
		}
		test.want["level"], test.want["msg"], test.want["client"] = "INFO", "request", "127.0.0.1"
	}
	a.want(204, "GET", "/_health", "", nil)
	stop() // a line is written after its answer
	for _, test := range tests {
		got := log.request(t, test.want["id"])
		if took, _ := got["took"].(float64); took <= 0 {
			t.Errorf("%s %s took %v", test.method, test.path, got["took"])
		}
		delete(got, "time")
		delete(got, "took")
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s %s: %s", test.method, test.path, diff)
		}
	}
	for _, secret := range []string{"secret-", documentID, jwt, ready.Tokens["full"], "_health"} {
		if strings.Contains(log.String(), secret) {
			t.Errorf("the log has %q:\n%s", secret, &log)
		}
	}
}

// TestAccessLogIsOnInProduction expects requests in the log of production alone, unless log.requests says otherwise.
func TestAccessLogIsOnInProduction(t *testing.T) {
	for _, test := range []struct {
		production bool
		settings   string
		lines      int
	}{
		{false, "log: {format: json}", 0},
		{true, "log: {format: json}", 1},
		{false, "log: {format: json, requests: true}", 1},
		{true, "log: {format: json, requests: false}", 0},
		{true, "log: {format: json, level: warn}", 0},
		{false, "log: {format: json, level: debug}", 1},
	} {
		var log lineLog
		ready, stop := run(t, writeProject(t, with(map[string]string{"config/server.yaml": test.settings})),
			gateway.Options{Ephemeral: true, Production: test.production, LogTo: &log}, nil)
		newAPI(t, ready).want(200, "GET", "/api/articles", "", nil)
		stop()
		if got := len(log.requests(t)); got != test.lines {
			t.Errorf("production %t with %s: %d lines, want %d", test.production, test.settings, got, test.lines)
		}
	}
}
