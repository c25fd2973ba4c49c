package gateway_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"lectern/gateway"
	"lectern/shadowcrud/graphql/schema"
)

// previewFiles are a project whose editors preview drafts.
var previewFiles = map[string]string{
	"content-types/story.yaml": `
kind: collectionType
info: {singularName: story, pluralName: stories, displayName: Story}
options: {draftAndPublish: true}
preview: {url: "https://www.example.org/{locale}/stories/{slug}?preview={token}"}
pluginOptions: {i18n: {localized: true}}
attributes:
  title: {type: string, pluginOptions: {i18n: {localized: true}}}
  slug: {type: string, pluginOptions: {i18n: {localized: true}}}
  author: {type: relation, relation: manyToOne, target: api::author.author}
  next: {type: relation, relation: oneToOne, target: api::story.story}
  notes: {type: relation, relation: oneToMany, target: api::note.note}
`,
	"content-types/author.yaml": `
kind: collectionType
info: {singularName: author, pluralName: authors, displayName: Author}
options: {draftAndPublish: true}
attributes:
  title: {type: string}
`,
	"content-types/note.yaml": `
kind: collectionType
info: {singularName: note, pluralName: notes, displayName: Note}
attributes:
  title: {type: string}
`,
	"content-types/front.yaml": `
kind: singleType
info: {singularName: front, pluralName: fronts, displayName: Front}
options: {draftAndPublish: true}
attributes:
  title: {type: string}
`,
	"config/api.yaml": "preview: {lifespan: 30m}\ncache: {'api::story.story': {public: 'public, max-age=60'}}\n",
	"config/plugins.yaml": `
i18n: {config: {locales: [en, de]}}
users-permissions:
  config:
    jwtSecret: ` + testSecret + `
    ratelimit: {enabled: false}
`,
	"config/permissions.yaml": `
roles:
  public:
    api::story.story: [find, findOne]
  authenticated: {}
  editor:
    api::story.story: [find, findOne, create, update, publish, preview, history, stream]
    api::author.author: [find]
    api::front.front: [find, update, preview]
    plugin::users-permissions.auth: [logout]
  reader:
    api::story.story: [find, findOne]
tokens:
  - {name: desk, type: full-access}
`,
}

// A previewing is a server of previewFiles with an editor.
type previewing struct {
	*api
	project *gateway.Project
	clock   *fakeClock
	editor  string // JWT
	path    string // of the editor as a user
	story   string // documentId of a story with a draft that is not published
	other   string // documentId of another
}

func openPreviews(t *testing.T, o gateway.Options, files map[string]string) *previewing {
	t.Helper()
	all := map[string]string{}
	for _, set := range []map[string]string{previewFiles, files} {
		for name, text := range set {
			all[name] = text
		}
	}
	p := &previewing{}
	o.Ephemeral = true
	ready, _ := run(t, writeProject(t, all), o, func(project *gateway.Project) { p.project = project })
	p.api = newAPI(t, ready)
	jwt, id := p.register("editor")
	p.editor, p.path = jwt, userPath(id)
	p.want(200, "PUT", p.path, "full", object{"role": p.roleID("editor")})
	author := p.create("authors", "Ada")
	p.want(200, "PUT", "/api/authors/"+author, "full", object{"data": object{"title": "Ada"}})
	p.want(200, "PUT", "/api/authors/"+author+"?status=draft", "full", object{"data": object{"title": "Draft of Ada"}})
	note := p.create("notes", "A note")
	p.other = p.create("stories", "Other")
	p.story = p.create("stories", "First")
	p.want(200, "PUT", "/api/stories/"+p.story+"?status=draft", "full", object{"data": object{"title": "Second",
		"slug": "a b/ü", "author": author, "notes": []string{note}, "next": p.other}})
	p.want(200, "PUT", "/api/stories/"+p.story+"?locale=de&status=draft", "full",
		object{"data": object{"title": "Zweite", "slug": "zwei"}})
	return p
}

// preview makes a preview of the story and returns its token.
func (p *previewing) preview(as string) string {
	p.t.Helper()
	return p.want(200, "POST", "/api/stories/"+p.story+"/actions/preview", as, nil).at("data.token").(string)
}

