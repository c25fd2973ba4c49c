package gateway_test

import (
	"fmt"
	"strings"
	"testing"

	"lectern/gateway"
)

// newsFiles are a project in which authors write articles of their own, and readers comments that must be approved.
var newsFiles = map[string]string{
	"content-types/article.yaml": `
kind: collectionType
info: {singularName: article, pluralName: articles, displayName: Article}
options: {draftAndPublish: true}
attributes:
  title: {type: string}
  notes: {type: string, private: true}
  state: {type: enumeration, enum: [draft, review, done], default: draft}
  featured: {type: boolean}
  cover: {type: media}
  author: {type: relation, relation: manyToOne, target: plugin::users-permissions.user}
  topic: {type: relation, relation: manyToOne, target: api::topic.topic}
`,
	"content-types/topic.yaml": `
kind: collectionType
info: {singularName: topic, pluralName: topics, displayName: Topic}
attributes:
  title: {type: string}
  secret: {type: boolean, default: false}
`,
	"content-types/comment.yaml": `
kind: collectionType
info: {singularName: comment, pluralName: comments, displayName: Comment}
attributes:
  text: {type: text}
  email: {type: email, private: true}
  state: {type: enumeration, enum: [pending, approved]}
`,
	"config/plugins.yaml": museumFiles["config/plugins.yaml"],
	"config/permissions.yaml": `
roles:
  public:
    api::comment.comment:
      find: {where: {state: approved}, fields: [text]}
      create: {fields: [text, email], set: {state: pending}}
  moderator:
    api::comment.comment:
      find: {fields: [text, email, state]}
      update: {fields: [state]}
  authenticated:
    plugin::users-permissions.user:
      me: true
      findOne: {where: {id: $user}}
      update: {where: {id: $user}, fields: [username, email, password]}
    plugin::upload.content-api: [upload]
    api::topic.topic: {find: {where: {secret: false}}}
    api::article.article:
      find: {where: {$or: [{state: done}, {author: $user}]}, fields: {except: [featured]}}
      findOne: true
      create: {set: {author: $user}}
      update: {where: {author: $user}, fields: {except: [featured]}, check: {state: {$in: [draft, review]}}}
      delete: {where: {author: $user}}
      publish: {where: {author: $user}}
      unpublish: {where: {author: $user}}
      discardDraft: {where: {author: $user}}
      history: true
      restore: {where: {author: $user}}
`,
}

func openNews(t *testing.T) (a *api, ada, bob string) {
	t.Helper()
	ready, _ := run(t, writeProject(t, newsFiles), gateway.Options{Ephemeral: true}, nil)
	a = newAPI(t, ready)
	ada, _ = a.register("ada")
	bob, _ = a.register("bob")
	return a, ada, bob
}

// write creates an article and returns its id and that of its draft's row.
func (a *api) writeArticle(as string, data object) (id string, row int) {
	a.t.Helper()
	r := a.want(201, "POST", "/api/articles?status=draft", as, object{"data": data})
	n, _ := r.at("data.id").(float64)
	id, _ = r.at("data.documentId").(string)
	return id, int(n)
}

