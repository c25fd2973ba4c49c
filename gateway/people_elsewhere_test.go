package gateway_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lectern/gateway"
	"lectern/internal/servertest"
)

// An elsewhere is a server of several that have the same content.
type elsewhere struct {
	*replica        // where requests are sent
	key      string // of a token that may do everything
	origin   string // where users log in
	refuses  bool   // it takes no writes
}

// TestPeopleAtOtherServers looks after roles, tokens and sessions at a server that is alone, at its replicas, and at
// the nodes of a cluster. All read alike. All but a replica that refuses writes change alike; that one says where to.
func TestPeopleAtOtherServers(t *testing.T) {
	t.Setenv("SECRET_OF_BOTH", testSecret)
	const permissions = "roles:\n  guards: {api::article.article: {find: {where: {title: open}}}}\n" +
		"  public: {'plugin::users-permissions.auth': [callback, register]}\n"
	e := &editing{T: t, dir: t.TempDir()}
	e.write("content-types/article.yaml", `
kind: collectionType
info: {singularName: article, pluralName: articles, displayName: Article}
attributes: {title: {type: string}}
`)
	e.write("config/plugins.yaml", sessionPlugins)
	e.write("config/permissions.yaml", permissions)
	e.serve(nil)
	t.Setenv("KEY_OF_ORIGIN", e.key)
	at := func(writes string) *replica {
		dir := t.TempDir()
		e.must(os.MkdirAll(filepath.Join(dir, "config"), 0o700))
		e.must(os.WriteFile(filepath.Join(dir, "config", "server.yaml"),
			[]byte("replica: {url: "+e.base+", token: '${KEY_OF_ORIGIN}', writes: "+writes+"}\n"), 0o600))
		return serveReplica(t, dir, gateway.Options{})
	}
	nodes := newStoppedCluster(t, 3)
	writeFiles(t, nodes[0].dir, map[string]string{"config/plugins.yaml": sessionPlugins,
		"config/permissions.yaml": permissions})
	for _, n := range nodes {
		n.start()
	}
	token := nodes[0].token("writer")
	for name, s := range map[string]elsewhere{
		"alone":                        {&replica{base: e.base}, e.key, e.base, false},
		"replica that forwards writes": {at("forward"), e.key, e.base, false},
		"replica that refuses writes":  {at("refuse"), e.key, e.base, true},
		"leader":                       {&replica{base: nodes[0].base}, token, nodes[0].base, false},
		"other node":                   {&replica{base: nodes[1].base}, token, nodes[0].base, false},
	} {
		t.Run(name, func(t *testing.T) {
			s.replica.T = t
			name := strings.ReplaceAll(name, " ", "")
			s.roles(name)
			s.tokens(name)
			s.sessions(name)
		})
	}
}

// changes sends a write, and returns the answer. A server that refuses writes must answer 409, with the address of its
// origin.
func (s *elsewhere) changes(method, path, body string, want int, headers ...string) string {
	s.Helper()
	res, text := s.writing(method, path, s.key, "application/json", []byte(body), headers...)
	if s.refuses {
		want = http.StatusConflict
		if !strings.Contains(text, s.origin) {
			s.Errorf("%s %s: the answer does not say where: %s", method, path, text)
		}
	}
	if res.StatusCode != want {
		s.Errorf("%s %s: %d %s, want %d", method, path, res.StatusCode, text, want)
	}
	return text
}

// reads reads a list as recently as it is, into its items.
func (s *elsewhere) reads(path string, into any) {
	s.Helper()
	res, text := s.writing("GET", path, s.key, "application/json", nil, "Lectern-Consistency", "linearizable")
	answer := struct{ Data any }{into}
	if err := json.Unmarshal([]byte(text), &answer); err != nil || res.StatusCode != http.StatusOK {
		s.Errorf("GET %s: %d %s", path, res.StatusCode, text)
	}
}

