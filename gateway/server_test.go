package gateway_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gorilla/mux"

	"lectern/auth"
	"lectern/documents/apierror"
	"lectern/documents/permission"
	"lectern/gateway"
	"lectern/gateway/config"
	"lectern/jsontree"
)

// newServer returns a server with a few test routes, and its log unless c has one.
func newServer(t *testing.T, c gateway.Config) (*gateway.Server, *bytes.Buffer) {
	t.Helper()
	var log bytes.Buffer
	if c.Log == nil {
		c.Log = slog.New(slog.NewTextHandler(&log, nil))
	}
	var s *gateway.Server
	say := func(text string) func(http.ResponseWriter, *http.Request, *permission.Access) error {
		return func(w http.ResponseWriter, r *http.Request, _ *permission.Access) error {
			fmt.Fprint(w, text, mux.Vars(r)["id"], mux.Vars(r)["path"])
			return nil
		}
	}
	echo := func(w http.ResponseWriter, r *http.Request, _ *permission.Access) error {
		v, err := s.ReadBody(w, r)
		if err != nil {
			return err
		}
		_, err = w.Write(jsontree.Append(nil, v))
		return err
	}
	var err error
	s, err = gateway.NewServer(c, gateway.Runtime{
		Authenticate: func(r *http.Request) (auth.Principal, error) {
			if r.Header.Get("Authorization") == "Bearer wrong" {
				return auth.Principal{}, &apierror.Error{Status: 401, Name: "UnauthorizedError", Message: "Missing or invalid credentials"}
			}
			return auth.Principal{Access: permission.FullAccess}, nil
		},
		Routes: []gateway.Route{
			{Method: "GET", Path: "/api/things", Handle: say("list")},
			{Method: "POST", Path: "/api/things", Handle: echo},
			{Method: "GET", Path: "/api/things/latest", Handle: say("latest")},
			{Method: "GET", Path: "/api/things/{id}", Handle: say("one ")},
			{Method: "DELETE", Path: "/api/things/{id}", Handle: say("gone ")},
			{Method: "POST", Path: "/api/things/{id}/actions/go", Handle: say("go ")},
			{Method: "GET", Path: "/files/{path:.*}", Handle: say("file "), Open: true},
			{Method: "GET", Path: "/api/panic", Handle: func(http.ResponseWriter, *http.Request, *permission.Access) error { panic("the secret") }},
			{Method: "GET", Path: "/api/broken", Handle: func(http.ResponseWriter, *http.Request, *permission.Access) error {
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
	s, _ := newServer(t, gateway.Config{})
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
		{"GET", "/api/things/%00", 400, `{"data":null,"error":{"status":400,"name":"BadRequestError","message":"Malicious Path"}}`, ""},
		{"GET", "/api/things/%FF", 400, `{"data":null,"error":{"status":400,"name":"BadRequestError","message":"failed to decode"}}`, ""},
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
	s, _ := newServer(t, gateway.Config{})
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

func TestHeaders(t *testing.T) {
	s, _ := newServer(t, gateway.Config{HTTPS: true})
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
		{"plain", "GET", "/api/things", nil, map[string]string{"Vary": "Origin, Authorization", "Access-Control-Allow-Origin": "", "Access-Control-Allow-Credentials": "", "Access-Control-Expose-Headers": ""}, 200},
		{"with an origin", "GET", "/api/things", map[string]string{"Origin": "http://a.example"}, map[string]string{"Vary": "Origin, Authorization", "Access-Control-Allow-Origin": "http://a.example", "Access-Control-Allow-Credentials": "true",
			"Access-Control-Expose-Headers": "ETag,Idempotency-Replayed,Lectern-Forwarded,Lectern-Replica-Age,Lectern-Revision,RateLimit,RateLimit-Policy,Retry-After"}, 200},
		{"an error with an origin", "GET", "/api/nope", map[string]string{"Origin": "http://a.example"}, map[string]string{"Access-Control-Allow-Origin": "http://a.example", "Content-Type": "application/json; charset=utf-8"}, 404},
		{"a preflight", "OPTIONS", "/api/nope", map[string]string{"Origin": "http://a.example", "Access-Control-Request-Method": "PUT"}, preflight, 204},
		{"an id of a proxy", "GET", "/api/things", map[string]string{"X-Request-Id": "abc-1"}, map[string]string{"Vary": "Origin, Authorization", "X-Request-Id": "abc-1"}, 200},
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
	s, _ := newServer(t, gateway.Config{})
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
	s, _ := newServer(t, gateway.Config{CORS: config.CORS{Origins: []string{"https://a.example"}}})
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

// TestBody sends bodies to a route that answers with the value that it read.
func TestBody(t *testing.T) {
	s, _ := newServer(t, gateway.Config{})
	bad := func(status int, name, message string) string {
		return fmt.Sprintf(`{"data":null,"error":{"status":%d,"name":%q,"message":%q}}`, status, name, message)
	}
	tooLarge := bad(413, "PayloadTooLargeError", "request entity too large")
	notJSON := bad(400, "SyntaxError", "invalid JSON, only supports object and array")
	text := func(n int) string { return `{"a":"` + strings.Repeat("x", n-8) + `"}` }
	const json, form, multipart = "application/json", "application/x-www-form-urlencoded", "multipart/form-data; boundary=b"
	for _, test := range []struct {
		name, kind, encoding, body string
		status                     int
		want                       string
	}{
		{"JSON", json, "", `{"a":[1]}`, 200, `{"a":[1]}`},
		{"JSON with a charset", json + "; charset=utf-8", "", `{"a":1}`, 200, `{"a":1}`},
		{"JSON API", "application/vnd.api+json", "", ` [1]`, 200, `[1]`},
		{"a CSP report", "application/csp-report", "", `{}`, 200, `{}`},
		{"a byte order mark", json, "", "\ufeff{}", 200, `{}`},
		{"nothing", json, "", "", 200, "null"},
		{"blanks", json, "", " ", 400, notJSON},
		{"a word", json, "", "a=1", 400, notJSON},
		{"cut off", json, "", `{"a":`, 400, bad(400, "SyntaxError", "Unexpected end of JSON input")},
		{"a prototype", json, "", `{"__proto__":1}`, 400, bad(400, "SyntaxError", "Object contains forbidden prototype property")},
		{"a type that is not read", "application/octet-stream", "", "{}", 200, "null"},
		{"text", "text/plain", "", "{}", 200, "null"},
		{"a type that is none", ";;", "", "{}", 200, "null"},
		{"a form", form, "", "data[a]=1+2&data.b=%21", 200, `{"data":{"a":"1 2","b":"!"}}`},
		{"a multipart form", multipart, "", "--b\r\nContent-Disposition: form-data; name=\"data[a]\"\r\n\r\n1\r\n--b--\r\n", 200, `{"data":{"a":"1"}}`},
		{"multipart with a file", multipart, "", "--b\r\nContent-Disposition: form-data; name=\"f\"; filename=\"x\"\r\n\r\n1\r\n--b--\r\n", 200, `{}`},
		{"multipart, cut off", multipart, "", "--b\r\nContent-Dis", 400, bad(400, "BadRequestError", "the multipart body is malformed")},
		{"multipart without a boundary", "multipart/form-data", "", "--b", 400, bad(400, "BadRequestError", "the multipart body has no boundary")},
		{"JSON as large as may be", json, "", text(1 << 20), 200, text(1 << 20)},
		{"JSON too large", json, "", text(1<<20 + 1), 413, tooLarge},
		{"a form too large", form, "", "a=" + strings.Repeat("x", 57343), 413, tooLarge},
		{"text too large", "text/plain", "", strings.Repeat("x", 57345), 413, tooLarge},
		{"gzip", json, "gzip", gzipped(`{"a":1}`), 200, `{"a":1}`},
		{"deflate", json, "deflate", deflated(`{"a":1}`), 200, `{"a":1}`},
		{"gzip, too large inside", json, "gzip", gzipped(text(1<<20 + 1)), 413, tooLarge},
		{"gzip that is none", json, "gzip", "{}", 400, bad(400, "BadRequestError", "the request body cannot be read")},
		{"gzip, cut off", json, "gzip", gzipped(text(1 << 10))[:20], 400, bad(400, "BadRequestError", "the request body cannot be read")},
		{"an unknown encoding", json, "foo", "{}", 415, bad(415, "Error", "Unsupported Content-Encoding: foo")},
	} {
		r := httptest.NewRequest("POST", "/api/things", strings.NewReader(test.body))
		r.Header.Set("Content-Type", test.kind)
		if test.encoding != "" {
			r.Header.Set("Content-Encoding", test.encoding)
		}
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, r)
		if w.Code != test.status || w.Body.String() != test.want {
			t.Errorf("%s: got %d %.200s, want %d %.200s", test.name, w.Code, w.Body, test.status, test.want)
		}
	}
}

// TestHostileBodies sends deeply nested and malformed bodies. None causes an internal error or a log line.
func TestHostileBodies(t *testing.T) {
	s, log := newServer(t, gateway.Config{})
	for name, body := range map[string]string{
		"arrays":  strings.Repeat("[", 10000),
		"objects": strings.Repeat(`{"a":`, 10000),
		"closed":  strings.Repeat("[", 10000) + strings.Repeat("]", 10000),
	} {
		r := httptest.NewRequest("POST", "/api/things", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, r)
		if w.Code != 400 {
			t.Errorf("10,000 nested %s: got %d, want 400", name, w.Code)
		}
	}
	for _, form := range []string{strings.Repeat("a[", 10000) + "=1", "a" + strings.Repeat("[b]", 10000) + "=1", strings.Repeat("a=1&", 10000), "\x00=\xff&%00%ff=%"} {
		r := httptest.NewRequest("POST", "/api/things", strings.NewReader(form))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, r)
		if w.Code >= 500 {
			t.Errorf("form %.20q: got %d", form, w.Code)
		}
	}
	if log.Len() > 0 {
		t.Errorf("logged: %s", log)
	}
}

func gzipped(s string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	io.WriteString(z, s)
	z.Close()
	return b.String()
}

func deflated(s string) string {
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	io.WriteString(z, s)
	z.Close()
	return b.String()
}

// TestInternalErrors compares the answer to an internal error with its log line: only the log has the cause.
func TestInternalErrors(t *testing.T) {
	const want = `{"data":null,"error":{"status":500,"name":"InternalServerError","message":"Internal Server Error"}}`
	for _, path := range []string{"/api/panic", "/api/broken"} {
		s, log := newServer(t, gateway.Config{})
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
	s, err := gateway.NewServer(gateway.Config{Limits: config.Limits{Concurrent: 1}}, gateway.Runtime{Routes: []gateway.Route{{
		Method: "GET", Path: "/wait", Open: true,
		Handle: func(http.ResponseWriter, *http.Request, *permission.Access) error {
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
	s, err := gateway.NewServer(gateway.Config{}, gateway.Runtime{Routes: []gateway.Route{{
		Method: "GET", Path: "/wait", Open: true,
		Handle: func(w http.ResponseWriter, _ *http.Request, _ *permission.Access) error {
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
			t.Errorf("%q: got %d %s %s, want %d %s %s", request, answer.StatusCode, answer.Header.Get("Content-Type"), body, status, kind, want)
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
	s, _ := newServer(t, gateway.Config{})
	if err := s.Swap(gateway.Runtime{Routes: []gateway.Route{{Method: "GET", Path: "no slash"}}}); err == nil {
		t.Error("a path without a slash was taken")
	}
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/api/things", nil))
	if w.Code != 200 {
		t.Errorf("after a runtime was refused: got %d, want 200", w.Code)
	}
	if err := s.Swap(gateway.Runtime{}); err != nil {
		t.Fatal(err)
	}
	w = httptest.NewRecorder()
	s.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/api/things", nil))
	if w.Code != 404 {
		t.Errorf("after the runtime was replaced: got %d, want 404", w.Code)
	}
}

// The server compresses long answers for clients that accept that, and sets Vary on answers that may be compressed.
func TestCompression(t *testing.T) {
	long := strings.Repeat("long ", 1000)
	answer := func(path string, header http.Header, body string) gateway.Route {
		return gateway.Route{Method: "GET", Path: path, Open: true, Handle: func(w http.ResponseWriter, _ *http.Request, _ *permission.Access) error {
			for name, values := range header {
				w.Header()[name] = values
			}
			if _, ok := w.(http.Flusher); !ok {
				t.Errorf("%s cannot be flushed", path)
			}
			_, err := io.WriteString(w, body)
			return err
		}}
	}
	s, err := gateway.NewServer(gateway.Config{Compress: true}, gateway.Runtime{Routes: []gateway.Route{
		answer("/long", http.Header{"Content-Length": {strconv.Itoa(len(long))}}, long),
		answer("/untold", nil, long),
		answer("/short", http.Header{"Content-Length": {"5"}}, "short"),
		answer("/picture", http.Header{"Content-Type": {"image/jpeg"}}, long),
		answer("/raw", http.Header{"No-Gzip-Compression": {"1"}}, long),
		answer("/varying", http.Header{"Vary": {"Origin", "Accept-Language"}}, long),
	}})
	if err != nil {
		t.Fatal(err)
	}
	const origin, both = "Origin", "Origin, Accept-Encoding"
	for _, c := range []struct{ method, path, accepted, encoding, vary string }{
		{"GET", "/long", "gzip", "gzip", both},
		{"GET", "/long", "gzip, deflate, br, zstd", "zstd", both},
		{"GET", "/long", "", "", both},
		{"HEAD", "/long", "", "", both},
		{"HEAD", "/long", "gzip, zstd", "zstd", both},
		{"HEAD", "/untold", "gzip", "gzip", both},
		{"HEAD", "/short", "gzip", "", origin},
		{"HEAD", "/raw", "gzip", "", origin},
		{"GET", "/untold", "gzip", "gzip", both},
		{"GET", "/untold", "", "", both},
		{"GET", "/short", "gzip", "", origin},
		{"GET", "/short", "", "", origin},
		{"GET", "/picture", "gzip", "", origin},
		{"GET", "/raw", "gzip", "", origin},
		{"GET", "/varying", "gzip", "gzip", "Origin, Accept-Language, Accept-Encoding"},
		{"GET", "/_health", "gzip", "", origin},
		{"GET", "/nowhere", "gzip", "", "Origin, Accept"}, // an error may be a problem
	} {
		r := httptest.NewRequest(c.method, c.path, nil)
		r.Header.Set("Accept-Encoding", c.accepted)
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, r)
		if got := w.Header().Get("Content-Encoding"); got != c.encoding {
			t.Errorf("%s %s, Accept-Encoding %q: encoded as %q, want %q", c.method, c.path, c.accepted, got, c.encoding)
		}
		if got := strings.Join(w.Header()["Vary"], ", "); got != c.vary {
			t.Errorf("%s %s, Accept-Encoding %q: Vary %q, want %q", c.method, c.path, c.accepted, got, c.vary)
		}
	}
}
