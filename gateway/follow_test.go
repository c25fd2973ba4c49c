package gateway_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"lectern/auth"
	"lectern/gateway"
	"lectern/internal/servertest"
)

// A replica is a server that follows another, for tests.
type replica struct {
	*testing.T
	dir, base string
	log       servertest.LogBuffer
	stop      func()
}

// follow serves a replica of the server at base until stop is called or the test ends.
func follow(t *testing.T, dir, base, key string) *replica { return followWith(t, dir, base, key, nil) }

func followWith(t *testing.T, dir, base, key string, x *gateway.Extensions) *replica {
	t.Helper()
	return serveReplica(t, dir, gateway.Options{Follow: &gateway.Follow{URL: base, Token: key}, Extensions: x})
}

// serveReplica serves the replica in dir until stop is called or the test ends.
func serveReplica(t *testing.T, dir string, o gateway.Options) *replica {
	t.Helper()
	r := &replica{T: t, dir: dir}
	ctx, cancel := context.WithCancel(context.Background())
	ready, done := make(chan gateway.Ready, 1), make(chan error, 1)
	go func() {
		o.Addr, o.Log, o.Ready = "127.0.0.1:0", slog.New(slog.NewTextHandler(&r.log, nil)),
			func(r gateway.Ready) { ready <- r }
		done <- gateway.Serve(ctx, dir, o)
	}()
	r.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the replica: %v", err)
		}
	})
	t.Cleanup(func() {
		r.stop()
		if t.Failed() {
			t.Log(r.log.String())
		}
	})
	select {
	case at := <-ready:
		r.base = at.Base
	case err := <-done:
		done <- nil
		t.Fatal(err)
	case <-time.After(20 * time.Second):
		t.Fatal("the replica does not serve: ", r.log.String())
	}
	return r
}

// equals waits until the replica answers requests as the origin does.
func (r *replica) equals(origin, key string, paths ...string) {
	r.Helper()
	for _, path := range paths {
		servertest.Await(r.T, "the replica answers GET "+path+" as the origin", func() error {
			want, wanted := get(r.T, origin+path, key)
			status, got := get(r.T, r.base+path, key)
			if want == http.StatusBadRequest {
				r.Fatalf("GET %s: the origin answers %d %s", path, want, wanted)
			}
			if status != want || got != wanted {
				return fmt.Errorf("%d %.300s\nthe origin: %d %.300s\n%s", status, got, want, wanted, r.log.String())
			}
			return nil
		})
	}
}

