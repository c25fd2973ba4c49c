package gateway_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"lectern/gateway"
	"lectern/store"
)

// forumFiles are a project whose rules are of all kinds, each for a token or a role of its own.
var forumFiles = map[string]string{
	"content-types/topic.yaml": `
kind: collectionType
info: {singularName: topic, pluralName: topics, displayName: Topic}
attributes:
  name: {type: string}
  open: {type: boolean}
  posts: {type: relation, relation: oneToMany, target: api::post.post, mappedBy: topic}
`,
	"content-types/post.yaml": `
kind: collectionType
info: {singularName: post, pluralName: posts, displayName: Post}
attributes:
  title: {type: string}
  state: {type: enumeration, enum: [pending, approved, refused]}
  topic: {type: relation, relation: manyToOne, target: api::topic.topic, inversedBy: posts}
  author: {type: relation, relation: manyToOne, target: plugin::users-permissions.user}
  team: {type: relation, relation: manyToOne, target: api::team.team}
`,
	"content-types/team.yaml": museumFiles["content-types/team.yaml"],
	"content-types/user.yaml": museumFiles["content-types/user.yaml"],
	"config/plugins.yaml":     museumFiles["config/plugins.yaml"],
	"config/permissions.yaml": `
roles:
  own: {api::post.post: {find: {where: {author: $user}}, findOne: true, stream: true}}
  team: {api::post.post: {find: {where: {team: $user.team}}}}
  nobody: {api::post.post: {find: {where: {title: $user.nickname}}}}
  either: {api::post.post: {find: {where: {$or: [{state: approved}, {author: $user}]}}}}
tokens:
  - name: approved
    type: custom
    permissions:
      api::post.post: {find: {where: {state: approved}}, findOne: true, stream: true}
      api::topic.topic: [find, findOne]
  - name: open
    type: custom
    permissions:
      api::post.post: {find: {where: {topic: {open: true}}}, findOne: true}
      api::topic.topic: [find, findOne]
  - name: topics
    type: custom
    permissions:
      api::post.post: [find, findOne]
      api::topic.topic: {find: {where: {open: true}}}
`,
}

// TestRulesReadNoMoreThanFilters asks as callers with rules, and as one without who writes the same conditions into the
// request. The answers are the same, and the rules read no more rows, and search and walk no more. No
// rule here needs all rows to be read.
func TestRulesReadNoMoreThanFilters(t *testing.T) {
	f := openForum(t, 400)
	const list = "posts?pagination[pageSize]=100&sort=title&"
	for _, c := range []struct{ name, as, rule, filter string }{
		{"an attribute", "approved", list, list + "filters[state]=approved"},
		{"a page", "approved", "posts?pagination[pageSize]=5&pagination[page]=2",
			"posts?pagination[pageSize]=5&pagination[page]=2&filters[state]=approved"},
		{"beside a filter", "approved", list + "filters[title][$startsWith]=post 1",
			list + "filters[title][$startsWith]=post 1&filters[state]=approved"},
		{"one", "approved", "posts/" + f.posts[40], "posts/" + f.posts[40]},
		{"through a relation", "open", list, list + "filters[topic][open]=true"},
		{"the caller", "own", list, fmt.Sprint(list, "filters[author][id]=", f.users["own"])},
		{"documents of the caller", "team", list, list + "filters[team][documentId]=" + f.team},
		{"one of two", "either", list,
			fmt.Sprint(list, "filters[$or][0][state]=approved&filters[$or][1][author][id]=", f.users["either"])},
		{"targets", "approved", "topics?populate=posts", "topics?populate[posts][filters][state]=approved"},
		{"targets through a relation", "open", "topics?populate=posts",
			"topics?populate[posts][filters][topic][open]=true"},
		{"the one target", "topics", list + "populate=topic", list + "populate[topic][filters][open]=true"},
		{"counted targets", "approved", "topics?populate[posts][count]=true",
			"topics?populate[posts][count]=true&populate[posts][filters][state]=approved"},
		{"behind a filter", "approved", "topics?filters[posts][title]=post 40",
			"topics?filters[posts][title]=post 40&filters[posts][state]=approved"},
	} {
		rule, ruled := f.cost(c.rule, c.as)
		hand, filtered := f.cost(c.filter, "full")
		if rule != hand {
			t.Errorf("%s: the rule answers %s\nthe filter %s", c.name, rule, hand)
		}
		if ruled.Rows > filtered.Rows || ruled.Entries > filtered.Entries || ruled.Links > filtered.Links ||
			ruled.Seeks > filtered.Seeks {
			t.Errorf("%s: the rule costs %+v\nthe filter %+v", c.name, ruled, filtered)
		}
		if ruled.Plans[store.FullScan] > 0 {
			t.Errorf("%s: the rule has the store read all rows", c.name)
		}
	}
	answer, none := f.cost(list, "nobody")
	if !strings.Contains(answer, `"total":0`) || none.Rows > 0 || none.Plans[store.FullScan] > 0 {
		t.Errorf("a caller whose variable has no value: %s, for %+v", answer, none)
	}
}

