package gateway_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"lectern/gateway"
)

// museumFiles are a project in which the public reads comments that were approved, and users their own.
var museumFiles = map[string]string{
	"content-types/exhibit.yaml": `
kind: collectionType
info: {singularName: exhibit, pluralName: exhibits, displayName: Exhibit}
attributes:
  title: {type: string}
  comments: {type: relation, relation: oneToMany, target: api::comment.comment, mappedBy: exhibit}
`,
	"content-types/comment.yaml": `
kind: collectionType
info: {singularName: comment, pluralName: comments, displayName: Comment}
attributes:
  name: {type: string}
  text: {type: text}
  email: {type: email, private: true}
  state: {type: enumeration, enum: [pending, approved, refused], default: pending}
  showFrom: {type: datetime}
  exhibit: {type: relation, relation: manyToOne, target: api::exhibit.exhibit, inversedBy: comments}
  author: {type: relation, relation: manyToOne, target: plugin::users-permissions.user}
  team: {type: relation, relation: manyToOne, target: api::team.team}
`,
	"content-types/team.yaml": `
kind: collectionType
info: {singularName: team, pluralName: teams, displayName: Team}
options: {draftAndPublish: true}
attributes:
  title: {type: string}
`,
	"content-types/user.yaml": `
uid: plugin::users-permissions.user
attributes:
  nickname: {type: string}
  team: {type: relation, relation: manyToOne, target: api::team.team}
`,
	"config/plugins.yaml": `
users-permissions:
  config:
    jwtSecret: ` + testSecret + `
    ratelimit: {enabled: false}
`,
	"config/permissions.yaml": museumPermissions,
}

const museumPermissions = `
roles:
  public:
    api::exhibit.exhibit: [find, findOne]
    api::comment.comment:
      find: {where: {state: approved}}
      findOne: true
  authenticated:
    api::comment.comment:
      find: {where: {$or: [{state: approved}, {author: $user}]}}
      findOne: true
  named:
    api::comment.comment:
      find: {where: {name: $user.nickname}}
  team:
    api::comment.comment:
      find: {where: {team: $user.team}}
  others:
    api::comment.comment:
      find: {where: {$not: {name: $user.nickname}}}
  role:
    api::comment.comment:
      find: {where: {name: $role}}
  later:
    api::comment.comment:
      find: {where: {showFrom: {$lte: $now}}}
  hidden:
    api::comment.comment:
      find: {where: {email: {$endsWith: "@museum.test"}, exhibit: {title: {$in: [Whale, "$$5"]}}}}
  moderator:
    api::comment.comment: {find: true, findOne: true}
tokens:
  - name: desk
    type: custom
    permissions:
      api::comment.comment: {find: {where: {name: $token}}, findOne: true}
`

// A museum is a server of museumFiles with comments, told apart by their texts.
type museum struct {
	*api
	ids   map[string]string // of comments, by text
	users map[string]string // JWTs, by role
	ada   int               // the id of the user who has the role authenticated
}

func openMuseum(t *testing.T, files map[string]string) *museum {
	t.Helper()
	all := map[string]string{}
	for _, set := range []map[string]string{museumFiles, files} {
		for name, text := range set {
			all[name] = text
		}
	}
	ready, _ := run(t, writeProject(t, all), gateway.Options{Ephemeral: true}, nil)
	m := &museum{api: newAPI(t, ready), ids: map[string]string{}, users: map[string]string{}}
	m.users["authenticated"], m.ada = m.register("ada")
	whale := m.create("exhibits", "Whale")
	team := m.create("teams?status=published", "Divers")
	for role, set := range map[string]object{"named": {"nickname": "Ada"}, "team": {"team": team},
		"others": {"nickname": "Ada"}, "role": nil, "later": nil, "hidden": nil, "moderator": nil} {
		jwt, id := m.register("user-" + role)
		m.users[role] = jwt
		data := object{"role": m.roleID(role)}
		for key, v := range set {
			data[key] = v
		}
		m.want(200, "PUT", userPath(id), "full", data)
	}
	for _, c := range []object{
		{"text": "a", "state": "approved", "name": "Bob", "exhibit": whale, "email": "bob@museum.test"},
		{"text": "b", "state": "pending", "name": "Ada", "author": m.ada, "showFrom": "2020-01-01T00:00:00.000Z"},
		{"text": "c", "state": "refused", "name": "role", "exhibit": whale, "team": team},
		{"text": "d", "state": "pending", "name": "desk", "showFrom": "2999-01-01T00:00:00.000Z"},
		{"text": "e", "state": "approved", "name": "Ada", "exhibit": whale},
	} {
		id, _ := m.want(201, "POST", "/api/comments", "full", object{"data": c}).at("data.documentId").(string)
		m.ids[c["text"].(string)] = id
	}
	return m
}

