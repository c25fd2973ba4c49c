package gateway_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lectern/gateway"
)

// TestNotModifiedUntilChanged sends a request that was answered 304 once more. In between, something changes that the
// answer may depend on, or the request itself is another. Each request is counted once.
func TestNotModifiedUntilChanged(t *testing.T) {
	dir, reloaded := writeProject(t, withMetrics(with(historyFiles))), make(chan error)
	ready, _ := run(t, dir, gateway.Options{Ephemeral: true, Reloaded: func(err error) { reloaded <- err }}, nil)
	a := newAPI(t, ready)
	topic := "/api/topics/" + a.want(201, "POST", "/api/topics", "full", object{"data": object{"name": "one"}}).at(
		"data.documentId").(string)
	other := a.want(201, "POST", "/api/pages", "full", object{"data": object{"title": "one"}}).at("data.documentId").(string)
	configure := func(file, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-reloaded:
			if err != nil {
				t.Fatal(err)
			}
		case <-time.After(20 * time.Second):
			t.Fatal("the server does not notice changed files")
		}
	}
	nothing := func() {}
	for _, c := range []struct {
		name    string
		change  func()
		as      string
		headers []string
		status  int
	}{
		{"nothing", nothing, "", nil, 304},
		{"another id of the request", nothing, "", []string{"X-Request-Id", "mine"}, 304},
		{"another client behind a proxy", nothing, "", []string{"X-Forwarded-For", "10.0.0.9", "User-Agent", "other"},
			304},
		{"another origin", nothing, "", []string{"Origin", "https://other.example"}, 304},
		{"another form", nothing, "", []string{"Strapi-Response-Format", "v4"}, 200},
		{"a condition that fails", nothing, "", []string{"If-None-Match", `"other"`}, 200},
		{"another encoding", nothing, "", []string{"Accept-Encoding", "br"}, 304},
		{"a cookie", nothing, "", []string{"Cookie", "a=b"}, 304},
		{"a caller", nothing, "full", nil, 200},
		{"a credential that is not valid", nothing, "wrong", nil, 401},
		{"a write to another type",
			func() { a.want(200, "PUT", "/api/home", "full", object{"data": object{"heading": "h"}}) }, "", nil, 304},
		{"a write", func() { a.want(200, "PUT", topic, "full", object{"data": object{"name": "two"}}) }, "", nil, 200},
		{"a write of a document that links to it", func() {
			a.want(200, "PUT", "/api/pages/"+other, "full",
				object{"data": object{"topics": []any{strings.TrimPrefix(topic, "/api/topics/")}}})
		}, "", nil, 200},
		{"definitions", func() {
			configure("content-types/topic.yaml", strings.Replace(historyFiles["content-types/topic.yaml"],
				"unique: true", "unique: true, private: true", 1))
		}, "", nil, 200},
		{"a limit of requests", func() { configure("config/api.yaml", "rateLimit: {anonymous: {requests: 1000}}\n") },
			"", nil, 200},
		{"no limit any more", func() { configure("config/api.yaml", "rest: {defaultLimit: 30}\n") }, "", nil, 200},
		{"permissions", func() {
			configure("config/permissions.yaml",
				strings.Replace(historyFiles["config/permissions.yaml"], "api::topic.topic: [find, findOne]", "", 1))
		}, "", nil, 403},
		{"a deletion", func() { a.want(204, "DELETE", topic, "full", nil) }, "", nil, 403},
	} {
		tag := ""
		if r := a.do("GET", topic, "", nil); r.status == 200 {
			tag = r.header.Get("ETag")
			for range 2 {
				a.want(304, "GET", topic, "", nil, "If-None-Match", tag)
			}
		}
		c.change()
		before := a.scrape()
		r := a.do("GET", topic, c.as, nil, append([]string{"If-None-Match", tag}, c.headers...)...)
		if r.status != c.status {
			t.Errorf("%s: %d, want %d", c.name, r.status, c.status)
		}
		after := a.scrape()
		labels := []string{"route", "/api/topics/{documentId}", "status", fmt.Sprint(c.status)}
		if n := after.value("lectern_http_requests_total", labels...) - before.value("lectern_http_requests_total",
			labels...); n != 1 && c.as != "wrong" {
			t.Errorf("%s: %v requests with status %d were counted, want one", c.name, n, c.status)
		}
	}
}

// TestNotModifiedChecksEachCaller sends a request with a credential that was answered 304 to another credential, once
// more: its credential is checked.
func TestNotModifiedChecksEachCaller(t *testing.T) {
	ready, _ := run(t, writeProject(t, withMetrics(with(historyFiles))), gateway.Options{Ephemeral: true}, nil)
	a := newAPI(t, ready)
	a.want(201, "POST", "/api/topics", "full", object{"data": object{"name": "one"}})
	ada, _ := a.register("ada")
	bob, id := a.register("bob")
	for _, c := range []struct {
		name, first, second string
		change              func()
		status              int
	}{
		{"a token", "full", "full", nil, 304},
		{"a user", ada, ada, nil, 304},
		{"another JWT of a user", ada, a.login("ada", "secret-ada"), nil, 304},
		{"another user of the role", ada, bob, nil, 304},
		{"the public after a user", ada, "", nil, 304},
		{"a user after the public", "", ada, nil, 304},
		{"another token", "full", "readonly", nil, 304},
		{"a credential that is not valid", "full", "wrong", nil, 401},
		{"a blocked user", bob, bob, func() { a.want(200, "PUT", userPath(id), "full", object{"blocked": true}) }, 401},
	} {
		tag := a.want(200, "GET", "/api/topics", c.first, nil).header.Get("ETag")
		second := a.do("GET", "/api/topics", c.second, nil).header.Get("ETag")
		for range 2 {
			a.want(304, "GET", "/api/topics", c.first, nil, "If-None-Match", tag+", "+second)
		}
		if c.change != nil {
			c.change()
		}
		if r := a.do("GET", "/api/topics", c.second, nil, "If-None-Match", tag+", "+second); r.status != c.status {
			t.Errorf("%s: %d, want %d", c.name, r.status, c.status)
		}
	}
}

// TestNotModifiedEndsWithTheCredential sends the same request with a JWT until it has expired. The credential is
// checked each time.
func TestNotModifiedEndsWithTheCredential(t *testing.T) {
	ready, _ := run(t, writeProject(t, withMetrics(with(historyFiles))), gateway.Options{Ephemeral: true}, nil)
	a := newAPI(t, ready)
	jwt, _ := a.register("ada")
	header, payload := payloadOf(t, jwt)
	end := time.Now().Add(3 * time.Second)
	jwt = signed(header, changed(payload, "exp", end.Unix()), sha256.New, []byte(testSecret))
	tag := a.want(200, "GET", "/api/topics", jwt, nil).header.Get("ETag")
	status := 304
	for status == 304 && time.Now().Before(end.Add(time.Second)) {
		status = a.do("GET", "/api/topics", jwt, nil, "If-None-Match", tag).status
	}
	if status != 401 {
		t.Errorf("after the JWT has expired: %d, want 401", status)
	}
}
