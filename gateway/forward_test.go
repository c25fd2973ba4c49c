package gateway_test

import (
	"bytes"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"lectern/gateway"
)

// A waypoint lies between a replica and its origin. What it does with writes can be changed.
type waypoint struct {
	*httptest.Server
	writes atomic.Pointer[http.HandlerFunc] // nil: they pass
}

func newWaypoint(t *testing.T, origin string) *waypoint {
	w := &waypoint{}
	to, err := url.Parse(origin)
	if err != nil {
		t.Fatal(err)
	}
	pass := httputil.NewSingleHostReverseProxy(to)
	pass.FlushInterval = -1
	w.Server = httptest.NewServer(http.HandlerFunc(func(a http.ResponseWriter, r *http.Request) {
		if handle := w.writes.Load(); handle != nil && r.Method != http.MethodGet {
			(*handle)(a, r)
			return
		}
		pass.ServeHTTP(a, r)
	}))
	t.Cleanup(w.CloseClientConnections)
	return w
}

// writing sends a request, and returns the answer with its text.
func (r *replica) writing(method, path, key, kind string, body []byte, headers ...string) (*http.Response, string) {
	r.Helper()
	request, err := http.NewRequest(method, r.base+path, bytes.NewReader(body))
	if err != nil {
		r.Fatal(err)
	}
	request.Header.Set("Content-Type", kind)
	if key != "" {
		request.Header.Set("Authorization", "Bearer "+key)
	}
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		r.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		r.Fatal(err)
	}
	return answer, string(text)
}

