package gateway_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"lectern/gateway"
)

// TestPromotedReplicaGoesOnWithItsWebhooks promotes a replica that has webhooks: one with the name of a webhook of the
// former origin, which must go on where that one was, and a new one, which must begin with what is written afterwards.
// Before the promotion they send nothing.
func TestPromotedReplicaGoesOnWithItsWebhooks(t *testing.T) {
	e := newEditing(t)
	url, sent := newHook(t)
	replicaURL, continued := newHook(t)
	newURL, begun := newHook(t)
	declare := func(list string) string { return "webhooks:\n" + list }
	hook := func(name, url string) string {
		return fmt.Sprintf("  - {name: %s, url: %q, events: [entry.create], allowPrivate: [127.0.0.1]}\n", name, url)
	}
	write := func(base, title string) {
		t.Helper()
		if status, answer := send(t, "POST", base+"/api/notes?status=draft", e.key, `{"data":{"title":"`+title+
			`"}}`); status != 201 {
			t.Fatal(status, answer)
		}
	}
	titled := regexp.MustCompile(`"title":"([^"]*)"`)
	receive := func(requests <-chan hooked,
		titles ...string) map[string]string { // the ids of events by title, when these have all come
		t.Helper()
		ids := map[string]string{}
		for lacks := true; lacks; {
			h := next(t, requests)
			ids[titled.FindStringSubmatch(h.text)[1]] = h.header.Get("webhook-id")
			lacks = slices.ContainsFunc(titles, func(title string) bool { return ids[title] == "" })
		}
		return ids
	}

	e.write("config/webhooks.yaml", declare(hook("same", url)))
	n := 0
	until(t, "the webhook has begun",
		func() bool { n++; write(e.base, fmt.Sprint("before ", n)); return len(sent) > 0 })
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "config"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "config", "webhooks.yaml"),
		[]byte(declare(hook("same", replicaURL)+hook("new", newURL))), 0o644); err != nil {
		t.Fatal(err)
	}
	r := follow(t, dir, e.base, e.key)
	r.equals(e.base, e.key, "/api/notes?status=draft")
	write(e.base, "after the copy")
	write(e.base, "the last one")
	r.equals(e.base, e.key, "/api/notes?status=draft")
	r.stop()
	former := receive(sent, "after the copy", "the last one")
	if len(continued)+len(begun) > 0 {
		t.Error("a replica has sent webhooks")
	}

	if err := gateway.Promote(dir, gateway.Options{}, false); err != nil {
		t.Fatal(err)
	}
	made, _ := run(t, dir, gateway.Options{}, nil)
	for title, id := range receive(continued, "after the copy", "the last one") {
		if id != former[title] {
			t.Errorf("%q comes with the id %s, and came with %s", title, id, former[title])
		}
	}
	until(t, "the new webhook has begun",
		func() bool { n++; write(made.Base, fmt.Sprint("now ", n)); return len(begun) > 0 })
	for title := range receive(begun) {
		if !strings.HasPrefix(title, "now") {
			t.Errorf("the new webhook begins with %q", title)
		}
	}
	write(made.Base, "the end")
	receive(continued, "the end")
	receive(begun, "the end")
}
