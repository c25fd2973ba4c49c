package gateway_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"lectern/gateway"
	"lectern/gateway/internal/presence"
)

const presencePermissions = `
roles:
  public:
    plugin::users-permissions.auth: [register, callback]
  editor:
    lectern::desk: [use]
    api::story.story: [find, findOne, findDrafts, history]
    api::front.front: [find, findDrafts]
    plugin::users-permissions.user: [find]
  colleague:
    lectern::desk: [use]
    api::story.story: [find, findOne, findDrafts, history]
  reader:
    lectern::desk: [use]
    api::story.story: {find: {where: {slug: open}}, findOne: true}
  nobody:
    lectern::desk: [use]
  visitor:
    api::story.story: [find, findOne, findDrafts]
tokens:
  - {name: desk, type: full-access}
`

// A presenceTest is a server with a user of each role, by their JWTs, and a story.
type presenceTest struct {
	*api
	project *gateway.Project
	clock   *fakeClock
	users   map[string]string
	story   string
}

func openPresence(t *testing.T, files map[string]string) *presenceTest {
	t.Helper()
	all := map[string]string{}
	for _, set := range []map[string]string{previewFiles, {"config/permissions.yaml": presencePermissions,
		"config/api.yaml": "drafts: granted\n"}, files} {
		for name, text := range set {
			all[name] = text
		}
	}
	p := &presenceTest{clock: newFakeClock(), users: map[string]string{}}
	ready, _ := run(t, writeProject(t, all), gateway.Options{Ephemeral: true, Clock: p.clock},
		func(project *gateway.Project) { p.project = project })
	p.api = newAPI(t, ready)
	for _, role := range []string{"editor", "colleague", "reader", "nobody", "visitor"} {
		jwt, id := p.register(role)
		p.users[role] = jwt
		p.want(200, "PUT", userPath(id), "full", object{"role": p.roleID(role)})
	}
	p.story = p.want(201, "POST", "/api/stories?status=draft", "full", object{"data": object{"title": "Draft"}}).
		at("data.documentId").(string)
	return p
}

// opens has a user say that they have a document open, and expects a status. It returns who else has it open.
func (p *presenceTest) opens(as string, status int, data object) (others []string) {
	p.t.Helper()
	key := p.users[as]
	if key == "" {
		key = as
	}
	r := p.want(status, "POST", "/api/_presence", key, object{"data": data})
	if status != 200 {
		return nil
	}
	for _, v := range r.at("data").([]any) {
		visit := v.(map[string]any)
		by := visit["by"].(map[string]any)
		others = append(others, fmt.Sprint(by["kind"], " ", by["name"], " ", visit["unsaved"]))
	}
	return others
}

// sees expects a user who has the story open to see these others.
func (p *presenceTest) sees(as, want string) {
	p.t.Helper()
	if got := strings.Join(p.opens(as, 200, p.of(p.story)), ", "); got != want {
		p.t.Errorf("%s sees %q, want %q", as, got, want)
	}
}

func (p *presenceTest) of(story string, more ...any) object {
	o := object{"contentType": "api::story.story", "documentId": story}
	for i := 0; i < len(more); i += 2 {
		o[more[i].(string)] = more[i+1]
	}
	return o
}

// TestPresence shows people who have a document open to one another, until they close it or say no more of it.
func TestPresence(t *testing.T) {
	p := openPresence(t, nil)
	start := p.clock.Now()
	p.sees("editor", "")
	p.clock.set(start.Add(time.Second))
	p.opens("colleague", 200, p.of(p.story, "unsaved", true))
	p.sees("colleague", "user <nil> false") // who may not find users
	p.opens("colleague", 200, p.of(p.story, "unsaved", true))
	p.sees("editor", "user colleague true")
	p.sees("full", "user editor false, user colleague true")
	p.sees("editor", "token full false, user colleague true")

	// Other languages and documents have people of their own.
	p.want(200, "PUT", "/api/stories/"+p.story+"?locale=de&status=draft", "full", object{"data": object{"title": "Entwurf"}})
	if got := p.opens("editor", 200, p.of(p.story, "locale", "de")); len(got) > 0 {
		t.Errorf("in German: %v", got)
	}
	p.want(200, "PUT", "/api/front?status=draft", "full", object{"data": object{"title": "Front"}})
	front := object{"contentType": "api::front.front"}
	p.opens("full", 200, front)
	if got := p.opens("editor", 200, front); len(got) != 1 {
		t.Errorf("on the single type: %v", got)
	}

	p.opens("full", 200, p.of(p.story, "closed", true))
	p.sees("editor", "user colleague true")
	p.clock.set(start.Add(presence.Life))
	p.sees("editor", "user colleague true")
	p.clock.set(start.Add(time.Second + presence.Life))
	p.sees("editor", "")
	answer := p.want(200, "POST", "/api/_presence", p.users["colleague"], object{"data": p.of(p.story)})
	if !strings.Contains(answer.text, `"since":"2030-05-01T12:00:00.000Z"`) || !strings.Contains(answer.text, `"lasts":90`) {
		t.Errorf("%s", answer.text)
	}
}

// TestPresenceIsForReaders refuses callers who may not use the desk, or do not see the document, whether somebody has
// it open or not.
func TestPresenceIsForReaders(t *testing.T) {
	p := openPresence(t, nil)
	p.opens("editor", 200, p.of(p.story))
	missing := strings.Repeat("x", 24)
	for _, tt := range []struct {
		as     string
		status int
		data   object
	}{
		{"", 403, p.of(p.story)},
		{"wrong", 401, p.of(p.story)},
		{"visitor", 403, p.of(p.story)},
		{"nobody", 403, p.of(p.story)},
		{"reader", 404, p.of(p.story)}, // reads no drafts
		{"editor", 404, p.of(missing)},
		{"editor", 404, p.of(p.story, "locale", "de")},
		{"editor", 404, p.of(p.story, "locale", "xx")},
		{"editor", 400, p.of(p.story, "unsaved", "yes")},
		{"editor", 400, p.of(p.story, "name", "somebody else")},
		{"editor", 400, object{"documentId": p.story}},
		{"editor", 403, object{"contentType": "api::author.author", "documentId": missing}},
		{"full", 400, object{"contentType": "plugin::users-permissions.user", "documentId": missing}},
		{"full", 404, object{"contentType": "api::front.front"}},
	} {
		p.opens(tt.as, tt.status, tt.data)
	}
	p.sees("editor", "")

	// A rule hides the published version as well, until its document fits.
	publish := func(slug string) {
		p.want(200, "PUT", "/api/stories/"+p.story, "full", object{"data": object{"slug": slug}})
	}
	publish("closed")
	p.opens("reader", 404, p.of(p.story))
	p.opens("reader", 404, p.of(p.story, "closed", true))
	publish("open")
	p.sees("reader", "user <nil> false")
	p.sees("editor", "user reader false")
}

// TestPresenceShowsNamesAsHistoriesDo shows names to all who read the history of a type, if the project says so.
func TestPresenceShowsNamesAsHistoriesDo(t *testing.T) {
	p := openPresence(t, map[string]string{"config/api.yaml": "drafts: granted\nhistory: {names: true}\n"})
	p.opens("editor", 200, p.of(p.story))
	p.sees("colleague", "user editor false")
}
