package gateway_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lectern/auth"
	"lectern/gateway"
)

// A tokenAnswer is what the routes of tokens say of one.
type tokenAnswer struct {
	Name, Type, Key  string
	Permissions      []string
	Declared, HasKey bool
}

// as sends a request with a credential, and returns what is under data.
func (e *editing) as(key, method, path string, body any, status int) (data json.RawMessage) {
	e.Helper()
	if data, isObject := body.(object); isObject {
		body = object{"data": data}
	}
	former := e.key
	e.key = key
	defer func() { e.key = former }()
	got, text := e.do(e.Context(), method, path, body)
	if got != status {
		e.Fatalf("%s %s %v: %d %s, want %d", method, path, body, got, text, status)
	}
	var answer struct{ Data json.RawMessage }
	if len(text) > 0 {
		e.must(json.Unmarshal(text, &answer))
	}
	return answer.Data
}

// token sends a request as as does, and returns the token in the answer.
func (e *editing) token(key, method, path string, body any, status int) (tok tokenAnswer) {
	e.Helper()
	e.must(json.Unmarshal(e.as(key, method, path, body, status), &tok))
	return tok
}

// TestTokenRoutes makes, lists, rotates and revokes tokens.
func TestTokenRoutes(t *testing.T) {
	e := &editing{T: t, dir: t.TempDir()}
	e.write("content-types/note.yaml", noteFile())
	e.write("config/permissions.yaml", tokensFile("clerk"))
	e.serve(nil)
	made := e.token(e.key, "POST", "/api/_tokens", object{"name": "news", "permissions": []string{"api::note.note.find"},
		"lifespan": "30d"}, 201)
	if made.Type != "custom" || made.Declared || len(made.Key) != 256 {
		t.Errorf("made %+v", made)
	}
	clerk := e.token(e.key, "POST", "/api/_tokens", object{"name": "clerk"}, 201)
	if !clerk.Declared || clerk.Type != "custom" {
		t.Errorf("made %+v", clerk)
	}
	e.as(made.Key, "GET", "/api/notes", nil, 200)
	e.as(clerk.Key, "GET", "/api/notes", nil, 200)
	list := string(e.as(e.key, "GET", "/api/_tokens", nil, 200))
	for _, word := range []string{`"key"`, "hash", made.Key, clerk.Key} {
		if strings.Contains(list, word) {
			t.Errorf("the list has %s: %s", word, list)
		}
	}
	next := e.token(e.key, "POST", "/api/_tokens/news/actions/rotate", object{"grace": "1h"}, 200)
	e.as(made.Key, "GET", "/api/notes", nil, 200)
	last := e.token(e.key, "POST", "/api/_tokens/news/actions/rotate", object{"grace": 0}, 200)
	e.as(next.Key, "GET", "/api/notes", nil, 401)
	e.as(e.key, "DELETE", "/api/_tokens/news", nil, 204)
	e.as(last.Key, "GET", "/api/notes", nil, 401)
	e.as(e.key, "DELETE", "/api/_tokens/clerk", nil, 204)
	var left []tokenAnswer
	e.must(json.Unmarshal(e.as(e.key, "GET", "/api/_tokens", nil, 200), &left))
	if n := len(left); left[n-1].Name != "clerk" || left[n-1].HasKey || !left[n-1].Declared {
		t.Errorf("the token of the file is not shown: %+v", left)
	}
	for _, c := range []struct {
		method, path string
		body         any
		status       int
	}{
		{"POST", "", object{"name": "x"}, 400},
		{"POST", "", object{"name": "x", "type": "half"}, 400},
		{"POST", "", object{"name": "", "type": "read-only"}, 400},
		{"POST", "", object{"name": 5, "type": "read-only"}, 400},
		{"POST", "", object{"name": "x", "permissions": "api::note.note.find"}, 400},
		{"POST", "", object{"name": "x", "permissions": []string{"api::note.note.fly"}}, 400},
		{"POST", "", object{"name": "x", "type": "read-only", "lifespan": "soon"}, 400},
		{"POST", "", object{"name": "x", "type": "read-only", "rules": object{}}, 400},
		{"POST", "", object{"name": "clerk", "type": "full-access"}, 400},
		{"POST", "", []string{}, 400},
		{"POST", "/nobody/actions/rotate", nil, 404},
		{"POST", "/all/actions/rotate", object{"grace": "-1h"}, 400},
		{"DELETE", "/nobody", nil, 404},
	} {
		e.as(e.key, c.method, "/api/_tokens"+c.path, c.body, c.status)
	}
	e.as("", "GET", "/api/_tokens", nil, 403)
	at := &replica{T: t, base: e.base} // a key would be in the answer that is kept
	for _, path := range []string{"/api/_tokens", "/api/_tokens/all/actions/rotate"} {
		res, text := at.writing("POST", path, e.key, "application/json", []byte(`{"data":{}}`), "Idempotency-Key", "1")
		if res.StatusCode != 400 || !strings.Contains(text, "never stores") {
			t.Errorf("%s with an Idempotency-Key: %d %s", path, res.StatusCode, text)
		}
	}
}