// TestPreviewReadsOneDraft makes a preview and reads the draft by its token: by id, by slug, and over GraphQL.
func TestPreviewReadsOneDraft(t *testing.T) {
	p := openPreviews(t, gateway.Options{}, nil)
	made := p.want(200, "POST", "/api/stories/"+p.story+"/actions/preview", p.editor, nil)
	token := made.at("data.token").(string)
	if want := "https://www.example.org/en/stories/a%20b%2F%C3%BC?preview=" + token; made.at("data.url") != want {
		t.Errorf("url %v, want %s", made.at("data.url"), want)
	}
	if len(token) > 300 || url.QueryEscape(token) != token {
		t.Errorf("token %q", token)
	}
	german := p.want(200, "POST", "/api/stories/"+p.story+"/actions/preview?locale=de", p.editor, nil)
	if s := german.at("data.url").(string); !strings.HasPrefix(s, "https://www.example.org/de/stories/zwei?preview=") {
		t.Errorf("url %s", s)
	}
	for path, want := range map[string]string{
		"/api/stories/" + p.story:                       "Second",
		"/api/stories/" + p.story + "?status=published": "First",
		"/api/stories/" + p.story + "?locale=de":        "Zweite",
		"/api/stories?filters[slug][$eq]=a%20b/%C3%BC":  "[Second] of 1",
		"/api/stories":                                                      "[Second] of 1",
		"/api/stories?locale=*&sort=locale":                                 "[Zweite Second] of 2",
		"/api/stories?filters[title]=Other":                                 "[] of 0",
		"/api/stories?filters[documentId]=" + p.other:                       "[] of 0",
		"/api/stories?filters[$or][0][title]=Other&filters[$or][1][id]=1":   "[] of 0",
		"/api/stories?status=published&pagination[start]=0&sort=title:desc": "[First] of 1",
	} {
		r := p.want(200, "GET", path, token, nil)
		if got := titles(r); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
		if cc := r.header.Get("Cache-Control"); cc != "no-store" {
			t.Errorf("%s: Cache-Control %q", path, cc)
		}
	}
	all := p.want(200, "GET", "/api/stories/"+p.story+"?populate=*", token, nil)
	if all.at("data.author.title") != "Draft of Ada" || all.at("data.next.title") != "Other" ||
		strings.Contains(all.text, `"notes"`) {
		t.Errorf("populated %s", all.text)
	}
	gq := p.graphql(token, fmt.Sprintf(`{story(documentId: %q, status: DRAFT) {title author {title}}
		stories(status: DRAFT) {title} other: story(documentId: %q, status: DRAFT) {title}}`, p.story, p.other))
	if gq.at("data.story.title") != "Second" || gq.at("data.story.author.title") != "Draft of Ada" ||
		gq.at("data.other") != nil || len(gq.at("data.stories").([]any)) != 1 {
		t.Errorf("GraphQL %s", gq.text)
	}
}

// titles returns what an answer shows: the title of a document, or the titles and the total of a list.
func titles(r reply) string {
	switch data := r.at("data").(type) {
	case object:
		return fmt.Sprint(data["title"])
	case []any:
		var list []string
		for _, d := range data {
			list = append(list, d.(object)["title"].(string))
		}
		return fmt.Sprint(list, " of ", r.at("meta.pagination.total"))
	}
	return r.text
}

// TestPreviewReadsNothingElse sends the token of a preview wherever a credential is taken.
func TestPreviewReadsNothingElse(t *testing.T) {
	x := &gateway.Extensions{}
	x.GraphQL().Use(schema.Extension{ResolversConfig: map[string]schema.FieldConfig{
		"Query.authors": {Auth: schema.NoAuth}, // open to everybody else
	}})
	p := openPreviews(t, gateway.Options{Extensions: x}, map[string]string{"config/plugins.yaml": previewFiles["config/plugins.yaml"] +
		"graphql: {config: {subscriptions: true}}\nmcp: {enabled: true}\n"})
	token := p.preview("full")
	for _, c := range []struct{ method, path string }{
		{"GET", "/api/authors"}, {"GET", "/api/notes"}, {"GET", "/api/front"}, {"GET", "/api/users/me"}, {"GET", "/api/users"},
		{"GET", "/api/stories/" + p.story + "/_history"}, {"GET", "/api/stories/" + p.story + "?asOf=1"},
		{"GET", "/api/_changes"}, {"GET", "/api/_changes?live"}, {"GET", "/api/_schedules"}, {"GET", "/api/upload/files"},
		{"GET", "/api/i18n/locales"}, {"GET", "/api/_openapi.json"}, {"GET", "/api/content-type-builder/content-types"},
		{"POST", "/api/stories"}, {"PUT", "/api/stories/" + p.story}, {"DELETE", "/api/stories/" + p.story},
		{"POST", "/api/stories/" + p.story + "/actions/publish"}, {"POST", "/api/stories/" + p.story + "/actions/preview"},
		{"POST", "/api/stories/" + p.story + "/actions/discard-draft"}, {"POST", "/api/_batch"}, {"POST", "/api/upload"},
		{"POST", "/api/auth/change-password"}, {"POST", "/mcp"},
	} {
		var body any
		if c.method != "GET" {
			body = object{"data": object{"title": "x"}}
		}
		if r := p.do(c.method, c.path, token, body); r.status != 403 && r.status != 401 {
			t.Errorf("%s %s: %d %s", c.method, c.path, r.status, r.text)
		}
	}
	if r := p.do("GET", "/api/stories/"+p.other, token, nil); r.status != 404 {
		t.Errorf("another document: %d %s", r.status, r.text)
	}
	if r := p.do("GET", "/api/stories", token, nil, "Accept", "application/x-ndjson"); r.status != 403 {
		t.Errorf("stream: %d %s", r.status, r.text)
	}
	for _, query := range []string{`{authors {title}}`, `{me {username}}`, `{uploadFiles {url}}`, `{i18NLocales {code}}`,
		`mutation {updateStory(documentId: "` + p.story + `", data: {title: "x"}) {title}}`,
		`mutation {deleteStory(documentId: "` + p.story + `") {documentId}}`,
		`subscription {storyChanged {documentId}}`} {
		r := p.do("POST", "/graphql", token, object{"query": query})
		if !strings.Contains(r.text, `"errors"`) && r.status != 403 || strings.Contains(r.text, "Draft of") {
			t.Errorf("%s: %s", query, r.text)
		}
	}
	if r := p.want(200, "GET", "/api/stories/"+p.story, token, nil); titles(r) != "Second" {
		t.Errorf("the draft is now %s", r.text)
	}
}

