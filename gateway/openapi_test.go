package gateway_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// operationsIn returns the ids of the operations of an OpenAPI document, sorted.
func operationsIn(r reply) (ids []string) {
	paths, _ := r.at("paths").(map[string]any)
	for _, item := range paths {
		for _, op := range item.(map[string]any) {
			ids = append(ids, op.(map[string]any)["operationId"].(string))
		}
	}
	slices.Sort(ids)
	return ids
}

// mayCreatePages lets the public create pages.
func (a *api) mayCreatePages() {
	a.t.Helper()
	a.want(200, "PUT", fmt.Sprint("/api/users-permissions/roles/", a.roleID("public")), "full",
		object{"permissions": object{
			"api::page": object{"controllers": object{"page": object{"create": object{"enabled": true}}}},
		}})
}

// TestOpenAPIShowsWhatTheCallerMayDo checks the documents of several callers, and that they change when permissions do.
func TestOpenAPIShowsWhatTheCallerMayDo(t *testing.T) {
	a := serve(t, historyFiles)
	full := a.want(200, "GET", "/api/_openapi.json", "full", nil)
	for _, id := range []string{"health", "openapi", "changes", "batch", "findSchedules", "cancelSchedule",
		"findLocales", "status", "findAudit", "findApiTokens", "createApiToken", "rotateApiToken", "revokeApiToken",
		"findUserSessions", "endUserSession", "findRolesWithRules",
		"findWebhooks", "findDeliveries", "testWebhook", "replayWebhook",
		"upload", "findFiles", "countFiles", "findFile", "findFileUsage", "deleteFile", "fileContent",
		"login", "register", "changePassword", "forgotPassword", "resetPassword", "confirmEmail",
		"sendEmailConfirmation",
		"findUsers", "countUsers", "me", "findOneUser", "createUser", "updateUser", "deleteUser",
		"findRoles", "findOneRole", "createRole", "updateRole", "deleteRole", "findPermissions",
		"findPages", "findOnePage", "createPage", "updatePage", "deletePage", "publishPage", "unpublishPage",
		"discardDraftPage", "historyPage", "restorePage",
		"findHome", "updateHome", "deleteHome", "historyHome", "restoreHome"} {
		if !slices.Contains(operationsIn(full), id) {
			t.Errorf("the operation %s is missing", id)
		}
	}
	public := a.want(200, "GET", "/api/_openapi.json", "", nil)
	if ids := operationsIn(public); slices.Contains(ids, "createPage") || !slices.Contains(ids, "login") ||
		slices.Contains(ids, "findApiTokens") || slices.Contains(ids, "findUserSessions") ||
		slices.Contains(ids, "findRolesWithRules") || strings.Contains(public.text, "PageInput") {
		t.Errorf("the public finds %v", ids)
	}
	if full.at("components.schemas.Page.properties.hidden") != nil ||
		full.at("components.schemas.PageInput.properties.hidden.writeOnly") != true {
		t.Error("a private attribute is shown in answers, or missing in inputs")
	}
	a.mayCreatePages()
	granted := a.want(200, "GET", "/api/_openapi.json", "", nil)
	if ids := operationsIn(granted); !slices.Contains(ids, "createPage") ||
		!strings.Contains(granted.text, "PageInput") {
		t.Errorf("with another permission the public finds %v", ids)
	}
	a.want(401, "GET", "/api/_openapi.json", "nobody", nil)
}

// TestOpenAPINamesTypesAndAnswersApart describes types that are called as answers of the server are.
func TestOpenAPINamesTypesAndAnswersApart(t *testing.T) {
	files, marks := with(nil), []string{"lostEntries", "slowAfter", "formerUntil", "declaredPermissions"}
	for _, name := range []string{"preview", "webhook", "webhook-deliveries", "server-status", "audit", "api-token",
		"api-token-with-key", "user-session", "role-with-rules"} {
		mark := "markOf-" + name
		marks = append(marks, strings.ReplaceAll(mark, "-", ""))
		files["content-types/"+name+".yaml"] = fmt.Sprintf(`
kind: collectionType
info: {singularName: %s, pluralName: %s-list, displayName: X}
options: {draftAndPublish: true}
attributes: {%s: {type: string}}
`, name, name, marks[len(marks)-1])
	}
	full := serve(t, files).want(200, "GET", "/api/_openapi.json", "full", nil)
	text, err := json.Marshal(full.at("components.schemas"))
	if err != nil {
		t.Fatal(err)
	}
	for _, mark := range append(marks, `"changes":{"items":{"properties":{"action":`) {
		if !strings.Contains(string(text), mark) {
			t.Errorf("no schema has %s", mark)
		}
	}
}

// TestOpenAPIHasETags checks that a caller gets 304 as long as the document is the same.
func TestOpenAPIHasETags(t *testing.T) {
	a := serve(t, historyFiles)
	first := a.want(200, "GET", "/api/_openapi.json", "", nil)
	tag := first.header.Get("ETag")
	if r := a.want(304, "GET", "/api/_openapi.json", "", nil, "If-None-Match", tag); r.text != "" ||
		r.header.Get("ETag") != tag {
		t.Errorf("304 with ETag %q and body %q", r.header.Get("ETag"), r.text)
	}
	if full := a.want(200, "GET", "/api/_openapi.json", "full", nil, "If-None-Match", tag); full.header.Get(
		"ETag") == tag {
		t.Error("two documents have the same ETag")
	}
	a.mayCreatePages()
	if r := a.want(200, "GET", "/api/_openapi.json", "", nil, "If-None-Match", tag); r.text == first.text ||
		!strings.Contains(r.header.Get("Vary"), "Authorization") {
		t.Errorf("after another permission: the same document, or Vary %q", r.header.Get("Vary"))
	}
}