// TestForwardedWritesAreThoseOfTheOrigin sends writes to a replica that forwards them, and reads them there as soon as
// they are answered.
func TestForwardedWritesAreThoseOfTheOrigin(t *testing.T) {
	e := newEditing(t)
	between := newWaypoint(t, e.base)
	dir := t.TempDir()
	settings := filepath.Join(dir, "config", "server.yaml")
	e.must(os.MkdirAll(filepath.Dir(settings), 0o700))
	e.must(os.WriteFile(settings,
		[]byte("replica: {url: "+between.URL+", token: '${KEY_OF_ORIGIN}', writes: forward}\n"), 0o600))
	t.Setenv("KEY_OF_ORIGIN", e.key)
	r := serveReplica(t, dir, gateway.Options{})

	var upload bytes.Buffer
	form := multipart.NewWriter(&upload)
	part, err := form.CreateFormFile("files", "words.txt")
	e.must(err)
	_, err = part.Write(bytes.Repeat([]byte("words "), 100_000))
	e.must(err)
	e.must(form.Close())

	_, created := r.writing("POST", "/api/notes", e.key, "application/json",
		[]byte(`{"data":{"title":"to be changed","rank":50}}`))
	note := "/api/notes/" + regexp.MustCompile(`"documentId":"([a-z0-9]+)"`).FindStringSubmatch(created)[1]
	for _, c := range []struct {
		name, method, path, key, kind, body string
		status                              int
		answers                             string
		read, shows                         string
	}{
		{"create", "POST", "/api/notes", e.key, "application/json", `{"data":{"title":"by rest","rank":41}}`, 201,
			`"rank":41`, "/api/notes?filters[rank]=41", "by rest"},
		{"update", "PUT", note, e.key, "application/json", `{"data":{"title":"changed"}}`, 200, `"title":"changed"`,
			note, `"title":"changed"`},
		{"delete", "DELETE", note, e.key, "", "", 204, "", "/api/notes?filters[rank]=50", `"data":[]`},
		{"mutation", "POST", "/graphql", e.key, "application/json",
			`{"query":"mutation M($t:String!){createNote(data:{title:$t,rank:42}){rank}}","variables":{"t":"by graphql"}}`, 200, `"rank":42`, "/api/notes?filters[rank]=42", "by graphql"},
		{"upload", "POST", "/api/upload", e.key, form.FormDataContentType(), upload.String(), 201, `"words.txt"`,
			"/api/upload/files", "words.txt"},
		{"batch", "POST", "/api/_batch", e.key, "application/json",
			`{"operations":[{"op":"create","type":"notes","data":{"title":"by batch","rank":44}}]}`, 200, `"rank":44`,
			"/api/notes?filters[rank]=44", "by batch"},
		{"invalid", "POST", "/api/notes", e.key, "application/json", `{"data":{"rank":"many"}}`, 400, "ValidationError",
			"", ""},
		{"forbidden", "POST", "/api/notes", "", "application/json", `{"data":{"title":"no"}}`, 403, "Forbidden", "",
			""},
	} {
		t.Run(c.name, func(t *testing.T) {
			answer, text := r.writing(c.method, c.path, c.key, c.kind, []byte(c.body), "Origin",
				"http://localhost:3000")
			for _, name := range []string{"Vary", "Access-Control-Allow-Origin"} { // both servers set them
				lines := answer.Header[name]
				values := strings.Split(strings.Join(lines, ", "), ", ")
				if len(lines) == 0 || len(slices.Compact(slices.Sorted(slices.Values(values)))) != len(values) {
					t.Errorf("%s: %q", name, lines)
				}
			}
			forwarded := ""
			if c.status < 400 {
				forwarded = "applied"
			}
			if answer.StatusCode != c.status || !strings.Contains(text, c.answers) ||
				answer.Header.Get("Lectern-Forwarded") != forwarded {
				t.Fatalf("%d %v %.300s", answer.StatusCode, answer.Header, text)
			}
			if got := answer.Header["X-Request-Id"]; len(got) != 1 {
				t.Errorf("X-Request-Id: %q", got)
			}
			if c.read == "" {
				return
			}
			if status, shown := get(t, r.base+c.read, c.key); status != 200 || !strings.Contains(shown, c.shows) {
				t.Errorf("read at the replica: %d %.300s", status, shown)
			}
		})
	}
	if answer, text := r.writing("POST", "/graphql", e.key, "application/json",
		[]byte(`{"query":"{notes{rank}}"}`)); answer.Header.Get("Lectern-Forwarded") != "" || answer.StatusCode != 200 {
		t.Errorf("a query was forwarded: %d %s", answer.StatusCode, text)
	}

	_, text := r.writing("POST", "/api/notes", e.key, "application/json", []byte(`{"data":{"title":"versioned"}}`))
	note = "/api/notes/" + regexp.MustCompile(`"documentId":"(\w+)"`).FindStringSubmatch(text)[1]
	read, _ := r.writing("GET", note, e.key, "", nil)
	for _, want := range []int{200, 412} {
		if answer, text := r.writing("PUT", note, e.key, "application/json", []byte(`{"data":{"title":"changed"}}`),
			"If-Match", read.Header.Get("ETag")); answer.StatusCode != want {
			t.Errorf("PUT with If-Match %s: %d %s, want %d", read.Header.Get("ETag"), answer.StatusCode, text, want)
		}
	}

	const body = `{"data":{"title":"never","rank":43}}`
	handle := func(f http.HandlerFunc) { between.writes.Store(&f) }
	handle(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	if answer, text := r.writing("POST", "/api/notes", e.key, "application/json",
		[]byte(body)); answer.StatusCode != 503 || !strings.Contains(text, `"outcome":"unknown"`) ||
		answer.Header.Get("Retry-After") == "" {
		t.Errorf("the origin hangs up: %d %s", answer.StatusCode, text)
	}
	handle(func(_ http.ResponseWriter, q *http.Request) {
		to, _ := url.Parse(e.base)
		httputil.NewSingleHostReverseProxy(to).ServeHTTP(httptest.NewRecorder(), q)
		panic(http.ErrAbortHandler)
	})
	if answer, text := r.writing("POST", "/api/notes", e.key, "application/json",
		[]byte(`{"data":{"title":"once","rank":44}}`)); answer.StatusCode != 503 ||
		!strings.Contains(text, `"outcome":"unknown"`) {
		t.Errorf("the answer of the origin is lost: %d %s", answer.StatusCode, text)
	}
	r.equals(e.base, e.key, "/api/notes?filters[rank]=44")
	if _, text := get(t, r.base+"/api/notes?filters[rank]=44", e.key); strings.Count(text, `"once"`) != 1 {
		t.Errorf("a write whose answer was lost: %s", text)
	}
	handle(func(w http.ResponseWriter, q *http.Request) {
		to, _ := url.Parse(r.base)
		httputil.NewSingleHostReverseProxy(to).ServeHTTP(w, q)
	})
	if answer, text := r.writing("POST", "/api/notes", e.key, "application/json",
		[]byte(body)); answer.StatusCode != 508 {
		t.Errorf("a replica that forwards to itself: %d %s", answer.StatusCode, text)
	}
	between.CloseClientConnections()
	e.must(between.Listener.Close())
	r.writing("POST", "/api/notes", e.key, "application/json",
		[]byte(body)) // over a connection whose end the replica may not have noticed yet
	if answer, text := r.writing("POST", "/api/notes", e.key, "application/json",
		[]byte(body)); answer.StatusCode != 503 || !strings.Contains(text, `"outcome":"refused"`) {
		t.Errorf("the origin is gone: %d %s", answer.StatusCode, text)
	}
	if status, text := get(t, r.base+"/api/notes?filters[rank]=42", e.key); status != 200 ||
		!strings.Contains(text, "by graphql") {
		t.Errorf("a read without the origin: %d %s", status, text)
	}

	r.stop()
	if err := gateway.Promote(dir, gateway.Options{}, false); err == nil ||
		!strings.Contains(err.Error(), "remove replica") {
		t.Errorf("promoted a replica whose settings follow a server: %v", err)
	}
}

// TestWritesAreForwardedThroughReplicas writes to a replica of a replica. Both forward the write, and both show it when
// it is answered. The origin is told by which addresses it came.
func TestWritesAreForwardedThroughReplicas(t *testing.T) {
	e := newEditing(t)
	between := newWaypoint(t, e.base)
	forwards := func(to string) *replica {
		return serveReplica(
			t, t.TempDir(), gateway.Options{Follow: &gateway.Follow{URL: to, Token: e.key, Forward: true}})
	}
	near := forwards(between.URL)
	far := forwards(near.base)
	var headers http.Header
	record := http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		headers = q.Header.Clone()
		to, _ := url.Parse(e.base)
		httputil.NewSingleHostReverseProxy(to).ServeHTTP(w, q)
	})
	between.writes.Store(&record)
	request, err := http.NewRequest("POST", far.base+"/api/notes",
		strings.NewReader(`{"data":{"title":"from afar","rank":60}}`))
	e.must(err)
	request.Header = http.Header{"Content-Type": {"application/json"}, "Authorization": {"Bearer " + e.key},
		"X-Forwarded-For": {"203.0.113.9"}}
	answer, err := http.DefaultClient.Do(request)
	e.must(err)
	answer.Body.Close()
	if answer.StatusCode != 201 || answer.Header.Get("Lectern-Forwarded") != "applied" {
		t.Errorf("%d %v", answer.StatusCode, answer.Header)
	}
	if got := headers.Get("X-Forwarded-For"); got != "203.0.113.9, 127.0.0.1, 127.0.0.1" {
		t.Errorf("X-Forwarded-For: %q", got)
	}
	if got := headers["Via"]; len(got) != 2 {
		t.Errorf("Via: %q", got)
	}
	for name, r := range map[string]*replica{"near": near, "far": far} {
		if status, text := get(t, r.base+"/api/notes?filters[rank]=60", e.key); status != 200 ||
			!strings.Contains(text, "from afar") {
			t.Errorf("read at the %s replica: %d %s", name, status, text)
		}
	}
}