// TestPreviewNeedsPermission asks for previews as callers who may not make them.
func TestPreviewNeedsPermission(t *testing.T) {
	p := openPreviews(t, gateway.Options{}, nil)
	path := "/api/stories/" + p.story + "/actions/preview"
	reader, id := p.register("reader")
	p.want(200, "PUT", userPath(id), "full", object{"role": p.roleID("reader")})
	for name, c := range map[string]struct {
		as, path string
		status   int
	}{
		"public":              {"", path, 403},
		"without the action":  {reader, path, 403},
		"unknown":             {p.editor, "/api/stories/nothing/actions/preview", 404},
		"in another locale":   {p.editor, path + "?locale=fr", 404},
		"unknown parameter":   {p.editor, path + "?status=published", 400},
		"type without drafts": {"full", "/api/notes/" + p.create("notes", "A note") + "/actions/preview", 405},
		"single type":         {p.editor, "/api/front/actions/preview", 404},
	} {
		if r := p.do("POST", c.path, c.as, nil); r.status != c.status {
			t.Errorf("%s: %d %s", name, r.status, r.text)
		}
	}
	p.want(200, "PUT", "/api/front?status=draft", "full", object{"data": object{"title": "Draft"}})
	made := p.want(200, "POST", "/api/front/actions/preview", p.editor, nil)
	if made.at("data.url") != nil {
		t.Errorf("url %v", made.at("data.url"))
	}
	if r := p.want(200, "GET", "/api/front", made.at("data.token").(string), nil); titles(r) != "Draft" {
		t.Errorf("front %s", r.text)
	}
}

// TestPreviewOfGrantedDrafts makes previews where drafts are an action of their own: who may not read them makes none,
// and sees published versions behind the relations of a preview.
func TestPreviewOfGrantedDrafts(t *testing.T) {
	p := openPreviews(t, gateway.Options{}, map[string]string{"config/api.yaml": "drafts: granted\n",
		"config/permissions.yaml": strings.Replace(previewFiles["config/permissions.yaml"], "roles:\n", `roles:
  proof:
    api::story.story: [find, findOne, findDrafts, preview]
    api::author.author: [find]
`, 1)})
	if r := p.do("POST", "/api/stories/"+p.story+"/actions/preview", p.editor, nil); r.status != 403 {
		t.Errorf("without findDrafts: %d %s", r.status, r.text)
	}
	p.want(200, "PUT", p.path, "full", object{"role": p.roleID("proof")})
	token := p.preview(p.editor)
	r := p.want(200, "GET", "/api/stories/"+p.story+"?populate=*", token, nil)
	if titles(r) != "Second" || r.at("data.author.title") != "Ada" {
		t.Errorf("preview %s", r.text)
	}
	p.want(200, "PUT", p.path, "full", object{"role": p.roleID("editor")})
	if r := p.do("GET", "/api/stories/"+p.story, token, nil); r.status != 403 {
		t.Errorf("after findDrafts was taken away: %d %s", r.status, r.text)
	}
}

