package gateway_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"lectern/auth"
	"lectern/documents"
	"lectern/documents/permission"
	"lectern/gateway"
	"lectern/internal/yamlfile"
	"lectern/jsontree"
	"lectern/store"
	"lectern/store/evolve"
)

// TestChangedFilesAreServed changes files in the ways that editors and tools do.
func TestChangedFilesAreServed(t *testing.T) {
	e := newEditing(t)
	const note = "/api/notes"
	field := func(name string) string { return note + "?fields[0]=" + name }
	e.expect("a file is renamed into place",
		func() { e.write("content-types/note.yaml", noteFile("one: {type: string}")) }, field("one"), 200)
	e.expect("a file is written where it stands", func() {
		e.must(os.WriteFile(e.path("content-types/note.yaml"), []byte(noteFile("two: {type: string}")), 0o644))
	}, field("two"), 200)
	e.expect("a file is moved aside first, and written anew", func() {
		e.must(os.Rename(e.path("content-types/note.yaml"), e.path("content-types/note.yaml~")))
		e.must(os.WriteFile(e.path("content-types/note.yaml"), []byte(noteFile("three: {type: string}")), 0o644))
	}, field("three"), 200)
	e.expect("many files come at once", func() {
		for _, name := range strings.Split("abcdefghijklmnopqrst", "") {
			e.must(os.WriteFile(e.path("content-types/"+name+".yaml"), []byte(typeFile("type-"+name)), 0o644))
		}
	}, "/api/type-ts", 200)
	e.expect("new directories come with files", func() {
		e.must(os.MkdirAll(e.path("components/part"), 0o755))
		e.must(os.WriteFile(e.path("components/part/line.yaml"),
			[]byte("info: {displayName: Line}\nattributes: {word: {type: string}}\n"), 0o644))
		e.must(os.WriteFile(e.path("content-types/note.yaml"),
			[]byte(noteFile("line: {type: component, component: part.line}")), 0o644))
	}, note+"?populate=line", 200)
	e.expect("a file in a new directory changes", func() {
		e.write("components/part/line.yaml",
			"info: {displayName: Line}\nattributes: {word: {type: string}, more: {type: string}}\n")
	}, note+"?populate[line][fields][0]=more", 200)
	e.expect("a directory is moved away and another is put in its place", func() {
		e.must(os.Rename(e.path("content-types"), e.path("old")))
		e.must(os.Mkdir(e.path("content-types"), 0o755))
		e.must(os.WriteFile(e.path("content-types/note.yaml"), []byte(noteFile()), 0o644))
	}, "/api/type-ts", 404)
	e.expect("a file changes in the directory that was put there", func() {
		e.write("content-types/note.yaml", noteFile("four: {type: string}"))
	}, field("four"), 200)

	// A file whose time changes but not its content causes no reload: the next real change is the first to be reported.
	e.must(os.Chtimes(e.path("content-types/note.yaml"), time.Now(), time.Now()))
	e.write("content-types/note.yaml", noteFile("four: {type: string}"))
	e.must(os.WriteFile(e.path("content-types/README"), []byte("no definition"), 0o644))
	e.expect("a change after some that are none",
		func() { e.write("content-types/note.yaml", noteFile("five: {type: string}")) }, field("five"), 200)
}

// TestWatchedDirectoriesAreRemoved removes watched directories, expects the former files to be served, and then creates
// the directories again.
func TestWatchedDirectoriesAreRemoved(t *testing.T) {
	e := newEditing(t)
	e.must(os.Rename(e.path("content-types"), e.path("old")))
	var problems yamlfile.Problems
	if err := e.awaitReload(); !errors.As(err, &problems) { // permissions.yaml grants actions of a type that is missing
		t.Errorf("without definitions: %v", err)
	}
	if status, body := e.do(t.Context(), "GET", "/api/notes", nil); status != 200 {
		t.Errorf("%d %s", status, body)
	}
	e.expect("they come back", func() {
		e.must(os.Rename(e.path("old"), e.path("content-types")))
		e.must(os.WriteFile(e.path("content-types/b.yaml"), []byte(typeFile("b")), 0o644))
	}, "/api/bs", 200)
	e.must(os.RemoveAll(e.path("config")))
	if err := e.awaitReload(); err != nil {
		t.Errorf("without a configuration: %v", err)
	}
}

