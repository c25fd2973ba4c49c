package remote_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"lectern/internal/servertest"
	"lectern/jsontree"
	"lectern/strapi/archive"
	"lectern/strapi/remote"
)

const kitchen = "../../testdata/conformance/projects/kitchen"

// serve serves the kitchen project with content.
func serve(t *testing.T, n int) site {
	t.Helper()
	ready := servertest.Serve(t, kitchen, nil)
	s := site{t, ready.Base, ready.Tokens["full"]}
	s.fill(n)
	return s
}

// front serves what s does, and the routes of Strapi's content-type builder, which answer as Strapi does for the
// kitchen project. between gets each request first, and the handler that would answer it. It may be nil.
func front(t *testing.T, s site, between func(http.ResponseWriter, *http.Request, http.Handler)) site {
	t.Helper()
	base, err := url.Parse(s.base)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(base)
	proxy.ErrorLog = log.New(io.Discard, "", 0) // clients that hang up
	mux := http.NewServeMux()
	mux.Handle("/", proxy)
	mux.HandleFunc("GET /api/content-type-builder/{part}", func(w http.ResponseWriter, r *http.Request) {
		http.ServeFile(w, r, "testdata/"+r.PathValue("part")+".json")
	})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if between != nil {
			between(w, r, mux)
			return
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return site{t, server.URL, s.key}
}

// A fakeClock is a clock whose sleepers wake at once.
type fakeClock struct {
	mu    sync.Mutex
	now   time.Time
	slept []time.Duration
}

func newFakeClock() *fakeClock {
	return &fakeClock{now: time.Date(2030, 5, 1, 12, 0, 0, 0, time.UTC)}
}

func (c *fakeClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *fakeClock) Sleep(ctx context.Context, d time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	c.slept = append(c.slept, d)
	return ctx.Err()
}

// read reads a site into dir and fails the test if that fails.
func read(t *testing.T, s site, dir string, change func(*remote.Options)) *remote.Report {
	t.Helper()
	report, err := tryRead(t, s, dir, change)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func tryRead(t *testing.T, s site, dir string, change func(*remote.Options)) (*remote.Report, error) {
	o := remote.Options{URL: s.base, Token: s.key, PageSize: 5, Clock: newFakeClock()}
	if change != nil {
		change(&o)
	}
	return remote.Read(t.Context(), dir, o)
}

// content returns the lines of an archive, sorted, and its assets with their side-cars.
func content(t *testing.T, dir string) []string {
	t.Helper()
	a, err := archive.Open(t.Context(), remote.Archive(dir), archive.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	var all []string
	add := func(err error, v any) {
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, string(text))
	}
	for e, err := range a.Entities(t.Context()) {
		add(err, []any{e.Type, e.ID, jsontree.Plain(e.Data)})
	}
	var links []archive.Link
	for l, err := range a.Links(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		links = append(links, l)
	}
	rank(links, func(l *archive.Link) *archive.End { return &l.Left })
	rank(links, func(l *archive.Link) *archive.End { return &l.Right })
	for _, l := range links {
		add(nil, l)
	}
	for c, err := range a.Configuration(t.Context()) {
		add(err, jsontree.Plain(c.Value))
	}
	for s, err := range a.Schemas(t.Context()) {
		add(err, jsontree.Plain(s.Data))
	}
	if err := a.Assets(t.Context(), func(asset archive.Asset) error {
		body, err := io.ReadAll(asset.Content)
		add(err, []any{asset.Name, body, jsontree.Plain(asset.Sidecar)})
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	slices.Sort(all)
	return all
}

// rank replaces the positions of one end of links by their ranks in each list, since only their order counts.
func rank(links []archive.Link, end func(*archive.Link) *archive.End) {
	lists := map[string][]float64{}
	key := func(l *archive.Link) string {
		e := end(l)
		return fmt.Sprint(e.Type, e.ID, e.Field, l.Left.Type, l.Right.Type)
	}
	for i := range links {
		lists[key(&links[i])] = append(lists[key(&links[i])], end(&links[i]).Pos)
	}
	for k := range lists {
		slices.Sort(lists[k])
		lists[k] = slices.Compact(lists[k])
	}
	for i := range links {
		n, _ := slices.BinarySearch(lists[key(&links[i])], end(&links[i]).Pos)
		end(&links[i]).Pos = float64(n)
	}
}

// same fails the test if an archive has other content than it should.
func same(t *testing.T, want []string, dir string) {
	t.Helper()
	if diff := cmp.Diff(want, content(t, dir)); diff != "" {
		t.Errorf("the archive differs (-want +got):\n%s", diff)
	}
}

// A noTransport fails the test at each request.
type noTransport struct{ *testing.T }

func (t noTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	t.Errorf("there was a request for %s", r.URL)
	return nil, errors.New("no request is expected")
}

func TestRead(t *testing.T) {
	s := serve(t, 6)
	dir := t.TempDir()
	first := front(t, s, nil)
	report := read(t, first, dir, nil)
	want := content(t, dir)
	counts := map[string]int64{"api::category.category": 9, "api::homepage.homepage": 3, "api::meal-plan.meal-plan": 10,
		"api::menu.menu":     4,
		"api::person.person": 4, "api::restaurant.restaurant": 15, "api::review.review": 6, "api::setting.setting": 1,
		"plugin::i18n.locale": 3,
		"plugin::upload.file": 3, "plugin::users-permissions.permission": 27, "plugin::users-permissions.role": 2,
		"plugin::users-permissions.user": 2}
	if diff := cmp.Diff(counts, report.Rows); diff != "" || report.Files != 4 || report.Reread != 0 {
		t.Errorf("%d files, %d rows read again, rows (-want +got):\n%s", report.Files, report.Reread, diff)
	}
	t.Run("moved in", func(t *testing.T) { testMovedIn(t, s, dir, want) })
	t.Run("pages of one row, and short queries", func(t *testing.T) {
		dir := t.TempDir()
		read(t, front(t, s, nil), dir, func(o *remote.Options) { o.PageSize, o.MaxQuery = 1, 150 })
		same(t, want, dir)
	})
	t.Run("answers that are too large", func(t *testing.T) {
		dir := t.TempDir()
		read(t, front(t, s, nil), dir, func(o *remote.Options) { o.MaxAnswer, o.PageSize = 7500, 100 })
		same(t, want, dir)
	})
	t.Run("failures that pass", func(t *testing.T) { testFailures(t, s, want) })
	t.Run("goes on after an interruption", func(t *testing.T) { testResume(t, s, want) })
	t.Run("complete already", func(t *testing.T) {
		again := read(t, first, dir, func(o *remote.Options) { o.Transport = noTransport{t} })
		if diff := cmp.Diff(report, again); diff != "" {
			t.Errorf("another report (-want +got):\n%s", diff)
		}
		if _, err := tryRead(t, s, dir, nil); err == nil || !strings.Contains(err.Error(), "another server") {
			t.Errorf("a directory of another server: %v", err)
		}
	})
	t.Run("hostile", func(t *testing.T) { testHostile(t, s) })
	t.Run("refused", func(t *testing.T) { testRefused(t, s) })
	t.Run("token", func(t *testing.T) { testToken(t, s) })
	t.Run("changes", func(t *testing.T) { testChanges(t, s) }) // the last, since it changes content
}

// testFailures lets each request fail once, in one of several ways.
func testFailures(t *testing.T, s site, want []string) {
	var mu sync.Mutex
	seen := map[string]bool{}
	f := front(t, s, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		mu.Lock()
		first := !seen[r.URL.String()]
		seen[r.URL.String()] = true
		kind := len(seen) % 6
		if kind == 5 && strings.HasPrefix(r.URL.Path, "/uploads/") { // nobody could notice
			kind = 4
		}
		mu.Unlock()
		if !first {
			next.ServeHTTP(w, r)
			return
		}
		fail(w, r, next, kind)
	})
	dir, clock := t.TempDir(), newFakeClock()
	read(t, f, dir, func(o *remote.Options) { o.Clock = clock })
	same(t, want, dir)
	if longest := slices.Max(clock.slept); longest < 70*time.Second || longest > 80*time.Second {
		t.Errorf("the longest pause took %s; a server has asked for 70 s", longest)
	}
}

// fail answers a request in one of six wrong ways.
func fail(w http.ResponseWriter, r *http.Request, next http.Handler, kind int) {
	switch kind {
	case 0:
		w.Header().Set("Retry-After", "70")
		http.Error(w, "slow down", http.StatusTooManyRequests)
	case 1:
		http.Error(w, "restarting", http.StatusServiceUnavailable)
	case 2:
		http.Error(w, "no upstream", http.StatusBadGateway)
	case 3: // resets the connection
		conn, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			conn.(*net.TCPConn).SetLinger(0)
			conn.Close()
		}
	case 4: // cuts the answer off, and says so by its length
		answer := httptest.NewRecorder()
		next.ServeHTTP(answer, r)
		w.Header().Set("Content-Length", strconv.Itoa(answer.Body.Len()))
		w.Write(answer.Body.Bytes()[:answer.Body.Len()/2])
	case 5: // cuts it off silently
		w.Header().Set("Content-Type", "application/json")
		w.Write([]byte(`{"data":[{"id":1,`))
	}
}

// testResume ends runs after a growing number of requests. No page or file that has arrived may be asked for again.
func testResume(t *testing.T, s site, want []string) {
	dir := t.TempDir()
	var mu sync.Mutex
	left := 0
	answered := map[string]int{}
	f := front(t, s, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		mu.Lock()
		left--
		refuse := left < 0
		if !refuse && (strings.Contains(r.URL.RawQuery, "populate") || strings.HasPrefix(r.URL.Path, "/uploads/")) &&
			!strings.HasPrefix(r.URL.Path, "/api/homepage") {
			answered[r.URL.String()]++
		}
		mu.Unlock()
		if refuse {
			http.Error(w, "gone for good", http.StatusTeapot)
			return
		}
		next.ServeHTTP(w, r)
	})
	runs := 0
	for ; ; runs++ {
		mu.Lock()
		left = 10 + 5*runs
		mu.Unlock()
		if _, err := tryRead(t, f, dir, func(o *remote.Options) { o.Concurrency = 1 }); err == nil {
			break
		} else if !strings.Contains(err.Error(), "418") {
			t.Fatal(err)
		}
	}
	if runs < 5 {
		t.Errorf("there were only %d interruptions", runs)
	}
	for url, n := range answered {
		if n > 1 {
			t.Errorf("%s was answered %d times", url, n)
		}
	}
	same(t, want, dir)
}

func testRefused(t *testing.T, s site) {
	for _, c := range []struct {
		name   string
		path   string
		status int
		want   string
	}{
		{"a token that is unknown", "/api/menus", 401, "the server does not know the token"},
		{"a permission that is missing", "/api/menus", 403, "the token lacks the permission api::menu.menu.find"},
		{"locales that may not be read", "/api/i18n/locales", 403, "plugin::i18n.locales.listLocales"},
		{"definitions that may not be read", "/api/content-type-builder/components", 403,
			"name the directory of the Strapi project"},
		{"a type without routes", "/api/menus", 404, "GET /api/menus: 404"},
		{"a query that is refused", "/api/menus", 400, "GET /api/menus: 400"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var requests atomic.Int64
			f := front(t, s, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				if r.URL.Path == c.path {
					requests.Add(1)
					w.WriteHeader(c.status)
					return
				}
				next.ServeHTTP(w, r)
			})
			_, err := tryRead(t, f, t.TempDir(), func(o *remote.Options) { o.Concurrency = 1 })
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
			if requests.Load() != 1 {
				t.Errorf("%d requests, want 1", requests.Load())
			}
		})
	}
}

