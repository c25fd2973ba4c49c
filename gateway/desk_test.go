package gateway_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"lectern/auth"
	"lectern/gateway"
	"lectern/gateway/admin"
)

// A desk is a browser at the desk of a server: it keeps the cookie and the token of its session.
type deskClient struct {
	*editing
	cookie *http.Cookie
	jwt    string
}

// session sends a request for the session, and expects a status.
func (d *deskClient) session(method, body string, status int, headers ...string) {
	d.Helper()
	request, err := http.NewRequest(method, d.base+"/desk/session", strings.NewReader(body))
	d.must(err)
	request.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	if d.cookie != nil {
		request.AddCookie(d.cookie)
	}
	answer, err := d.client.Do(request)
	d.must(err)
	defer answer.Body.Close()
	if answer.StatusCode != status {
		d.Fatalf("%s %s: %d, want %d", method, body, answer.StatusCode, status)
	}
	for _, c := range answer.Cookies() {
		if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "" {
			d.Errorf("cookie %s", c)
		}
		if d.cookie = c; c.MaxAge < 0 {
			d.cookie = nil
		}
	}
	var got struct{ JWT *string }
	d.must(json.NewDecoder(answer.Body).Decode(&got))
	if d.jwt = ""; got.JWT != nil {
		d.jwt = *got.JWT
	}
}

// reads expects a status of a request to the API with the token of the session.
func (d *deskClient) reads(path string, status int) {
	d.Helper()
	key := d.key
	defer func() { d.key = key }()
	d.key = d.jwt
	if got, text := d.do(d.Context(), "GET", path, nil); got != status {
		d.Errorf("GET %s: %d %s, want %d", path, got, text, status)
	}
}

// is expects the session to be that of a user.
func (d *deskClient) is(name string) {
	d.Helper()
	key := d.key
	defer func() { d.key = key }()
	d.key = d.jwt
	_, text := d.do(d.Context(), "GET", "/api/_access", nil)
	var got struct {
		Data struct {
			Principal struct {
				Kind, Name string
				ID         uint64
			}
		}
	}
	d.must(json.Unmarshal(text, &got))
	if p := got.Data.Principal; p.Kind != "user" || p.Name != name || p.ID == 0 {
		d.Errorf("the session is of %+v", p)
	}
}

// TestDeskSessions logs users in at the desk, whatever the project says of sessions for others.
func TestDeskSessions(t *testing.T) {
	for _, mode := range []string{"legacy-support", "refresh"} {
		t.Run(mode, func(t *testing.T) {
			e := &editing{T: t, dir: t.TempDir()}
			e.write("content-types/note.yaml", noteFile("rank: {type: integer}"))
			e.write("config/plugins.yaml", "users-permissions: {config: {jwtManagement: "+mode+"}}\n")
			e.write("config/permissions.yaml", "roles: {editor: {api::note.note: [find], 'lectern::desk': [use]}, reader: {api::note.note: [find]}}\n")
			e.serve(nil)
			for name, role := range map[string]string{"ann": "editor", "ben": "reader"} {
				_, err := e.project.CreateUser(t.Context(), auth.NewAccount{Username: name, Email: name + "@people.test", Password: "secret1", Role: role})
				e.must(err)
			}
			d := &deskClient{editing: e}
			d.session("PUT", "", 200)
			if d.jwt != "" {
				t.Error("a browser that never logged in has a session")
			}
			d.session("POST", `{"identifier":"ann","password":"wrong"}`, 400)
			d.session("POST", `{"identifier":"ben","password":"secret1"}`, 403) // his role lacks lectern::desk.use
			d.session("POST", `{"identifier":"ann","password":"secret1"}`, 403, "Sec-Fetch-Site", "cross-site")
			if d.cookie != nil {
				t.Error("a refused login set a cookie")
			}
			d.session("POST", `{"identifier":"ann","password":"secret1"}`, 200, "Sec-Fetch-Site", "same-origin")
			d.reads("/api/notes", 200)
			d.reads("/api/users", 403)
			d.is("ann")
			first := *d.cookie
			d.session("PUT", "", 200)
			d.reads("/api/notes", 200)
			if d.cookie.Value == first.Value {
				t.Error("the cookie works more than once")
			}
			d.session("PUT", "", 403, "Sec-Fetch-Site", "same-site")
			other := &deskClient{editing: e, cookie: d.cookie}
			d.session("DELETE", "", 200)
			other.session("PUT", "", 401)
		})
	}
}