// TestReplicaAnswersAsItsOrigin changes content, permissions, tokens and definitions of a server, and expects the same
// answers of its replica, which is restarted in between, also while the server is gone.
func TestReplicaAnswersAsItsOrigin(t *testing.T) {
	e := newEditing(t)
	create := func(body string) {
		if status, answer := send(t, http.MethodPost, e.base+"/api/notes", e.key, body); status != 201 {
			t.Fatal(status, answer)
		}
	}
	for i := range 5 {
		create(fmt.Sprintf(`{"data":{"title":"note %[1]d","rank":%[1]d}}`, i))
	}
	dir := t.TempDir()
	r := follow(t, dir, e.base, e.key)
	reads := []string{"/api/notes", "/api/notes?sort=rank:desc&status=draft", "/graphql?query={notes{rank}}",
		"/api/i18n/locales", "/api/users-permissions/roles"}
	r.equals(e.base, e.key, reads...)
	r.equals(e.base, "", reads...)

	create(`{"data":{"title":"seventeen","rank":17}}`)
	r.equals(e.base, e.key, reads...)
	_, key, err := e.project.CreateToken(t.Context(), auth.Declaration{Name: "reader", Kind: auth.ReadOnly})
	e.must(err)
	r.equals(e.base, key, "/api/notes")
	if status, _ := get(t, r.base+"/api/notes", key); status != 200 {
		t.Errorf("a new token: %d", status)
	}

	e.expect("a new attribute", func() {
		e.write("content-types/note.yaml", noteFile("rank: {type: integer}", "word: {type: string, default: new}"))
	},
		"/api/notes?fields[0]=word", 200)
	create(`{"data":{"rank":18,"title":"eighteen","word":"x"}}`)
	r.equals(e.base, e.key, append(reads, "/api/notes?fields[0]=word", "/graphql?query={notes{word}}")...)
	e.expect("the public may read", func() {
		e.write("config/permissions.yaml", "roles: {public: {api::note.note: [find]}}\n")
	}, "/api/notes", 200)
	r.equals(e.base, "", reads...)
	if status, _ := get(t, r.base+"/api/notes", ""); status != 200 {
		t.Errorf("a permission that was granted: %d", status)
	}

	for _, write := range [][2]string{{"/api/notes", `{"data":{"title":"refused","rank":1}}`},
		{"/graphql", `{"query":"mutation{createNote(data:{title:\"refused\"}){rank}}"}`}} {
		if status, answer := send(t, http.MethodPost, r.base+write[0], e.key, write[1]); !strings.Contains(
			answer, "send them to "+e.base) {
			t.Errorf("POST %s: %d %s", write[0], status, answer)
		}
	}

	for _, path := range []string{"log?since=" + "0", "copy", "definitions", "files"} {
		for _, key := range []string{"", key} {
			if status, answer := get(t, e.base+"/api/_replica/"+path, key); status != 403 {
				t.Errorf("GET %s without permission: %d %.100s", path, status, answer)
			}
		}
	}

	r.stop()
	create(`{"data":{"title":"nineteen","rank":19}}`)
	r = follow(t, dir, e.base, e.key)
	r.equals(e.base, e.key, reads...)
	var served []string
	for _, path := range reads {
		_, answer := get(t, r.base+path, e.key)
		served = append(served, answer)
	}
	r.stop()
	e.close()
	r = follow(t, dir, e.base, e.key)
	for i, path := range reads {
		if _, answer := get(t, r.base+path, e.key); answer != served[i] {
			t.Errorf("without the origin, GET %s: %s, want %s", path, answer, served[i])
		}
	}
	answer, err := http.Get(r.base + "/_health")
	e.must(err)
	io.Copy(io.Discard, answer.Body)
	answer.Body.Close()
	if _, err := strconv.Atoi(answer.Header.Get("Lectern-Replica-Age")); err != nil || answer.StatusCode != 204 {
		t.Errorf("GET /_health: %s %v", answer.Status, answer.Header)
	}
}

// TestPromotedReplicaTakesWrites makes a replica an origin, and expects it to take writes, and replicas of either to
// begin anew with its content.
func TestPromotedReplicaTakesWrites(t *testing.T) {
	e := newEditing(t)
	write := func(base, title string) {
		t.Helper()
		if status, answer := send(t, http.MethodPost, base+"/api/notes", e.key, `{"data":{"title":"`+title+
			`"}}`); status != 201 {
			t.Fatal(status, answer)
		}
	}
	write(e.base, "first")
	const reads = "/api/notes?status=draft"
	promoted, other := t.TempDir(), t.TempDir()
	r := follow(t, promoted, e.base, e.key)
	r.equals(e.base, e.key, reads)
	if err := gateway.Promote(promoted, gateway.Options{}, false); err == nil {
		t.Error("a replica was promoted while it was served")
	}
	second := follow(t, other, r.base, e.key) // a replica of a replica
	write(e.base, "second")
	second.equals(e.base, e.key, reads)
	second.stop()
	r.stop()

	write(e.base, "never replicated")
	part := filepath.Join(promoted, "data", "uploads", ".fetched")
	e.must(os.MkdirAll(part, 0o700))
	e.must(os.WriteFile(filepath.Join(part, "part"), []byte("half a fi"), 0o600))
	if err := gateway.Promote(promoted, gateway.Options{}, false); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(part); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s is left: %v", part, err)
	}
	if err := gateway.Promote(promoted, gateway.Options{}, false); err == nil {
		t.Error("an origin was promoted")
	}
	made, _ := run(t, promoted, gateway.Options{}, nil)
	write(made.Base, "by the new origin")
	second = follow(t, other, made.Base, e.key)
	second.equals(made.Base, e.key, reads)
	if !strings.Contains(second.log.String(), "begins anew") {
		t.Error("a replica went on after the promotion: ", second.log.String())
	}
	write(made.Base, "later")
	second.equals(made.Base, e.key, reads)
	second.stop()

	back := follow(t, other, e.base, e.key)
	back.equals(e.base, e.key, reads)
}

