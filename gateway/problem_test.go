package gateway_test

import (
	"strings"
	"testing"

	"lectern/documents/apierror"
)

const problemJSON = "application/problem+json"

// TestErrorsAreProblemDetailsOrEnvelopes asks for errors of several parts of the server as problem details, and as
// envelopes.
func TestErrorsAreProblemDetailsOrEnvelopes(t *testing.T) {
	a := serve(t, map[string]string{
		"config/server.yaml": "limits: {json: 2kb}\n",
		"content-types/post.yaml": `
kind: collectionType
info: {singularName: post, pluralName: posts, displayName: Post}
attributes: {title: {type: string, required: true, minLength: 3}, size: {type: integer, max: 3}}
`})
	for _, c := range []struct {
		method, path, as string
		body             any
		status           int
		kind, detail     string
	}{
		{"GET", "/api/nope", "", nil, 404, "NotFoundError", "Not Found"},
		{"PUT", "/api/posts", "full", nil, 405, "MethodNotAllowedError", "Method Not Allowed"},
		{"GET", "/api/posts", "", nil, 403, "ForbiddenError", "Forbidden"},
		{"GET", "/api/posts", "no-such-token", nil, 401, "UnauthorizedError", "Missing or invalid credentials"},
		{"GET", "/api/posts?filters[nope]=1", "full", nil, 400, "ValidationError", "Invalid key nope"},
		{"POST", "/api/posts", "full", "{", 400, "SyntaxError", ""},
		{"POST", "/api/posts", "full", object{"data": object{"title": strings.Repeat("x", 4096)}}, 413,
			"PayloadTooLargeError", "request entity too large"},
		{"POST", "/api/posts", "full", object{"data": object{"title": "x", "size": 4}}, 400, "ValidationError",
			"2 errors occurred"},
		{"GET", "/api/posts/%FF", "full", nil, 400, "BadRequestError", "failed to decode"},
		{"GET", "/api/_changes?limit=x", "full", nil, 400, "ValidationError", ""},
		{"POST", "/api/upload", "full", "{}", 400, "ValidationError", "Files are empty"},
	} {
		r := a.want(c.status, c.method, c.path, c.as, c.body, "Accept", problemJSON, "X-Request-Id", "given-id")
		kind, _ := apierror.KindOf(c.kind)
		for key, want := range map[string]any{"type": "/docs/errors.md#" + c.kind, "title": kind.Title, "name": c.kind,
			"status": float64(c.status), "instance": "#given-id"} {
			if r.at(key) != want {
				t.Errorf("%s %s: %s is %v, want %v", c.method, c.path, key, r.at(key), want)
			}
		}
		if detail := r.at("detail"); detail == "" || c.detail != "" && detail != c.detail {
			t.Errorf("%s %s: detail %v", c.method, c.path, detail)
		}
		if r.header.Get("Content-Type") != problemJSON ||
			!strings.Contains(strings.Join(r.header["Vary"], ","), "Accept") {
			t.Errorf("%s %s: headers %v", c.method, c.path, r.header)
		}
		classic := a.want(c.status, c.method, c.path, c.as, c.body)
		if c.status != 405 && (classic.message() != r.at("detail") || classic.at("error.name") != c.kind) {
			t.Errorf("%s %s: %s\nbut without the header %s", c.method, c.path, r.text, classic.text)
		}
		if !strings.Contains(strings.Join(classic.header["Vary"], ","), "Accept") {
			t.Errorf("%s %s: the envelope does not vary by Accept", c.method, c.path)
		}
	}
}

// TestEvery401HasAChallenge reads the header WWW-Authenticate, which each 401 must have, and no other answer.
func TestEvery401HasAChallenge(t *testing.T) {
	a := serve(t, with(historyFiles))
	const invalid = `Bearer error="invalid_token"`
	for _, c := range []struct {
		method, path, as string
		status           int
		want             string
	}{
		{"GET", "/api/topics", "wrong", 401, invalid}, {"HEAD", "/api/topics", "wrong", 401, invalid},
		{"POST", "/graphql", "wrong", 401, invalid},
		{"POST", "/api/_batch", "wrong", 401, invalid}, {"GET", "/api/users/me", "full", 401, "Bearer"},
		{"GET", "/api/topics", "", 200, ""}, {"POST", "/api/topics", "", 403, ""},
		{"GET", "/api/topics/none", "", 404, ""},
	} {
		if got := strings.Join(a.want(c.status, c.method, c.path, c.as, nil).header["Www-Authenticate"],
			"; "); got != c.want {
			t.Errorf("%s %s as %q: WWW-Authenticate %q, want %q", c.method, c.path, c.as, got, c.want)
		}
	}
}

func TestProblemHasDetails(t *testing.T) {
	a := serve(t, nil)
	one := a.want(400, "GET", "/api/articles?filters[nope]=1", "full", nil, "Accept", problemJSON)
	if one.at("details.key") != "nope" || one.at("errors") != nil {
		t.Error(one.text)
	}
	several := a.want(400, "POST", "/api/articles", "full", object{"data": object{"title": 1, "parts": 2}}, "Accept",
		problemJSON)
	if list, _ := several.at("errors").([]any); len(list) == 0 || list[0].(object)["path"] == nil {
		t.Error(several.text)
	}
	batch := a.want(400, "POST", "/api/_batch", "full", object{"operations": []any{
		object{"op": "create", "type": "articles", "data": object{"title": "a"}},
		object{"op": "create", "type": "articles", "data": object{"title": 1, "parts": 2}},
	}}, "Accept", problemJSON)
	if list, _ := batch.at("errors").([]any); len(list) == 0 || batch.at("details.operation") != 1.0 ||
		batch.at("details.errors") != nil {
		t.Error(batch.text)
	}
	head := a.want(404, "HEAD", "/api/nope", "", nil, "Accept", problemJSON)
	if head.text != "" || head.header.Get("Content-Type") != problemJSON || head.header.Get("Content-Length") == "" {
		t.Error(head)
	}
}