// roles reads the roles with the rules of the file, and makes, changes and deletes one.
func (s *elsewhere) roles(name string) {
	role := func(kind string) (found roleAnswer) {
		s.Helper()
		var all []roleAnswer
		s.reads("/api/_roles", &all)
		for _, r := range all {
			if r.Type == kind {
				found = r
			}
		}
		return found
	}
	const rules = "map[api::article.article.find:map[where:map[title:open]]]"
	if r := role("guards"); !r.Declared || fmt.Sprint(r.Rules) != rules {
		s.Errorf("the role of the file: %+v", r)
	}
	body := func(permissions ...string) string {
		text, _ := json.Marshal(roleOf(name, permissions...))
		return string(text)
	}
	s.changes("POST", rolesPath, body("api::article.article.find"), 200)
	r := role(strings.ToLower(name))
	if (r.ID == 0) != s.refuses {
		s.Fatalf("the role that was made: %+v", r)
	}
	path := fmt.Sprint(rolesPath, "/", r.ID)
	s.changes("PUT", path, body("api::article.article.create"), 200, "If-Match", r.Etag)
	s.changes("PUT", path, body("api::article.article.delete"), 412, "If-Match", r.Etag)
	if r := role(r.Type); !s.refuses && fmt.Sprint(r.Permissions) != "[api::article.article.create]" {
		s.Errorf("the role that was changed: %+v", r)
	}
	s.changes("DELETE", path, "", 200)
}

// tokens makes, uses, rotates and revokes a token.
func (s *elsewhere) tokens(name string) {
	has := func() (has bool) {
		s.Helper()
		var all []tokenAnswer
		s.reads("/api/_tokens", &all)
		for _, tok := range all {
			has = has || tok.Name == name
		}
		return has
	}
	key := func(text string) string {
		var answer struct{ Data tokenAnswer }
		_ = json.Unmarshal([]byte(text), &answer)
		return answer.Data.Key
	}
	works := func(key string, want int) {
		s.Helper()
		res, text := s.writing("GET", "/api/articles", key, "application/json", nil, "Lectern-Consistency", "linearizable")
		if res.StatusCode != want {
			s.Errorf("the key: %d %s, want %d", res.StatusCode, text, want)
		}
	}
	named := `{"data":{"name":"` + name + `","permissions":["api::article.article.find"]}}`
	if s.refuses {
		s.changes("POST", "/api/_tokens", named, 409)
		s.changes("POST", "/api/_tokens/all/actions/rotate", "{}", 409)
		s.changes("DELETE", "/api/_tokens/all", "", 409)
		return
	}
	first := key(s.changes("POST", "/api/_tokens", named, 201))
	works(first, 200)
	if !has() {
		s.Error("the list does not have the token that was made")
	}
	works(key(s.changes("POST", "/api/_tokens/"+name+"/actions/rotate", `{"data":{"grace":0}}`, 200)), 200)
	works(first, 401)
	s.changes("DELETE", "/api/_tokens/"+name, "", 204)
	if has() {
		s.Error("the list has the token that was revoked")
	}
}

// sessions logs a user in, and ends their session.
func (s *elsewhere) sessions(name string) {
	origin := &replica{T: s.T, base: s.origin}
	var sessions []struct{ ID string }
	res, text := origin.writing("POST", "/api/auth/local/register", "", "application/json",
		[]byte(`{"username":"`+name+`","email":"`+name+`@people.test","password":"secret1"}`))
	if res.StatusCode != http.StatusOK {
		s.Fatal(text)
	}
	path := "/api/_sessions?user=" + name
	servertest.Await(s.T, "the session is known", func() error {
		if status, text := get(s.T, s.base+path, s.key); status != http.StatusOK || !strings.Contains(text, "loginAt") {
			return fmt.Errorf("%d %s", status, text)
		}
		return nil
	})
	if s.reads(path, &sessions); len(sessions) != 1 {
		s.Fatalf("%d sessions", len(sessions))
	}
	s.changes("DELETE", "/api/_sessions/"+sessions[0].ID, "", 204)
	if s.reads(path, &sessions); (len(sessions) == 0) == s.refuses {
		s.Errorf("%d sessions after one was ended", len(sessions))
	}
}
