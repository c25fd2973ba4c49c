package gateway_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// TestSessionsAndPreviewsAtOtherNodes logs in at one node of a cluster, refreshes at another, and logs out at the
// third; and reads a draft at each by a preview that one of them made, until whoever made it is blocked. People who
// have the draft open at two nodes see each other.
func TestSessionsAndPreviewsAtOtherNodes(t *testing.T) {
	t.Setenv("SECRET_OF_BOTH", testSecret)
	nodes := newStoppedCluster(t, 3)
	writeFiles(t, nodes[0].dir, map[string]string{"config/plugins.yaml": sessionPlugins,
		"config/permissions.yaml": "roles:\n  authenticated:\n    plugin::users-permissions.user: [me]\n" +
			"    plugin::users-permissions.auth: [logout, refresh, getSessions]\n" +
			"    api::article.article: [find, findOne, findDrafts, preview]\n" +
			"  public:\n    plugin::users-permissions.auth: [callback, register, refresh]\n"})
	for _, n := range nodes {
		n.start()
	}
	type answer struct {
		JWT          string
		RefreshToken string
		User         struct{ ID int }
		Data         struct{ DocumentID, Token string }
	}
	send := func(node int, method, path, key, body string, want int) (a answer) {
		t.Helper()
		status, _, text := nodes[node].ask(method, path, key, body, "Lectern-Consistency", "linearizable")
		if status != want {
			t.Fatalf("node %d: %s %s: %d %s", node, method, path, status, text)
		}
		if text != "" {
			if err := json.Unmarshal([]byte(text), &a); err != nil {
				t.Fatal(err)
			}
		}
		return a
	}
	writer := nodes[0].token("writer")
	ann := send(0, "POST", "/api/auth/local/register", "",
		`{"username":"ann","email":"ann@people.test","password":"secret-ann"}`, 200)
	login := `{"identifier":"ann","password":"secret-ann","deviceId":"phone"}`
	first := send(1, "POST", "/api/auth/local", "", login, 200)
	for i := range nodes {
		send(i, "GET", "/api/users/me", first.JWT, "", 200)
	}
	second := send(2, "POST", "/api/auth/refresh", "", `{"refreshToken":"`+first.RefreshToken+`"}`, 200)
	send(0, "POST", "/api/auth/refresh", "", `{"refreshToken":"`+first.RefreshToken+`"}`, 401) // it was replaced

	draft := send(0, "POST", "/api/articles?status=draft", writer, `{"data":{"title":"Shown by a preview"}}`, 201)
	path := "/api/articles/" + draft.Data.DocumentID
	preview := send(1, "POST", path+"/actions/preview", second.JWT, "", 200)
	reads := func(node, want int) {
		t.Helper()
		status, _, text := nodes[node].ask("GET", path+"?status=draft", preview.Data.Token, "",
			"Lectern-Consistency", "linearizable")
		if status != want || strings.Contains(text, "Shown by a preview") != (want == http.StatusOK) {
			t.Errorf("the preview at node %d: %d %s", node, status, text)
		}
	}
	for i := range nodes {
		reads(i, http.StatusOK)
	}
	send(0, "PUT", userPath(ann.User.ID), writer, `{"blocked":true}`, 200)
	for i := range nodes {
		reads(i, http.StatusUnauthorized)
	}
	send(2, "PUT", userPath(ann.User.ID), writer, `{"blocked":false}`, 200)

	opened := `{"data":{"contentType":"api::article.article","documentId":"` + draft.Data.DocumentID + `"}}`
	for node, key := range []string{writer, nodes[1].token("other")} {
		status, _, text := nodes[node+1].ask("POST", "/api/_presence", key, opened)
		if status != http.StatusOK || strings.Contains(text, `"name":"writer"`) != (key != writer) {
			t.Errorf("presence at node %d: %d %s", node+1, status, text)
		}
	}

	third := send(0, "POST", "/api/auth/local", "", login, 200)
	send(2, "POST", "/api/auth/logout", third.JWT, "{}", 200)
	send(1, "POST", "/api/auth/refresh", "", `{"refreshToken":"`+third.RefreshToken+`"}`, 401)
}
