package gateway_test

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"lectern/auth"
	"lectern/gateway"
	"lectern/internal/servertest"
	"lectern/store"
)

// A fakeClock is a clock that tests set. Its timers fire when tests say so, whatever time they were set for.
type fakeClock struct {
	mu     sync.Mutex
	now    time.Time
	timers []chan time.Time
	armed  int           // how many timers were set
	most   time.Duration // the longest of them
}

func newFakeClock() *fakeClock { return &fakeClock{now: time.Date(2030, 5, 1, 12, 0, 0, 0, time.UTC)} }

func (c *fakeClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *fakeClock) After(d time.Duration) <-chan time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	fires := make(chan time.Time, 1)
	c.timers, c.armed, c.most = append(c.timers, fires), c.armed+1, max(c.most, d)
	return fires
}

// set sets the clock.
func (c *fakeClock) set(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = now
}

func (c *fakeClock) pass(d time.Duration) { c.set(c.Now().Add(d)) }

// fire makes all timers fire, and returns how many were set until now.
func (c *fakeClock) fire() (armed int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, fires := range c.timers {
		fires <- c.now
	}
	c.timers = nil
	return c.armed
}

var scheduledFiles = map[string]string{
	"content-types/article.yaml": `
kind: collectionType
info: {singularName: article, pluralName: articles, displayName: Article}
options: {draftAndPublish: true}
attributes:
  title: {type: string, required: true}
`,
	"content-types/page.yaml": `
kind: collectionType
info: {singularName: page, pluralName: pages, displayName: Page}
options: {draftAndPublish: true}
pluginOptions: {i18n: {localized: true}}
attributes:
  title: {type: string, pluginOptions: {i18n: {localized: true}}}
`,
	"content-types/home.yaml": `
kind: singleType
info: {singularName: home, pluralName: homes, displayName: Home}
options: {draftAndPublish: true}
attributes: {title: {type: string}}
`,
	"config/plugins.yaml": `
i18n: {config: {defaultLocale: en, locales: [en, fr]}}
graphql: {config: {documentActions: true}}
users-permissions: {config: {jwtSecret: "` + testSecret + `"}}
`,
}

// A planned is a project with a fake clock. It is served, and tests may stop and start it again.
type planned struct {
	*api
	dir   string
	clock *fakeClock
	stop  func()
	log   servertest.LogBuffer
	keys  map[string]string
	x     *gateway.Extensions
}

// plan serves the scheduled files with extensions; nil adds none.
func plan(t *testing.T, x *gateway.Extensions) *planned {
	p := &planned{dir: writeProject(t, scheduledFiles), clock: newFakeClock(), keys: map[string]string{}, x: x}
	p.start(t)
	return p
}

func (p *planned) start(t *testing.T) {
	var ready gateway.Ready
	ready, p.stop = run(t, p.dir, gateway.Options{Clock: p.clock, Extensions: p.x,
		Log: slog.New(slog.NewTextHandler(&p.log, nil))}, func(g *gateway.Project) {
		if len(p.keys) > 0 {
			return
		}
		for name, d := range map[string]auth.Declaration{
			"full": {Kind: auth.FullAccess},
			"editor": {Kind: auth.Custom,
				Permissions: []string{"api::article.article.publish", "api::article.article.unpublish"}},
			"staff": {Kind: auth.Custom,
				Permissions: []string{"api::article.article.publish", "api::article.article.unpublish",
					"plugin::users-permissions.user.find"}},
			"pages":  {Kind: auth.Custom, Permissions: []string{"api::page.page.publish"}},
			"reader": {Kind: auth.ReadOnly},
			"week":   {Kind: auth.FullAccess, Lifespan: 7 * 24 * time.Hour},
		} {
			d.Name = name
			_, key, err := g.CreateToken(t.Context(), d)
			if err != nil {
				t.Fatal(err)
			}
			p.keys[name] = key
		}
	})
	ready.Tokens = p.keys
	p.api = newAPI(t, ready)
}

