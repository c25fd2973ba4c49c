package gateway_test

import (
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"lectern/auth"
	"lectern/gateway"
	"lectern/internal/servertest"
)

var longAnswerFiles = map[string]string{
	"content-types/note.yaml": linesFiles["content-types/note.yaml"],
	"content-types/tag.yaml":  linesFiles["content-types/tag.yaml"],
	"config/server.yaml":      "limits: {copyRate: 1mb}\n", // a copy takes long
	"config/permissions.yaml": `
roles:
  authenticated:
    api::note.note: [find, stream]
    api::tag.tag: [find]
  poor: {}
`,
}

// TestLongAnswersEndWithThePermission begins answers that last, and takes from their callers what lets them have these.
// The answers must not end before, and must end when the server has looked at its clock again, also if their clients do
// not read.
func TestLongAnswersEndWithThePermission(t *testing.T) {
	e := serveLasting(t)
	lines, copied := "/api/notes", "/api/_replica/copy"
	log := "/api/_replica/log?since=" +
		url.QueryEscape(e.want(200, "GET", "/api/_replica/position", "full", nil).body.(string))
	revoke := func(name string) {
		if _, err := e.project.RevokeToken(t.Context(), name); err != nil {
			t.Error(err)
		}
	}
	for _, tt := range []struct {
		name    string
		answers []string
		token   auth.Declaration // without a kind: the caller is a user
		lose    func(name string, user int)
	}{
		{"revoked", []string{log, copied},
			auth.Declaration{Kind: auth.Custom, Permissions: []string{auth.FollowAction}}, func(name string, _ int) {
				revoke(name)
			}},
		{"full access revoked", []string{log, copied, lines}, auth.Declaration{Kind: auth.FullAccess},
			func(name string, _ int) { revoke(name) }},
		{"rotated", []string{log, copied, lines}, auth.Declaration{Kind: auth.FullAccess}, func(name string, _ int) {
			if _, _, err := e.project.RotateToken(t.Context(), name, 0); err != nil {
				t.Error(err)
			}
		}},
		{"expired", []string{log, copied, lines}, auth.Declaration{Kind: auth.FullAccess, Lifespan: time.Hour},
			func(string, int) { e.clock.pass(time.Hour) }},
		{"blocked", []string{lines}, auth.Declaration{}, func(_ string, user int) {
			e.want(200, "PUT", fmt.Sprint("/api/users/", user), "full", object{"blocked": true})
		}},
		{"another role", []string{lines}, auth.Declaration{}, func(_ string, user int) {
			e.want(200, "PUT", fmt.Sprint("/api/users/", user), "full", object{"role": e.roleIDs()["poor"]})
		}},
	} {
		for i, path := range tt.answers {
			name := fmt.Sprint(tt.name, i)
			kind, _, _ := strings.Cut(path, "?")
			t.Run(tt.name+" "+kind, func(t *testing.T) {
				credential, user := e.caller(name, tt.token)
				reads := beginBuffered(t, e.Base, path, "Authorization: Bearer "+credential, 256<<10)
				idle := beginBuffered(t, e.Base, path, "Authorization: Bearer "+credential, 256<<10)
				e.clock.fire() // nothing was lost yet
				if path == log {
					e.want(201, "POST", "/api/tags", "full", object{"data": object{"name": "before " + name}})
					awaitText(t, reads, "before "+name)
				} else if _, err := io.CopyN(io.Discard, reads.Answers, 64<<10); err != nil {
					t.Fatal(err)
				}
				tt.lose(name, user)
				text := e.awaitEnd(reads)
				e.want(201, "POST", "/api/tags", "full", object{"data": object{"name": "after " + name}})
				if path != log && strings.HasSuffix(text, "\r\n0\r\n\r\n") {
					t.Error("the answer is complete")
				}
				if text += e.awaitEnd(idle); strings.Contains(text, "after "+name) {
					t.Error("the answer tells what was written after its caller lost the permission")
				}
			})
		}
	}
}