// TestRulesLimitEveryWrite changes an article of the caller, one that they only see, one that they do not see, and one
// that there is not, in every way in which articles are changed.
func TestRulesLimitEveryWrite(t *testing.T) {
	a, ada, bob := openNews(t)
	const missing = "abcdefghijklmnopqrstuvwx"
	var seq any // of a version of the article that is hidden
	ways := map[string]func(id string, row int) reply{
		"update": func(id string, _ int) reply {
			return a.do("PUT", "/api/articles/"+id+"?status=draft", ada, object{"data": object{"title": "New"}})
		},
		"update with a wrong value": func(id string, _ int) reply {
			r := a.do("PUT", "/api/articles/"+id+"?status=draft", ada, object{"data": object{"title": 7}})
			if r.status == 400 {
				r.status = 200 // the article is not hidden
			}
			return r
		},
		"update with If-Match": func(id string, _ int) reply {
			return a.do("PUT", "/api/articles/"+id+"?status=draft", ada, object{"data": object{"title": "New"}}, "If-Match", "*")
		},
		"update and publish": func(id string, _ int) reply {
			return a.do("PUT", "/api/articles/"+id, ada, object{"data": object{"title": "New"}})
		},
		"publish": func(id string, _ int) reply { return a.do("POST", "/api/articles/"+id+"/actions/publish", ada, nil) },
		"publish later": func(id string, _ int) reply {
			return a.do("POST", "/api/articles/"+id+"/actions/publish", ada,
				object{"data": object{"publishAt": "2999-01-01T00:00:00Z"}})
		},
		"unpublish": func(id string, _ int) reply { return a.do("POST", "/api/articles/"+id+"/actions/unpublish", ada, nil) },
		"discard the draft": func(id string, _ int) reply {
			return a.do("POST", "/api/articles/"+id+"/actions/discard-draft", ada, nil)
		},
		"restore": func(id string, _ int) reply {
			return a.do("POST", "/api/articles/"+id+"/actions/restore", ada, object{"data": object{"seq": seq}})
		},
		"batch": func(id string, _ int) reply {
			return a.do("POST", "/api/_batch", ada, object{"operations": []object{{"op": "update", "type": "articles",
				"documentId": id, "status": "draft", "data": object{"title": "New"}}}})
		},
		"GraphQL": func(id string, _ int) reply {
			r := a.graphql(ada, fmt.Sprintf(`mutation {updateArticle(documentId: %q, status: DRAFT, data: {title: "New"}) {title}}`, id))
			switch {
			case r.at("data.updateArticle") != nil:
			case strings.Contains(r.text, "FORBIDDEN"):
				r.status = 403
			default:
				r.status = 404
			}
			return r
		},
		"upload": func(_ string, row int) reply {
			form := formWith("a.txt", "a text", "ref", "api::article.article", "refId", fmt.Sprint(row), "field", "cover")
			r, _ := a.upload(ada, form)
			switch {
			case r.status == 201:
				r.status = 200
			case r.status == 400:
				r.status = 404
				r.text = strings.ReplaceAll(r.text, fmt.Sprint(row), "N")
			}
			return r
		},
	}
	for name, do := range ways {
		t.Run(name, func(t *testing.T) {
			write := func(as string, data object) (string, int) {
				id, row := a.writeArticle(as, data)
				if name != "publish" && name != "publish later" {
					a.want(200, "POST", "/api/articles/"+id+"/actions/publish", "full", nil)
				}
				return id, row
			}
			own, ownRow := write(ada, object{"title": "Own"})
			seen, seenRow := write(bob, object{"title": "Seen"})
			a.want(200, "PUT", "/api/articles/"+seen+"?status=draft", "full", object{"data": object{"state": "done"}})
			hidden, hiddenRow := write(bob, object{"title": "Hidden"})
			history, _ := a.want(200, "GET", "/api/articles/"+hidden+"/_history", "full", nil).at("data").([]any)
			seq = history[0].(object)["seq"]
			before := a.want(200, "GET", "/api/_changes?since=now", "full", nil).at("last_seq")
			if r := do(hidden, hiddenRow); r.status != 404 {
				t.Errorf("hidden: %d %s", r.status, r.text)
			} else if none := do(missing, 999999); none.text != strings.ReplaceAll(r.text, hidden, missing) &&
				name != "upload" {
				t.Errorf("hidden: %s, and missing: %s", r.text, none.text)
			}
			if r := do(seen, seenRow); r.status != 403 {
				t.Errorf("seen: %d %s", r.status, r.text)
			}
			if after := a.want(200, "GET", "/api/_changes?since=now", "full", nil).at("last_seq"); after != before {
				t.Errorf("a refused write has changed content")
			}
			if r := do(own, ownRow); r.status/100 != 2 && name != "restore" { // it has no such version
				t.Errorf("own: %d %s", r.status, r.text)
			}
		})
	}
	t.Run("delete", func(t *testing.T) {
		own, _ := a.writeArticle(ada, object{"title": "Own"})
		seen, _ := a.writeArticle(bob, object{"title": "Seen", "state": "done"})
		hidden, _ := a.writeArticle(bob, object{"title": "Hidden"})
		for id, want := range map[string]int{own: 204, hidden: 204, missing: 204, seen: 403} {
			if r := a.do("DELETE", "/api/articles/"+id, ada, nil); r.status != want {
				t.Errorf("%d %s, want %d", r.status, r.text, want)
			}
		}
		for id, want := range map[string]int{own: 404, hidden: 200, seen: 200} {
			a.want(want, "GET", "/api/articles/"+id+"?status=draft", "full", nil)
		}
		a.want(412, "DELETE", "/api/articles/"+hidden, ada, nil, "If-Match", "*")
		a.want(412, "DELETE", "/api/articles/"+missing, ada, nil, "If-Match", "*")
	})
}

