package gateway_test

import (
	"fmt"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// historyFiles are a project whose documents are drafted, published, localized, linked and nested.
var historyFiles = map[string]string{
	"content-types/page.yaml": `
kind: collectionType
info: {singularName: page, pluralName: pages, displayName: Page}
options: {draftAndPublish: true}
pluginOptions: {i18n: {localized: true}}
attributes:
  title: {type: string, pluginOptions: {i18n: {localized: true}}}
  hidden: {type: string, private: true, pluginOptions: {i18n: {localized: true}}}
  code: {type: password}
  topics: {type: relation, relation: manyToMany, target: api::topic.topic, inversedBy: pages}
  parts: {type: component, component: page.part, repeatable: true, pluginOptions: {i18n: {localized: true}}}
`,
	"content-types/topic.yaml": `
kind: collectionType
info: {singularName: topic, pluralName: topics, displayName: Topic}
attributes:
  name: {type: string, unique: true}
  pages: {type: relation, relation: manyToMany, target: api::page.page, mappedBy: topics}
`,
	"content-types/home.yaml": `
kind: singleType
info: {singularName: home, pluralName: homes, displayName: Home}
attributes:
  heading: {type: string}
`,
	"config/permissions.yaml": `
roles:
  public:
    api::page.page: [find, findOne]
    api::topic.topic: [find, findOne]
    api::home.home: [find]
  authenticated:
    api::page.page: [find, findOne, history, restore]
    api::topic.topic: [find, findOne]
`,
}

// items returns the data of an answer as lists of the values of some keys.
func items(r reply, keys ...string) (list []string) {
	data, _ := r.at("data").([]any)
	for _, item := range data {
		var values []string
		for _, key := range keys {
			values = append(values, fmt.Sprint(item.(object)[key]))
		}
		list = append(list, strings.Join(values, " "))
	}
	return list
}

// TestHistoryOfABatchShowsItsEnd deletes a localization and makes it again in one transaction. Nobody has seen it
// missing.
func TestHistoryOfABatchShowsItsEnd(t *testing.T) {
	a := serve(t, historyFiles)
	id := a.create("pages?status=draft", "first")
	page := func(op, locale, title string) any {
		o := object{"op": op, "type": "pages", "documentId": id, "locale": locale}
		if title != "" {
			o["data"], o["status"] = object{"title": title}, "draft"
		}
		return o
	}
	for _, operations := range [][]any{
		{page("update", "fr", "premier")},
		{page("delete", "fr", ""), page("update", "fr", "second")},
		{page("delete", "fr", "")},
		{page("update", "fr", "troisième"), page("update", "fr", "quatrième")},
	} {
		a.want(200, "POST", "/api/_batch", "full", object{"operations": operations})
	}
	want := []string{"create [title]", "delete [title]", "update [title]", "create [title]"}
	if got := items(a.want(200, "GET", "/api/pages/"+id+"/_history?locale=fr", "full", nil), "action",
		"changed"); !slices.Equal(got, want) {
		t.Errorf("the history is %q, want %q", got, want)
	}
}

// TestHistoryListsFormerVersions changes a document in each way there is, and reads its history by filters and by
// pages.
func TestHistoryListsFormerVersions(t *testing.T) {
	a := serve(t, historyFiles)
	topic := a.want(201, "POST", "/api/topics", "full", object{"data": object{"name": "one"}}).at("data.documentId").(string)
	id := a.want(201, "POST", "/api/pages?status=draft", "full",
		object{"data": object{"title": "first",
			"parts": []any{object{"label": "a", "hidden": "x"}}}}).at("data.documentId").(string)
	page := "/api/pages/" + id
	a.want(200, "PUT", page+"?status=draft", "full", object{"data": object{"topics": []any{topic}, "hidden": "secret"}})
	a.want(200, "POST", page+"/actions/publish", "full", nil)
	a.want(200, "PUT", page+"?status=draft&locale=en", "full",
		object{"data": object{"hidden": "another", "parts": []any{object{"label": "a", "hidden": "y"}}}})
	a.want(200, "POST", page+"/actions/unpublish", "full", nil)
	a.want(204, "DELETE", page, "full", nil)

	all := a.want(200, "GET", page+"/_history", "full", nil)
	want := []string{"delete draft en [parts title topics]", "unpublish published en [parts title]",
		"update draft en []",
		"publish published en [parts title topics]", "update draft en [topics]", "create draft en [parts title]"}
	got := items(all, "action", "status", "locale", "changed")
	for i := range got {
		at := strings.Index(got[i], "[")
		changed := strings.Fields(strings.Trim(got[i][at:], "[]"))
		slices.Sort(changed)
		got[i] = got[i][:at] + fmt.Sprint(changed)
	}
	if !slices.Equal(got, want) {
		t.Errorf("the history is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if by := all.at("data").([]any)[0].(object)["by"].(object); by["kind"] != "token" || by["name"] == "" {
		t.Errorf("the document was deleted by %v", by)
	}
	if got := items(a.want(200, "GET", page+"/_history?status=published", "full", nil), "action"); !slices.Equal(
		got, []string{"unpublish", "publish"}) {
		t.Errorf("published versions: %v", got)
	}
	if got := items(a.want(200, "GET", page+"/_history?locale=de", "full", nil), "action"); len(got) > 0 {
		t.Errorf("in another locale: %v", got)
	}
	second := a.want(200, "GET", page+"/_history?pagination[page]=2&pagination[pageSize]=4", "full", nil)
	if got := items(second, "action"); !slices.Equal(got, []string{"update", "create"}) ||
		second.at("meta.pagination.total") != 6.0 {
		t.Errorf("the second page: %v of %v", got, second.at("meta.pagination"))
	}
	a.want(403, "GET", page+"/_history", "", nil)
	a.want(404, "GET", "/api/pages/nobody/_history", "full", nil)
	a.want(400, "GET", page+"/_history?status=old", "full", nil)
	a.want(400, "GET", page+"/_history?filters[by]=x", "full", nil)
}

// TestHistoryShowsKeptLinksAsUnchanged publishes a document again that kept its links while it was not published: only
// links that differ from the kept ones have changed.
func TestHistoryShowsKeptLinksAsUnchanged(t *testing.T) {
	a := serve(t, historyFiles)
	one := a.want(201, "POST", "/api/topics", "full", object{"data": object{"name": "one"}}).at("data.documentId").(string)
	for _, c := range []struct {
		name    string
		topics  any // of the draft before it is published again; nil: as they were
		changed string
	}{
		{"untouched", nil, "[title]"},
		{"disconnected", object{"set": []any{}}, "[topics title]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			page := "/api/pages/" + a.want(201, "POST", "/api/pages", "full",
				object{"data": object{"title": "first", "topics": []any{one}}}).at("data.documentId").(string)
			a.want(200, "POST", page+"/actions/unpublish", "full", nil)
			if c.topics != nil {
				a.want(200, "PUT", page+"?status=draft", "full", object{"data": object{"topics": c.topics}})
			}
			a.want(200, "POST", page+"/actions/publish", "full", nil)
			got := items(a.want(200, "GET", page+"/_history?status=published", "full", nil), "action", "changed")
			if len(got) != 3 || strings.Join(sortedWords(got[0]), " ") != strings.Join(
				sortedWords("publish "+c.changed), " ") {
				t.Errorf("published again: %q, want publish %s", got, c.changed)
			}
		})
	}
}