func (p *planned) in(d time.Duration) string { return p.clock.Now().Add(d).Format(time.RFC3339) }

// draft creates a draft and returns its path.
func (p *planned) draft(path string, title any) string {
	p.t.Helper()
	r := p.want(201, "POST", path+"?status=draft", "full", object{"data": object{"title": title}})
	return path + "/" + r.at("data.documentId").(string)
}

// act asks for an action with data.
func (p *planned) act(status int, path, action string, data object) reply {
	p.t.Helper()
	path, query, _ := strings.Cut(path, "?")
	return p.want(status, "POST", path+"/actions/"+action+"?"+query, "full", object{"data": data})
}

func (p *planned) isPublished(path string) bool {
	p.t.Helper()
	return p.do("GET", path, "full", nil).status == 200
}

// listed returns the schedules that a token may see, as "action state" in the order of their times.
func (p *planned) listed(as, query string) (all []string) {
	p.t.Helper()
	for _, x := range p.want(200, "GET", "/api/_schedules?sort=at&"+query, as, nil).at("data").([]any) {
		x := x.(object)
		all = append(all, fmt.Sprint(x["action"], " ", x["state"]))
	}
	return all
}

// until waits until a condition holds, while timers fire.
func (p *planned) until(what string, holds func() bool) {
	p.t.Helper()
	until(p.t, what, func() bool { p.clock.fire(); return holds() })
}

// lists waits until these schedules, and no others, are listed.
func (p *planned) lists(want ...string) {
	p.t.Helper()
	p.until(fmt.Sprintf("the schedules %q are listed", want),
		func() bool { return slices.Equal(p.listed("full", ""), want) })
}

// looks waits until the scheduler has looked for due schedules since looks was called. One must be pending.
func (p *planned) looks() {
	p.t.Helper()
	before := p.clock.fire()
	until(p.t, "the scheduler looks at the clock", func() bool { return p.clock.fire() >= before+2 })
}

// publications counts how often documents were published and unpublished, by the log.
func (p *planned) publications(t *testing.T) (published, unpublished int) {
	t.Helper()
	p.stop()
	project, closeProject := openProject(t, p.dir, gateway.Options{})
	defer closeProject()
	positionOf(t, project.Store(), func(s *store.Snapshot, e *store.Entry) {
		for _, c := range s.Changes(e) {
			switch {
			case c.Type == "lectern::schedule":
			case c.Action == store.PublishedAction:
				published++
			case c.Action == store.Unpublished:
				unpublished++
			}
		}
	})
	return published, unpublished
}