// texts returns the texts of the comments in a list, joined, and the total that the list tells.
func (r reply) texts() string {
	var body struct {
		Data []struct{ Text string }
		Meta struct{ Pagination struct{ Total int } }
	}
	_ = json.Unmarshal([]byte(r.text), &body)
	var texts []string
	for _, c := range body.Data {
		texts = append(texts, c.Text)
	}
	return fmt.Sprint(strings.Join(texts, ""), " of ", body.Meta.Pagination.Total)
}

// TestVisibleDocuments reads comments by every caller of museumFiles: nothing outside their rule is found, counted or
// shown alone, whatever else the request says.
func TestVisibleDocuments(t *testing.T) {
	m := openMuseum(t, nil)
	for caller, want := range map[string]string{"public": "ae", "authenticated": "abe", "named": "be", "team": "c",
		"others": "acd", "role": "c", "later": "b", "hidden": "a", "moderator": "abcde", "desk": "d", "full": "abcde"} {
		t.Run(caller, func(t *testing.T) {
			as := caller
			if jwt := m.users[caller]; jwt != "" {
				as = jwt
			} else if caller == "public" {
				as = ""
			}
			sees := func(text string) bool { return strings.Contains(want, text) }
			all := m.want(200, "GET", "/api/comments?fields=text", as, nil).texts()
			if all != fmt.Sprint(want, " of ", len(want)) {
				t.Errorf("sees %s, want %s", all, want)
			}
			only := func(texts string) string {
				return strings.Map(func(r rune) rune {
					if sees(string(r)) {
						return r
					}
					return -1
				}, texts)
			}
			for query, of := range map[string]string{
				"filters[$or][0][text]=b&filters[$or][1][text]=c": "bc", "filters[text][$notIn]=a": "bcde", "_q=ada": "be",
				"filters[$not][text]=a": "bcde", "sort=text&pagination[limit]=100": "abcde",
			} {
				of = only(of)
				got := m.want(200, "GET", "/api/comments?fields=text&"+query, as, nil).texts()
				if got != fmt.Sprint(of, " of ", len(of)) {
					t.Errorf("%s: %s, want %s", query, got, of)
				}
			}
			second, page := "", "/api/comments?sort=text:desc&pagination[pageSize]=1&pagination[page]=2"
			if len(want) > 1 {
				second = want[len(want)-2 : len(want)-1]
			}
			if got := m.want(200, "GET", page, as, nil).texts(); got != fmt.Sprint(second, " of ", len(want)) {
				t.Errorf("second page: %s", got)
			}
			if slices.Contains([]string{"public", "authenticated", "moderator", "desk", "full"}, caller) {
				for text, id := range m.ids {
					one := m.do("GET", "/api/comments/"+id, as, nil)
					none := m.do("GET", "/api/comments/abcdefghijklmnopqrstuvwx", as, nil)
					if sees(text) && one.status != 200 || !sees(text) && (one.status != 404 || one.text != none.text) {
						t.Errorf("%s: %d %s", text, one.status, one.text)
					}
					query := fmt.Sprintf(`{comment(documentId: %q) {text}}`, id)
					found := m.graphql(as, query).at("data.comment") != nil
					if found != sees(text) {
						t.Errorf("GraphQL: %s: %v", text, found)
					}
				}
			}
			r := m.graphql(as, `{comments(sort: "text") {text}
				comments_connection(pagination: {pageSize: 1}) {pageInfo {total}}}`)
			var listed string
			list, _ := r.at("data.comments").([]any)
			for _, c := range list {
				listed += c.(object)["text"].(string)
			}
			if total := r.at("data.comments_connection.pageInfo.total"); listed != want || total != float64(len(want)) {
				t.Errorf("GraphQL: %s of %v: %s", listed, total, r.text)
			}
		})
	}
}