// TestDeskTokensAreOfTheDesk expects the tokens of the desk to be refused where those of other sessions are due, and
// the other way round.
func TestDeskTokensAreOfTheDesk(t *testing.T) {
	e := &editing{T: t, dir: t.TempDir()}
	e.write("content-types/note.yaml", noteFile("rank: {type: integer}"))
	e.write("config/plugins.yaml", "users-permissions: {config: {jwtManagement: refresh}}\n")
	e.write("config/permissions.yaml", "roles: {authenticated: {'lectern::desk': [use]}}\n")
	e.serve(nil)
	_, err := e.project.CreateUser(t.Context(), auth.NewAccount{Username: "ann", Email: "ann@people.test", Password: "secret1"})
	e.must(err)
	d := &deskClient{editing: e}
	d.session("POST", `{"identifier":"ann","password":"secret1"}`, 200)
	e.key = ""
	if status, text := e.do(t.Context(), "POST", "/api/auth/refresh", object{"refreshToken": d.cookie.Value}); status != 401 {
		t.Errorf("the desk's token refreshed another session: %d %s", status, text)
	}
	status, text := e.do(t.Context(), "POST", "/api/auth/local", object{"identifier": "ann", "password": "secret1"})
	var login sessionAnswer
	if e.must(json.Unmarshal(text, &login)); status != 200 {
		t.Fatal(status)
	}
	d.cookie.Value = login.RefreshToken
	d.session("PUT", "", 401)
}

// TestDeskLink logs a browser in by links, which work once: as an owner, who may do everything, and as a user.
func TestDeskLink(t *testing.T) {
	e := newEditing(t)
	directory := &admin.Directory{Dir: e.dir}
	link := func(user string) string {
		t.Helper()
		address, err := directory.DeskLink(t.Context(), user)
		e.must(err)
		code, ok := strings.CutPrefix(address, e.base+"/desk/#link=")
		if !ok {
			t.Fatalf("the link is %s", address)
		}
		return `{"link":"` + code + `"}`
	}
	owner, code := &deskClient{editing: e}, link("")
	owner.session("POST", code, 200)
	owner.reads("/api/users", 200)
	owner.session("PUT", "", 200)
	owner.reads("/api/users", 200)
	(&deskClient{editing: e}).session("POST", code, 401)
	(&deskClient{editing: e}).session("POST", `{"link":"AAAAAAAAAAAAAAAAAAAAAAAAAA"}`, 401)
	jwt := owner.jwt
	owner.session("DELETE", "", 200)
	owner.jwt = jwt
	owner.reads("/api/users", 401)

	_, err := e.project.CreateUser(t.Context(), auth.NewAccount{Username: "ann", Email: "ann@people.test", Password: "secret1"})
	e.must(err)
	(&deskClient{editing: e}).session("POST", link("ann"), 403) // her role lacks lectern::desk.use
	if strings.Contains(e.log(), "link=") {
		t.Error("the log has a link")
	}
}

// TestDeskOff expects the desk where server.yaml puts it, and nothing if it is switched off.
func TestDeskOff(t *testing.T) {
	for settings, want := range map[string]map[string]bool{
		"desk: {path: /write/here}": {"/desk": false, "/write/here": true, "/write/here/content/note": true},
		"desk: {enabled: false}":    {"/desk": false},
	} {
		e := &editing{T: t, dir: t.TempDir()}
		e.write("content-types/note.yaml", noteFile("rank: {type: integer}"))
		e.write("config/server.yaml", settings+"\n")
		e.serve(nil)
		for path, found := range want {
			_, text := e.do(t.Context(), "GET", path, nil)
			if strings.Contains(string(text), "<!DOCTYPE html>") != found {
				t.Errorf("%s: %s: %s", settings, path, text)
			}
		}
		e.close()
	}
}

