package gateway_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// deletedItems returns the documents in a list of deleted ones, and for each its versions.
func deletedItems(r reply) (ids []string, versions map[string]string) {
	versions = map[string]string{}
	data, _ := r.at("data").([]any)
	for _, v := range data {
		o := v.(object)
		id := o["documentId"].(string)
		ids = append(ids, id)
		var list []string
		for _, version := range o["versions"].([]any) {
			list = append(list, fmt.Sprint(version.(object)["locale"], " ", version.(object)["status"]))
		}
		versions[id] = strings.Join(list, ", ")
	}
	return ids, versions
}

// TestDeletedDocumentsAreListedAndBroughtBack deletes documents in each way there is, lists them as callers with and
// without permission, by pages, and restores one.
func TestDeletedDocumentsAreListedAndBroughtBack(t *testing.T) {
	files := maps.Clone(historyFiles)
	files["config/api.yaml"] = "drafts: granted\n"
	files["config/permissions.yaml"] = `
roles:
  authenticated:
    api::page.page: [find, findOne, history]
`
	a := serve(t, files)
	reader, _ := a.register("reader")
	page := func(query, title string) string {
		return a.want(201, "POST", "/api/pages?"+query, "full", object{"data": object{"title": title}}).at(
			"data.documentId").(string)
	}
	site, draft, both, kept := page("status=published", "site"), page("status=draft", "draft"), page("status=draft", "both"),
		page("status=published", "kept")
	a.want(200, "PUT", "/api/pages/"+both+"?status=draft&locale=fr", "full", object{"data": object{"title": "les deux"}})
	a.want(200, "POST", "/api/pages/"+kept+"/actions/unpublish", "full", nil)
	if ids, _ := deletedItems(a.want(200, "GET", "/api/pages/_deleted", "full", nil)); len(ids) > 0 {
		t.Errorf("before anything was deleted: %v", ids)
	}
	a.want(204, "DELETE", "/api/pages/"+site, "full", nil)
	a.want(204, "DELETE", "/api/pages/"+draft, "full", nil)
	a.want(204, "DELETE", "/api/pages/"+both+"?locale=fr", "full", nil)
	if ids, _ := deletedItems(a.want(200, "GET", "/api/pages/_deleted", "full", nil)); len(ids) != 2 {
		t.Errorf("with one that has another language: %v", ids)
	}
	a.want(204, "DELETE", "/api/pages/"+both, "full", nil)

	list := func(query, as string, want ...string) reply {
		t.Helper()
		r := a.want(200, "GET", "/api/pages/_deleted?"+query, as, nil)
		if ids, _ := deletedItems(r); !slices.Equal(ids, want) {
			t.Errorf("%s: %s, want %v", query, r.text, want)
		}
		return r
	}
	all := list("", "full", both, draft, site)
	_, versions := deletedItems(all)
	if want := map[string]string{both: "en draft", draft: "en draft", site: "en published, en draft"}; !maps.Equal(versions,
		want) {
		t.Errorf("versions: %v, want %v", versions, want)
	}
	second := list("pagination[page]=2&pagination[pageSize]=2", "full", site)
	if total := second.at("meta.pagination.total"); total != 3.0 {
		t.Errorf("%v in total", total)
	}
	list("status=published", "full", site)
	list("locale=fr", "full")
	_, versions = deletedItems(list("", reader, site))
	if versions[site] != "en published" {
		t.Errorf("who may not read drafts sees %v", versions)
	}
	a.want(403, "GET", "/api/pages/_deleted?status=draft", reader, nil)
	a.want(403, "GET", "/api/pages/_deleted", "", nil)
	a.want(403, "GET", "/api/topics/_deleted", reader, nil)
	a.want(400, "GET", "/api/pages/_deleted?sort=at", "full", nil)
	a.want(400, "GET", "/api/pages/_deleted?status=old", "full", nil)
	a.want(404, "GET", "/api/home/_deleted", "full", nil)

	item := all.at("data").([]any)[1].(object)
	if by := item["by"].(object); by["kind"] != "token" || item["at"] == "" {
		t.Errorf("deleted by %v at %v", by, item["at"])
	}
	if r := a.want(200, "GET", "/api/pages/"+draft+"?status=draft&asOf="+item["before"].(string), "full", nil); r.at(
		"data.title") != "draft" {
		t.Errorf("it was %s", r.text)
	}
	a.want(404, "GET", "/api/pages/"+draft+"?status=draft&asOf="+item["seq"].(string), "full", nil)
	restored := a.want(200, "POST", "/api/pages/"+draft+"/actions/restore", "full",
		object{"data": object{"seq": item["before"]}})
	if restored.at("data.title") != "draft" {
		t.Errorf("restored: %s", restored.text)
	}
	list("", "full", both, site)
	a.want(204, "DELETE", "/api/pages/"+draft, "full", nil)
	list("", "full", draft, both, site)
}

// TestDeletedDocumentsKeepToRules deletes comments that met the rules of their readers, or did not, when they were
// deleted.
func TestDeletedDocumentsKeepToRules(t *testing.T) {
	m := openMuseum(t, ruledHistory)
	ada := m.users["authenticated"]
	a, b, e := m.ids["a"], m.ids["b"], m.ids["e"]
	m.comment(e, object{"state": "refused"}) // the public has seen it until now
	for _, id := range []string{a, b, e} {
		m.remove(id)
	}
	for _, c := range []struct {
		as   string
		want []string
	}{{"full", []string{e, b, a}}, {"", []string{a}}, {ada, []string{b}}} {
		r := m.want(200, "GET", "/api/comments/_deleted", c.as, nil)
		if ids, _ := deletedItems(r); !slices.Equal(ids, c.want) || r.at("meta.pagination.total") != float64(len(c.want)) {
			t.Errorf("%q lists %s, want %v", c.as, r.text, c.want)
		}
		for _, id := range []string{a, b, e} { // the list has what the histories have
			want := 404
			if slices.Contains(c.want, id) {
				want = 200
			}
			m.want(want, "GET", "/api/comments/"+id+"/_history", c.as, nil)
		}
	}
}

// TestDeletedDocumentsAtAReplica lists deleted documents at a replica as at its origin.
func TestDeletedDocumentsAtAReplica(t *testing.T) {
	e := newEditingAt(t, writeProject(t, map[string]string{"content-types/page.yaml": `
kind: collectionType
info: {singularName: page, pluralName: pages, displayName: Page}
attributes:
  title: {type: string}
`}))
	made := func(title string) string {
		status, answer := send(t, "POST", e.base+"/api/pages", e.key, `{"data":{"title":"`+title+`"}}`)
		_, rest, _ := strings.Cut(answer, `"documentId":"`)
		id, _, _ := strings.Cut(rest, `"`)
		if status != 201 {
			t.Fatal(status, answer)
		}
		return id
	}
	remove := func(id string) {
		if status, answer := send(t, "DELETE", e.base+"/api/pages/"+id, e.key, ""); status != 204 {
			t.Fatal(status, answer)
		}
	}
	first, second := made("first"), made("second")
	remove(first)
	r := follow(t, t.TempDir(), e.base, e.key)
	r.equals(e.base, e.key, "/api/pages/"+second)
	remove(second)
	r.equals(e.base, e.key, "/api/pages/_deleted", "/api/pages/_deleted?pagination[pageSize]=1")
	if _, list := get(t, r.base+"/api/pages/_deleted", e.key); !strings.Contains(list, second) {
		t.Errorf("the replica lists %s", list)
	}
	r.equals(e.base, "", "/api/pages/_deleted")
}