// TestVisibleFollowsTheCaller changes what rules depend on: the caller's attributes, what their relations lead to, and
// the documents. Each request is answered by the state of its time.
func TestVisibleFollowsTheCaller(t *testing.T) {
	m := openMuseum(t, nil)
	user := func(role string) string {
		me := m.want(200, "GET", "/api/users?filters[username]=user-"+role, "full", nil)
		return userPath(int(me.body.([]any)[0].(object)["id"].(float64)))
	}
	sees := func(as, want string) {
		t.Helper()
		got := m.want(200, "GET", "/api/comments?fields=text", m.users[as], nil).texts()
		if got != fmt.Sprint(want, " of ", len(want)) {
			t.Errorf("%s sees %s, want %s", as, got, want)
		}
	}
	sees("named", "be")
	m.want(200, "PUT", user("named"), "full", object{"nickname": "Bob"})
	sees("named", "a")
	m.want(200, "PUT", user("named"), "full", object{"nickname": nil})
	sees("named", "")
	m.want(200, "PUT", user("others"), "full", object{"nickname": nil})
	sees("others", "") // also below $not
	m.want(200, "PUT", user("team"), "full", object{"team": nil})
	sees("team", "")
	m.want(200, "PUT", "/api/comments/"+m.ids["a"], "full", object{"data": object{"state": "refused"}})
	sees("authenticated", "be")
	m.want(200, "PUT", user("named"), "full", object{"role": m.roleID("moderator")})
	sees("named", "abcde")
}

// TestETagsOfRules asks again with the ETag of another caller, and after a change of what a rule depends on.
func TestETagsOfRules(t *testing.T) {
	m := openMuseum(t, nil)
	get := func(as, tag string) reply {
		return m.do("GET", "/api/comments?fields=text", m.users[as], nil, "If-None-Match", tag)
	}
	tag := get("authenticated", "").header.Get("ETag")
	if r := get("authenticated", tag); r.status != http.StatusNotModified {
		t.Errorf("the same again: %d", r.status)
	}
	eve, _ := m.register("eve") // has the same role, and no comments
	m.users["eve"] = eve
	if r := get("eve", tag); r.status != 200 || r.texts() != "ae of 2" {
		t.Errorf("another user: %d %s", r.status, r.text)
	}
	first := get("hidden", "").header.Get("ETag")
	list := m.want(200, "GET", "/api/exhibits", "full", nil)
	id := list.at("data").([]any)[0].(object)["documentId"].(string)
	m.want(200, "PUT", "/api/exhibits/"+id, "full", object{"data": object{"title": "Squid"}})
	if r := get("hidden", first); r.status != 200 || r.texts() != " of 0" {
		t.Errorf("after a change of an exhibit: %d %s", r.status, r.text)
	}
	later := get("later", "")
	if r := get("later", later.header.Get("ETag")); later.header.Get("ETag") != "" || r.status != 200 {
		t.Errorf("by time: %q %d", later.header.Get("ETag"), r.status)
	}
}

// TestETagsHideWhatRulesHide writes a comment that the public does not see: their ETags stay. Those of callers who see
// it change, and those of the public do when a comment appears.
func TestETagsHideWhatRulesHide(t *testing.T) {
	m := openMuseum(t, nil)
	paths := []string{"/api/comments?sort=text", "/api/comments/" + m.ids["a"],
		"/graphql?query=" + url.QueryEscape(`{comments(sort: "text") {text}}`)}
	tags := func(as string) (tags []string) {
		t.Helper()
		for _, path := range paths {
			r := m.want(200, "GET", path, as, nil, "Apollo-Require-Preflight", "1")
			tag := r.header.Get("ETag")
			if again := m.do("GET", path, as, nil, "Apollo-Require-Preflight", "1",
				"If-None-Match", tag); tag == "" || again.status != 304 ||
				again.text != "" || again.header.Get("ETag") != tag {
				t.Errorf("%s with %q: %d %s", path, tag, again.status, again.text)
			}
			tags = append(tags, tag)
		}
		return tags
	}
	public, full := tags(""), tags("full")
	made := m.want(201, "POST", "/api/comments", "full", object{"data": object{"text": "f", "state": "pending"}})
	if now := tags(""); !slices.Equal(now, public) {
		t.Errorf("the ETags of the public tell of a comment that they do not see: %q, before %q", now, public)
	}
	if now := tags("full"); now[0] == full[0] || now[2] == full[2] {
		t.Errorf("a new comment left an ETag: %q", now)
	}
	id, _ := made.at("data.documentId").(string)
	m.want(200, "PUT", "/api/comments/"+id, "full", object{"data": object{"state": "approved"}})
	if now := tags(""); now[0] == public[0] || now[1] != public[1] || now[2] == public[2] {
		t.Errorf("after a comment appeared: %q, before %q", now, public)
	}
}

