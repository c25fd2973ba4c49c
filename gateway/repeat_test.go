package gateway_test

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lectern/gateway"
)

// TestRepeated sends a request that was answered 304 once more. In between, something changes that the answer may depend on, or the request itself is
// another. The former answer may be repeated only if nothing has changed.
func TestRepeated(t *testing.T) {
	dir, reloaded := writeProject(t, withMetrics(with(historyFiles))), make(chan error)
	ready, _ := run(t, dir, gateway.Options{Ephemeral: true, Reloaded: func(err error) { reloaded <- err }}, nil)
	a := newAPI(t, ready)
	topic := "/api/topics/" + a.want(201, "POST", "/api/topics", "full", object{"data": object{"name": "one"}}).at("data.documentId").(string)
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
		name     string
		change   func()
		as       string
		headers  []string
		status   int
		repeated bool
	}{
		{"nothing", nothing, "", nil, 304, true},
		{"another id of the request", nothing, "", []string{"X-Request-Id", "mine"}, 304, true},
		{"another client behind a proxy", nothing, "", []string{"X-Forwarded-For", "10.0.0.9", "User-Agent", "other"}, 304, true},
		{"another origin", nothing, "", []string{"Origin", "https://other.example"}, 304, false},
		{"another form", nothing, "", []string{"Strapi-Response-Format", "v4"}, 200, false},
		{"a condition that fails", nothing, "", []string{"If-None-Match", `"other"`}, 200, false},
		{"another encoding", nothing, "", []string{"Accept-Encoding", "br"}, 304, false},
		{"a cookie", nothing, "", []string{"Cookie", "a=b"}, 304, false},
		{"a caller", nothing, "full", nil, 200, false},
		{"a credential that is not valid", nothing, "wrong", nil, 401, false},
		{"a write to another type", func() { a.want(200, "PUT", "/api/home", "full", object{"data": object{"heading": "h"}}) }, "", nil, 304, false},
		{"a write", func() { a.want(200, "PUT", topic, "full", object{"data": object{"name": "two"}}) }, "", nil, 200, false},
		{"a write of a document that links to it", func() {
			a.want(200, "PUT", "/api/pages/"+other, "full", object{"data": object{"topics": []any{strings.TrimPrefix(topic, "/api/topics/")}}})
		}, "", nil, 200, false},
		{"definitions", func() {
			configure("content-types/topic.yaml", strings.Replace(historyFiles["content-types/topic.yaml"], "unique: true", "unique: true, private: true", 1))
		}, "", nil, 200, false},
		{"a limit of requests", func() { configure("config/api.yaml", "rateLimit: {anonymous: {requests: 1000}}\n") }, "", nil, 200, false},
		{"no limit any more", func() { configure("config/api.yaml", "rest: {defaultLimit: 30}\n") }, "", nil, 200, false},
		{"permissions", func() {
			configure("config/permissions.yaml", strings.Replace(historyFiles["config/permissions.yaml"], "api::topic.topic: [find, findOne]", "", 1))
		}, "", nil, 403, false},
		{"a deletion", func() { a.want(204, "DELETE", topic, "full", nil) }, "", nil, 403, false},
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
		if got := after.value("lectern_http_repeated_total") > before.value("lectern_http_repeated_total"); got != c.repeated {
			t.Errorf("%s: repeated: %t, want %t", c.name, got, c.repeated)
		}
		labels := []string{"route", "/api/topics/{documentId}", "status", fmt.Sprint(c.status)}
		if n := after.value("lectern_http_requests_total", labels...) - before.value("lectern_http_requests_total", labels...); n != 1 && c.as != "wrong" {
			t.Errorf("%s: %v requests with status %d were counted, want one", c.name, n, c.status)
		}
	}
}

// TestNeverRepeated sends the same request several times, which is answered 304 in ways that do not follow from its headers and the content alone.
func TestNeverRepeated(t *testing.T) {
	files := withMetrics(with(historyFiles))
	limited := maps.Clone(files)
	limited["config/api.yaml"] = "rateLimit: {anonymous: {requests: 1000}}\n"
	for _, c := range []struct {
		name    string
		files   map[string]string
		method  string
		headers []string
	}{
		{"a cookie", files, "GET", []string{"Cookie", "a=b"}},
		{"the header alone", files, "HEAD", nil},
		{"limits of requests", limited, "GET", nil},
	} {
		ready, _ := run(t, writeProject(t, c.files), gateway.Options{Ephemeral: true}, nil)
		a := newAPI(t, ready)
		a.want(201, "POST", "/api/topics", "full", object{"data": object{"name": "one"}})
		tag := a.want(200, "GET", "/api/topics", "", nil).header.Get("ETag")
		for range 3 {
			a.want(304, c.method, "/api/topics", "", nil, append([]string{"If-None-Match", tag}, c.headers...)...)
		}
		if n := a.scrape().value("lectern_http_repeated_total"); n != 0 {
			t.Errorf("%s: %v requests were repeated", c.name, n)
		}
	}
}

// TestRepeatedToCallers sends a request with a credential that was answered 304 to another credential. An answer is repeated to the same Principal only.
func TestRepeatedToCallers(t *testing.T) {
	ready, _ := run(t, writeProject(t, withMetrics(with(historyFiles))), gateway.Options{Ephemeral: true}, nil)
	a := newAPI(t, ready)
	a.want(201, "POST", "/api/topics", "full", object{"data": object{"name": "one"}})
	ada, _ := a.register("ada")
	bob, id := a.register("bob")
	for _, c := range []struct {
		name, first, second string
		change              func()
		status              int
		repeated            bool
	}{
		{"a token", "full", "full", nil, 304, true},
		{"a user", ada, ada, nil, 304, true},
		{"another JWT of a user", ada, a.login("ada", "secret-ada"), nil, 304, true},
		{"another user of the role", ada, bob, nil, 304, false},
		{"the public after a user", ada, "", nil, 304, false},
		{"a user after the public", "", ada, nil, 304, false},
		{"another token", "full", "readonly", nil, 304, false},
		{"a credential that is not valid", "full", "wrong", nil, 401, false},
		{"a blocked user", bob, bob, func() { a.want(200, "PUT", userPath(id), "full", object{"blocked": true}) }, 401, false},
	} {
		tag := a.want(200, "GET", "/api/topics", c.first, nil).header.Get("ETag")
		second := a.do("GET", "/api/topics", c.second, nil).header.Get("ETag")
		for range 2 {
			a.want(304, "GET", "/api/topics", c.first, nil, "If-None-Match", tag+", "+second)
		}
		if c.change != nil {
			c.change()
		}
		before := a.scrape().value("lectern_http_repeated_total")
		if r := a.do("GET", "/api/topics", c.second, nil, "If-None-Match", tag+", "+second); r.status != c.status {
			t.Errorf("%s: %d, want %d", c.name, r.status, c.status)
		}
		if got := a.scrape().value("lectern_http_repeated_total") > before; got != c.repeated {
			t.Errorf("%s: repeated: %t, want %t", c.name, got, c.repeated)
		}
	}
}

// TestRepeatedUntilExpiry sends the same request with a JWT until it has expired. The credential is checked each time.
func TestRepeatedUntilExpiry(t *testing.T) {
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
	if a.scrape().value("lectern_http_repeated_total") == 0 {
		t.Error("no answer was repeated")
	}
}