// TestStreamsFollowRules expects JSON Lines to have the documents of the list, whether a token or a role has the rule.
func TestStreamsFollowRules(t *testing.T) {
	f := openForum(t, 400)
	for _, as := range []string{"approved", f.jwts["own"]} {
		for _, query := range []string{"", "sort=title:desc", "filters[title][$contains]=1", "populate=topic"} {
			want, got := f.listed("/api/posts?"+query, as), f.lines("/api/posts?"+query, as)
			if got.err != nil || len(want) == 0 || len(want) == len(f.posts) || !slices.Equal(got.lines, want) {
				t.Errorf("%s as %.10s: %d lines, %v, want %d of %d", query, as, len(got.lines), got.err, len(want), len(f.posts))
			}
		}
	}
}

// A forum is a server of forumFiles. Of its posts, one of ten is approved, one of twenty is of each user, and one of
// thirty of the team. One of ten of the topics is open.
type forum struct {
	*api
	project *gateway.Project
	posts   []string          // their documentIds
	users   map[string]int    // by role
	jwts    map[string]string // by role
	team    string
}

func openForum(t *testing.T, posts int) *forum {
	t.Helper()
	f := &forum{users: map[string]int{}, jwts: map[string]string{}}
	ready, _ := run(t, writeProject(t, forumFiles), gateway.Options{Ephemeral: true},
		func(p *gateway.Project) { f.project = p })
	f.api = newAPI(t, ready)
	f.team = f.create("teams?status=published", "Divers")
	for _, role := range []string{"own", "team", "either", "nobody"} {
		f.jwts[role], f.users[role] = f.register("user-" + role)
		f.want(200, "PUT", userPath(f.users[role]), "full", object{"role": f.roleID(role), "team": f.team})
	}
	var topics []string
	for i := range 20 {
		r := f.want(201, "POST", "/api/topics", "full",
			object{"data": object{"name": fmt.Sprint("topic ", i), "open": i%10 == 0}})
		topics = append(topics, r.at("data.documentId").(string))
	}
	for i := range posts {
		post := object{"title": fmt.Sprint("post ", i), "state": "pending", "topic": topics[i/10%20]}
		if i%10 == 0 {
			post["state"] = "approved"
		}
		if i%30 == 0 {
			post["team"] = f.team
		}
		switch i % 20 {
		case 3:
			post["author"] = f.users["own"]
		case 5:
			post["author"] = f.users["either"]
		}
		r := f.want(201, "POST", "/api/posts", "full", object{"data": post})
		f.posts = append(f.posts, r.at("data.documentId").(string))
	}
	return f
}

// cost asks for what a query finds. It returns the answer, and what the store did for it.
func (f *forum) cost(path, as string) (answer string, work store.Stats) {
	f.t.Helper()
	path, query, _ := strings.Cut(path, "?")
	if jwt := f.jwts[as]; jwt != "" {
		as = jwt
	}
	ask := func() string {
		return f.want(200, "GET", "/api/"+path+"?"+strings.ReplaceAll(query, " ", "%20"), as, nil).text
	}
	ask() // so that who asks is known, and what relations lead to
	before := f.project.Store().Stats()
	answer = ask()
	work = f.project.Store().Stats()
	work.Rows -= before.Rows
	work.Entries -= before.Entries
	work.Links -= before.Links
	work.Seeks -= before.Seeks
	for kind := range work.Plans {
		work.Plans[kind] -= before.Plans[kind]
	}
	return answer, work
}
