package gateway_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"lectern/gateway"
)

// A moodyHook is a receiver of webhooks that answers as it is set to, and repeats what it was sent as some do.
type moodyHook struct {
	*httptest.Server
	status atomic.Int64
}

func newMoodyHook(t *testing.T) *moodyHook {
	h := &moodyHook{}
	h.status.Store(204)
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(int(h.status.Load()))
		if h.status.Load() != 204 {
			fmt.Fprintf(w, "cannot %s %s with %s", r.Method, r.URL, r.Header.Get("Authorization"))
		}
	}))
	t.Cleanup(h.Close)
	return h
}

// declared returns a webhook whose address and headers have credentials.
func (h *moodyHook) declared(name string) string {
	return fmt.Sprintf("  - {name: %s, url: '%s/hidden-in-path?key=hidden-in-query', headers: {Authorization: hidden-in-header}, "+
		"secret: %s, events: [entry.create], allowPrivate: [127.0.0.1]}\n", name, h.URL, "whsec_aGlkZGVuLWluLXNlY3JldC1oaWRkZW4taGlkZGVu")
}

const watchers = `
roles:
  authenticated: {api::note.note: [find]}
tokens:
  - {name: watcher, type: custom, permissions: [lectern::webhook.find]}
  - {name: replayer, type: custom, permissions: [lectern::webhook.find, lectern::webhook.replay]}
  - {name: reader, type: read-only}
`

// TestWebhookRoutes follows events over the API: delivered, failed and tried again, and sent again by whoever may.
func TestWebhookRoutes(t *testing.T) {
	hook := newMoodyHook(t)
	a := serve(t, map[string]string{
		"content-types/note.yaml": noteFile("rank: {type: integer}"),
		"config/permissions.yaml": watchers,
		"config/webhooks.yaml": "webhooks:\n" + hook.declared("moody") +
			"  - {name: off, url: 'https://example.org', enabled: false}\n",
	})
	write := func(title string) {
		t.Helper()
		a.want(201, "POST", "/api/notes", "full", object{"data": object{"title": title}})
	}
	const at = "/api/_webhooks"
	attempts := func() (list []object) {
		t.Helper()
		for _, v := range a.want(200, "GET", at+"/moody/deliveries", "watcher", nil).at("data.attempts").([]any) {
			list = append(list, v.(object))
		}
		return list
	}
	await := func(what string, n int, state string) object {
		t.Helper()
		until(t, what, func() bool { list := attempts(); return len(list) == n && list[0]["state"] == state })
		return attempts()[0]
	}

	write("one")
	first := await("one is delivered", 1, "delivered")
	if first["event"] != "entry.create" || first["contentType"] != "api::note.note" || first["answered"] != 204. ||
		first["attempt"] != 1. || first["error"] != nil || first["at"] == nil || first["duration"] == nil {
		t.Errorf("delivered: %v", first)
	}
	hook.status.Store(422)
	write("two")
	second := await("two fails", 2, "pending")
	if second["answered"] != 422. || !strings.Contains(fmt.Sprint(second["error"]), "answered 422") {
		t.Errorf("failed: %v", second)
	}
	log := a.want(200, "GET", at+"/moody/deliveries", "watcher", nil)
	if list := log.at("data.pending").([]any); len(list) != 1 || list[0].(object)["id"] != second["id"] ||
		list[0].(object)["nextAt"] == nil || list[0].(object)["attempts"] != 1. {
		t.Errorf("pending: %s", log.text)
	}
	all := a.want(200, "GET", at, "watcher", nil)
	for text, of := range map[string]string{log.text: "deliveries", all.text: "the list"} {
		for _, secret := range []string{"hidden", "whsec", "aGlk"} {
			if strings.Contains(text, secret) {
				t.Errorf("%s show a credential: %s", of, text)
			}
		}
	}
	moody, off := all.at("data").([]any)[0].(object), all.at("data").([]any)[1].(object)
	if moody["state"] != "on" || moody["url"] != hook.URL+"/…" || moody["waiting"] != 1. || moody["delivered"] != 1. ||
		moody["failed"] != 1. || off["state"] != "disabled" || off["url"] != "https://example.org/" {
		t.Errorf("listed: %s", all.text)
	}

	if r := a.want(200, "POST", at+"/moody/actions/test", "replayer", nil); r.at("data.answered") != 422. ||
		strings.Contains(r.text, "hidden") {
		t.Errorf("tested: %s", r.text)
	}
	tested := await("the test is listed", 3, "failed")
	if tested["event"] != "webhooks.test" || tested["contentType"] != nil || tested["status"] != nil || tested["answered"] != 422. ||
		a.want(200, "GET", at, "watcher", nil).at("data").([]any)[0].(object)["failed"] != 1. {
		t.Errorf("listed: %v", tested)
	}
	hook.status.Store(204)
	replay := func(status int, body any) reply {
		t.Helper()
		return a.want(status, "POST", at+"/moody/actions/replay", "replayer", body)
	}
	replay(200, object{"data": object{"id": second["id"]}})
	await("two is sent again, now", 4, "delivered")
	if list := attempts(); list[2]["state"] != "failed" || list[2]["id"] != list[0]["id"] || list[0]["attempt"] != 2. {
		t.Errorf("attempts: %v", list)
	}
	replay(200, object{"data": object{"id": first["id"]}})
	if again := await("one is sent again", 5, "delivered"); again["id"] != first["id"] {
		t.Errorf("sent again: %v", again)
	}
	if r := replay(200, nil); r.at("data.deadLetters") != 0. {
		t.Errorf("replayed: %s", r.text)
	}
	if r := replay(200, object{"data": object{"since": "2020-01-01T00:00:00Z"}}); r.at("data.entries") == 0. {
		t.Errorf("replayed: %s", r.text)
	}
	until(t, "both are sent again", func() bool { return len(attempts()) >= 7 })

	replay(404, object{"data": object{"id": "msg_none"}})
	replay(404, object{"data": object{"id": tested["id"]}})
	for _, body := range []any{object{"data": object{"since": "yesterday"}}, object{"data": object{"sinc": "2020-01-01T00:00:00Z"}},
		object{"since": "2020-01-01T00:00:00Z"}, object{"data": object{"id": 7}}, object{"data": "all"}, []any{},
		object{"data": object{"id": first["id"], "since": "2020-01-01T00:00:00Z"}}} {
		replay(400, body)
	}
	a.want(400, "POST", at+"/off/actions/replay", "replayer", nil)
	for _, path := range []string{"/none/deliveries", "/none/actions/test", "/none/actions/replay"} {
		method := "POST"
		if strings.HasSuffix(path, "deliveries") {
			method = "GET"
		}
		a.want(404, method, at+path, "replayer", nil)
	}
	for _, as := range []string{"", "reader"} {
		a.want(403, "GET", at, as, nil)
		a.want(403, "GET", at+"/moody/deliveries", as, nil)
	}
	for _, as := range []string{"", "reader", "watcher"} {
		a.want(403, "POST", at+"/moody/actions/test", as, nil)
		a.want(403, "POST", at+"/moody/actions/replay", as, nil)
	}
}