// TestWrongSchedulesAreRefused sends bodies to the actions, and expects no action to be carried out at once by a body
// that means another time.
func TestWrongSchedulesAreRefused(t *testing.T) {
	p := plan(t, nil)
	path := p.draft("/api/articles", "Soup")
	for _, tt := range []struct {
		action, body string
		status       int
		says         string
	}{
		{"publish", `{"data": {"publishAt": "2030-05-01T11:58:59Z"}}`, 400,
			"publishAt is in the past: it is 2030-05-01T12:00:00.000Z at the server"},
		{"publish", `{"data": {"unpublishAt": "2029-05-01T13:00:00Z"}}`, 400,
			"unpublishAt is in the past: it is 2030-05-01T12:00:00.000Z at the server"},
		{"publish", `{"data": {"publishAt": "2030-05-02T00:00:00Z", "unpublishAt": "2030-05-02T00:00:00Z"}}`, 400,
			"unpublishAt must be later than publishAt"},
		{"publish", `{"data": {"publishAt": "2030-05-02T00:00:00"}}`, 400, "RFC 3339"},
		{"publish", `{"data": {"publishAt": "2030-05-02"}}`, 400, "RFC 3339"},
		{"publish", `{"data": {"publishAt": "2030-02-30T00:00:00Z"}}`, 400, "RFC 3339"},
		{"publish", `{"data": {"publishAt": "9999-12-31T23:59:59-01:00"}}`, 400, "RFC 3339"},
		{"publish", `{"data": {"publishAt": 1900000000000}}`, 400, "RFC 3339"},
		{"publish", `{"data": {"publishAt": ""}}`, 400, "RFC 3339"},
		{"publish", `{"data": {"publishat": "2030-05-02T00:00:00Z"}}`, 400, "Invalid key publishat"},
		{"publish", `{"publishAt": "2030-05-02T00:00:00Z"}`, 400, "Invalid key publishAt"},
		{"publish", `{"data": ["2030-05-02T00:00:00Z"]}`, 400, "data must be an object"},
		{"publish", `["2030-05-02T00:00:00Z"]`, 400, "the body is an object"},
		{"unpublish", `{"data": {"publishAt": "2030-05-02T00:00:00Z"}}`, 400, "Invalid key publishAt"},
		{"discard-draft", `{"data": {"publishAt": "2030-05-02T00:00:00Z"}}`, 400, "Invalid key publishAt"},
		{"discard-draft", `["2030-05-02T00:00:00Z"]`, 400, "the body must be an object"},
		{"publish", `{"data": {"publishAt": "2030-05-02T01:00:00.0001+01:00"}}`, 202,
			`"at":"2030-05-02T00:00:00.001Z"`},
		{"publish", `{"data": {"publishAt": null}}`, 200, `"publishedAt":"2030-05-01T12:00:00.001Z"`},
		{"publish", `{"data": {}}`, 200, `"meta":{}`},
		{"publish", `{}`, 200, `"meta":{}`},
		{"publish", ``, 200, `"meta":{}`},
	} {
		r := p.want(tt.status, "POST", path+"/actions/"+tt.action, "full", tt.body)
		if !strings.Contains(r.text, tt.says) {
			t.Errorf("%s %s: %s, want %s", tt.action, tt.body, r.text, tt.says)
		}
		if published := p.isPublished(path); published != (tt.status == 200) {
			t.Fatalf("%s %s: published %v", tt.action, tt.body, published)
		}
	}
	p.want(404, "POST", "/api/articles/nothing/actions/publish", "full",
		object{"data": object{"publishAt": p.in(time.Hour)}})
	p.want(404, "POST", "/api/articles/nothing/actions/unpublish", "full",
		object{"data": object{"unpublishAt": p.in(time.Hour)}})
	p.want(400, "POST", path+"/actions/publish", "full", `{"data": {"publishAt": "2030-05-02T00:00:00Z"}}`,
		"Content-Type", "text/plain")
}

