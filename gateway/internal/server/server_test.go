package server_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/mux"

	"lectern/auth"
	"lectern/documents/apierror"
	"lectern/documents/permission"
	"lectern/gateway/config"
	"lectern/gateway/internal/server"
	"lectern/jsontree"
)

// healthy is a probe that answers 204.
var healthy = []server.Probe{{Path: "/_health",
	Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })}}

// newServer returns a server with a few test routes, and its log unless c has one.
func newServer(t *testing.T, c server.Config) (*server.Server, *bytes.Buffer) {
	t.Helper()
	var log bytes.Buffer
	if c.Log == nil {
		c.Log = slog.New(slog.NewTextHandler(&log, nil))
	}
	var s *server.Server
	say := func(text string) func(http.ResponseWriter, *http.Request, auth.Principal) error {
		return func(w http.ResponseWriter, r *http.Request, _ auth.Principal) error {
			fmt.Fprint(w, text, mux.Vars(r)["id"], mux.Vars(r)["path"])
			return nil
		}
	}
	echo := func(w http.ResponseWriter, r *http.Request, _ auth.Principal) error {
		v, err := s.ReadBody(w, r)
		if err != nil {
			return err
		}
		_, err = w.Write(jsontree.Append(nil, v))
		return err
	}
	var err error
	s, err = server.New(c, server.API{
		Probes: healthy,
		Authenticate: func(r *http.Request) (auth.Principal, error) {
			if r.Header.Get("Authorization") == "Bearer wrong" {
				return auth.Principal{},
					&apierror.Error{Status: 401, Name: "UnauthorizedError", Message: "Missing or invalid credentials"}
			}
			return auth.Principal{Access: permission.FullAccess}, nil
		},
		Routes: []server.Route{
			{Method: "GET", Path: "/api/things", Handle: say("list")},
			{Method: "POST", Path: "/api/things", Handle: echo},
			{Method: "GET", Path: "/api/things/latest", Handle: say("latest")},
			{Method: "GET", Path: "/api/things/{id}", Handle: say("one ")},
			{Method: "DELETE", Path: "/api/things/{id}", Handle: say("gone ")},
			{Method: "POST", Path: "/api/things/{id}/actions/go", Handle: say("go ")},
			{Method: "GET", Path: "/files/{path:.*}", Handle: say("file "), Open: true},
			{Method: "GET", Path: "/api/panic",
				Handle: func(http.ResponseWriter, *http.Request, auth.Principal) error { panic("the secret") }},
			{Method: "GET", Path: "/api/broken",
				Handle: func(http.ResponseWriter, *http.Request, auth.Principal) error {
					return errors.New("the secret")
				}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return s, &log
}

const (
	notFound   = `{"data":null,"error":{"status":404,"name":"NotFoundError","message":"Not Found","details":{}}}`
	notAllowed = "Method Not Allowed"
)

func TestRoutes(t *testing.T) {
	s, _ := newServer(t, server.Config{})
	for _, test := range []struct {
		method, path string
		status       int
		body, allow  string
	}{
		{"GET", "/api/things", 200, "list", ""},
		{"GET", "/api/things/", 200, "list", ""},
		{"GET", "/API/Things", 200, "list", ""},
		{"GET", "/api/things//", 404, notFound, ""},
		{"GET", "/api//things", 404, notFound, ""},
		{"GET", "//api/things", 404, notFound, ""},
		{"GET", "/api/th%69ngs", 404, notFound, ""},
		{"GET", "/api/things/Ab", 200, "one Ab", ""},
		{"GET", "/api/things/a%2Fb", 200, "one a/b", ""},
		{"GET", "/api/things/a%20b%25/", 200, "one a b%", ""},
		{"GET", "/api/things/latest", 200, "latest", ""},
		{"DELETE", "/api/things/latest", 405, notAllowed, "HEAD, GET"},
		{"GET", "/api/things/x/y", 404, notFound, ""},
		{"GET", "/api/things/x/actions", 404, notFound, ""},
		{"GET", "/api/things/x/actions/go", 404, notFound, ""},
		{"PUT", "/api/things/x/actions/go", 405, notAllowed, "POST"},
		{"POST", "/api/things/x/actions/go", 200, "go x", ""},
		{"GET", "/files/a/B/c.txt", 200, "file a/B/c.txt", ""},
		{"GET", "/files/", 404, notFound, ""},
		{"PATCH", "/api/things/x", 405, notAllowed, "HEAD, GET, DELETE"},
		{"PUT", "/api/things", 405, notAllowed, "HEAD, GET, POST"},
		{"OPTIONS", "/api/things", 200, "", "HEAD, GET, POST"},
		{"OPTIONS", "/api/nope", 200, "", "HEAD, GET"},
		{"GET", "/api/nope", 404, notFound, ""},
		{"GET", "/", 404, notFound, ""},
		{"POST", "/api/nope", 405, notAllowed, "HEAD, GET"},
		{"GET", "/_health", 204, "", ""},
		{"POST", "/_Health/", 204, "", ""},
		{"GET", "/api/things/%00", 400,
			`{"data":null,"error":{"status":400,"name":"BadRequestError","message":"Malicious Path"}}`, ""},
		{"GET", "/api/things/%FF", 400,
			`{"data":null,"error":{"status":400,"name":"BadRequestError","message":"failed to decode"}}`, ""},
	} {
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, httptest.NewRequest(test.method, test.path, nil))
		if w.Code != test.status || w.Body.String() != test.body || w.Header().Get("Allow") != test.allow {
			t.Errorf("%s %s: got %d %q allow %q, want %d %q allow %q", test.method, test.path,
				w.Code, w.Body, w.Header().Get("Allow"), test.status, test.body, test.allow)
		}
	}
}

func TestCredentials(t *testing.T) {
	s, _ := newServer(t, server.Config{})
	for path, status := range map[string]int{"/api/things": 401, "/files/a": 200, "/api/nope": 404} {
		r := httptest.NewRequest("GET", path, nil)
		r.Header.Set("Authorization", "Bearer wrong")
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, r)
		if w.Code != status {
			t.Errorf("%s with a wrong credential: got %d, want %d", path, w.Code, status)
		}
	}
}

// TestInternalErrors compares the answer to an internal error with its log line: only the log has the cause.
func TestInternalErrors(t *testing.T) {
	const want = `{"data":null,"error":{"status":500,"name":"InternalServerError","message":"Internal Server Error"}}`
	for _, path := range []string{"/api/panic", "/api/broken"} {
		s, log := newServer(t, server.Config{})
		w := httptest.NewRecorder()
		r := httptest.NewRequest("GET", path+"?token=query-secret", nil)
		r.Header.Set("Authorization", "Bearer header-secret")
		s.Handler().ServeHTTP(w, r)
		if w.Code != 500 || w.Body.String() != want {
			t.Errorf("%s: got %d %s", path, w.Code, w.Body)
		}
		line := log.String()
		if !strings.Contains(line, "the secret") || !strings.Contains(line, "id="+w.Header().Get("X-Request-Id")) {
			t.Errorf("%s: the log does not say what happened under the id that the client saw:\n%s", path, line)
		}
		if strings.Contains(line, "query-secret") || strings.Contains(line, "header-secret") {
			t.Errorf("%s: the log tells what a client sent:\n%s", path, line)
		}
	}
}

// TestBusy occupies all places. The server refuses one more request, and accepts it when a place is free.
func TestBusy(t *testing.T) {
	entered, leave := make(chan bool), make(chan bool)
	s, err := server.New(server.Config{Limits: config.Limits{Concurrent: 1}},
		server.API{Probes: healthy, Routes: []server.Route{{
			Method: "GET", Path: "/wait", Open: true,
			Handle: func(http.ResponseWriter, *http.Request, auth.Principal) error {
				entered <- true
				<-leave
				return nil
			},
		}}})
	if err != nil {
		t.Fatal(err)
	}
	get := func(path string) int {
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		return w.Code
	}
	done := make(chan int)
	go func() { done <- get("/wait") }()
	<-entered
	if got := get("/wait"); got != 503 {
		t.Errorf("a request beyond the limit: got %d, want 503", got)
	}
	if got := get("/_health"); got != 204 {
		t.Errorf("health while busy: got %d, want 204", got)
	}
	leave <- true
	if got := <-done; got != 200 {
		t.Errorf("the request that was at work: got %d, want 200", got)
	}
	if got := get("/nope"); got != 404 {
		t.Errorf("after it was done: got %d, want 404", got)
	}
}

// TestServe sends requests that net/http cannot parse to a listening server, and then stops the server.
func TestServe(t *testing.T) {
	entered, leave := make(chan bool), make(chan bool)
	s, err := server.New(server.Config{}, server.API{Probes: healthy, Routes: []server.Route{{
		Method: "GET", Path: "/wait", Open: true,
		Handle: func(w http.ResponseWriter, _ *http.Request, _ auth.Principal) error {
			entered <- true
			<-leave
			_, err := io.WriteString(w, "done")
			return err
		},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- s.Serve(ctx, ln) }()

	const refused, headTooLarge = "400 Bad Request", "431 Request Header Fields Too Large" // the messages of net/http
	for request, want := range map[string]string{
		"GET /api/a%E0%A4%A HTTP/1.1\r\nHost: x\r\n\r\n": refused,
		"GET /%zz?a=%zz HTTP/1.1\r\nHost: x\r\n\r\n":     refused,
		"rubbish\r\n\r\n": refused,
		"GET /nope?a=%zz HTTP/1.1\r\nHost: x\r\n\r\n":                                 notFound,
		"GET / HTTP/1.1\r\nHost: x\r\nA: " + strings.Repeat("x", 80<<10) + "\r\n\r\n": headTooLarge,
	} {
		c, err := net.Dial("tcp", ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		c.SetDeadline(time.Now().Add(10 * time.Second))
		io.WriteString(c, request)
		answer, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatalf("%q: %v", request, err)
		}
		kind, status := "text/plain; charset=utf-8", 400
		switch want {
		case notFound:
			kind, status = "application/json; charset=utf-8", 404
		case headTooLarge:
			status = 431
		}
		body, _ := io.ReadAll(answer.Body)
		if string(body) != want || answer.StatusCode != status || answer.Header.Get("Content-Type") != kind {
			t.Errorf("%q: got %d %s %s, want %d %s %s", request, answer.StatusCode, answer.Header.Get("Content-Type"),
				body, status, kind, want)
		}
		c.Close()
	}

	got := make(chan string)
	go func() {
		answer, err := http.Get("http://" + ln.Addr().String() + "/wait")
		if err != nil {
			got <- err.Error()
			return
		}
		body, _ := io.ReadAll(answer.Body)
		answer.Body.Close()
		got <- string(body)
	}()
	<-entered
	stop()
	leave <- true
	if answer := <-got; answer != "done" {
		t.Errorf("a request under way when the server was stopped: got %q", answer)
	}
	if err := <-ended; err != nil {
		t.Errorf("Serve: %v", err)
	}
}

// TestSwap replaces the routes of a running server. Routes that are not valid are refused and change nothing.
func TestSwap(t *testing.T) {
	s, _ := newServer(t, server.Config{})
	if err := s.Swap(server.API{Probes: healthy,
		Routes: []server.Route{{Method: "GET", Path: "no slash"}}}); err == nil {
		t.Error("a path without a slash was taken")
	}
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/api/things", nil))
	if w.Code != 200 {
		t.Errorf("after a runtime was refused: got %d, want 200", w.Code)
	}
	if err := s.Swap(server.API{Probes: healthy}); err != nil {
		t.Fatal(err)
	}
	w = httptest.NewRecorder()
	s.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/api/things", nil))
	if w.Code != 404 {
		t.Errorf("after the runtime was replaced: got %d, want 404", w.Code)
	}
}