// TestTokensGrantNoMore asks for the keys of tokens that may do more than who asks: by making them, by a name that
// permissions.yaml declares, and by rotating those of others.
func TestTokensGrantNoMore(t *testing.T) {
	e := &editing{T: t, dir: t.TempDir()}
	e.write("content-types/note.yaml", noteFile("secret: {type: string, private: true}"))
	e.write("content-types/page.yaml", typeFile("page"))
	e.write("content-types/memo.yaml", typeFile("memo"))
	e.write("config/permissions.yaml", `tokens:
  - {name: all-of-file, type: full-access}
  - {name: readers, type: custom, permissions: [api::page.page.find]}
  - name: nosy
    type: custom
    permissions: {api::note.note: {find: {fields: [title, secret]}}}
  - name: keeper
    type: custom
    permissions:
      lectern::api-token: [find, create, rotate, revoke]
      api::page.page: [find, create]
      api::note.note: {find: {where: {title: mine}}, findOne: true, create: true}
  - name: filer
    type: custom
    permissions:
      lectern::api-token: [create]
      api::page.page: [find]
      plugin::upload.content-api: {find: {where: {name: mine}}}
  - {name: plain, type: custom, permissions: [api::note.note.find, lectern::api-token.rotate]}
  - {name: reader, type: read-only}
`)
	e.serve(nil)
	keys := map[string]string{}
	for _, name := range []string{"nosy", "keeper", "filer", "plain", "reader"} {
		keys[name] = e.token(e.key, "POST", "/api/_tokens", object{"name": name}, 201).Key
	}
	e.as(e.key, "POST", "/api/_tokens", object{"name": "strong", "type": "full-access"}, 201)
	e.as(e.key, "POST", "/api/_tokens", object{"name": "weak", "permissions": []string{"api::page.page.find"}}, 201)
	e.as(e.key, "POST", "/api/_tokens", object{"name": "memos", "permissions": []string{"api::memo.memo.find"}}, 201)
	custom := func(permissions ...string) object { return object{"name": "mine", "permissions": permissions} }
	for _, c := range []struct {
		who, path string
		body      object
		status    int
	}{
		{"keeper", "", object{"name": "mine", "type": "full-access"}, 403},
		{"keeper", "", object{"name": "mine", "type": "read-only"}, 403},
		{"keeper", "", custom("api::memo.memo.find"), 403},
		{"keeper", "", custom("api::page.page.find", "api::page.page.delete"), 403},
		{"keeper", "", custom("lectern::replica.follow"), 403},
		{"keeper", "", custom("api::note.note.find"), 403},    // limited by a rule
		{"keeper", "", custom("api::note.note.findOne"), 403}, // held to the rule of find
		{"keeper", "", custom("api::note.note.create"), 403},  // sees the answer by the rule of find
		{"filer", "", custom("api::page.page.find"), 403},     // files are seen through all types
		{"keeper", "", object{"name": "all-of-file"}, 403},
		{"keeper", "/strong/actions/rotate", nil, 403},
		{"keeper", "/memos/actions/rotate", nil, 403},
		{"plain", "/nosy/actions/rotate", nil, 403}, // its rule shows an attribute that is private
		{"keeper", "/reader/actions/rotate", nil, 403},
		{"reader", "", object{"name": "mine", "type": "read-only"}, 403},
		{"keeper", "", custom("api::page.page.find", "lectern::api-token.find"), 201},
		{"keeper", "", object{"name": "readers"}, 201},
		{"keeper", "/weak/actions/rotate", nil, 200},
	} {
		t.Run(fmt.Sprint(c.who, c.path, c.body), func(t *testing.T) {
			sub := *e
			sub.T = t
			var body any
			if c.body != nil {
				body = c.body
			}
			sub.as(keys[c.who], "POST", "/api/_tokens"+c.path, body, c.status)
		})
	}
	e.as(keys["reader"], "GET", "/api/notes", nil, 200)
	for _, path := range []string{"/api/_tokens", "/api/_sessions?user=ann"} {
		e.as(keys["reader"], "GET", path, nil, 403) // who reads all content need not see these
	}
}