// sortedWords returns the words of a text in order, without brackets.
func sortedWords(text string) []string {
	words := strings.Fields(strings.NewReplacer("[", "", "]", "").Replace(text))
	slices.Sort(words)
	return words
}

// TestHistoryHidesUsers has a user write, and reads who it was with and without the permission to find users.
func TestHistoryHidesUsers(t *testing.T) {
	files := maps.Clone(historyFiles)
	files["config/permissions.yaml"] += `
  editor:
    api::page.page: [find, history]
    plugin::users-permissions.user: [find]
`
	a := serve(t, files)
	writer, _ := a.register("writer")
	editor, id := a.register("editor")
	a.want(200, "PUT", userPath(id), "full", object{"role": a.roleID("editor")})
	page := "/api/pages/" + a.want(201, "POST", "/api/pages?status=draft", "full",
		object{"data": object{"title": "one"}}).at("data.documentId").(string)
	last := func(as, key string) any {
		return a.want(200, "GET", page+"/_history", as, nil).at("data").([]any)[0].(object)[key]
	}
	created := last("full", "seq")
	a.want(200, "PUT", page+"?status=draft", "full", object{"data": object{"title": "two"}})
	a.want(200, "POST", page+"/actions/restore", writer, object{"data": object{"seq": created}})
	for as, want := range map[string]string{"full": "writer", editor: "writer", writer: ""} {
		if got := last(as, "by"); !reflect.DeepEqual(got, object{"kind": "user", "name": want}) {
			t.Errorf("the last version is by %v, want the name %q", got, want)
		}
	}
}