// TestSchedulesPublishAtTheirTime makes, lists, replaces and cancels schedules, and lets them come due.
func TestSchedulesPublishAtTheirTime(t *testing.T) {
	p := plan(t, nil)
	path := p.draft("/api/articles", "Soup")
	p.act(202, path, "publish", object{"publishAt": p.in(2 * time.Hour)})
	r := p.act(202, path, "publish", object{"publishAt": p.in(time.Hour), "unpublishAt": p.in(3 * time.Hour)})
	made, _ := r.at("meta.schedules").([]any)
	if len(made) != 2 || r.at("data.publishedAt") != nil || r.at("data.title") != "Soup" {
		t.Fatalf("a schedule did not replace the former one: %s", r.text)
	}
	first := made[0].(object)
	if first["at"] != "2030-05-01T13:00:00.000Z" || first["contentType"] != "api::article.article" ||
		"/api/articles/"+fmt.Sprint(first["document"]) != path ||
		first["principalKind"] != "token" || first["principalName"] != "full" || first["documentLocale"] != nil ||
		first["error"] != nil {
		t.Errorf("%v", first)
	}
	if all := p.listed("full", ""); !slices.Equal(all, []string{"publish pending", "unpublish pending"}) {
		t.Errorf("%v", all)
	}
	if all := p.listed("full", "filters[action]=unpublish&pagination[pageSize]=1"); !slices.Equal(
		all, []string{"unpublish pending"}) {
		t.Errorf("%v", all)
	}
	p.looks()
	if p.isPublished(path) {
		t.Fatal("published an hour early")
	}
	p.clock.pass(time.Hour)
	p.until("the article is published", func() bool { return p.isPublished(path) })
	p.lists("unpublish pending")
	p.looks()
	p.clock.pass(2 * time.Hour)
	p.lists()
	if p.isPublished(path) {
		t.Error("was not unpublished")
	}

	// Publish now, unpublish later; the unpublication is cancelled.
	r = p.act(200, path, "publish", object{"unpublishAt": p.in(time.Hour)})
	id := fmt.Sprint(r.at("meta.schedules").([]any)[0].(object)["documentId"])
	if !p.isPublished(path) || r.at("data.publishedAt") == nil {
		t.Fatalf("not published at once: %s", r.text)
	}
	p.want(204, "DELETE", "/api/_schedules/"+id, "full", nil)
	p.want(404, "DELETE", "/api/_schedules/"+id, "full", nil)
	p.act(202, path, "unpublish", object{"unpublishAt": p.in(24 * time.Hour)})
	p.looks()
	p.clock.pass(2 * time.Hour)
	p.looks()
	if !p.isPublished(path) {
		t.Error("a cancelled schedule was carried out")
	}

	// A schedule that has nothing left to do is removed, and those of a deleted document are deleted with it.
	p.want(200, "POST", path+"/actions/unpublish", "full", nil)
	p.clock.pass(23 * time.Hour)
	p.lists()
	p.act(202, path, "publish", object{"publishAt": p.in(time.Hour), "unpublishAt": p.in(2 * time.Hour)})
	p.want(204, "DELETE", path, "full", nil)
	if all := p.listed("full", ""); all != nil {
		t.Errorf("schedules of a deleted document: %v", all)
	}
	if published, unpublished := p.publications(t); published != 2 || unpublished != 2 {
		t.Errorf("%d publications, %d unpublications", published, unpublished)
	}
}

// TestBatchesMakeSchedules schedules documents in a batch, one of which the batch creates, and lets the schedules come
// due. Operations with a time that is wrong, or that the asker may not use, schedule nothing.
func TestBatchesMakeSchedules(t *testing.T) {
	p := plan(t, nil)
	path := p.draft("/api/articles", "Tea")
	tea := strings.TrimPrefix(path, "/api/articles/")
	publish := func(id any, more ...any) object {
		o := object{"op": "publish", "type": "articles", "documentId": id}
		for i := 0; i < len(more); i += 2 {
			o[more[i].(string)] = more[i+1]
		}
		return o
	}
	for _, wrong := range []struct {
		status int
		as     string
		op     object
		says   string
	}{
		{400, "full", publish(tea, "publishAt", p.in(-time.Hour)), "publishAt is in the past"},
		{400, "full", publish(tea, "publishAt", 5), "RFC 3339"},
		{400, "full", object{"op": "unpublish", "type": "articles", "documentId": tea, "publishAt": p.in(time.Hour)},
			`no key \"publishAt\"`},
		{400, "full", object{"op": "discardDraft", "type": "articles", "documentId": tea,
			"unpublishAt": p.in(time.Hour)}, `no key \"unpublishAt\"`},
		{403, "pages", object{"op": "publish", "type": "pages", "documentId": tea, "unpublishAt": p.in(time.Hour)},
			"Forbidden"},
		{404, "full", publish("nothing", "publishAt", p.in(time.Hour)), "Not Found"},
	} {
		operations := []object{wrong.op}
		if wrong.as == "full" { // which may do both
			operations = []object{publish(tea, "publishAt", p.in(time.Hour)), wrong.op}
		}
		if r := p.batch(wrong.status, wrong.as, operations...); !strings.Contains(r.text, wrong.says) {
			t.Errorf("%v: %s, want %s", wrong.op, r.text, wrong.says)
		}
	}
	p.lists()

	r := p.batch(200, "full",
		object{"op": "create", "type": "articles", "as": "soup", "status": "draft", "data": object{"title": "Soup"}},
		publish(ref("soup"), "publishAt", p.in(time.Hour), "unpublishAt", p.in(2*time.Hour), "fields", "title"),
		publish(tea, "unpublishAt", p.in(3*time.Hour)),
		object{"op": "unpublish", "type": "articles", "documentId": tea, "unpublishAt": p.in(time.Hour)},
	)
	if got := statuses(r); got != "201 202 200 202" {
		t.Fatalf("the results are %s: %s", got, r.text)
	}
	results := r.at("data").([]any)
	for i, want := range []int{0, 2, 1, 1} {
		meta, _ := results[i].(object)["meta"].(object)
		schedules, _ := meta["schedules"].([]any)
		if len(schedules) != want {
			t.Errorf("operation %d shows %d schedules, want %d: %s", i, len(schedules), want, r.text)
		}
	}
	soup := "/api/articles/" + results[0].(object)["data"].(object)["documentId"].(string)
	if p.isPublished(soup) || !p.isPublished(path) {
		t.Errorf("published: soup %v, tea %v", p.isPublished(soup), p.isPublished(path))
	}
	p.clock.pass(time.Hour)
	p.until("the soup is published, and the tea is not any more",
		func() bool { return p.isPublished(soup) && !p.isPublished(path) })
	p.lists("unpublish pending")
}

