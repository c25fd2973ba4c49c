package gateway_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"lectern/gateway"
)

// A hooked is a request that a webhook sent.
type hooked struct {
	header http.Header
	text   string
}

// newHook serves a receiver of webhooks, and returns its address and its requests.
func newHook(t *testing.T) (url string, requests <-chan hooked) {
	got := make(chan hooked, 100)
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		raw, err := io.ReadAll(r.Body)
		if err != nil || !json.Valid(raw) {
			t.Errorf("a webhook sent %q (%v)", raw, err)
		}
		got <- hooked{r.Header, string(raw)}
	}))
	t.Cleanup(s.Close)
	return s.URL, got
}

// next returns the next request of a webhook.
func next(t *testing.T, requests <-chan hooked) hooked {
	t.Helper()
	select {
	case r := <-requests:
		return r
	case <-time.After(20 * time.Second):
		t.Fatal("no webhook was sent")
		return hooked{}
	}
}

var hookedFiles = map[string]string{
	"content-types/article.yaml": `
kind: collectionType
info: {singularName: article, pluralName: articles, displayName: Article}
options: {draftAndPublish: true}
pluginOptions: {i18n: {localized: true}}
attributes:
  title: {type: string}
  secret: {type: string, private: true}
  pin: {type: password}
  tag: {type: relation, relation: manyToOne, target: api::tag.tag, inversedBy: articles}
`,
	"content-types/tag.yaml": `
kind: collectionType
info: {singularName: tag, pluralName: tags, displayName: Tag}
options: {draftAndPublish: false}
attributes:
  name: {type: string}
  note: {type: string, private: true}
  articles: {type: relation, relation: oneToMany, target: api::article.article, mappedBy: tag}
`,
}

// vague replaces what differs from run to run in a text: times, documentIds and hashes.
func vague(text string) string {
	for pattern, by := range map[string]string{
		`"\d{4}-[0-9T:.-]+Z"`: `"TIME"`, `"[a-z0-9]{24}"`: `"ID"`, `_[0-9a-f]{10}`: `_HASH`,
	} {
		text = regexp.MustCompile(pattern).ReplaceAllString(text, by)
	}
	return text
}