// TestRulesOfWhatIsWritten writes what rules set, leave out, check and hide.
func TestRulesOfWhatIsWritten(t *testing.T) {
	a, ada, bob := openNews(t)
	id, _ := a.writeArticle(ada, object{"title": "Own", "author": 2})
	author := a.want(200, "GET", "/api/articles/"+id+"?status=draft&populate=author", "full", nil).at("data.author.username")
	if author != "ada" {
		t.Errorf("the author is %v", author)
	}
	put := func(as string, data object) reply {
		return a.do("PUT", "/api/articles/"+id+"?status=draft", as, object{"data": data})
	}
	if r := put(ada, object{"featured": true}); r.status != 400 || r.message() != "Invalid key featured" {
		t.Errorf("a key outside of fields: %d %s", r.status, r.text)
	}
	if r := put(ada, object{"state": "done"}); r.status != 403 {
		t.Errorf("a state that is not allowed: %d %s", r.status, r.text)
	}
	if r := put(ada, object{"state": "review"}); r.status != 200 {
		t.Errorf("a state that is allowed: %d %s", r.status, r.text)
	}
	topic, secret := a.create("topics", "Open"), ""
	secret, _ = a.want(201, "POST", "/api/topics", "full", object{"data": object{"title": "Secret", "secret": true}}).
		at("data.documentId").(string)
	if r := put(ada, object{"topic": topic}); r.status != 200 {
		t.Errorf("a link to what is seen: %d %s", r.status, r.text)
	}
	hidden, none := put(ada, object{"topic": secret}), put(ada, object{"topic": "abcdefghijklmnopqrstuvwx"})
	if hidden.status != 400 || strings.ReplaceAll(hidden.text, secret, "abcdefghijklmnopqrstuvwx") != none.text {
		t.Errorf("a link to what is hidden: %d %s, and to what is missing: %s", hidden.status, hidden.text, none.text)
	}
	if r := put(ada, object{"topic": object{"connect": []any{2}}}); r.status != 400 {
		t.Errorf("a link to what is hidden, by its id: %d %s", r.status, r.text)
	}
	r := a.want(200, "POST", "/api/_batch", ada, object{"atomic": false, "operations": []object{
		{"op": "create", "type": "articles", "status": "draft", "data": object{"title": "B"}},
		{"op": "update", "type": "articles", "documentId": id, "status": "draft", "data": object{"state": "done"}}}})
	if got := statuses(r); got != "201 403" {
		t.Errorf("a batch: %s %s", got, r.text)
	}
	done := `mutation {updateArticle(documentId: %q, status: DRAFT, data: {state: done}) {title}}`
	if g := a.graphql(ada, fmt.Sprintf(done, id)); !strings.Contains(g.text, "Forbidden") {
		t.Errorf("GraphQL: %s", g.text)
	}
	g := a.graphql(bob, `mutation {createArticle(status: DRAFT, data: {title: "G", author: "1"}) {documentId}}`)
	if g.at("data.createArticle") == nil {
		t.Errorf("GraphQL: %s", g.text)
	} else {
		made, _ := g.at("data.createArticle.documentId").(string)
		author := a.want(200, "GET", "/api/articles/"+made+"?status=draft&populate=author", "full", nil).at("data.author.username")
		if author != "bob" {
			t.Errorf("the author of an article made over GraphQL is %v", author)
		}
	}
}