// TestHistoryNamesUsersIfConfigured reads who wrote as a user who may not find users.
func TestHistoryNamesUsersIfConfigured(t *testing.T) {
	files := maps.Clone(historyFiles)
	files["config/api.yaml"] = "history: {names: true}\n"
	a := serve(t, files)
	writer, _ := a.register("writer")
	page := "/api/pages/" + a.want(201, "POST", "/api/pages?status=draft", "full",
		object{"data": object{"title": "one"}}).at("data.documentId").(string)
	created := a.want(200, "GET", page+"/_history", "full", nil).at("data").([]any)[0].(object)["seq"]
	a.want(200, "PUT", page+"?status=draft", "full", object{"data": object{"title": "two"}})
	a.want(200, "POST", page+"/actions/restore", writer, object{"data": object{"seq": created}})
	last := a.want(200, "GET", page+"/_history", writer, nil).at("data").([]any)[0].(object)
	if want := (object{"kind": "user", "name": "writer"}); !reflect.DeepEqual(last["by"], want) {
		t.Errorf("the last version is by %v, want %v", last["by"], want)
	}
}

// without returns a document without the values that a restored version has of its own, on every level.
func without(v any, keys ...string) any {
	switch v := v.(type) {
	case object:
		next := object{}
		for k, x := range v {
			if !slices.Contains(keys, k) {
				next[k] = without(x, keys...)
			}
		}
		return next
	case []any:
		next := []any{}
		for _, x := range v {
			next = append(next, without(x, keys...))
		}
		return next
	}
	return v
}

// TestVersionsAreReadAndRestored reads a document as of each entry of its history and of times, and restores it from
// there, after it was deleted too.
func TestVersionsAreReadAndRestored(t *testing.T) {
	a := serve(t, historyFiles)
	began := time.Now().Add(-time.Hour).UTC().Format(time.RFC3339)
	one := a.want(201, "POST", "/api/topics", "full", object{"data": object{"name": "one"}}).at("data.documentId").(string)
	two := a.want(201, "POST", "/api/topics", "full", object{"data": object{"name": "two"}}).at("data.documentId").(string)
	id := a.want(201, "POST", "/api/pages", "full",
		object{"data": object{"title": "first", "hidden": "h", "code": "secret", "topics": []any{two, one},
			"parts": []any{object{"label": "a"}, object{"label": "b"}}}}).at("data.documentId").(string)
	page, read := "/api/pages/"+id, "&populate[0]=topics&populate[1]=parts"
	a.want(200, "PUT", page, "full", object{"data": object{"title": "second", "topics": []any{one}, "parts": []any{}}})
	a.want(200, "PUT", "/api/topics/"+one, "full", object{"data": object{"name": "uno"}})
	a.want(200, "POST", page+"/actions/unpublish", "full", nil)
	a.want(204, "DELETE", "/api/topics/"+two, "full", nil)
	a.want(204, "DELETE", page, "full", nil)

	history := a.want(200, "GET", page+"/_history?status=published", "full", nil).at("data").([]any)
	seq := func(i int) string {
		return "?asOf=" +
			history[i].(object)["seq"].(string)
	} // 0 unpublished, 1 second, 2 first
	first := a.want(200, "GET", page+seq(2)+read, "full", nil)
	if got := fmt.Sprint(first.at("data.title"), items(reply{body: object{"data": first.at("data.topics")}}, "name"),
		len(first.at("data.parts").([]any))); got != "first[two one] 2" {
		t.Errorf("as of the first publication: %s", got)
	}
	if strings.Contains(first.text, `"hidden"`) || strings.Contains(first.text, `"code"`) {
		t.Errorf("hidden attributes are shown: %s", first.text)
	}
	if got := a.want(200, "GET", page+seq(1)+read, "full", nil).at("data.topics"); items(
		reply{body: object{"data": got}}, "name")[0] != "one" {
		t.Errorf("as of the second publication the topics are %v", got)
	}
	at := url.QueryEscape(history[1].(object)["at"].(string))
	if got := a.want(200, "GET", page+"?asOf="+at, "full", nil).at("data.title"); got != "second" {
		t.Errorf("at %s the title is %v", at, got)
	}
	for _, c := range []struct {
		status     int
		query, who string
	}{
		{404, seq(0), "full"}, {200, seq(0) + "&status=draft", "full"}, {403, seq(1), ""},
		{403, seq(1) + "&fields=title", ""},
		{400, seq(1) + "&filters[title]=x", "full"}, {400, seq(1) + "&populate[topics][sort]=name", "full"},
		{400, "?asOf=yesterday", "full"},
		{400, "?asOf=2999-01-01T00:00:00Z", "full"}, {410, "?asOf=0123456789abcdef-7", "full"},
		{404, "?asOf=" + began, "full"},
	} {
		a.want(c.status, "GET", page+c.query, c.who, nil)
	}
	a.want(400, "GET", "/api/pages"+seq(1), "full", nil)

	restored := a.want(200, "POST", page+"/actions/restore?populate[0]=topics&populate[1]=parts", "full",
		object{"data": object{"seq": history[2].(object)["seq"], "status": "published"}})
	own := []string{"id", "createdAt", "updatedAt", "publishedAt", "name"}
	want := without(first.at("data"), own...).(object)
	want["topics"] = want["topics"].([]any)[1:] // the other one is gone
	if got := without(restored.at("data"), own...); !reflect.DeepEqual(got, want) {
		t.Errorf("restored is\n%v\nwant\n%v", got, want)
	}
	a.want(404, "GET", page, "full", nil) // it is a draft
	a.want(200, "POST", page+"/actions/publish", "full", nil)
	if got := items(a.want(200, "GET", page+"/_history?pagination[pageSize]=3", "full", nil), "action",
		"status"); !slices.Equal(got, []string{"publish published", "create draft", "delete draft"}) {
		t.Errorf("the history goes on with %v", got)
	}
	a.want(403, "POST", page+"/actions/restore", "", object{"data": object{"seq": history[2].(object)["seq"]}})
	a.want(400, "POST", page+"/actions/restore", "full", object{"data": object{"seq": "7"}})
	a.want(400, "POST", page+"/actions/restore", "full",
		object{"data": object{"seq": history[2].(object)["seq"], "title": "x"}})
	a.want(404, "POST", page+"/actions/restore?locale=de", "full",
		object{"data": object{"seq": history[2].(object)["seq"]}})
}