// TestChangedConfigurationIsServed expects changes of config/ to be served, except for settings that need a restart.
func TestChangedConfigurationIsServed(t *testing.T) {
	e := newEditing(t)
	anybody := func(want int) {
		t.Helper()
		if status, body := get(t, e.base+"/api/notes", ""); status != want {
			t.Errorf("%d %s, want %d", status, body, want)
		}
	}
	anybody(403)
	e.expect("a permission is granted",
		func() { e.write("config/permissions.yaml", "roles: {public: {api::note.note: [find]}}\n") }, "/api/notes", 200)
	anybody(200)
	e.expect("it is taken back", func() { e.write("config/permissions.yaml", "roles: {}\n") }, "/api/notes", 200)
	anybody(403)
	e.expect("another prefix", func() { e.write("config/api.yaml", "rest: {prefix: /content}\n") }, "/content/notes",
		200)
	e.expect("the first again", func() { e.must(os.Remove(e.path("config/api.yaml"))) }, "/api/notes", 200)
	e.expect("plugins are switched off", func() {
		e.write("config/plugins.yaml",
			"upload: {enabled: false}\nusers-permissions: {enabled: false}\ngraphql: {enabled: false}\n")
	}, "/api/upload/files", 404)
	anybody(403)
	e.expect("and on again", func() { e.must(os.Remove(e.path("config/plugins.yaml"))) }, "/api/upload/files", 200)
	e.expect("a prefix by a variable", func() { e.write("config/api.yaml", "rest: {prefix: '${PREFIX:/api}'}\n") },
		"/api/notes", 200)
	e.expect("that .env sets", func() { e.write(".env", "PREFIX=/env\n") }, "/env/notes", 200)
	e.expect("and sets no more", func() { e.must(os.Remove(e.path(".env"))) }, "/api/notes", 200)
	e.expect("what cannot change is left",
		func() { e.write("config/server.yaml", "port: 4000\nlimits: {json: 1kb}\n") }, "/api/notes", 200)
	if status, body := e.do(t.Context(), "POST", "/api/notes",
		object{"data": object{"title": strings.Repeat("x", 200), "body": strings.Repeat("x", 4000)}}); status != 201 {
		t.Errorf("%d %.200s", status, body)
	}
	if log := e.log(); !strings.Contains(log, "taken over at the next start") ||
		!strings.Contains(log, "config/server.yaml") {
		t.Errorf("nothing is said of config/server.yaml:\n%s", log)
	}
	e.write("config/server.yaml", "port: 4000\nprot: 3\n")
	var problems yamlfile.Problems
	if err := e.awaitReload(); !errors.As(err, &problems) || !strings.Contains(e.log(), "config/server.yaml:2: ") {
		t.Errorf("a key that there is not: %v", err)
	}
}

