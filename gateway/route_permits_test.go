package gateway_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"lectern/gateway"
)

// ruledFiles are a project with media attributes of articles and users.
var ruledFiles = map[string]string{
	"content-types/article.yaml": `
kind: collectionType
info: {singularName: article, pluralName: articles, displayName: Article}
attributes:
  title: {type: string}
  cover: {type: media}
`,
	"content-types/note.yaml": `
kind: collectionType
info: {singularName: note, pluralName: notes, displayName: Note}
attributes:
  title: {type: string}
  cover: {type: media}
`,
	"content-types/user.yaml": `
uid: plugin::users-permissions.user
attributes:
  avatar: {type: media}
`,
}

// TestPoliciesHoldElsewhere does by other routes what routes do that a program has given policies, middlewares and
// scopes: it links an upload to a document instead of changing the document, and reads documents in the change feed
// instead of listing them.
func TestPoliciesHoldElsewhere(t *testing.T) {
	never := gateway.RouteConfig{Policies: []gateway.PolicyUse{{Func: func(*gateway.PolicyContext, gateway.Host) (bool,
		error) {
		return false, nil
	}}}}
	wrapped := gateway.RouteConfig{Middlewares: []gateway.MiddlewareUse{{Func: func(next http.Handler) http.Handler { return next }}}}
	scoped := gateway.RouteConfig{Scopes: []string{"api::article.article.delete"}}
	of := func(route string, c gateway.RouteConfig) func(*gateway.Extensions) {
		return func(x *gateway.Extensions) { x.Route(route, c) }
	}
	const (
		upload  = "an upload to "
		changes = "include=document"
	)
	for _, c := range []struct {
		name    string
		extend  func(*gateway.Extensions)
		do      string // upload and a uid, or the query of the change feed
		refused string // a part of the message; "": the request is carried out
	}{
		{"an update with a policy", of("api::article.article.update", never), upload + "api::article.article",
			"PUT /api/articles/{documentId}"},
		{"an update with a policy, by its path", of("PUT /api/articles/{id}", never), upload + "api::article.article",
			"PUT /api/articles/{documentId}"},
		{"an update with a middleware", of("api::article.article.update", wrapped), upload + "api::article.article",
			"PUT /api/articles/{documentId}"},
		{"an update with scopes", of("api::article.article.update", scoped), upload + "api::article.article",
			"Forbidden"},
		{"an update that the program answers", func(x *gateway.Extensions) {
			x.Handle(gateway.Route{Method: "PUT", Path: "/api/articles/{id}", Handle: say("")})
		}, upload + "api::article.article", "PUT /api/articles/{documentId}"},
		{"an update of users with a policy", of("plugin::users-permissions.user.update", never),
			upload + "plugin::users-permissions.user", "PUT /api/users/{id}"},
		{"an update of another type", of("api::article.article.update", never), upload + "api::note.note", ""},
		{"a list with a policy", of("api::article.article.find", never), changes + "&types=articles",
			"GET /api/articles"},
		{"a list with a policy, of all types", of("api::article.article.find", never), changes, "GET /api/articles"},
		{"a list with a middleware", of("api::article.article.find", wrapped), changes + "&types=articles",
			"GET /api/articles"},
		{"a list with scopes", of("api::article.article.find", scoped), changes + "&types=articles", "Forbidden"},
		{"a list with a policy, as a long poll", of("api::article.article.find", never),
			changes + "&types=articles&feed=longpoll&timeout=1000", "GET /api/articles"},
		{"a list with a policy, without documents", of("api::article.article.find", never), "types=articles", ""},
		{"a list of another type", of("api::article.article.find", never), changes + "&types=notes", ""},
		{"an open list", of("api::article.article.find", gateway.RouteConfig{Open: true}), changes + "&types=articles",
			""},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := &gateway.Extensions{}
			c.extend(x)
			files := with(ruledFiles)
			files["config/permissions.yaml"] = `
tokens:
  - name: editor
    type: custom
    permissions: [api::article.article.find, api::article.article.update, api::note.note.find, api::note.note.update,
      plugin::users-permissions.user.update, plugin::upload.content-api.upload]
`
			ready, _ := run(t, writeProject(t, files), gateway.Options{Ephemeral: true, Extensions: x}, nil)
			a := newAPI(t, ready)
			for _, path := range []string{"articles", "notes"} {
				a.want(201, "POST", "/api/"+path, "full", object{"data": object{"title": "one"}})
			}
			a.register("ann")
			var r reply
			if uid, isUpload := strings.CutPrefix(c.do, upload); isUpload {
				field := "cover"
				if strings.HasSuffix(uid, "user") {
					field = "avatar"
				}
				r, _ = a.upload("editor", formWith("a.txt", "text", "ref", uid, "refId", "1", "field", field))
			} else {
				r = a.do("GET", "/api/_changes?"+c.do, "editor", nil)
			}
			if c.refused == "" && r.status >= 300 || c.refused != "" &&
				(r.status != 403 || !strings.Contains(r.message(), c.refused)) {
				t.Errorf("answered %s, want %q", fmt.Sprint(r.status, " ", r.text), c.refused)
			}
		})
	}
}