// TestSchedulesAreIndependentByLocale schedules localizations independently of each other, and the document of a single
// type.
func TestSchedulesAreIndependentByLocale(t *testing.T) {
	p := plan(t, nil)
	path := p.draft("/api/pages", "Soup")
	p.want(200, "PUT", path+"?locale=fr&status=draft", "full", object{"data": object{"title": "Soupe"}})
	p.act(202, path+"?locale=fr", "publish", object{"publishAt": p.in(time.Hour)})
	r := p.act(202, path, "publish", object{"publishAt": p.in(2 * time.Hour)})
	if made := r.at("meta.schedules").([]any); len(made) != 1 || made[0].(object)["documentLocale"] != "en" {
		t.Fatalf("%s", r.text)
	}
	p.want(400, "POST", path+"/actions/publish?locale=*", "full", object{"data": object{"publishAt": p.in(time.Hour)}})
	p.want(404, "POST", path+"/actions/publish?locale=de", "full", object{"data": object{"publishAt": p.in(time.Hour)}})
	p.clock.pass(time.Hour)
	p.until("the French page is published", func() bool { return p.isPublished(path + "?locale=fr") })
	if p.isPublished(path) {
		t.Error("the English page is published, too")
	}
	p.act(202, path+"?locale=fr", "unpublish", object{"unpublishAt": p.in(time.Hour)})
	p.want(204, "DELETE", path+"?locale=fr", "full", nil)
	if all := p.listed("full", ""); !slices.Equal(all, []string{"publish pending"}) {
		t.Errorf("%v", all)
	}
	p.looks()
	p.clock.pass(time.Hour)
	p.until("the English page is published", func() bool { return p.isPublished(path) })

	p.want(200, "PUT", "/api/home?status=draft", "full", object{"data": object{"title": "Welcome"}})
	p.act(202, "/api/home", "publish", object{"publishAt": p.in(time.Hour)})
	p.looks()
	p.clock.pass(time.Hour)
	p.until("the single type is published", func() bool { return p.isPublished("/api/home") })
}

