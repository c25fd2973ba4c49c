package server_test

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"lectern/gateway/config"
	"lectern/gateway/internal/server"
)

func TestHeaders(t *testing.T) {
	s, _ := newServer(t, server.Config{HTTPS: true})
	always := map[string]string{
		"X-Content-Type-Options": "nosniff", "X-Frame-Options": "SAMEORIGIN", "Referrer-Policy": "no-referrer",
		"Strict-Transport-Security": "max-age=31536000; includeSubDomains", "Vary": "Origin",
	}
	preflight := map[string]string{
		"Access-Control-Allow-Origin": "http://a.example", "Access-Control-Allow-Credentials": "true",
		"Access-Control-Allow-Methods": "GET,POST,PUT,PATCH,DELETE,HEAD,OPTIONS",
		"Access-Control-Allow-Headers": "Content-Type,Authorization,Origin,Accept",
		"Access-Control-Max-Age":       "31536000", "Access-Control-Expose-Headers": "",
	}
	for _, test := range []struct {
		name, method, path string
		send, want         map[string]string
		status             int
	}{
		{"plain", "GET", "/api/things", nil,
			map[string]string{"Vary": "Origin, Authorization", "Access-Control-Allow-Origin": "",
				"Access-Control-Allow-Credentials": "", "Access-Control-Expose-Headers": ""}, 200},
		{"with an origin", "GET", "/api/things", map[string]string{"Origin": "http://a.example"},
			map[string]string{"Vary": "Origin, Authorization", "Access-Control-Allow-Origin": "http://a.example",
				"Access-Control-Allow-Credentials": "true",
				"Access-Control-Expose-Headers":    "Accept-Encoding,Allow,Content-Range,ETag,Idempotency-Replayed,Lectern-Forwarded,Lectern-Replica-Age,Lectern-Revision,RateLimit,RateLimit-Policy,Retry-After,WWW-Authenticate,X-Request-Id"}, 200},
		{"an error with an origin", "GET", "/api/nope", map[string]string{"Origin": "http://a.example"},
			map[string]string{"Access-Control-Allow-Origin": "http://a.example",
				"Content-Type": "application/json; charset=utf-8"}, 404},
		{"a preflight", "OPTIONS", "/api/nope",
			map[string]string{"Origin": "http://a.example", "Access-Control-Request-Method": "PUT"}, preflight, 204},
		{"an id of a proxy", "GET", "/api/things", map[string]string{"X-Request-Id": "abc-1"},
			map[string]string{"Vary": "Origin, Authorization", "X-Request-Id": "abc-1"}, 200},
	} {
		r := httptest.NewRequest(test.method, test.path, nil)
		for k, v := range test.send {
			r.Header.Set(k, v)
		}
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, r)
		got, want := map[string]string{}, map[string]string{}
		for _, all := range []map[string]string{always, test.want} {
			for k, v := range all {
				got[k], want[k] = w.Header().Get(k), v
			}
		}
		if diff := cmp.Diff(want, got); diff != "" || w.Code != test.status {
			t.Errorf("%s: status %d (-want +got)\n%s", test.name, w.Code, diff)
		}
	}

	w := httptest.NewRecorder()
	r := httptest.NewRequest("GET", "/api/things", nil)
	r.Header.Set("X-Request-Id", "a\nforged line")
	s.Handler().ServeHTTP(w, r)
	if id := w.Header().Get("X-Request-Id"); id == "" || strings.Contains(id, "forged") {
		t.Errorf("an id that is not fit for a log was taken: %q", id)
	}
}

// The server sends Strict-Transport-Security only if clients use HTTPS, since browsers ignore it over plain HTTP.
func TestNoHSTSOverPlainHTTP(t *testing.T) {
	s, _ := newServer(t, server.Config{})
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/api/things", nil))
	if got, there := w.Header()["Strict-Transport-Security"]; there {
		t.Errorf("Strict-Transport-Security is %q", got)
	}
	if n := len(w.Header()); n > 8 {
		t.Errorf("an answer has %d headers, and more than 8 make it slow: %v", n, w.Header())
	}
}

func TestAllowedOrigins(t *testing.T) {
	s, _ := newServer(t, server.Config{CORS: config.CORS{Origins: []string{"https://a.example"}}})
	for origin, want := range map[string]string{"https://a.example": "https://a.example", "https://b.example": ""} {
		r := httptest.NewRequest("GET", "/api/things", nil)
		r.Header.Set("Origin", origin)
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, r)
		if got := w.Header().Get("Access-Control-Allow-Origin"); got != want {
			t.Errorf("origin %s: got %q, want %q", origin, got, want)
		}
	}
}