// testToken checks that only the server gets the token, and that it is not stored.
func testToken(t *testing.T, s site) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			t.Errorf("%s got the token", r.URL)
		}
		w.Write([]byte("the content"))
	}))
	defer elsewhere.Close()
	f := front(t, s, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if strings.HasPrefix(r.URL.Path, "/uploads/") {
			if r.Header.Get("Authorization") != "" {
				t.Error("a request for a file has the token")
			}
			http.Redirect(w, r, elsewhere.URL+r.URL.Path, http.StatusFound)
			return
		}
		next.ServeHTTP(w, r)
	})
	dir := t.TempDir()
	report := read(t, f, dir, nil)
	if !strings.Contains(report.String(), "it has 11 bytes") {
		t.Errorf("the report does not name a file of another size:\n%s", report)
	}
	if err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if bytes.Contains(text, []byte(s.key)) {
			t.Errorf("%s has the token", path)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	away := front(t, s, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		http.Redirect(w, r, elsewhere.URL+r.URL.Path, http.StatusFound)
	})
	if _, err := tryRead(t, away, t.TempDir(), nil); err == nil ||
		!strings.Contains(err.Error(), "the server redirects to "+elsewhere.URL) ||
		strings.Contains(err.Error(), s.key) {
		t.Errorf("a redirect of an API request: %v", err)
	}
}

