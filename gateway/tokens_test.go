package gateway_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"lectern/auth"
	"lectern/gateway"
)

// tokensFile declares tokens that may find notes.
func tokensFile(names ...string) string {
	text := "roles: {public: {}}\ntokens:\n"
	for _, name := range names {
		text += fmt.Sprintf("  - {name: %s, type: custom, permissions: [api::note.note.find]}\n", name)
	}
	return strings.TrimSuffix(text, "tokens:\n")
}

// TestTokensFollowTheFile takes tokens out of permissions.yaml: their keys are refused from then on, in development
// after the reload, else after the next start. Tokens that were made without a declaration are kept, and the server
// warns of them.
func TestTokensFollowTheFile(t *testing.T) {
	for _, restarts := range []bool{false, true} {
		t.Run(fmt.Sprint("restarts: ", restarts), func(t *testing.T) {
			dir := t.TempDir()
			e := &editing{T: t, dir: dir}
			e.write("content-types/note.yaml", noteFile())
			e.write("config/permissions.yaml", tokensFile("clerk", "keeper"))
			e.serve(nil)
			keys := map[string]string{"all": e.key}
			make := func(d auth.Declaration) {
				_, key, err := e.project.CreateToken(t.Context(), d)
				e.must(err)
				keys[d.Name] = key
			}
			make(auth.Declaration{Name: "clerk"})
			make(auth.Declaration{Name: "keeper"})
			make(auth.Declaration{Name: "own", Kind: auth.Custom, Permissions: []string{"api::note.note.find"}})
			make(auth.Declaration{Name: "later", Kind: auth.Custom, Permissions: []string{"api::note.note.find"}})
			follow := func(declared ...string) {
				t.Helper()
				text := tokensFile(declared...)
				if !restarts {
					e.carryOut(edit{what: text, file: "config/permissions.yaml", text: text})
					return
				}
				e.close()
				e.write("config/permissions.yaml", text)
				project := e.project
				var ready gateway.Ready
				ready, e.close = run(t, dir, gateway.Options{NoWatch: true}, func(p *gateway.Project) { project = p })
				e.base, e.project = ready.Base, project
			}
			works := func(want ...string) {
				t.Helper()
				var got []string
				for name, key := range keys {
					if status, answer := send(t, http.MethodGet, e.base+"/api/notes", key,
						""); status == http.StatusOK {
						got = append(got, name)
					} else if status != http.StatusUnauthorized {
						t.Errorf("%s: %d %s", name, status, answer)
					}
				}
				if slices.Sort(got); !slices.Equal(got, want) {
					t.Errorf("the keys of %q work, want %q", got, want)
				}
			}
			works("all", "clerk", "keeper", "later", "own")
			follow("keeper", "later") // a token that is declared after it was made
			works("all", "keeper", "later", "own")
			follow("keeper", "clerk") // what was revoked stays so
			works("all", "keeper", "own")
			make(auth.Declaration{Name: "clerk"})
			works("all", "clerk", "keeper", "own")
		})
	}
}

// TestUndeclaredTokensAreLogged expects the log of a start to name the tokens that were made at run time, and those
// that the start revokes.
func TestUndeclaredTokensAreLogged(t *testing.T) {
	e := &editing{T: t, dir: t.TempDir()}
	e.write("content-types/note.yaml", noteFile())
	e.write("config/permissions.yaml", tokensFile("clerk", "keeper"))
	e.serve(nil)
	for _, name := range []string{"clerk", "keeper"} {
		_, _, err := e.project.CreateToken(t.Context(), auth.Declaration{Name: name})
		e.must(err)
	}
	_, err := e.project.RevokeToken(t.Context(), "all") // serve makes it again
	e.must(err)
	_, _, err = e.project.CreateToken(t.Context(), auth.Declaration{Name: "own", Kind: auth.ReadOnly})
	e.must(err)
	e.close()
	e.write("config/permissions.yaml", tokensFile("keeper"))
	e.serve(nil)
	e.awaitLog(`msg="an API token was revoked, since permissions.yaml no longer declares it" token=clerk`,
		`msg="an API token that permissions.yaml does not declare works until it is revoked" token=own`)
	if strings.Contains(e.log(), "token=keeper") {
		t.Error("the log tells of a token that is declared")
	}
	e.close()
}

// TestTokensAreKeptWithoutTheFile reloads, opens and serves a project while its permissions.yaml is missing. A token
// that the file declared must be kept, with the permissions that the file gave it last, until a server finds a file
// that does not declare it. What only opens the project, such as a command, revokes nothing.
func TestTokensAreKeptWithoutTheFile(t *testing.T) {
	const file = "config/permissions.yaml"
	e := &editing{T: t, dir: t.TempDir()}
	e.write("content-types/note.yaml", noteFile())
	e.write(file, "tokens: [{name: clerk, type: full-access}]\n")
	e.serve(nil)
	_, key, err := e.project.CreateToken(t.Context(), auth.Declaration{Name: "clerk"})
	e.must(err)
	expect := func(when string, find, create int) {
		t.Helper()
		if status, answer := get(t, e.base+"/api/notes", key); status != find {
			t.Errorf("%s: find: %d %s, want %d", when, status, answer, find)
		}
		if status, answer := send(t, http.MethodPost, e.base+"/api/notes", key,
			`{"data":{"title":"x"}}`); status != create {
			t.Errorf("%s: create: %d %s, want %d", when, status, answer, create)
		}
	}
	restart := func(when string) {
		t.Helper()
		e.close()
		project, closeProject := openProject(t, e.dir, gateway.Options{})
		tokens, err := project.Tokens(t.Context())
		e.must(err)
		if !slices.ContainsFunc(tokens, func(tok auth.Token) bool { return tok.Name == "clerk" }) {
			t.Errorf("%s: a project that is only opened has lost the token", when)
		}
		closeProject()
		var ready gateway.Ready
		ready, e.close = run(t, e.dir, gateway.Options{NoWatch: true}, nil)
		e.base = ready.Base
	}
	expect("declared", 200, 201)
	e.carryOut(edit{what: "declared with less", file: file, text: tokensFile("clerk")})
	expect("declared with less", 200, 403)
	e.carryOut(edit{what: "missing after a reload", file: file})
	expect("missing after a reload", 200, 403)
	e.awaitLog(`msg="an API token that permissions.yaml declared is kept, since the file is missing or empty" token=clerk`)
	restart("missing")
	expect("missing at a start", 200, 403)
	e.write(file, "")
	restart("empty")
	expect("empty at a start", 200, 403)
	e.write(file, tokensFile())
	restart("not declared")
	expect("not declared", 401, 401)
}
