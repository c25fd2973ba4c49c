package gateway_test

import (
	"strings"
	"testing"
	"time"
)

// TestSchedulesNeedThePermissionOfTheirAction expects callers to see and cancel only schedules of actions that they may
// use.
func TestSchedulesNeedThePermissionOfTheirAction(t *testing.T) {
	p := plan(t, nil)
	article, page := p.draft("/api/articles", "Soup"), p.draft("/api/pages", "Soup")
	for token, status := range map[string]int{"": 403, "reader": 403, "pages": 403, "editor": 202} {
		p.want(status, "POST", article+"/actions/publish", token, object{"data": object{"publishAt": p.in(time.Hour)}})
	}
	p.want(202, "POST", page+"/actions/publish", "pages", object{"data": object{"publishAt": p.in(time.Hour)}})
	p.want(403, "POST", page+"/actions/publish", "pages", object{"data": object{"unpublishAt": p.in(time.Hour)}})
	if p.isPublished(page) {
		t.Error("published by a request that was refused")
	}
	r := p.act(202, page, "unpublish", object{"unpublishAt": p.in(time.Hour)})
	id := ""
	for _, made := range r.at("meta.schedules").([]any) {
		if made := made.(object); made["action"] == "unpublish" {
			id = made["documentId"].(string)
		}
	}
	again := p.want(202, "POST", page+"/actions/publish", "pages", object{"data": object{"publishAt": p.in(time.Hour)}})
	if made := again.at("meta.schedules").([]any); len(made) != 1 || made[0].(object)["action"] != "publish" {
		t.Errorf("the answer to a new schedule shows others that are hidden: %s", again.text)
	}
	for token, want := range map[string]int{"full": 3, "editor": 1, "pages": 1} {
		if all := p.listed(token, "pagination[pageSize]=10"); len(all) != want {
			t.Errorf("%s: %v", token, all)
		}
	}
	if all := p.listed("pages",
		"filters[$or][0][contentType]=api::article.article&filters[$or][1][action]=unpublish"); all != nil {
		t.Errorf("a filter shows what is hidden: %v", all)
	}
	for _, token := range []string{"", "reader"} {
		p.want(403, "GET", "/api/_schedules", token, nil)
		p.want(403, "DELETE", "/api/_schedules/"+id, token, nil)
	}
	p.want(404, "DELETE", "/api/_schedules/"+id, "pages", nil)
	p.want(401, "GET", "/api/_schedules", "wrong", nil)
	p.want(204, "DELETE", "/api/_schedules/"+id, "full", nil)
	if r := p.want(200, "GET", "/api/_schedules", "staff", nil); r.at("data").([]any)[0].(object)["principalName"] != "editor" {
		t.Error(r.text)
	}
}

// TestSchedulesHideWhoMadeThem expects the names of those who made schedules to be shown only to callers who may find
// users, and nothing to tell them to others.
func TestSchedulesHideWhoMadeThem(t *testing.T) {
	p := plan(t, nil)
	path := p.draft("/api/articles", "Soup")
	for _, as := range []string{"editor", "staff"} {
		made := p.want(202, "POST", path+"/actions/publish", as, object{"data": object{"publishAt": p.in(time.Hour)}})
		batch := p.batch(200, as, object{"op": "publish", "type": "articles",
			"documentId": strings.TrimPrefix(path, "/api/articles/"), "publishAt": p.in(time.Hour)})
		for _, r := range []reply{made, batch, p.want(200, "GET", "/api/_schedules", as, nil),
			p.want(200, "GET", "/api/_schedules?fields=*", as, nil)} {
			if !strings.Contains(r.text, `"principalKind":"token"`) ||
				strings.Contains(r.text, "principalName") != (as == "staff") {
				t.Errorf("%s is shown %s", as, r.text)
			}
		}
	}
	for as, shown := range map[string]bool{"editor": false, "staff": true} {
		if r := p.want(200, "GET", "/api/_openapi.json", as, nil); strings.Contains(r.text, "principalName") != shown ||
			!strings.Contains(r.text, "principalKind") {
			t.Errorf("the OpenAPI document for %s does not say what it is shown", as)
		}
	}
	for _, tt := range []struct {
		query           string
		editor, staff   int
		found, notFound string // by staff
	}{
		{"filters[principalName]=staff", 400, 200, `"total":1`, ""},
		{"filters[$not][principalName][$startsWith]=x", 400, 200, `"total":1`, ""},
		{"sort=principalName", 400, 200, `"total":1`, ""},
		{"fields=action,principalName", 400, 200, `"principalName":"staff"`, "principalKind"},
		{"_q=staf", 200, 200, `"total":1`, ""},
	} {
		r := p.want(tt.editor, "GET", "/api/_schedules?"+tt.query, "editor", nil)
		if says := `Invalid key principalName`; tt.editor == 400 && !strings.Contains(r.text, says) ||
			tt.editor == 200 && !strings.Contains(r.text, `"total":0`) {
			t.Errorf("%s: editor is answered %s", tt.query, r.text)
		}
		if r = p.want(tt.staff, "GET", "/api/_schedules?"+tt.query, "staff", nil); !strings.Contains(
			r.text, tt.found) || tt.notFound != "" && strings.Contains(r.text, tt.notFound) {
			t.Errorf("%s: staff is answered %s", tt.query, r.text)
		}
	}
	for query, answers := range map[string][2]string{
		`{lecternSchedules {principalKind principalName}}`: {
			`"data":{"lecternSchedules":[{"principalKind":"token","principalName":null}]}`, `"principalName":"staff"`},
		`{lecternSchedules(filters: {principalName: {eq: "staff"}}) {action}}`: {`Invalid key principalName`,
			`[{"action":"publish"}]`},
		`{lecternSchedules(sort: "principalName") {action}}`: {`Invalid key principalName`,
			`[{"action":"publish"}]`},
	} {
		for i, as := range []string{"editor", "staff"} {
			if r := p.graphql(as, query); !strings.Contains(r.text, answers[i]) ||
				strings.Contains(r.text, "error") != (i == 0) {
				t.Errorf("%s: %s is answered %s", query, as, r.text)
			}
		}
	}
}