// TestModeratedComments lets the public comment, and a moderator approve: no line of Go.
func TestModeratedComments(t *testing.T) {
	a, _, _ := openNews(t)
	mod, user := a.register("mod")
	a.want(200, "PUT", userPath(user), "full", object{"role": a.roleID("moderator")})
	made := a.want(201, "POST", "/api/comments", "", object{"data": object{"text": "Hi", "email": "a@b.test"}})
	id, _ := made.at("data.documentId").(string)
	if strings.Contains(made.text, "a@b.test") || strings.Contains(made.text, "createdAt") || made.at("data.text") != "Hi" {
		t.Errorf("the answer shows more than the public may read: %s", made.text)
	}
	for _, data := range []object{{"text": "x", "state": "approved"}, {"state": "approved"}} {
		if r := a.do("POST", "/api/comments", "", object{"data": data}); r.status != 400 || r.message() != "Invalid key state" {
			t.Errorf("%v: %d %s", data, r.status, r.text)
		}
	}
	if got := a.want(200, "GET", "/api/comments", "", nil).texts(); got != " of 0" {
		t.Errorf("before it is approved the public sees %s", got)
	}
	if r := a.want(200, "GET", "/api/comments?filters[email]=a@b.test&sort=email", mod, nil); r.texts() != "Hi of 1" ||
		!strings.Contains(r.text, `"email":"a@b.test","state":"pending"`) {
		t.Errorf("the moderator reads %s", r.text)
	}
	if r := a.do("PUT", "/api/comments/"+id, mod, object{"data": object{"text": "Bye"}}); r.status != 400 {
		t.Errorf("the moderator may change the state alone: %d %s", r.status, r.text)
	}
	a.want(200, "PUT", "/api/comments/"+id, mod, object{"data": object{"state": "approved"}})
	want := fmt.Sprintf(`{"data":[{"id":1,"documentId":%q,"text":"Hi"}],`+
		`"meta":{"pagination":{"page":1,"pageSize":25,"pageCount":1,"total":1}}}`, id)
	for _, query := range []string{"", "?populate=*", "?fields=*", "?fields=text"} {
		if r := a.want(200, "GET", "/api/comments"+query, "", nil); r.text != want {
			t.Errorf("%s: %s, want %s", query, r.text, want)
		}
	}
	for _, query := range []string{"fields=state", "fields=email", "filters[state]=approved", "sort=createdAt",
		"filters[email]=a@b.test", "filters[createdAt][$gt]=2020-01-01"} {
		if r := a.do("GET", "/api/comments?"+query, "", nil); r.status != 400 {
			t.Errorf("%s: %d %s", query, r.status, r.text)
		}
	}
	if r := a.want(200, "GET", "/api/comments?_q=approved", "", nil); r.texts() != " of 0" {
		t.Errorf("a search finds what is hidden: %s", r.text)
	}
	if r := a.graphql("", `{comments {text createdAt}}`); !strings.Contains(r.text, "Forbidden") {
		t.Errorf("GraphQL: %s", r.text)
	}
	if r := a.graphql("", `{comments {text}}`); strings.TrimSpace(r.text) != `{"data":{"comments":[{"text":"Hi"}]}}` {
		t.Errorf("GraphQL: %s", r.text)
	}
}

// TestDescribedByRules reads the OpenAPI document: it describes what the reader may read and send.
func TestDescribedByRules(t *testing.T) {
	a, ada, _ := openNews(t)
	for _, c := range []struct{ as, schema, want string }{
		{"", "Comment", "id documentId text"},
		{"", "CommentCreate", "text email"},
		{"full", "Comment", "id documentId text state createdAt updatedAt publishedAt"},
		{"full", "CommentInput", "text email state"},
		{ada, "ArticleInput", "title notes state cover topic"},
		{ada, "ArticleCreate", "title notes state featured cover topic"},
	} {
		r := a.want(200, "GET", "/api/_openapi.json", c.as, nil)
		properties, _ := r.at("components.schemas." + c.schema + ".properties").(object)
		var want []string
		for name := range strings.FieldsSeq(c.want) {
			if properties[name] == nil {
				t.Errorf("%s of %q lacks %s", c.schema, c.as, name)
			}
			want = append(want, name)
		}
		if len(properties) != len(want) {
			t.Errorf("%s of %q has %v, want %s", c.schema, c.as, properties, c.want)
		}
	}
}

// TestOwnAccountAlone lets users read and change their own account and no other.
func TestOwnAccountAlone(t *testing.T) {
	a, ada, _ := openNews(t)
	if r := a.want(200, "GET", userPath(1), ada, nil); r.at("username") != "ada" {
		t.Errorf("the own account is %s", r.text)
	}
	other, none := a.do("GET", userPath(2), ada, nil), a.do("GET", userPath(99), ada, nil)
	if other.status != none.status || other.text != none.text {
		t.Errorf("another account is answered %d %s, and none %d %s", other.status, other.text, none.status, none.text)
	}
	if r := a.want(200, "PUT", userPath(1), ada, object{"username": "ada-2"}); r.at("username") != "ada-2" {
		t.Errorf("the own account was changed to %s", r.text)
	}
	other, none = a.do("PUT", userPath(2), ada, object{"username": "x"}), a.do("PUT", userPath(99), ada, object{"username": "x"})
	if other.status != 404 || other.text != none.text {
		t.Errorf("the change of another account is answered %d %s, and of none %s", other.status, other.text, none.text)
	}
	for _, key := range []string{"role", "confirmed", "blocked", "resetPasswordToken"} {
		if r := a.do("PUT", userPath(1), ada, object{key: nil}); r.status != 400 {
			t.Errorf("%s: %d %s", key, r.status, r.text)
		}
	}
	g := a.graphql(ada, `mutation {updateUsersPermissionsUser(id: "2", data: {username: "x"}) {data {username}}}`)
	if g.at("data.updateUsersPermissionsUser") != nil {
		t.Errorf("GraphQL changes another account: %s", g.text)
	}
	if r := a.want(200, "GET", userPath(2), "full", nil); r.at("username") != "bob" {
		t.Errorf("another account was changed to %s", r.text)
	}
}
