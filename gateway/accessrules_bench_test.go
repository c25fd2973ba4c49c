package gateway

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"lectern/gateway/internal/server"
)

// ruledPosts are the definitions and permissions of BenchmarkRules.
var ruledPosts = map[string]string{
	"content-types/topic.yaml": `
kind: collectionType
info: {singularName: topic, pluralName: topics, displayName: Topic}
attributes:
  open: {type: boolean}
  posts: {type: relation, relation: oneToMany, target: api::post.post, mappedBy: topic}
`,
	"content-types/post.yaml": `
kind: collectionType
info: {singularName: post, pluralName: posts, displayName: Post}
attributes:
  title: {type: string}
  state: {type: string}
  showFrom: {type: datetime}
  topic: {type: relation, relation: manyToOne, target: api::topic.topic, inversedBy: posts}
  author: {type: relation, relation: manyToOne, target: plugin::users-permissions.user}
`,
	"config/permissions.yaml": `
roles:
  authenticated:
    api::post.post: {find: {where: {author: $user}}}
tokens:
  - name: approved
    type: custom
    permissions:
      api::post.post: {find: {where: {state: approved}}}
      api::topic.topic: {find: true}
  - name: open
    type: custom
    permissions:
      api::post.post: {find: {where: {topic: {open: true}}}}
  - name: later
    type: custom
    permissions:
      api::post.post: {find: {where: {showFrom: {$lte: $now}}}}
`,
}

// BenchmarkRules measures lists of what rules let a caller see, and the same lists asked for by filters. Answers under
// rules have their ETags made from their text, and those of filters from revisions.
func BenchmarkRules(b *testing.B) {
	dir := b.TempDir()
	for _, name := range slices.Sorted(maps.Keys(ruledPosts)) {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(ruledPosts[name]), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	p, err := Open(dir, Options{Ephemeral: true, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	defer p.Close()
	rt, err := p.generation.Load().runtime()
	if err != nil {
		b.Fatal(err)
	}
	s, err := NewServer(server.Config{Log: p.log}, rt)
	if err != nil {
		b.Fatal(err)
	}
	keys, err := p.ephemeralTokens(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	request := func(method, path, as, body string) *http.Request {
		r := httptest.NewRequest(method, "/api/"+path, strings.NewReader(body))
		r.Header["Content-Type"] = []string{"application/json"}
		if as != "" {
			r.Header["Authorization"] = []string{"Bearer " + keys[as]}
		}
		return r
	}
	send := func(path, as string, body any) (answer struct {
		JWT  string
		User struct{ ID int }
		Data struct{ DocumentID string }
	}) {
		text, _ := json.Marshal(body)
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, request("POST", path, as, string(text)))
		if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || w.Code >= 300 {
			b.Fatal(w.Code, w.Body, err)
		}
		return answer
	}
	type object = map[string]any
	ada := send("auth/local/register", "", object{"username": "ada", "email": "ada@people.test", "password": "secret-ada"})
	keys["ada"] = ada.JWT
	var topics []string
	for i := range 10 {
		topics = append(topics, send("topics", "full", object{"data": object{"open": i == 0}}).Data.DocumentID)
	}
	for i := range 1000 {
		post := object{"title": fmt.Sprint("post ", i), "topic": topics[i%10], "showFrom": "2999-01-01T00:00:00.000Z"}
		if i%10 == 0 {
			post["state"], post["author"], post["showFrom"] = "approved", ada.User.ID, "2020-01-01T00:00:00.000Z"
		}
		send("posts", "full", object{"data": post})
	}
	for _, c := range []struct{ name, as, rule, filter string }{
		{"attribute", "approved", "posts", "posts?filters[state]=approved"},
		{"relation", "open", "posts", "posts?filters[topic][open]=true"},
		{"user", "ada", "posts", fmt.Sprint("posts?filters[author][id]=", ada.User.ID)},
		{"time", "later", "posts", "posts?filters[showFrom][$lte]=2026-01-01T00:00:00.000Z"},
		{"targets", "approved", "topics?populate=posts", "topics?populate[posts][filters][state]=approved"},
	} {
		for _, way := range []struct{ name, as, path string }{{"filter", "full", c.filter}, {"rule", c.as, c.rule}} {
			b.Run(c.name+"/"+way.name, func(b *testing.B) {
				b.ReportAllocs()
				w := &nothing{}
				for b.Loop() {
					*w = nothing{header: http.Header{}}
					s.Handler().ServeHTTP(w, request("GET", way.path, way.as, ""))
				}
				if w.status > 200 {
					b.Fatal(w.status)
				}
				b.ReportMetric(float64(w.bytes), "bytes")
			})
		}
	}
}