// TestSchedulesAreMadeOverGraphQL makes, lists and cancels schedules over GraphQL.
func TestSchedulesAreMadeOverGraphQL(t *testing.T) {
	p := plan(t, nil)
	path := p.draft("/api/articles", "Soup")
	id := strings.TrimPrefix(path, "/api/articles/")
	const list = `{lecternSchedules(sort: "at") {action at contentType document documentLocale state principalKind principalName error}}`
	ask := func(as, query, want string) reply {
		t.Helper()
		r := p.graphql(as, query)
		if !strings.Contains(r.text, want) {
			t.Errorf("%s: %s answers %s, want %s", as, query, r.text, want)
		}
		return r
	}
	publish := func(times string) string {
		return `mutation {publishArticle(documentId: "` + id + `", ` + times + `) {title publishedAt}}`
	}
	for _, tt := range []struct{ as, query, want string }{
		{"full", publish(`publishAt: "2030-05-01T11:00:00Z"`),
			"publishAt is in the past: it is 2030-05-01T12:00:00.000Z at the server"},
		{"full", publish(`publishAt: "2030-05-01T13:00:00"`), "invalid date-time-string"},
		{"full", publish(`publishAt: "2030-05-01T13:00:00Z", unpublishAt: "2030-05-01T12:59:00Z"`),
			"unpublishAt must be later than publishAt"},
		{"reader", publish(`publishAt: "2030-05-01T13:00:00Z"`), "Forbidden access"},
		{"reader", list, "Forbidden access"},
		{"", list, "Forbidden access"},
		{"full", list, `{"data":{"lecternSchedules":[]}}`},
		{"editor", publish(`publishAt: "2030-05-01T14:00:00+01:00", unpublishAt: "2030-05-01T14:00:00Z"`),
			`{"data":{"publishArticle":{"title":"Soup","publishedAt":null}}}`},
		{"full", list, `{"data":{"lecternSchedules":[` +
			`{"action":"publish","at":"2030-05-01T13:00:00.000Z","contentType":"api::article.article","document":"` +
			id + `","documentLocale":null,"state":"pending","principalKind":"token","principalName":"editor","error":null},` +
			`{"action":"unpublish","at":"2030-05-01T14:00:00.000Z","contentType":"api::article.article","document":"` +
			id + `","documentLocale":null,"state":"pending","principalKind":"token","principalName":"editor","error":null}]}}`},
		{"pages", list, `{"data":{"lecternSchedules":[]}}`},
		{"pages", `{lecternSchedules_connection(filters: {or: [{document: {eq: "` + id + `"}}]}) {pageInfo {total}}}`,
			`{"total":0}`},
		{"editor", `{lecternSchedules_connection(filters: {action: {eq: "publish"}}) {pageInfo {total} nodes {action}}}`, `{"pageInfo":{"total":1},"nodes":[{"action":"publish"}]}`},
		{"full", `mutation {unpublishArticle(documentId: "` + id + `", unpublishAt: "2030-05-01T15:00:00Z") {title}}`,
			`{"data":{"unpublishArticle":{"title":"Soup"}}}`},
	} {
		ask(tt.as, tt.query, tt.want)
	}
	all := ask("full", `{lecternSchedules(sort: "at") {documentId at}}`, `"at":"2030-05-01T15:00:00.000Z"`).at(
		"data.lecternSchedules").([]any)
	if len(all) != 2 {
		t.Fatalf("%v", all)
	}
	last := all[1].(object)["documentId"].(string)
	cancel := `mutation {cancelLecternSchedule(documentId: "` + last + `") {documentId}}`
	ask("reader", cancel, "Forbidden access")
	ask("pages", cancel, "Not Found")
	ask("editor", cancel, `{"data":{"cancelLecternSchedule":{"documentId":"`+last+`"}}}`)
	ask("editor", cancel, "Not Found")
	p.clock.pass(time.Hour)
	p.lists()
	ask("full", `{articles {title}}`, `{"data":{"articles":[{"title":"Soup"}]}}`)
	ask("full", publish(`unpublishAt: "2030-05-02T00:00:00Z"`), `"publishedAt":"2030-05-01T13:00:00.001Z"`)
	p.lists("unpublish pending")
}
