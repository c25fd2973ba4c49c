package gateway_test

import (
	"regexp"
	"strings"
	"testing"

	"lectern/gateway"
)

// positions are those in a page of the change feed. Of readers with rules, the same position is written in many ways.
var positions = regexp.MustCompile(`"(seq|last_seq)":"[^"]*"`)

// TestReplicaKeepsToRules reads comments and their changes of a server and its replica, as callers with rules: while
// documents and users change, after permissions.yaml was saved, and after the server was started with another one.
func TestReplicaKeepsToRules(t *testing.T) {
	t.Setenv("JWT_SECRET", testSecret)
	dir, copied := writeProject(t, museumFiles), t.TempDir()
	plugins := strings.ReplaceAll(museumFiles["config/plugins.yaml"], testSecret, "${JWT_SECRET}")
	writeFiles(t, dir, map[string]string{"config/plugins.yaml": plugins})
	e := newEditingAt(t, dir)
	send := func(method, path, key, body string) string {
		t.Helper()
		status, answer := send(t, method, e.base+path, key, body)
		if status >= 300 {
			t.Fatal(method, path, status, answer)
		}
		return answer
	}
	register := func(name string) (jwt, path string) {
		answer := send("POST", "/api/auth/local/register", "",
			`{"username":"`+name+`","email":"`+name+`@people.test","password":"secret-`+name+`"}`)
		_, rest, _ := strings.Cut(answer, `"jwt":"`)
		jwt, _, _ = strings.Cut(rest, `"`)
		_, rest, _ = strings.Cut(answer, `"user":{"id":`)
		id, _, _ := strings.Cut(rest, ",")
		return jwt, "/api/users/" + id
	}
	ada, adaPath := register("ada")
	comment := func(data string) (id string) {
		_, rest, _ := strings.Cut(send("POST", "/api/comments", e.key, `{"data":{`+data+`}}`), `"documentId":"`)
		id, _, _ = strings.Cut(rest, `"`)
		return id
	}
	comment(`"text":"open","state":"approved"`)
	hers := comment(`"text":"HERS","state":"pending","author":` + strings.TrimPrefix(adaPath, "/api/users/"))
	shut := comment(`"text":"SHUT","state":"pending","name":"Ada"`)
	r := follow(t, copied, e.base, e.key)
	_, since := get(t, e.base+"/api/_changes?types=comments&since=now", "")
	_, since, _ = strings.Cut(since, `"last_seq":"`)
	since, _, _ = strings.Cut(since, `"`)
	reads := []string{"/api/comments?sort=text", "/api/comments?_q=SHUT", "/api/comments/" + hers, "/api/comments/" + shut,
		"/graphql?query={comments{text}}"}
	// alike expects the answers of the origin of the replica, to everybody, and these texts in the list.
	alike := func(when, public, own string) {
		t.Helper()
		r.equals(e.base, e.key, reads...) // it has what the origin has
		for caller, c := range map[string]struct{ key, sees string }{"the public": {"", public}, "ada": {ada, own}} {
			r.equals(e.base, c.key, reads...)
			for _, from := range []string{"0", since} { // whichever server has made the position
				path := "/api/_changes?types=comments&include=document&since=" + from
				wanted, want := get(t, e.base+path, c.key)
				status, got := get(t, r.base+path, c.key)
				if status != wanted || positions.ReplaceAllString(got, "") != positions.ReplaceAllString(want, "") {
					t.Errorf("%s: %s reads of the replica: %d %s\nof the origin: %d %s", when, caller, status, got, wanted, want)
				}
			}
			status, list := get(t, r.base+reads[0], c.key)
			for _, text := range []string{"open", "HERS", "SHUT"} {
				sees := strings.Contains(c.sees, text)
				if status != 200 || strings.Contains(list, `"text":"`+text) != sees {
					t.Errorf("%s: %s sees %s: %v: %d %s", when, caller, text, !sees, status, list)
				}
			}
		}
	}
	alike("at first", "open", "open HERS")
	send("PUT", "/api/comments/"+shut, e.key, `{"data":{"state":"approved"}}`)
	alike("after one was approved", "open SHUT", "open HERS SHUT")
	send("PUT", "/api/comments/"+shut, e.key, `{"data":{"state":"refused"}}`)
	alike("after it was refused", "open", "open HERS")
	send("PUT", adaPath, e.key, `{"nickname":"Ada"}`)

	rules := func(public, own string) string {
		return "roles:\n  public: {api::comment.comment: {find: {where: {" + public + "}}, findOne: true}}\n" +
			"  authenticated: {api::comment.comment: {find: {where: {" + own + "}}, findOne: true}}\n"
	}
	e.write("config/permissions.yaml", rules("state: pending", "name: $user.nickname"))
	e.must(e.awaitReload())
	alike("after the rules were saved", "HERS", "SHUT")
	send("PUT", adaPath, e.key, `{"nickname":"Eve"}`)
	alike("after the attribute of a user changed", "HERS", "")

	e.close()
	writeFiles(t, dir, map[string]string{"config/permissions.yaml": rules("state: refused", "author: $user")})
	r.stop()
	again, _ := run(t, dir, gateway.Options{}, nil)
	e.base = again.Base
	r = follow(t, copied, e.base, e.key)
	alike("after a start with other rules", "SHUT", "HERS")
}