// TestWebhooksAtReplica asks replicas about webhooks: one that forwards writes answers what its origin does, which
// sends them, and another one sends nothing.
func TestWebhooksAtReplica(t *testing.T) {
	hook := newMoodyHook(t)
	e := &editing{T: t, dir: t.TempDir()}
	e.write("content-types/note.yaml", noteFile("rank: {type: integer}"))
	e.write("config/webhooks.yaml", "webhooks:\n"+hook.declared("moody"))
	e.serve(nil)
	t.Setenv("KEY_OF_ORIGIN", e.key)
	at := func(mode string) *replica {
		dir := t.TempDir()
		e.must(os.MkdirAll(filepath.Join(dir, "config"), 0o700))
		e.must(os.WriteFile(filepath.Join(dir, "config", "webhooks.yaml"), []byte("webhooks:\n"+hook.declared("moody")), 0o600))
		e.must(os.WriteFile(filepath.Join(dir, "config", "server.yaml"),
			[]byte("replica: {url: "+e.base+", token: '${KEY_OF_ORIGIN}', writes: "+mode+"}\n"), 0o600))
		return serveReplica(t, dir, gateway.Options{})
	}
	ask := func(status int, r *replica, method, path, want string) {
		t.Helper()
		if got, text := send(t, method, r.base+"/api/_webhooks"+path, e.key, ""); got != status || !strings.Contains(text, want) {
			t.Errorf("%s %s: %d %s, want %d and %s", method, path, got, text, status, want)
		}
	}
	forwards, refuses := at("forward"), at("refuse")
	ask(200, forwards, "GET", "", `"state":"on"`)
	ask(200, forwards, "POST", "/moody/actions/test", `"answered":204`)
	ask(409, refuses, "GET", "", e.base)
	ask(409, refuses, "GET", "/moody/deliveries", e.base)
	ask(409, refuses, "POST", "/moody/actions/test", "replica")
	ask(409, refuses, "POST", "/moody/actions/replay", "replica")
}

// TestWebhooksAtNode asks a node that does not lead: the leader answers, which sends the webhooks.
func TestWebhooksAtNode(t *testing.T) {
	hook := newMoodyHook(t)
	nodes := newStoppedCluster(t, 3)
	for _, n := range nodes {
		if err := os.WriteFile(filepath.Join(n.dir, "config", "webhooks.yaml"), []byte("webhooks:\n"+hook.declared("moody")), 0o644); err != nil {
			t.Fatal(err)
		}
		n.start()
	}
	key := nodes[0].token("writer")
	for i, n := range nodes {
		path := n.base + "/api/_webhooks/moody/"
		until(t, "the node answers", func() bool {
			status, _ := send(t, "POST", path+"actions/test", key, "")
			return status == 200
		})
		if status, text := send(t, "POST", nodes[0].base+"/api/articles", key, fmt.Sprintf(`{"data":{"title":"Note %[1]d","slug":"note-%[1]d"}}`, i)); status != 201 {
			t.Fatal(status, text)
		}
		until(t, "the node shows what the leader has sent", func() bool {
			_, text := send(t, "GET", path+"deliveries", key, "")
			return strings.Count(text, `"state":"delivered"`)-strings.Count(text, `"webhooks.test"`) == i+1
		})
	}
}