// TestUsersOutliveChanges expects a reload to keep users logged in, to keep the counts of the rate limit, and to send
// mail that is queued.
func TestUsersOutliveChanges(t *testing.T) {
	e := newEditing(t)
	grant := "roles: {public: {plugin::users-permissions.auth: [callback, register, forgotPassword]}, authenticated: {api::note.note: [find]}}\n"
	e.expect("permissions", func() { e.write("config/permissions.yaml", grant) }, "/api/notes", 200)
	key := e.key
	e.key = ""
	status, body := e.do(t.Context(), "POST", "/api/auth/local/register",
		object{"username": "ann", "email": "ann@example.org", "password": "Secret-123"})
	var session struct{ JWT string }
	if err := json.Unmarshal(body, &session); status != 200 || err != nil || session.JWT == "" {
		t.Fatalf("register: %d %s", status, body)
	}
	login := func(want int) {
		t.Helper()
		if status, body := e.do(t.Context(), "POST", "/api/auth/local",
			object{"identifier": "ann", "password": "wrong"}); status != want {
			t.Errorf("login: %d %s, want %d", status, body, want)
		}
	}
	for range 5 {
		login(400)
	}
	login(429)
	if status, body := e.do(t.Context(), "POST", "/api/auth/forgot-password",
		object{"email": "ann@example.org"}); status != 200 {
		t.Errorf("forgot-password: %d %s", status, body)
	}
	e.key = key
	e.expect("a change", func() { e.write("content-types/note.yaml", noteFile("one: {type: string}")) },
		"/api/notes?fields[0]=one", 200)
	e.key = ""
	login(429)
	e.key = session.JWT
	e.expect("a change, seen by a user", func() { e.write("content-types/note.yaml", noteFile("two: {type: string}")) },
		"/api/notes?fields[0]=two", 200)
	e.key = key
	e.close()
	mails, err := os.ReadDir(e.path("data/mail"))
	if err != nil || len(mails) != 1 {
		t.Errorf("mails: %v, %v", mails, err)
	}
}

// TestReloadWaitsForHeldDefinitions expects a reload to wait for work in several steps that holds the definitions.
func TestReloadWaitsForHeldDefinitions(t *testing.T) {
	e := newEditing(t)
	_, release, err := e.project.Store().LockSchema(t.Context())
	e.must(err)
	e.write("content-types/note.yaml", noteFile("one: {type: string}"))
	for late := time.After(20 * time.Second); !strings.Contains(e.log(), "once work is done"); {
		select {
		case <-late:
			t.Fatal("nothing is said of a change that waits")
		default:
			if status, body := e.do(t.Context(), "POST", "/api/notes",
				object{"data": object{"title": "x"}}); status != 201 {
				t.Fatalf("%d %s", status, body)
			}
		}
	}
	release()
	e.expect("a change that has waited", func() {}, "/api/notes?fields[0]=one", 200)
}

// TestRefusedDefinitionsAreServedAfterMigrate renames an attribute that has content, and drops another. The server
// refuses the files first, and serves them after Migrate.
func TestRefusedDefinitionsAreServedAfterMigrate(t *testing.T) {
	const rank = "rank: {type: integer}"
	e := newEditing(t)
	e.write("content-types/note.yaml", noteFile(rank, "old: {type: string}", "gone: {type: string}"))
	e.must(e.awaitReload())
	if status, body := e.do(t.Context(), "POST", "/api/notes",
		object{"data": object{"title": "x", "body": "y", "old": "kept", "gone": "y"}}); status != 201 {
		t.Fatalf("%d %s", status, body)
	}
	load := e.startLoad()
	migrate := func(want string, words ...string) {
		t.Helper()
		ms, err := evolve.ParseMigrations(words)
		e.must(err)
		for deadline := time.Now().Add(20 * time.Second); ; {
			_, err = gateway.Directory(e.dir, gateway.Options{}).Migrate(ms, nil)
			if err == nil || !strings.Contains(err.Error(), store.ErrSchemaLocked.Error()) ||
				time.Now().After(deadline) {
				break // only the schema lock of a write in progress is worth another attempt
			}
		}
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%v: %v, want %q", words, err, want)
		}
	}
	refused := func() {
		t.Helper()
		var refusal *evolve.DefinitionError
		if err := e.awaitReload(); !errors.As(err, &refusal) {
			t.Errorf("not refused: %v", err)
		}
	}
	migrate("stop it first", "drop-attribute", "api::note.note.old")
	e.write("content-types/note.yaml", noteFile(rank, "new: {type: string}"))
	refused()
	migrate("attribute gone of api::note.note is gone", "rename-attribute", "api::note.note.old", "new")
	e.write("content-types/note.yaml", noteFile(rank, "new: {type: string}", "gone: {type: string}"))
	refused()
	migrate("", "rename-attribute", "api::note.note.old", "new")
	if status, body := e.do(t.Context(), "GET", "/api/notes?filters[new]=kept", nil); status != 200 ||
		!strings.Contains(string(body), `"gone":"y"`) {
		t.Errorf("%d %s", status, body)
	}
	e.write("content-types/note.yaml", noteFile(rank, "new: {type: string}"))
	refused()
	migrate("", "drop-attribute", "api::note.note.gone")
	if status, body := e.do(t.Context(), "GET", "/api/notes?filters[new]=kept", nil); status != 200 ||
		strings.Contains(string(body), `"gone"`) || !strings.Contains(string(body), `"kept"`) {
		t.Errorf("%d %s", status, body)
	}
	e.expect("a change after that", func() {
		e.write("content-types/note.yaml", noteFile(rank, "new: {type: string}", "more: {type: string}"))
	}, "/api/notes?fields[0]=more", 200)
	load.stop()
}

