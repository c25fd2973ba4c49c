package gateway_test

import (
	"fmt"
	"strings"
	"testing"

	"lectern/gateway"
)

// TestRulesOfUsers reads users as one who may find those of their own team only, and not their addresses.
func TestRulesOfUsers(t *testing.T) {
	files := map[string]string{}
	for name, text := range museumFiles {
		files[name] = text
	}
	files["config/permissions.yaml"] = `
roles:
  authenticated:
    plugin::users-permissions.user:
      find: {where: {team: $user.team}, fields: {except: [email]}}
      findOne: true
      count: true
    api::comment.comment: {find: true}
    api::team.team: {find: true}
  self:
    plugin::users-permissions.user: {find: true, findOne: {where: {id: $user}}, count: true}
`
	ready, _ := run(t, writeProject(t, files), gateway.Options{Ephemeral: true}, nil)
	a := newAPI(t, ready)
	team, other := a.create("teams?status=published", "Divers"), a.create("teams?status=published", "Climbers")
	ada, adaID := a.register("ada")
	_, bobID := a.register("bob")
	eve, eveID := a.register("eve")
	for id, of := range map[int]string{adaID: team, bobID: team, eveID: other} {
		a.want(200, "PUT", userPath(id), "full", object{"team": of})
	}
	for _, name := range []string{"bob", "eve"} {
		id := map[string]int{"bob": bobID, "eve": eveID}[name]
		a.want(201, "POST", "/api/comments", "full", object{"data": object{"text": "by " + name, "author": id}})
	}
	const missing = 9999
	for path, want := range map[string]string{
		"users?sort=id":                               "ada bob",
		"users?filters[username][$ne]=ada":            "bob",
		"users?filters[username]=eve":                 "",
		"users?filters[team][title]=Climbers":         "",
		"comments?populate=author&sort=text":          "bob",
		"comments?filters[author][username]=eve":      "",
		"comments?filters[author][username][$null]=1": "",
		userPath(bobID)[len("/api/"):]:                "bob",
	} {
		r := a.want(200, "GET", "/api/"+path, ada, nil)
		var names []string
		for _, name := range []string{"ada", "bob", "eve"} {
			if strings.Contains(r.text, `"username":"`+name+`"`) {
				names = append(names, name)
			}
		}
		if got := strings.Join(names, " "); got != want || strings.Contains(r.text, "people.test") {
			t.Errorf("%s: %q, want %q: %s", path, got, want, r.text)
		}
	}
	if r := a.want(200, "GET", "/api/users/count", ada, nil); strings.TrimSpace(r.text) != "2" {
		t.Errorf("ada counts %s", r.text)
	}
	if r := a.want(200, "GET", "/api/users/count?filters[username]=eve", ada, nil); strings.TrimSpace(r.text) != "0" {
		t.Errorf("ada counts the hidden: %s", r.text)
	}
	for _, query := range []string{"filters[email][$contains]=@", "sort=email"} {
		if r := a.do("GET", "/api/users?"+query, ada, nil); r.status != 400 {
			t.Errorf("%s: %d %s", query, r.status, r.text)
		}
	}
	alike := func(as string, id int) {
		t.Helper()
		hidden, none := a.do("GET", userPath(id), as, nil), a.do("GET", userPath(missing), as, nil)
		if hidden.status != none.status || hidden.text != none.text || strings.Contains(hidden.text, "username") {
			t.Errorf("a hidden user: %d %s, one that there is not: %d %s", hidden.status, hidden.text, none.status, none.text)
		}
		query := `{usersPermissionsUser(documentId: %q){username}}`
		documentID := a.want(200, "GET", userPath(id), "full", nil).at("documentId")
		if r := a.graphql(as, fmt.Sprintf(query, documentID)); r.at("data.usersPermissionsUser") != nil {
			t.Errorf("GraphQL shows a hidden user: %s", r.text)
		}
	}
	alike(ada, eveID)
	r := a.graphql(ada, `{usersPermissionsUsers_connection(sort: "id"){nodes{username} pageInfo{total}}}`)
	want := `{"data":{"usersPermissionsUsers_connection":{"nodes":[{"username":"ada"},{"username":"bob"}],"pageInfo":{"total":2}}}}`
	if got := strings.TrimSpace(r.text); got != want {
		t.Errorf("GraphQL: %s\nwant %s", got, want)
	}

	// A rule of findOne holds for one user, whatever find grants.
	a.want(200, "PUT", userPath(eveID), "full", object{"role": a.roleID("self")})
	a.want(200, "GET", userPath(eveID), eve, nil)
	alike(eve, bobID)
	if r := a.want(200, "GET", "/api/users/count", eve, nil); strings.TrimSpace(r.text) != "3" {
		t.Errorf("eve counts %s", r.text)
	}
}
