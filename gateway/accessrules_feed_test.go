package gateway_test

import (
	"fmt"
	"strings"
	"testing"
)

// subscriptionFiles let a museum answer subscriptions.
var subscriptionFiles = map[string]string{
	"config/plugins.yaml": museumFiles["config/plugins.yaml"] + `
graphql: {config: {subscriptions: true}}
`,
}

// comment writes a comment, under an id that is there, or as a new one, and returns its id.
func (m *museum) comment(id string, data object) string {
	m.t.Helper()
	if id == "" {
		id, _ = m.want(201, "POST", "/api/comments", "full", object{"data": data}).at("data.documentId").(string)
		return id
	}
	m.want(200, "PUT", "/api/comments/"+id, "full", object{"data": data})
	return id
}

func (m *museum) remove(id string) {
	m.t.Helper()
	m.want(204, "DELETE", "/api/comments/"+id, "full", nil)
}

// told returns what a line or event tells of a comment.
func told(change, id string) string { return change + " comment.comment " + id }

// TestFeedKeepsToRules changes comments so that they enter and leave what the public may read, and what a user may.
func TestFeedKeepsToRules(t *testing.T) {
	m := openMuseum(t, nil)
	const only = "types=comments&since="
	ada := m.users["authenticated"]
	public := m.changes(only+"0", "").tells(t, told("create", m.ids["a"]), told("create", m.ids["e"]))
	hers := m.changes(only+"0", ada).tells(t, told("create", m.ids["a"]), told("create", m.ids["b"]),
		told("create", m.ids["e"]))
	b, c := m.ids["b"], m.ids["c"]
	for _, step := range []struct {
		name      string
		do        func()
		of        string
		seen, own string // by the public and by the user
	}{
		{"another waits", func() { m.remove(m.comment("", object{"text": "x", "state": "pending"})) }, b, "", ""},
		{"hers is changed", func() { m.comment(b, object{"text": "b2"}) }, b, "", "update"},
		{"hers is approved", func() { m.comment(b, object{"state": "approved"}) }, b, "create", "update"},
		{"it is changed", func() { m.comment(b, object{"text": "b3"}) }, b, "update", "update"},
		{"it is refused", func() { m.comment(b, object{"state": "refused"}) }, b, "delete", "update"},
		{"it is no longer hers", func() { m.comment(b, object{"author": nil}) }, b, "", "delete"},
		{"it is changed outside", func() { m.comment(b, object{"text": "b4"}) }, b, "", ""},
		{"another becomes hers", func() { m.comment(c, object{"author": m.ada}) }, c, "", "create"},
		{"it is deleted outside", func() { m.remove(b) }, b, "", ""},
		{"hers is deleted", func() { m.remove(c) }, c, "", "delete"},
	} {
		step.do()
		for _, reader := range []struct {
			page     *feedPage
			as, want string
		}{{&public, "", step.seen}, {&hers, ada, step.own}} {
			var want []string
			if reader.want != "" {
				want = append(want, told(reader.want, step.of))
			}
			next := m.changes(only+reader.page.last, reader.as)
			if strings.Join(next.lines, ";") != strings.Join(want, ";") || next.pending > 0 || next.reset ||
				len(next.last) != len(reader.page.last) {
				t.Errorf("%s: %q is told %q (%v pending, reset %v, behind %s)", step.name, reader.as, next.lines,
					next.pending, next.reset, next.last)
			}
			*reader.page = next
		}
	}
}

// TestFeedBeginsAnewWithRules changes an attribute of a user that decides what the rule of the user shows.
func TestFeedBeginsAnewWithRules(t *testing.T) {
	m := openMuseum(t, nil)
	since := map[string]string{}
	for _, as := range []string{"named", "hidden", "authenticated"} {
		since[as] = m.changes("types=comments", m.users[as]).last
	}
	me := m.want(200, "GET", "/api/users?filters[username]=user-named", "full", nil)
	m.want(200, "PUT", userPath(int(me.body.([]any)[0].(object)["id"].(float64))), "full", object{"nickname": "Bob"})
	for as, want := range map[string]bool{"named": true, "hidden": false, "authenticated": false} {
		p := m.changes("types=comments&since="+since[as], m.users[as])
		if p.reset != want || len(p.lines) > 0 || p.pending > 0 != want {
			t.Errorf("%s: reset %v, %q, %v pending", as, p.reset, p.lines, p.pending)
		}
	}
	m.changes("types=comments", m.users["named"]).tells(t, told("create", m.ids["a"]))
	log := m.want(200, "GET", "/api/_changes?types=exhibits", "full", nil).at("last_seq").(string)
	head := strings.Join(strings.Split(log, "-")[:2], "-") // tells how much is in the log
	if p := m.changes("types=comments&since="+head, ""); !p.reset {
		t.Errorf("after %s: %q", head, p.lines)
	}
}