// TestPreviewEndsWithItsMaker takes away what the maker of a preview may do, in each way that there is.
func TestPreviewEndsWithItsMaker(t *testing.T) {
	sessions := map[string]string{"config/plugins.yaml": strings.Replace(previewFiles["config/plugins.yaml"], "  config:\n    jwtSecret",
		"  config:\n    jwtManagement: refresh\n    jwtSecret", 1)}
	reads := func(p *previewing, token string) int {
		return p.do("GET", "/api/stories/"+p.story, token, nil).status
	}
	for name, c := range map[string]struct {
		as     string // "": the editor
		files  map[string]string
		end    func(p *previewing)
		status int
	}{
		"logged out": {"", sessions, func(p *previewing) { p.want(200, "POST", "/api/auth/logout", p.editor, object{}) }, 401},
		"token revoked": {"desk", nil, func(p *previewing) {
			if _, err := p.project.RevokeToken(t.Context(), "desk"); err != nil {
				t.Error(err)
			}
		}, 401},
		"token rotated": {"desk", nil, func(p *previewing) {
			if _, _, err := p.project.RotateToken(t.Context(), "desk", 0); err != nil {
				t.Error(err)
			}
		}, 401},
		"another role": {"", nil, func(p *previewing) {
			p.want(200, "PUT", p.path, "full", object{"role": p.roleID("reader")})
		}, 403},
		"blocked":      {"", nil, func(p *previewing) { p.want(200, "PUT", p.path, "full", object{"blocked": true}) }, 401},
		"deleted":      {"", nil, func(p *previewing) { p.want(200, "DELETE", p.path, "full", nil) }, 401},
		"new password": {"", nil, func(p *previewing) { p.want(200, "PUT", p.path, "full", object{"password": "another1"}) }, 401},
		"time":         {"", nil, func(p *previewing) { p.clock.pass(31 * time.Minute) }, 401},
	} {
		t.Run(name, func(t *testing.T) {
			clock := newFakeClock()
			p := openPreviews(t, gateway.Options{Clock: clock}, c.files)
			p.clock = clock
			as := c.as
			if as == "" {
				as = p.editor
			}
			token := p.preview(as)
			if status := reads(p, token); status != 200 {
				t.Fatal(status)
			}
			c.end(p)
			if status := reads(p, token); status != c.status {
				t.Errorf("status %d, want %d", status, c.status)
			}
		})
	}
}

// TestForgedPreviewsAreRefused changes each part of a token of a preview, and sends other tokens in its form.
func TestForgedPreviewsAreRefused(t *testing.T) {
	p := openPreviews(t, gateway.Options{}, nil)
	token := p.preview(p.editor)
	raw, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(token, "preview_"))
	if err != nil {
		t.Fatal(err)
	}
	forged := map[string]string{"nothing": "preview_", "short": "preview_AAAA", "a JWT": "preview_" + p.editor,
		"without its beginning": strings.TrimPrefix(token, "preview_"), "another alphabet": token + "==",
		"as a JWT": "e30." + strings.TrimPrefix(token, "preview_") + ".e30"}
	for i := range raw {
		changed := bytes.Clone(raw)
		changed[i] ^= 1
		forged[fmt.Sprint("byte ", i)] = "preview_" + base64.RawURLEncoding.EncodeToString(changed)
	}
	for name, token := range forged {
		if r := p.do("GET", "/api/stories/"+p.story, token, nil); r.status != 401 {
			t.Errorf("%s: %d %s", name, r.status, r.text)
		}
	}
	if text := string(raw[16:]); strings.Contains(text, "editor") || !strings.Contains(text, p.story) {
		t.Errorf("the token says %s", text)
	}
}

// TestPreviewAtReplica reads the draft of a preview at a replica, which has the secret of its origin: it shows what the
// origin shows, until whoever made it may preview no longer.
func TestPreviewAtReplica(t *testing.T) {
	t.Setenv("SECRET_OF_BOTH", testSecret)
	dir, copied := writeProject(t, previewFiles), t.TempDir()
	plugins := strings.ReplaceAll(previewFiles["config/plugins.yaml"], testSecret, "${SECRET_OF_BOTH}")
	writeFiles(t, dir, map[string]string{"config/plugins.yaml": plugins})
	e := newEditingAt(t, dir)
	a := newAPI(t, gateway.Ready{Base: e.base, Tokens: map[string]string{"full": e.key}})
	jwt, id := a.register("editor")
	a.want(200, "PUT", userPath(id), "full", object{"role": a.roleID("editor")})
	made := a.want(201, "POST", "/api/stories?status=draft", "full", object{"data": object{"title": "Only a draft"}})
	path := "/api/stories/" + made.at("data.documentId").(string)
	token := a.want(200, "POST", path+"/actions/preview", jwt, nil).at("data.token").(string)
	r := follow(t, copied, e.base, e.key)
	draft := path + "?status=draft"
	r.equals(e.base, token, draft, "/api/stories?status=draft", "/api/authors", path)
	if status, text := get(t, r.base+draft, token); status != 200 || !strings.Contains(text, "Only a draft") {
		t.Errorf("the draft at the replica: %d %s", status, text)
	}
	a.want(200, "PUT", userPath(id), "full", object{"role": a.roleID("reader")})
	r.equals(e.base, token, draft)
	if status, text := get(t, r.base+draft, token); status < 400 {
		t.Errorf("the draft at the replica, when its maker may preview no longer: %d %s", status, text)
	}
}