// testChanges changes content while it is read.
func testChanges(t *testing.T, s site) {
	var mu sync.Mutex
	step := 0
	f := front(t, s, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		next.ServeHTTP(w, r)
		mu.Lock()
		defer mu.Unlock()
		if r.URL.Path != "/api/restaurants" || r.URL.Query().Get("status") != "published" {
			return
		}
		if step++; step == 2 { // the first page of the published ones has arrived
			s.change()
		}
	})
	dir := t.TempDir()
	report := read(t, f, dir, func(o *remote.Options) { o.Concurrency = 1 })
	if report.Reread == 0 {
		t.Error("no row was read again")
	}
	after := t.TempDir()
	read(t, front(t, s, nil), after, nil)
	same(t, content(t, after), dir)
}

// change edits, publishes, adds and removes documents.
func (s site) change() {
	s.t.Helper()
	ids := map[string]string{}
	for _, row := range s.send("GET", "/api/restaurants?status=draft&pagination[pageSize]=100", nil).(values)["data"].([]any) {
		ids[row.(values)["name"].(string)] = row.(values)["documentId"].(string)
	}
	s.write("PUT", "/api/restaurants/"+ids["Restaurant 1"], values{"name": "Changed", "seats": 77})
	s.write("PUT", "/api/restaurants/"+ids["Edited 0"], values{}) // publishes the draft
	s.send("DELETE", "/api/restaurants/"+ids["Restaurant 3"], nil)
	s.write("POST", "/api/restaurants", values{"name": "New"})
	s.write("PUT", "/api/setting", values{"siteName": "Changed"})
	for _, row := range s.send("GET", "/api/categories", nil).(values)["data"].([]any) {
		s.write("PUT", "/api/categories/"+row.(values)["documentId"].(string), values{"position": 9})
		break
	}
}