// TestFeedFollowsRelationsOfRules changes what a rule compares behind a relation. The feed tells which documents begin
// and cease to meet the rule, and nothing of a change to which no document leads that does.
func TestFeedFollowsRelationsOfRules(t *testing.T) {
	m := openMuseum(t, nil)
	list := m.want(200, "GET", "/api/exhibits", "full", nil)
	whale, _ := list.at("data").([]any)[0].(object)["documentId"].(string)
	shark := m.create("exhibits", "Shark") // nobody comments on it
	squid := m.create("exhibits", "Squid")
	m.comment(m.ids["d"], object{"exhibit": squid, "email": "d@elsewhere.test"}) // outside, whatever its exhibit is
	title := func(id, title string) {
		m.want(200, "PUT", "/api/exhibits/"+id, "full", object{"data": object{"title": title}})
	}
	at := m.changes("types=comments", m.users["hidden"])
	for _, step := range []struct {
		name string
		do   func()
		want []string
	}{
		{"of no comment", func() { title(shark, "Whale"); title(shark, "Shark") }, nil},
		{"of one that is outside", func() { title(squid, "Whale"); title(squid, "Octopus") }, nil},
		{"still within", func() { title(whale, "Whale") }, nil},
		{"ceases to meet it", func() { title(whale, "Dolphin") }, []string{told("delete", m.ids["a"])}},
		{"still outside", func() { title(whale, "Orca") }, nil},
		{"meets it again", func() { title(whale, "$5") }, []string{told("create", m.ids["a"])}},
		{"is unlinked from the other side", func() {
			m.want(200, "PUT", "/api/exhibits/"+whale, "full", object{"data": object{"comments": []any{}}})
		}, []string{told("delete", m.ids["a"])}},
		{"another is linked to it", func() { m.comment(m.ids["d"], object{"exhibit": whale}) }, nil},
		{"is linked again", func() { m.comment(m.ids["a"], object{"exhibit": whale}) },
			[]string{told("create", m.ids["a"])}},
		{"is deleted", func() { m.want(204, "DELETE", "/api/exhibits/"+whale, "full", nil) },
			[]string{told("delete", m.ids["a"])}},
	} {
		step.do()
		next := m.changes("types=comments&since="+at.last, m.users["hidden"])
		if strings.Join(next.lines, ";") != strings.Join(step.want, ";") || next.pending > 0 || next.reset ||
			len(next.last) != len(at.last) {
			t.Errorf("%s: %q (%v pending, reset %v)", step.name, next.lines, next.pending, next.reset)
		}
		at = next
	}
}

// TestFeedShowsDocumentsWithinRules reads a change behind which the document has left the rule.
func TestFeedShowsDocumentsWithinRules(t *testing.T) {
	m := openMuseum(t, nil)
	since := m.changes("types=comments", "").last
	b := m.comment(m.ids["b"], object{"state": "approved"})
	m.comment(m.ids["a"], object{"text": "a2"})
	m.comment(b, object{"state": "refused"})
	p := m.changes("types=comments&include=document&fields=text&limit=1&since="+since, "")
	if len(p.lines) != 1 || p.lines[0] != told("delete", b) || p.documents[0] != nil || p.pending != 1 {
		t.Errorf("first: %q %v, %v pending", p.lines, p.documents, p.pending)
	}
	p = m.changes("types=comments&include=document&fields=text&since="+p.last, "")
	p.tells(t, told("update", m.ids["a"]), told("delete", b))
}

// TestStreamsKeepToRules listens by every way while comments enter and leave a rule.
func TestStreamsKeepToRules(t *testing.T) {
	m := openMuseum(t, subscriptionFiles)
	events := m.listenTo("types=comments&since=now&include=document", "")
	subscription := m.subscribe("subscription { commentChanged { change documentId document { text state } } }", "")
	polled := m.changes("types=comments", "").last
	poll := make(chan feedPage, 1)
	go func() { poll <- m.changes("types=comments&feed=longpoll&since="+polled, "") }()
	want := func(change, id, text string) {
		t.Helper()
		events.tells(told(change, id))
		document := "null"
		if text != "" {
			document = fmt.Sprintf(`{"text":%q,"state":"approved"}`, text)
		}
		subscription.want(fmt.Sprintf(`{"data":{"commentChanged":{"change":%q,"documentId":%q,"document":%s}}}`,
			strings.ToUpper(change), id, document))
	}
	hidden := m.comment("", object{"text": "x", "state": "pending"})
	m.comment(hidden, object{"text": "y"})
	b := m.comment(m.ids["b"], object{"state": "approved"})
	want("create", b, "b")
	(<-poll).tells(t, told("create", b))
	m.comment(b, object{"state": "refused"})
	want("delete", b, "")
	m.remove(b)
	m.remove(hidden)
	m.comment(m.ids["a"], object{"text": "a2"})
	want("update", m.ids["a"], "a2")
}

// TestDraftFeedHidesPublications reads drafts whose published versions the rule leaves out: what happens to those is no
// change.
func TestDraftFeedHidesPublications(t *testing.T) {
	m := openMuseum(t, map[string]string{"content-types/note.yaml": `
kind: collectionType
info: {singularName: note, pluralName: notes, displayName: Note}
options: {draftAndPublish: true}
attributes:
  state: {type: string}
`, "config/permissions.yaml": museumPermissions + `
  - name: visitor
    type: custom
    permissions:
      api::note.note: {find: {where: {state: open}}, findDrafts: true}
`})
	for state, want := range map[string]string{"secret": "", "open": "unpublish"} {
		made := m.want(201, "POST", "/api/notes", "full", object{"data": object{"state": state}})
		path := fmt.Sprint("/api/notes/", made.at("data.documentId"))
		m.want(200, "PUT", path+"?status=draft", "full", object{"data": object{"state": "open"}})
		page := m.changes("types=notes&status=draft", "visitor")
		m.want(200, "POST", path+"/actions/unpublish", "full", nil)
		next := m.want(200, "GET", "/api/_changes?types=notes&status=draft&since="+page.last, "visitor", nil)
		list, _ := next.at("results").([]any)
		if want == "" && len(list) > 0 || want != "" && (len(list) != 1 || list[0].(object)["change"] != want) {
			t.Errorf("%s: %s, want %q", state, next.text, want)
		}
	}
}
