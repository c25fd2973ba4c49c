package gateway_test

import (
	"fmt"
	"strings"
	"testing"

	"lectern/gateway"
)

// destroyFiles are a project in which users see all others but the hidden ones and destroy those of their team, preview
// articles that are not closed, and destroy files that they may see and that are theirs.
var destroyFiles = map[string]string{
	"content-types/user.yaml": `
uid: plugin::users-permissions.user
attributes:
  team: {type: string}
`,
	"content-types/article.yaml": `
kind: collectionType
info: {singularName: article, pluralName: articles, displayName: Article}
options: {draftAndPublish: true}
attributes:
  title: {type: string}
  state: {type: string}
`,
	"config/plugins.yaml": museumFiles["config/plugins.yaml"],
	"config/permissions.yaml": `
roles:
  authenticated:
    plugin::users-permissions.user:
      find: {where: {team: {$ne: hidden}}}
      findOne: true
      destroy: {where: {team: $user.team}}
    plugin::upload.content-api:
      find: {where: {name: {$not: {$startsWith: secret}}}}
      findOne: true
      destroy: {where: {caption: $user.username}}
    api::article.article:
      find: true
      findOne: true
      findDrafts: true
      preview: {where: {state: {$ne: closed}}}
`,
}

// TestRulesOfDestroying destroys users and files inside and outside the rule: those that the caller does not see are
// answered as missing ones.
func TestRulesOfDestroying(t *testing.T) {
	ready, _ := run(t, writeProject(t, destroyFiles), gateway.Options{Ephemeral: true}, nil)
	a := newAPI(t, ready)
	ada, id := a.register("ada")
	a.want(200, "PUT", userPath(id), "full", object{"team": "red"})
	user := func(name, team string) int {
		_, id := a.register(name)
		a.want(200, "PUT", userPath(id), "full", object{"team": team})
		return id
	}
	file := func(name, caption string) int {
		r, _ := a.upload("full", formWith(name, "a text", "fileInfo", fmt.Sprintf(`{"caption": %q}`, caption)))
		return int(r.body.([]any)[0].(object)["id"].(float64))
	}
	graphql := func(mutation string, id int) reply {
		r := a.graphql(ada, fmt.Sprintf("mutation {%s(id: %d) {%s}}", mutation, id,
			map[string]string{"deleteUsersPermissionsUser": "data {username}", "deleteUploadFile": "name"}[mutation]))
		if strings.Contains(r.text, "FORBIDDEN") {
			r.status = 403
		}
		return r
	}
	const none = 9999
	for _, kind := range []struct {
		path, mutation string
		make           func(name, owner string) int
		own            string
		missing        int
	}{
		{"/api/users/", "deleteUsersPermissionsUser", user, "red", 204},
		{"/api/upload/files/", "deleteUploadFile", file, "ada", 404},
	} {
		exists := func(id int) bool { return a.do("GET", kind.path+fmt.Sprint(id), "full", nil).status == 200 }
		for way, do := range map[string]func(id int) reply{
			"REST":    func(id int) reply { return a.do("DELETE", kind.path+fmt.Sprint(id), ada, nil) },
			"GraphQL": func(id int) reply { return graphql(kind.mutation, id) },
		} {
			own, other, hidden := kind.make("own"+way, kind.own), kind.make("other"+way, "blue"), kind.make("secret"+way, "hidden")
			missing := do(none)
			if r := do(hidden); r.text != missing.text || r.status != missing.status || !exists(hidden) {
				t.Errorf("%s %s: hidden: %d %s, missing: %d %s", way, kind.path, r.status, r.text, missing.status, missing.text)
			}
			if way == "REST" && missing.status != kind.missing {
				t.Errorf("%s: missing: %d %s", kind.path, missing.status, missing.text)
			}
			if r := do(other); r.status != 403 || !exists(other) || strings.Contains(r.text, "blue") {
				t.Errorf("%s %s: of another: %d %s", way, kind.path, r.status, r.text)
			}
			if r := do(own); r.status != 200 || exists(own) {
				t.Errorf("%s %s: own: %d %s", way, kind.path, r.status, r.text)
			}
		}
	}
}

// TestRulesOfPreviews makes previews of drafts inside and outside the rule. A preview ends when its document leaves it.
func TestRulesOfPreviews(t *testing.T) {
	ready, _ := run(t, writeProject(t, destroyFiles), gateway.Options{Ephemeral: true}, nil)
	a := newAPI(t, ready)
	ada, _ := a.register("ada")
	write := func(state string) string {
		r := a.want(201, "POST", "/api/articles?status=draft", "full", object{"data": object{"title": "A", "state": state}})
		return "/api/articles/" + r.at("data.documentId").(string)
	}
	open, closed := write("open"), write("closed")
	a.want(403, "POST", closed+"/actions/preview", ada, nil)
	a.want(404, "POST", "/api/articles/none/actions/preview", ada, nil)
	token, _ := a.want(200, "POST", open+"/actions/preview", ada, nil).at("data.token").(string)
	a.want(200, "GET", open, token, nil)
	a.want(200, "PUT", open+"?status=draft", "full", object{"data": object{"state": "closed"}})
	a.want(404, "GET", open, token, nil)
}