// TestSingleTypesAreRestored deletes the document of a single type, and restores it.
func TestSingleTypesAreRestored(t *testing.T) {
	a := serve(t, historyFiles)
	a.want(404, "GET", "/api/home/_history", "full", nil)
	a.want(200, "PUT", "/api/home", "full", object{"data": object{"heading": "first"}})
	id := a.want(200, "PUT", "/api/home", "full", object{"data": object{"heading": "second"}}).at("data.documentId")
	a.want(204, "DELETE", "/api/home", "full", nil)
	history := a.want(200, "GET", "/api/home/_history", "full", nil)
	if got := items(history, "action", "locale"); !slices.Equal(
		got, []string{"delete <nil>", "update <nil>", "create <nil>"}) {
		t.Fatalf("the history is %v", got)
	}
	first := history.at("data").([]any)[2].(object)["seq"].(string)
	if got := a.want(200, "GET", "/api/home?asOf="+first, "full", nil).at("data.heading"); got != "first" {
		t.Errorf("as of the creation: %v", got)
	}
	a.want(404, "GET", "/api/home", "full", nil)
	if got := a.want(200, "POST", "/api/home/actions/restore", "full", object{"data": object{"seq": first}}); got.at(
		"data.heading") != "first" || got.at("data.documentId") != id {
		t.Errorf("restored is %s", got.text)
	}
	if got := a.want(200, "GET", "/api/home", "", nil).at("data.heading"); got != "first" {
		t.Errorf("after that: %v", got)
	}
}

// TestHistoryShowsMovedLinks publishes links in an order that the published version has already, though the draft has
// arranged them anew in between, and in another order.
func TestHistoryShowsMovedLinks(t *testing.T) {
	a := serve(t, historyFiles)
	var topics []any
	for _, name := range []string{"one", "two", "three"} {
		topics = append(topics,
			a.want(201, "POST", "/api/topics", "full", object{"data": object{"name": name}}).at("data.documentId"))
	}
	page := "/api/pages/" + a.want(201, "POST", "/api/pages", "full",
		object{"data": object{"title": "first", "topics": topics[:1]}}).at("data.documentId").(string)
	arrange := func(status string, list ...any) {
		a.want(200, "PUT", page+"?status="+status, "full", object{"data": object{"topics": list}})
	}
	arrange("draft", topics...)
	arrange("draft", topics[1], topics[2], topics[0])
	arrange("draft", topics[0])
	a.want(200, "POST", page+"/actions/publish", "full", nil)
	arrange("published", topics[0], topics[1], topics[2])
	arrange("published", topics[2], topics[0], topics[1])
	want := []string{"publish [topics]", "publish [topics]", "publish []", "publish [title topics]"}
	if got := items(a.want(200, "GET", page+"/_history?status=published", "full", nil), "action",
		"changed"); !slices.Equal(got, want) {
		t.Errorf("the history is %q, want %q", got, want)
	}
}