// TestAccessIsThatOfTheCaller expects GET /api/_access to tell callers what they may do, and nothing of the rest.
func TestAccessIsThatOfTheCaller(t *testing.T) {
	e := &editing{T: t, dir: t.TempDir()}
	e.write("content-types/note.yaml", noteFile("secret: {type: string, private: true}", "hidden: {type: string}"))
	e.write("content-types/diary.yaml", typeFile("diary"))
	e.write("config/permissions.yaml",
		"roles: {public: {api::note.note: {find: {fields: [title]}, create: {fields: [title, secret], set: {body: x}}}}}\n")
	e.serve(nil)
	var all, public struct {
		Data struct {
			Principal    struct{ Kind string }
			Permissions  []string
			GraphQL      string
			ContentTypes []struct {
				UID     string
				GraphQL struct{ Type, Plural string }
				Schema  struct {
					Attributes map[string]struct{ Readable bool }
				}
				Actions map[string]struct {
					Limited bool
					Fields  []string
				}
			}
		}
	}
	ask := func(key string, into any) string {
		t.Helper()
		had := e.key
		defer func() { e.key = had }()
		e.key = key
		status, text := e.do(t.Context(), "GET", "/api/_access", nil)
		if status != 200 {
			t.Fatalf("%d %s", status, text)
		}
		e.must(json.Unmarshal(text, into))
		return string(text)
	}
	ask(e.key, &all)
	if all.Data.Principal.Kind != "token" || !slices.Contains(all.Data.Permissions, "api::diary.diary.delete") {
		t.Errorf("of a full-access token: %+v", all.Data)
	}
	if names := all.Data.ContentTypes[0].GraphQL; all.Data.GraphQL != "/graphql" || names.Type == "" || names.Plural != names.Type+"s" {
		t.Errorf("GraphQL at %q by the names %+v", all.Data.GraphQL, names)
	}
	text := ask("", &public)
	if want := []string{"api::note.note.find", "api::note.note.create"}; !slices.Equal(public.Data.Permissions[:2], want) {
		t.Errorf("permissions %v", public.Data.Permissions)
	}
	if strings.Contains(text, "diary") || strings.Contains(text, "hidden") || strings.Contains(text, "body") {
		t.Errorf("it tells of what the public has nothing to do with: %s", text)
	}
	note := public.Data.ContentTypes[0]
	if a := note.Schema.Attributes; len(a) != 2 || !a["title"].Readable || a["secret"].Readable {
		t.Errorf("attributes %v", a)
	}
	if got := note.Actions["find"].Fields; !slices.Equal(got, []string{"id", "documentId", "title"}) {
		t.Errorf("the public may read %v", got)
	}
	if got := note.Actions["create"].Fields; !slices.Equal(got, []string{"title", "secret"}) {
		t.Errorf("the public may write %v", got)
	}
}

// TestDeskAtReplica logs in at the desk of a replica that forwards writes: the session is the origin's.
func TestDeskAtReplica(t *testing.T) {
	t.Setenv("SECRET_OF_BOTH", testSecret)
	e := &editing{T: t, dir: t.TempDir()}
	e.write("content-types/note.yaml", noteFile("rank: {type: integer}"))
	e.write("config/plugins.yaml", sessionPlugins)
	e.write("config/permissions.yaml", "roles: {editor: {api::note.note: [find], 'lectern::desk': [use]}}\n")
	e.serve(nil)
	_, err := e.project.CreateUser(t.Context(), auth.NewAccount{Username: "ann", Email: "ann@people.test", Password: "secret1", Role: "editor"})
	e.must(err)
	t.Setenv("KEY_OF_ORIGIN", e.key)
	dir := t.TempDir()
	e.must(os.MkdirAll(filepath.Join(dir, "config"), 0o700))
	e.must(os.WriteFile(filepath.Join(dir, "config", "server.yaml"),
		[]byte("replica: {url: "+e.base+", token: '${KEY_OF_ORIGIN}', writes: forward}\n"), 0o600))
	r := serveReplica(t, dir, gateway.Options{})
	d := &deskClient{editing: &editing{T: t, base: r.base, client: e.client}}
	d.session("POST", `{"identifier":"ann","password":"secret1"}`, 200)
	d.reads("/api/notes", 200)
	d.session("PUT", "", 200)
	d.reads("/api/notes", 200)
	d.session("DELETE", "", 200)
}