// TestReplicaServesTheFilesOfItsOrigin uploads and deletes files, and expects a replica to serve them as its origin
// does: at once if somebody asks, and also without the origin.
func TestReplicaServesTheFilesOfItsOrigin(t *testing.T) {
	e := newEditing(t)
	upload := func(name, text string) (url string) {
		t.Helper()
		var body bytes.Buffer
		form := multipart.NewWriter(&body)
		file, err := form.CreateFormFile("files", name)
		e.must(err)
		_, err = io.WriteString(file, text)
		e.must(errors.Join(err, form.Close()))
		r, err := http.NewRequest(http.MethodPost, e.base+"/api/upload", &body)
		e.must(err)
		r.Header.Set("Content-Type", form.FormDataContentType())
		r.Header.Set("Authorization", "Bearer "+e.key)
		answer, err := http.DefaultClient.Do(r)
		e.must(err)
		defer answer.Body.Close()
		var files []struct{ URL string }
		if e.must(json.NewDecoder(answer.Body).Decode(&files)); len(files) != 1 {
			t.Fatal(answer.Status)
		}
		return files[0].URL
	}
	long := strings.Repeat("a long line of a file\n", 20_000)
	first := upload("first.txt", long)
	dir := t.TempDir()
	r := follow(t, dir, e.base, e.key)
	r.equals(e.base, "", first)
	second := upload("second.txt", "short")
	r.equals(e.base, e.key, "/api/upload/files", second)
	for _, url := range []string{first, second} {
		want, err := http.Head(e.base + url)
		e.must(err)
		got, err := http.Head(r.base + url)
		e.must(err)
		if got.Header.Get("ETag") != want.Header.Get("ETag") ||
			got.Header.Get("Content-Type") != want.Header.Get("Content-Type") {
			t.Errorf("%s: %v, want %v", url, got.Header, want.Header)
		}
	}
	third := upload("third.txt", long+"more")
	awaitFile(t, filepath.Join(dir, "data", filepath.FromSlash(third)), true) // in the background
	if status, answer := send(t, http.MethodDelete, e.base+"/api/upload/files/1", e.key, ""); status != 200 {
		t.Fatal(status, answer)
	}
	awaitFile(t, filepath.Join(dir, "data", filepath.FromSlash(first)), false)

	// The origin loses its files, but not their documents. The replica keeps them, and removes others.
	r.stop()
	e.must(os.RemoveAll(filepath.Join(e.dir, "data", "uploads")))
	other := filepath.Join(dir, "data", "uploads", "z.txt") // the last to be looked at
	e.must(os.WriteFile(other, nil, 0o600))
	r = follow(t, dir, e.base, e.key)
	awaitFile(t, other, false)
	awaitFile(t, filepath.Join(dir, "data", filepath.FromSlash(third)), true)
	r.stop()
	e.close()
	r = follow(t, dir, e.base, e.key)
	if status, text := get(t, r.base+third, ""); status != 200 || text != long+"more" {
		t.Errorf("without the origin: %d, %d bytes", status, len(text))
	}
	if status, _ := get(t, r.base+first, ""); status != 404 {
		t.Errorf("a file that was deleted: %d", status)
	}
}