// TestDefinitionsThatFailAreTakenBack expects the former definitions to be served again if new ones fail after the
// store has accepted them.
func TestDefinitionsThatFailAreTakenBack(t *testing.T) {
	e := newEditing(t)
	e.write("content-types/other.yaml", typeFile("other"))
	e.must(e.awaitReload())
	e.write("config/plugins.yaml", "users-permissions: {config: {default_role: nobody}}\n")
	if err := e.awaitReload(); err == nil || !strings.Contains(err.Error(), `there is no role "nobody"`) {
		t.Errorf("a role that there is not: %v", err)
	}
	for path, want := range map[string]int{"/api/notes": 200, "/api/others": 200, "/api/upload/files": 200} {
		if status, body := e.do(t.Context(), "GET", path, nil); status != want {
			t.Errorf("%s: %d %s, want %d", path, status, body, want)
		}
	}
	if status, body := e.do(t.Context(), "POST", "/api/notes", object{"data": object{"title": "x"}}); status != 201 {
		t.Errorf("%d %s", status, body)
	}
	e.expect("it is repaired", func() { e.must(os.Remove(e.path("config/plugins.yaml"))) }, "/api/others", 200)
}

// TestProductionDoesNotWatch expects a server in production, or with NoWatch, to ignore changed files.
func TestProductionDoesNotWatch(t *testing.T) {
	others := newEditing(t)
	for name, o := range map[string]gateway.Options{"production": {Production: true}, "NoWatch": {NoWatch: true}} {
		t.Run(name, func(t *testing.T) {
			reloaded := make(chan error, 10)
			o.Reloaded = func(err error) { reloaded <- err }
			dir := writeProject(t, nil)
			ready, stop := run(t, dir, o, nil)
			if err := os.WriteFile(filepath.Join(dir, "content-types/new.yaml"), []byte(typeFile("new")),
				0o644); err != nil {
				t.Fatal(err)
			}
			others.expect("a later change", func() {
				others.write("content-types/"+strings.ToLower(name)+".yaml", typeFile(strings.ToLower(name)))
			}, "/api/"+strings.ToLower(name)+"s", 200)
			if status, _ := get(t, ready.Base+"/api/news", ""); status != 404 {
				t.Errorf("%d", status)
			}
			stop()
			if len(reloaded) > 0 {
				t.Error("it was reloaded")
			}
		})
	}
}