// TestWebhooksAreThoseOfStrapi compares the requests in the format of Strapi with what the reference sends for the same
// changes.
func TestWebhooksAreThoseOfStrapi(t *testing.T) {
	url, requests := newHook(t)
	files := map[string]string{"config/webhooks.yaml": fmt.Sprintf("webhooks: [{name: a, url: %q, format: strapi, allowPrivate: [127.0.0.1]}]", url)}
	for name, text := range hookedFiles {
		files[name] = text
	}
	a := serve(t, files)
	entry := func(event, model, entry string) string {
		return fmt.Sprintf(`{"event":%q,"createdAt":"TIME","model":%q,"uid":"api::%s.%s","entry":%s}`, event, model,
			model, model, entry)
	}
	const tag = `{"id":1,"documentId":"ID","name":"soup","createdAt":"TIME","updatedAt":"TIME","publishedAt":"TIME"%s}`
	article := func(id int, title, published, more string) string {
		return fmt.Sprintf(`{"id":%d,"documentId":"ID","title":%q,"createdAt":"TIME","updatedAt":"TIME","publishedAt":%s,"locale":"en"%s}`, id, title, published, more)
	}
	tagged := `,"tag":` + fmt.Sprintf(tag, "")
	var tagID, id string
	for _, step := range []struct {
		name string
		do   func()
		want []string
	}{
		{"create a tag", func() {
			tagID = a.want(201, "POST", "/api/tags", "full",
				object{"data": object{"name": "soup", "note": "hidden"}}).at("data.documentId").(string)
		}, []string{entry("entry.create", "tag", fmt.Sprintf(tag, `,"articles":[]`))}},
		{"create and publish", func() {
			id = a.want(201, "POST", "/api/articles", "full",
				object{"data": object{"title": "one", "secret": "hidden", "pin": "hidden1",
					"tag": tagID}}).at("data.documentId").(string)
		}, []string{entry("entry.create", "article", article(1, "one", "null", tagged)),
			entry("entry.publish", "article", article(2, "one", `"TIME"`, tagged))}},
		{"update the draft", func() {
			a.want(200, "PUT", "/api/articles/"+id+"?status=draft", "full", object{"data": object{"title": "two"}})
		}, []string{entry("entry.update", "article", article(1, "two", "null", tagged))}},
		{"unpublish", func() {
			a.want(200, "POST", "/api/articles/"+id+"/actions/unpublish", "full", nil)
		}, []string{entry("entry.unpublish", "article", article(2, "one", `"TIME"`, tagged))}},
		{"delete", func() {
			a.want(204, "DELETE", "/api/articles/"+id, "full", nil)
		}, []string{entry("entry.delete", "article", article(1, "two", "null", ""))}},
		{"register", func() {
			a.want(201, "POST", "/api/users", "full", object{"username": "bob", "email": "b@example.org",
				"password": "secret1", "role": a.roleID("authenticated")})
		}, nil},
		{"upload", func() { a.upload("full", fileForm("a.txt", []byte("hello"))) }, []string{
			`{"event":"media.create","createdAt":"TIME","media":{"id":1,"documentId":"ID","name":"a.txt","alternativeText":null,"caption":null,"focalPoint":null,"width":null,"height":null,` +
				`"formats":null,"hash":"a_HASH","ext":".txt","mime":"text/plain","size":0.01,"url":"/uploads/a_HASH.txt","previewUrl":null,"provider":"local","provider_metadata":null,` +
				`"createdAt":"TIME","updatedAt":"TIME","publishedAt":"TIME"}}`,
		}},
	} {
		step.do()
		for _, want := range step.want {
			r := next(t, requests)
			if got := vague(r.text); got != want {
				t.Errorf("%s: sent\n%s\nwant\n%s", step.name, got, want)
			}
			event := regexp.MustCompile(`"event":"([a-z.]+)"`).FindStringSubmatch(r.text)[1]
			if r.header.Get("X-Strapi-Event") != event || r.header.Get("Content-Type") != "application/json" ||
				strings.Contains(r.text, "hidden") {
				t.Errorf("%s: sent %v %s", step.name, r.header, r.text)
			}
		}
	}
}

// TestWebhooksAreReloaded changes config/webhooks.yaml and the definitions while the server runs.
func TestWebhooksAreReloaded(t *testing.T) {
	url, requests := newHook(t)
	dir := writeProject(t, with(nil))
	reloaded := make(chan error, 10)
	ready, _ := run(t, dir, gateway.Options{Ephemeral: true, Reloaded: func(err error) { reloaded <- err }}, nil)
	a := newAPI(t, ready)
	change := func(file, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, filepath.FromSlash(file)), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := <-reloaded; err != nil {
			t.Fatal(err)
		}
	}
	hook := func(name string) string {
		return fmt.Sprintf("webhooks: [{name: %s, url: %q, types: [api::article.article], allowPrivate: [127.0.0.1]}]",
			name, url)
	}
	create := func(title string) {
		a.want(201, "POST", "/api/articles", "full", object{"data": object{"title": title}})
	}
	create("before")
	change("config/webhooks.yaml", hook("one"))
	until(t, "the webhook has begun", func() bool { create("first"); return len(requests) > 0 })
	if r := next(t, requests); !strings.Contains(r.text, `"title":"first"`) {
		t.Errorf("sent %s", r.text)
	}
	change("content-types/article.yaml", strings.Replace(basic["content-types/article.yaml"], "title: {type: string}",
		"title: {type: string}, more: {type: string}", 1))
	create("second")
	r := next(t, requests)
	for strings.Contains(r.text, `"title":"first"`) {
		r = next(t, requests)
	}
	if !strings.Contains(r.text, `"title":"second","more":null`) {
		t.Errorf("sent %s", r.text)
	}
}
