package gateway_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"lectern/gateway"
	"lectern/internal/servertest"
)

// An eventStream is a client of server-sent events.
type eventStream struct {
	t      *testing.T
	body   *http.Response
	events chan string // one text for each event; closed at the end of the stream
	last   string      // the id of the last event that was taken
	ids    chan string
}

// listenTo listens to changes.
func (a *api) listenTo(query, as string, headers ...string) *eventStream {
	a.t.Helper()
	req, err := http.NewRequest("GET", a.Base+"/api/_changes?feed=eventsource&"+query, nil)
	if err != nil {
		a.t.Fatal(err)
	}
	if key := a.Tokens[as]; key != "" {
		as = key
	}
	if as != "" {
		req.Header.Set("Authorization", "Bearer "+as)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := a.client.Do(req)
	if err != nil {
		a.t.Fatal(err)
	}
	if kind := res.Header.Get("Content-Type"); res.StatusCode != 200 || kind != "text/event-stream; charset=utf-8" {
		a.t.Fatalf("the stream begins with %d %s", res.StatusCode, kind)
	}
	s := &eventStream{t: a.t, body: res, events: make(chan string, 10_000), ids: make(chan string, 10_000)}
	a.t.Cleanup(s.close)
	go s.read()
	return s
}

func (s *eventStream) close() { s.body.Body.Close() }

func (s *eventStream) read() {
	defer close(s.events)
	id := ""
	for lines := bufio.NewScanner(s.body.Body); lines.Scan(); {
		line := lines.Text()
		if text, ok := strings.CutPrefix(line, "id: "); ok {
			id = text
		}
		text, ok := strings.CutPrefix(line, "data: ")
		if !ok {
			continue
		}
		var o object
		if err := json.Unmarshal([]byte(text), &o); err != nil {
			text = err.Error()
		} else if o["reset"] == true {
			text = "reset"
		} else {
			text = fmt.Sprint(o["change"], " ", strings.TrimPrefix(fmt.Sprint(o["type"]), "api::"), " ",
				o["documentId"])
		}
		s.ids <- id
		s.events <- text
	}
}

// tells fails the test unless the next events tell of these changes.
func (s *eventStream) tells(want ...string) {
	s.t.Helper()
	for _, w := range want {
		select {
		case got, ok := <-s.events:
			if !ok {
				s.t.Fatalf("the stream has ended, want %q", w)
			}
			if s.last = <-s.ids; got != w {
				s.t.Fatalf("the stream tells %q, want %q", got, w)
			}
		case <-time.After(20 * time.Second):
			s.t.Fatalf("the stream does not tell %q", w)
		}
	}
}

// ends fails the test unless the stream ends without another event.
func (s *eventStream) ends() {
	s.t.Helper()
	select {
	case got, ok := <-s.events:
		if ok {
			s.t.Fatalf("the stream tells %q, and should end", got)
		}
	case <-time.After(20 * time.Second):
		s.t.Fatal("the stream does not end")
	}
}

// TestListenersGetEveryChange follows changes with server-sent events: from the beginning, from now on, and again after
// the connection was lost.
func TestListenersGetEveryChange(t *testing.T) {
	for name, headers := range map[string][]string{"plain": nil, "compressed": {"Accept-Encoding", "gzip"}} {
		t.Run(name, func(t *testing.T) {
			a := serve(t, changesFiles)
			one := a.create("articles", "one")
			all, later := a.listenTo("", "full", headers...), a.listenTo("since=now&types=notes", "full", headers...)
			all.tells("create article.article " + one)
			note := a.create("notes", "a note")
			all.tells("create note.note " + note)
			later.tells("create note.note " + note)
			all.close()
			a.want(200, "PUT", "/api/articles/"+one, "full", object{"data": object{"title": "two"}})
			a.want(204, "DELETE", "/api/notes/"+note, "full", nil)
			later.tells("delete note.note " + note)
			a.listenTo("", "full", "Last-Event-ID", all.last).tells("publish article.article "+one, "delete note.note "+
				note)
			a.listenTo("", "full", "Last-Event-ID", "nonsense").tells("reset", "create article.article "+one)
		})
	}
}

// TestListenersSeeNothingWithoutPermission takes permissions from listeners: by revoking their token, and by changing
// their role. A permission that is lost becomes tombstones.
func TestListenersSeeNothingWithoutPermission(t *testing.T) {
	a := serve(t, with(map[string]string{
		"content-types/note.yaml": changesFiles["content-types/note.yaml"],
		"config/permissions.yaml": `
roles:
  authenticated:
    api::note.note: [find]
    api::article.article: [find]
  poor:
    api::article.article: [find]
  nobody: {}
`}))
	jwt, id := a.register("ada")
	note := a.create("notes", "a note")
	s := a.listenTo("", jwt)
	s.tells("create note.note " + note)
	roles := a.roleIDs()
	a.want(200, "PUT", fmt.Sprint("/api/users/", id), "full", object{"role": roles["poor"]})
	s.tells("delete note.note " + note)
	a.create("notes", "a secret one")
	a.want(200, "PUT", fmt.Sprint("/api/users/", id), "full", object{"role": roles["authenticated"]})
	s.tells("create note.note " + note)
	a.want(200, "PUT", fmt.Sprint("/api/users/", id), "full", object{"role": roles["nobody"]})
	<-s.events // the second note
	<-s.events
	a.want(200, "PUT", fmt.Sprint("/api/users/", id), "full", object{"blocked": true})
	for range s.events { // the tombstones of the notes
	}
}

// roleIDs returns the ids of roles by their types.
func (a *api) roleIDs() map[string]float64 {
	a.t.Helper()
	ids := map[string]float64{}
	roles, _ := a.want(200, "GET", "/api/users-permissions/roles", "full", nil).at("roles").([]any)
	for _, v := range roles {
		o := v.(object)
		ids[o["type"].(string)] = o["id"].(float64)
	}
	return ids
}

// TestLongPollAnswersAtTheNextChange waits for a change, and then for none.
func TestLongPollAnswersAtTheNextChange(t *testing.T) {
	a := serve(t, changesFiles)
	last := a.changes("", "full").last
	got := make(chan feedPage, 1)
	go func() { got <- a.changes("feed=longpoll&types=notes&since="+last, "full") }()
	a.create("articles", "one")
	note := a.create("notes", "a note")
	p := (<-got).tells(t, "create note.note "+note)
	a.changes("feed=longpoll&timeout=1&types=notes&since="+p.last, "full").tells(t)
}

// TestListenersAreBounded listens with more clients than may. Those who listen do not keep the server from stopping.
func TestListenersAreBounded(t *testing.T) {
	dir := writeProject(t, with(map[string]string{"config/server.yaml": "limits: {listeners: 2}\n"}))
	ready, stop := run(t, dir, gateway.Options{Ephemeral: true}, nil)
	a := newAPI(t, ready)
	one, two := a.listenTo("since=now", "full"), a.listenTo("since=now", "full")
	for _, feed := range []string{"eventsource", "longpoll"} {
		if r := a.do("GET", "/api/_changes?since=now&feed="+feed, "full", nil); r.status != 503 ||
			!strings.Contains(r.message(), "limits.listeners: 2") {
			t.Errorf("a third listener is answered %d %s", r.status, r.text)
		}
	}
	id := a.create("articles", "one")
	one.tells("create article.article " + id)
	two.tells("create article.article " + id)
	stop()
	one.ends()
	two.ends()
}

// TestListenersThatAreGoneHoldNoPlace listens again and again with as many clients as may, long before a heartbeat
// could find out that the former are gone.
func TestListenersThatAreGoneHoldNoPlace(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("other systems do not tell before a heartbeat")
	}
	files := maps.Clone(noteFiles)
	files["config/server.yaml"] = "limits: {listeners: 1}"
	a := serve(t, files)
	feed := func() int {
		req, _ := http.NewRequest("GET", a.Base+"/api/_changes?feed=eventsource&since=now", nil)
		req.Header.Set("Authorization", "Bearer "+a.Tokens["full"])
		res, err := a.client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		return res.StatusCode
	}
	subscription := func() int {
		s := a.subscribe("subscription{noteChanged{seq}}", "")
		s.stop()
		return s.status
	}
	for i, listen := range []func() int{feed, subscription, feed} {
		servertest.Until(t, fmt.Sprint("there is a place for listener ", i), func() bool { return listen() == 200 })
	}
}