// TestOwnRoutesRunAgainUnderChangedDefinitions changes the definitions during a request for a route of a program. The
// handler is called again and reads the body from its beginning, unless the body is too large to be kept or the answer
// has begun.
func TestOwnRoutesRunAgainUnderChangedDefinitions(t *testing.T) {
	const most = 1 << 20
	for _, test := range []struct {
		name  string
		bytes int
		write bool // the handler begins to answer before it notices the change
		want  int
		calls int
	}{
		{"a short body", 100, false, 201, 2},
		{"no body", 0, false, 201, 2},
		{"too much of a body to keep", most + 1, false, 503, 1},
		{"an answer is begun", 100, true, 202, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			var e *editing
			calls := 0
			x := &gateway.Extensions{}
			x.Handle(gateway.Route{Method: "POST", Path: "/api/own", Open: true,
				Handle: func(w http.ResponseWriter, r *http.Request, _ *permission.Access) error {
					calls++
					docs := e.project.Documents()
					if body, err := io.ReadAll(r.Body); err != nil || len(body) != test.bytes {
						t.Errorf("%d bytes, %v", len(body), err)
					}
					if calls == 1 {
						e.write("content-types/note.yaml", noteFile("one: {type: string}"))
						e.must(e.awaitReload())
					}
					if test.write {
						w.WriteHeader(http.StatusAccepted)
					}
					data := jsontree.NewObject()
					data.Set("title", "own")
					if err := docs.Create(r.Context(), documents.Write{Type: docs.Model().Type("api::note.note"),
						Data: data, Access: permission.FullAccess}); err != nil {
						return err
					}
					w.WriteHeader(http.StatusCreated)
					return nil
				}})
			e = newEditingWith(t, x)
			status, body := e.do(t.Context(), "POST", "/api/own", io.Reader(bytes.NewReader(make([]byte, test.bytes))))
			if status != test.want || calls != test.calls {
				t.Errorf("%d %s after %d calls, want %d after %d", status, body, calls, test.want, test.calls)
			}
		})
	}
}

// TestAdministrationOutlivesChangedDefinitions creates tokens and exports content while the definitions change.
func TestAdministrationOutlivesChangedDefinitions(t *testing.T) {
	e := newEditing(t)
	for i := range 6 {
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, key, err := e.project.CreateToken(
				t.Context(), auth.Declaration{Name: string(rune('a' + i)), Kind: auth.ReadOnly})
			if err != nil {
				t.Error(err)
			}
			var exported bytes.Buffer
			if err := e.project.Export(t.Context(), &exported); err != nil ||
				!strings.Contains(exported.String(), "lectern") {
				t.Errorf("export: %v %.100s", err, exported.String())
			}
			if status, body := get(t, e.base+"/api/notes", key); status != 200 {
				t.Errorf("with the new token: %d %s", status, body)
			}
		}()
		e.write("content-types/note.yaml", noteFile(string(rune('a'+i))+": {type: string}"))
		e.must(e.awaitReload())
		<-done
	}
	if tokens, err := e.project.Tokens(t.Context()); err != nil || len(tokens) != 7 {
		t.Errorf("%v %v", tokens, err)
	}
}

// TestLastUseOutlivesDefinitions uses a token just before the definitions change. The services of the former generation
// cannot store that use any more, so the new ones must.
func TestLastUseOutlivesDefinitions(t *testing.T) {
	e := newEditing(t)
	_, key, err := e.project.CreateToken(t.Context(), auth.Declaration{Name: "other", Kind: auth.ReadOnly})
	e.must(err)
	if status, body := get(t, e.base+"/api/notes", key); status != 200 {
		t.Fatal(status, body)
	}
	lastUse := func(p *gateway.Project) time.Time {
		t.Helper()
		tokens, err := p.Tokens(t.Context())
		e.must(err)
		return tokens[slices.IndexFunc(tokens, func(x auth.Token) bool { return x.Name == "other" })].LastUsedAt
	}
	used := lastUse(e.project)
	if used.IsZero() {
		t.Fatal("a token that was used is listed as never used")
	}
	e.expect("the definitions change", func() { e.write("content-types/note.yaml", noteFile("two: {type: string}")) },
		"/api/notes?fields=two", 200)
	if got := lastUse(e.project); !got.Equal(used) {
		t.Errorf("used at %v; after a change of the definitions it is %v", used, got)
	}
	e.close()
	p, _ := openProject(t, e.dir, gateway.Options{})
	if got := lastUse(p); !got.Equal(used) {
		t.Errorf("used at %v; after a restart it is %v", used, got)
	}
}