// TestSessionsOfOthers lists and ends the sessions of users, within the rules of who looks after them.
func TestSessionsOfOthers(t *testing.T) {
	for _, mode := range []string{"legacy-support", "refresh"} {
		t.Run(mode, func(t *testing.T) {
			e := &editing{T: t, dir: t.TempDir()}
			e.write("content-types/note.yaml", noteFile())
			e.write("config/plugins.yaml", "users-permissions: {config: {jwtManagement: "+mode+"}}\n")
			e.write("config/permissions.yaml", `roles: {authenticated: {'lectern::desk': [use]}}
tokens:
  - {name: warden, type: custom, permissions: ['lectern::session.find', 'lectern::session.revoke']}
  - {name: watcher, type: custom, permissions: ['lectern::session.find']}
  - name: of-ben
    type: custom
    permissions:
      lectern::session: [find, revoke]
      plugin::users-permissions.user: {find: {where: {username: ben}}}
`)
			e.serve(nil)
			keys := map[string]string{"nobody": ""}
			for _, name := range []string{"warden", "watcher", "of-ben"} {
				keys[name] = e.token(e.key, "POST", "/api/_tokens", object{"name": name}, 201).Key
			}
			sessions := map[string]string{}
			var ann *deskClient
			for _, name := range []string{"ann", "ben"} {
				_, err := e.project.CreateUser(t.Context(), auth.NewAccount{Username: name, Email: name + "@people.test",
					Password: "secret1"})
				e.must(err)
				d := &deskClient{editing: e}
				d.session("POST", `{"identifier":"`+name+`","password":"secret1"}`, 200)
				if ann == nil {
					ann = d
				}
				var list []struct{ ID, DeviceID string }
				e.must(json.Unmarshal(e.as(keys["warden"], "GET", "/api/_sessions?user="+name+"@people.test", nil, 200),
					&list))
				if len(list) != 1 || list[0].DeviceID != "desk" {
					t.Fatalf("%s: %+v", name, list)
				}
				sessions[name] = list[0].ID
			}
			for _, c := range []struct {
				who, method, path string
				status            int
			}{
				{"nobody", "GET", "?user=ann", 403},
				{"warden", "GET", "", 400},
				{"warden", "GET", "?user=eve", 404},
				{"of-ben", "GET", "?user=ben", 200},
				{"of-ben", "GET", "?user=ann", 404},
				{"nobody", "DELETE", "/" + sessions["ann"], 403},
				{"watcher", "DELETE", "/" + sessions["ann"], 403},
				{"of-ben", "DELETE", "/" + sessions["ann"], 404},
				{"warden", "DELETE", "/0", 404},
			} {
				e.as(keys[c.who], c.method, "/api/_sessions"+c.path, nil, c.status)
			}
			ann.session("PUT", "", 200)
			e.as(keys["warden"], "DELETE", "/api/_sessions/"+sessions["ann"], nil, 204)
			ann.session("PUT", "", 401)
			e.as(keys["of-ben"], "DELETE", "/api/_sessions/"+sessions["ben"], nil, 204)
			e.as(keys["of-ben"], "DELETE", "/api/_sessions/"+sessions["ben"], nil, 404)
		})
	}
}

// TestTokenRoutesOfReplica makes tokens at replicas: one that forwards writes has its origin make them, the other one
// refuses.
func TestTokenRoutesOfReplica(t *testing.T) {
	e := &editing{T: t, dir: t.TempDir()}
	e.write("content-types/note.yaml", noteFile())
	e.serve(nil)
	t.Setenv("KEY_OF_ORIGIN", e.key)
	for writes, status := range map[string]int{"forward": 201, "refuse": 409} {
		dir := t.TempDir()
		settings := filepath.Join(dir, "config", "server.yaml")
		e.must(os.MkdirAll(filepath.Dir(settings), 0o700))
		e.must(os.WriteFile(settings,
			[]byte("replica: {url: "+e.base+", token: '${KEY_OF_ORIGIN}', writes: "+writes+"}\n"), 0o600))
		r := serveReplica(t, dir, gateway.Options{})
		res, text := r.writing("POST", "/api/_tokens", e.key, "application/json",
			[]byte(`{"data":{"name":"`+writes+`","type":"read-only"}}`))
		if res.StatusCode != status {
			t.Fatalf("%s: %d %s", writes, res.StatusCode, text)
		}
		if status != 201 {
			continue
		}
		var made struct{ Data tokenAnswer }
		e.must(json.Unmarshal([]byte(text), &made))
		for _, base := range []string{e.base, r.base} {
			at := &replica{T: t, base: base}
			until(t, "the token works at "+base, func() bool {
				res, _ := at.writing("GET", "/api/notes", made.Data.Key, "", nil)
				return res.StatusCode == http.StatusOK
			})
		}
	}
}