// awaitFile waits until there is a file, or until there is none.
func awaitFile(t *testing.T, name string, there bool) {
	t.Helper()
	servertest.Until(t, fmt.Sprintf("%s is there: %v", name, there), func() bool {
		_, err := os.Stat(name)
		return (err == nil) == there
	})
}

// TestHalfConvertedReplicaNeedsItsOrigin starts a replica whose definition files do not fit its content, as if it had
// been killed during a conversion. It must say that it needs its origin, and serve once it has a copy.
func TestHalfConvertedReplicaNeedsItsOrigin(t *testing.T) {
	e := newEditing(t)
	dir := t.TempDir()
	r := follow(t, dir, e.base, e.key)
	r.equals(e.base, e.key, "/api/notes")
	r.stop()
	served := filepath.Join(dir, "data", "replica", "served.json")
	text, err := os.ReadFile(served)
	e.must(err)
	e.must(os.WriteFile(served, bytes.ReplaceAll(text, []byte("rank:"), []byte("other:")), 0o600))

	ctx, cancel := context.WithCancel(t.Context())
	log := logTrigger{text: "the origin cannot be copied yet", found: cancel}
	err = gateway.Serve(ctx, dir, gateway.Options{
		Addr: "127.0.0.1:0", Follow: &gateway.Follow{URL: "http://127.0.0.1:1", Token: e.key}, LogTo: &log,
	})
	if !errors.Is(err, context.Canceled) || !strings.Contains(log.String(), "stopped while its content was converted") {
		t.Errorf("without the origin: %v; %s", err, log.String())
	}
	if p, err := gateway.Open(dir, gateway.Options{LogTo: io.Discard}); err == nil ||
		!strings.Contains(err.Error(), "lectern promote") {
		if err == nil {
			p.Close()
		}
		t.Errorf("opened: %v", err)
	}
	r = follow(t, dir, e.base, e.key)
	r.equals(e.base, e.key, "/api/notes")
}

// A logTrigger is a log that calls found when a text is in it.
type logTrigger struct {
	servertest.LogBuffer
	text  string
	found func()
}

func (l *logTrigger) Write(line []byte) (int, error) {
	if strings.Contains(string(line), l.text) {
		l.found()
	}
	return l.LogBuffer.Write(line)
}

// TestReplicaServesOldContentUntilItsCopyWorks has the routes of a replica fail once when it begins anew with a copy.
// It must serve the former content meanwhile and try again.
func TestReplicaServesOldContentUntilItsCopyWorks(t *testing.T) {
	e := newEditing(t)
	dir := t.TempDir()
	var fails atomic.Bool
	var x gateway.Extensions
	x.Middleware("fails", func(any) (gateway.Middleware, error) {
		if fails.CompareAndSwap(true, false) {
			return nil, errors.New("out of order")
		}
		return func(next http.Handler) http.Handler { return next }, nil
	})
	x.Route("api::note.note.find", gateway.RouteConfig{Middlewares: []gateway.MiddlewareUse{{Name: "fails"}}})
	r := followWith(t, dir, e.base, e.key, &x)
	r.equals(e.base, e.key, "/api/notes")
	fails.Store(true)
	e.must(e.project.Store().BeginEpoch(t.Context()))
	servertest.Until(t, "the replica begins anew", func() bool { return strings.Contains(r.log.String(), "out of order") })
	if status, answer := get(t, r.base+"/api/notes", e.key); status != 200 {
		t.Errorf("meanwhile: %d %s", status, answer)
	}
	if status, answer := send(t, http.MethodPost, e.base+"/api/notes", e.key,
		`{"data":{"title":"later"}}`); status != 201 {
		t.Fatal(status, answer)
	}
	r.equals(e.base, e.key, "/api/notes?status=draft")
}