// TestPublicationStatesOfHiddenVersions asks for drafts by the state of their published versions. A version that the
// rule of the caller leaves out is as if there were none.
func TestPublicationStatesOfHiddenVersions(t *testing.T) {
	m := openMuseum(t, map[string]string{"content-types/note.yaml": `
kind: collectionType
info: {singularName: note, pluralName: notes, displayName: Note}
options: {draftAndPublish: true}
attributes:
  text: {type: string}
  state: {type: string}
`, "config/permissions.yaml": museumPermissions + `
  - name: visitor
    type: custom
    permissions:
      api::note.note: {find: {where: {state: open}}, findOne: true, findDrafts: true}
`})
	write := func(text, published, draft string) {
		made := m.want(201, "POST", "/api/notes?status=draft", "full",
			object{"data": object{"text": text, "state": published}})
		path := fmt.Sprint("/api/notes/", made.at("data.documentId"))
		if published != "" {
			m.want(200, "PUT", path, "full", object{"data": object{"state": published}})
		}
		m.want(200, "PUT", path+"?status=draft", "full", object{"data": object{"state": draft}})
	}
	write("a", "open", "open")
	write("b", "secret", "open")
	write("c", "", "open")
	write("d", "open", "secret")
	for state, want := range map[string]string{"": "abc", "has-published-version": "a", "never-published": "bc",
		"modified": "a", "unmodified": "", "has-published-version-document": "a", "never-published-document": "bc"} {
		path := "/api/notes?status=draft&fields=text&sort=text"
		if state != "" {
			path += "&publicationFilter=" + state
		}
		if got := m.want(200, "GET", path, "visitor", nil).texts(); got != fmt.Sprint(want, " of ", len(want)) {
			t.Errorf("%s: %s, want %s", state, got, want)
		}
	}
	path := "/api/notes?fields=text&sort=text&publicationFilter="
	for state, want := range map[string]string{"published-with-draft": "a", "published-without-draft": "d"} {
		if got := m.want(200, "GET", path+state, "visitor", nil).texts(); got != fmt.Sprint(want, " of ", len(want)) {
			t.Errorf("%s: %s, want %s", state, got, want)
		}
	}
}

// TestRulesOutliveRoles edits a role that has a rule: the rule of permissions.yaml holds for the action, whoever grants
// it, and no answer shows it.
func TestRulesOutliveRoles(t *testing.T) {
	m := openMuseum(t, nil)
	path := fmt.Sprint("/api/users-permissions/roles/", m.roleID("public"))
	enabled := func(on bool) object {
		return object{"name": "Public", "permissions": object{"api::comment": object{"controllers": object{"comment": object{
			"find": object{"enabled": on}}}}}}
	}
	m.want(200, "PUT", path, "full", enabled(false))
	m.want(403, "GET", "/api/comments", "", nil)
	m.want(200, "PUT", path, "full", enabled(true))
	if got := m.want(200, "GET", "/api/comments", "", nil).texts(); got != "ae of 2" {
		t.Errorf("after the action was granted again: %s", got)
	}
	for _, path := range []string{path, "/api/users-permissions/roles", "/api/users-permissions/permissions",
		"/api/users?populate[role][populate]=permissions", "/api/users/1?populate=role.permissions"} {
		if r := m.do("GET", path, "full", nil); strings.Contains(r.text, "approved") {
			t.Errorf("%s shows a rule: %s", path, r.text)
		}
	}
}