// TestOpenLongAnswersGoOnWithoutCredential reads a stream of a route that a program opens for everybody. The server
// must go on with it although the credential of the client, which the route does not look at, has other permissions
// than the public, or none. A middleware may hand on another request.
func TestOpenLongAnswersGoOnWithoutCredential(t *testing.T) {
	files := maps.Clone(longAnswerFiles)
	files["config/permissions.yaml"] = "roles: {public: {api::note.note: [find, stream]}}\n"
	stripped := func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			r = r.Clone(r.Context())
			r.Header.Del("Authorization")
			next.ServeHTTP(w, r)
		})
	}
	for name, config := range map[string]gateway.RouteConfig{
		"open":     {Open: true},
		"stripped": {Middlewares: []gateway.MiddlewareUse{{Func: stripped}}},
	} {
		t.Run(name, func(t *testing.T) {
			x := &gateway.Extensions{}
			x.Route("api::note.note.find", config)
			e := serveLastingWith(t, files, x)
			credentials := map[string]string{"full": e.Tokens["full"]}
			if config.Open {
				credentials["nobody"] = "unknown"
			}
			for who, credential := range credentials {
				c := beginBuffered(t, e.Base, "/api/notes", "Authorization: Bearer "+credential, 256<<10)
				end := ""
				for !strings.HasSuffix(end, "\r\n0\r\n\r\n") {
					e.clock.fire()
					part := make([]byte, 64<<10)
					n, err := c.Answers.Read(part)
					if end = end[max(0, len(end)-20):] + string(part[:n]); err != nil {
						t.Fatalf("as %s: %v after %q", who, err, end)
					}
				}
			}
		})
	}
}

// A lasting is a server of answers that last.
type lasting struct {
	*api
	project *gateway.Project
	clock   *fakeClock
}

// serveLasting serves so much content that no answer ends soon.
func serveLasting(t *testing.T) *lasting { return serveLastingWith(t, longAnswerFiles, nil) }

// serveLastingWith is serveLasting with other files and extensions.
func serveLastingWith(t *testing.T, files map[string]string, x *gateway.Extensions) *lasting {
	e := &lasting{clock: newFakeClock()}
	key := ""
	ready, _ := run(t, writeProject(t, files), gateway.Options{Clock: e.clock, Extensions: x},
		func(p *gateway.Project) {
			var err error
			if e.project = p; err == nil {
				_, key, err = p.CreateToken(t.Context(), auth.Declaration{Name: "full", Kind: auth.FullAccess})
			}
			if err != nil {
				t.Fatal(err)
			}
		})
	ready.Tokens = map[string]string{"full": key}
	e.api = newAPI(t, ready)
	long := strings.Repeat("x", 900_000)
	for range 7 { // more than the buffers of a connection take
		e.want(201, "POST", "/api/notes?fields[0]=title", "full", object{"data": object{"data": long}})
	}
	return e
}

// caller makes a token or, if that has no kind, a user, and returns the credential.
func (e *lasting) caller(name string, token auth.Declaration) (credential string, user int) {
	if token.Kind == "" {
		return e.register(strings.ReplaceAll(name, " ", ""))
	}
	token.Name = name
	_, credential, err := e.project.CreateToken(e.t.Context(), token)
	if err != nil {
		e.t.Fatal(err)
	}
	return credential, 0
}

// awaitText reads an answer until it has a text.
func awaitText(t *testing.T, c *servertest.RawClient, text string) {
	t.Helper()
	buf := make([]byte, 64<<10)
	for seen := ""; !strings.Contains(seen, text); {
		n, err := c.Answers.Read(buf)
		if err != nil {
			t.Fatal(err)
		}
		seen = seen[max(0, len(seen)-len(text)):] + string(buf[:n])
	}
}

// awaitEnd has the server look at its clock until an answer ends, and returns the rest of the answer.
func (e *lasting) awaitEnd(c *servertest.RawClient) string {
	e.t.Helper()
	type rest struct {
		text []byte
		err  error
	}
	ended := make(chan rest, 1)
	go func() {
		var r rest
		r.text, r.err = io.ReadAll(c.Answers)
		ended <- r
	}()
	for {
		e.clock.fire()
		select {
		case r := <-ended:
			if failed, ok := r.err.(net.Error); ok && failed.Timeout() {
				c.T.Fatal("the answer goes on")
			}
			return string(r.text)
		case <-time.After(10 * time.Millisecond): // the server is about to set its next timer
		}
	}
}
