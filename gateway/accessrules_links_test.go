package gateway_test

import (
	"fmt"
	"strings"
	"testing"

	"lectern/gateway"
)

// pressFiles are a project in which users change all articles, and see neither secret topics nor secret files.
var pressFiles = map[string]string{
	"content-types/article.yaml": `
kind: collectionType
info: {singularName: article, pluralName: articles, displayName: Article}
options: {draftAndPublish: true}
attributes:
  title: {type: string}
  topic: {type: relation, relation: manyToOne, target: api::topic.topic}
  topics: {type: relation, relation: manyToMany, target: api::topic.topic, inversedBy: articles}
  any: {type: relation, relation: morphToMany}
  files: {type: media, multiple: true}
  part: {type: component, component: press.part}
  state: {type: string}
`,
	"components/press/part.yaml": `
info: {displayName: Part}
attributes:
  topics: {type: relation, relation: oneToMany, target: api::topic.topic}
`,
	"content-types/topic.yaml": `
kind: collectionType
info: {singularName: topic, pluralName: topics, displayName: Topic}
attributes:
  title: {type: string}
  articles: {type: relation, relation: manyToMany, target: api::article.article, mappedBy: topics}
`,
	"content-types/note.yaml": `
kind: collectionType
info: {singularName: note, pluralName: notes, displayName: Note}
attributes:
  title: {type: string}
`,
	"config/plugins.yaml": museumFiles["config/plugins.yaml"],
	"config/permissions.yaml": `
roles:
  authenticated:
    plugin::upload.content-api: {find: {where: {name: {$not: {$startsWith: secret}}}}}
    api::topic.topic: {find: {where: {title: {$in: [a, b, c]}}}, update: true}
    api::article.article: {find: {where: {state: {$null: true}}}, update: true, publish: true}
`,
}

// TestReplacedLinksKeepHiddenOnes writes lists in place of links of which the caller does not see all. Those that they
// do not see stay behind the links that they followed.
func TestReplacedLinksKeepHiddenOnes(t *testing.T) {
	ready, _ := run(t, writeProject(t, pressFiles), gateway.Options{Ephemeral: true}, nil)
	a := newAPI(t, ready)
	user, _ := a.register("ada")
	ids, names := map[string]any{}, map[string]string{}
	create := func(plural, title string, data object) string {
		t.Helper()
		data["title"] = title
		id := a.want(201, "POST", "/api/"+plural, "full", object{"data": data}).at("data.documentId").(string)
		ids[title], names[id] = id, title
		return id
	}
	for _, title := range strings.Split("abcvwxyz", "") {
		create("topics", title, object{})
	}
	create("notes", "n", object{})
	for name, title := range map[string]string{"f.txt": "f", "g.txt": "g", "secret.txt": "s"} {
		r, _ := a.upload("full", fileForm(name, []byte("a text")))
		ids[title] = r.body.([]any)[0].(object)["id"]
	}
	list := func(titles string) []any {
		list := []any{}
		for _, title := range strings.Split(titles, "") {
			list = append(list, ids[title])
		}
		return list
	}
	morph := func(titles string) (all []any) {
		for _, title := range strings.Split(titles, "") {
			uid := "api::topic.topic"
			if title == "n" {
				uid = "api::note.note"
			}
			all = append(all, object{"__type": uid, "documentId": ids[title]})
		}
		return all
	}
	id := create("articles", "whale", object{"topic": ids["x"], "topics": list("xaybzc"), "any": morph("naxb"),
		"files": list("sfg"), "part": object{"topics": list("vawb")}})
	create("articles", "hidden", object{"state": "hidden", "topics": list("a")})
	path := "/api/articles/" + id
	part := func() any {
		return a.want(200, "GET", path+"?populate=part&status=draft", "full", nil).at("data.part.id")
	}
	links := func() string {
		t.Helper()
		r := a.want(200, "GET", path+"?populate[topic]=true&populate[topics]=true&populate[files]=true&populate[any]=true"+
			"&populate[part][populate]=*&status=draft", "full", nil)
		var b strings.Builder
		for _, key := range []string{"topics", "any", "files", "part.topics"} {
			all, _ := r.at("data." + key).([]any)
			for _, x := range all {
				o := x.(object)
				if name, isFile := o["name"].(string); isFile {
					b.WriteString(name[:1])
				} else {
					b.WriteString(o["title"].(string))
				}
			}
			b.WriteByte(' ')
		}
		return strings.TrimSpace(b.String() + fmt.Sprint(r.at("data.topic.title")))
	}
	for _, step := range []struct {
		name string
		data object
		want string
	}{
		{"nothing", object{}, "xaybzc naxb sfg vawb x"},
		{"a list", object{"topics": list("ba")}, "xbzay naxb sfg vawb x"},
		{"set", object{"topics": object{"set": list("cb")}}, "xcbzy naxb sfg vawb x"},
		{"an empty list", object{"topics": []any{}}, "xzy naxb sfg vawb x"},
		{"null of one", object{"topic": nil}, "xzy naxb sfg vawb x"},
		{"another one", object{"topic": ids["a"]}, "xzy naxb sfg vawb a"},
		{"many types", object{"any": morph("bc")}, "xzy nxbc sfg vawb a"},
		{"files", object{"files": list("g")}, "xzy nxbc sg vawb a"},
		{"a component", object{"part": object{"id": part(), "topics": list("ca")}}, "xzy nxbc sg vcaw a"},
		{"a new component", object{"part": object{"topics": list("b")}}, "xzy nxbc sg b a"},
		{"connect", object{"topics": object{"connect": list("a"), "disconnect": list("b")}}, "xzya nxbc sg b a"},
	} {
		a.want(200, "PUT", path, user, object{"data": step.data})
		if got := links(); got != step.want {
			t.Errorf("%s: %s, want %s", step.name, got, step.want)
		}
	}
	a.want(200, "POST", "/api/_batch", user, object{"operations": []object{{"op": "update", "type": "articles",
		"documentId": id, "data": object{"topics": list("bc")}}}})
	if got := links(); got != "xzybc nxbc sg b a" {
		t.Errorf("batch: %s", got)
	}
	r := a.graphql(user, fmt.Sprintf(`mutation {updateArticle(documentId: %q, data: {topics: [%q]}) {title}}`, id, ids["b"]))
	if got := links(); got != "xzyb nxbc sg b a" {
		t.Errorf("GraphQL: %s: %s", got, r.text)
	}
	a.want(200, "PUT", "/api/topics/"+ids["a"].(string), user, object{"data": object{"articles": []any{}}})
	back := a.want(200, "GET", "/api/topics/"+ids["a"].(string)+"?populate=articles", "full", nil)
	if articles, _ := back.at("data.articles").([]any); len(articles) != 1 || !strings.Contains(back.text, "hidden") {
		t.Errorf("from the other side: %s", back.text)
	}
	a.want(200, "PUT", path, "full", object{"data": object{"topics": list("a")}})
	if got := links(); got != "a nxbc sg b a" {
		t.Errorf("who sees all: %s", got)
	}
}
