package clients

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"lectern/gateway"
	"lectern/internal/servertest"
)

const (
	oidcFolder = "oidc" // of the provider
	oidcSecret = "a secret of the clients of tests"
	oidcPage   = "http://127.0.0.1:3000/connect/idp" // of the front end; nothing listens there
)

// An oidcProvider is a process that runs the certified oidc-provider.
type oidcProvider struct {
	*testing.T
	address, redirect string
	process           *exec.Cmd
}

// start starts the provider, with new keys.
func (p *oidcProvider) start() {
	p.Helper()
	p.process = exec.Command("node", filepath.Join(oidcFolder, "provider.js"))
	p.process.Env = append(os.Environ(), "ADDRESS="+p.address, "REDIRECT="+p.redirect, "SECRET="+oidcSecret)
	p.process.Stderr = p.Output()
	out, err := p.process.StdoutPipe()
	if err != nil {
		p.Fatal(err)
	}
	if err := p.process.Start(); err != nil {
		p.Fatal("these tests want Node with npm: ", err)
	}
	if !bufio.NewScanner(out).Scan() {
		p.Fatal("the provider has ended")
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
}

// stop ends the provider.
func (p *oidcProvider) stop() {
	if p.process != nil {
		_ = p.process.Process.Kill()
		_ = p.process.Wait()
		p.process = nil
	}
}

// An oidcBrowser is a browser with the front end in it.
type oidcBrowser struct {
	*testing.T
	gateway.Ready
	jar *cookiejar.Jar
}

func (b *oidcBrowser) forget() { b.jar, _ = cookiejar.New(nil) }

// send sends a request without following redirects.
func (b *oidcBrowser) send(method, address string, form url.Values, as string) (*http.Response, string) {
	b.Helper()
	r, err := http.NewRequestWithContext(b.Context(), method, address, strings.NewReader(form.Encode()))
	if err != nil {
		b.Fatal(err)
	}
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if as != "" {
		r.Header.Set("Authorization", "Bearer "+as)
	}
	client := http.Client{Jar: b.jar,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Do(r)
	if err != nil {
		b.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		b.Fatal(err)
	}
	return res, string(text)
}

// begin begins a login, and returns the page of the provider to which the browser is sent.
func (b *oidcBrowser) begin() *url.URL {
	b.Helper()
	res, text := b.send("GET", b.Base+"/api/connect/idp", nil, "")
	at, err := res.Location()
	if err != nil {
		b.Fatalf("%s %s: %v", res.Status, text, err)
	}
	return at
}

// authorize logs a user in at the provider, and returns where it sends the browser back to.
func (b *oidcBrowser) authorize(page *url.URL, name string) *url.URL {
	b.Helper()
	for range 10 {
		if strings.HasPrefix(page.String(), b.Base+"/api/connect/idp/callback?") {
			return page
		}
		method, form := "GET", url.Values(nil)
		if strings.HasPrefix(page.Path, "/interaction/") { // its page asks for a name
			method, form = "POST", url.Values{"prompt": {"login"}, "login": {name}, "password": {"any"}}
		}
		res, text := b.send(method, page.String(), form, "")
		next, err := res.Location()
		if err != nil {
			b.Fatalf("%s: %s %s", page, res.Status, text)
		}
		page = next
	}
	b.Fatal("the provider sends the browser round and round")
	return nil
}

// come follows the way back from the provider, and returns the query with which the browser comes to the front end.
func (b *oidcBrowser) come(back *url.URL) url.Values {
	b.Helper()
	res, text := b.send("GET", back.String(), nil, "")
	page, err := res.Location()
	if err != nil || !strings.HasPrefix(page.String(), oidcPage+"?") {
		b.Fatalf("%s %s, %v", res.Status, text, err)
	}
	return page.Query()
}

// An oidcAnswer is what the front end gets.
type oidcAnswer struct {
	status int
	JWT    string
	User   struct {
		ID                        int
		Username, Email, Provider string
	}
	Error struct{ Message string }
}

// finish has the front end ask with the query of its page.
func (b *oidcBrowser) finish(query url.Values) (a oidcAnswer) {
	b.Helper()
	res, text := b.send("GET", b.Base+"/api/auth/idp/callback?"+query.Encode(), nil, "")
	if err := json.Unmarshal([]byte(text), &a); err != nil {
		b.Fatal(err)
	}
	a.status = res.StatusCode
	return a
}

// enter logs a user in, in a browser of their own.
func (b *oidcBrowser) enter(name string) oidcAnswer {
	b.Helper()
	b.forget()
	return b.finish(b.come(b.authorize(b.begin(), name)))
}

// TestOpenIDProvider logs users in by the certified oidc-provider: as they should, in wrong ways, with other keys than
// before, and while it is down.
func TestOpenIDProvider(t *testing.T) {
	if err := install(t.Context(), oidcFolder); err != nil {
		t.Fatal(err)
	}
	p := &oidcProvider{T: t, address: servertest.FreeAddress(t)}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("project")); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "config/plugins.yaml"), fmt.Sprintf("users-permissions:\n  config:\n"+
		"    ratelimit: {enabled: false}\n    providers:\n      idp: {issuer: 'http://%s', clientId: lectern, "+
		"clientSecret: %q, callback: %q}\n", p.address, oidcSecret, oidcPage))
	b := &oidcBrowser{T: t, Ready: servertest.Serve(t, dir, nil)}
	b.forget()
	p.redirect = b.Base + "/api/connect/idp/callback"
	p.start()
	defer func() { p.stop() }()

	ann := b.enter("ann")
	if ann.status != 200 || ann.User.Username != "ann" || ann.User.Email != "ann@people.test" || ann.User.Provider != "idp" {
		t.Fatalf("ann logs in: %+v", ann)
	}
	if res, text := b.send("GET", b.Base+"/api/users/me", nil, ann.JWT); res.StatusCode != 200 {
		t.Errorf("with the JWT: %s %s", res.Status, text)
	}
	if again := b.enter("ann"); again.User.ID != ann.User.ID {
		t.Errorf("ann logs in again: %+v", again)
	}
	refused := func(name, want string, got oidcAnswer) {
		t.Helper()
		if got.status != 400 || got.Error.Message != want || got.JWT != "" {
			t.Errorf("%s: %+v, want %s", name, got, want)
		}
	}
	const used = "the login was used already, or has taken too long: begin again"

	// A code that was used.
	b.forget()
	query := b.come(b.authorize(b.begin(), "ann"))
	if first := b.finish(query); first.status != 200 {
		t.Errorf("a code: %+v", first)
	}
	refused("the code again", used, b.finish(query))

	// A browser that has not begun the login.
	back := b.authorize(b.begin(), "ann")
	b.forget()
	if query := b.come(back); query.Get("error_description") != "OAuth2 state mismatch" || query.Has("access_token") {
		t.Errorf("without state the browser comes with %v", query)
	}

	// Logins that somebody has changed on their way to the provider.
	for _, c := range []struct{ parameter, value, want string }{
		{"nonce", "another", "the id_token of idp is not valid for this login"},
		{"client_id", "other", used}, // the code is for another client
		{"code_challenge", "5DXmGkVN7a2NtTiIkZ1vNaRX8kHlSWTTgSBiAKhxIUg", used},
	} {
		b.forget()
		page := b.begin()
		query := page.Query()
		query.Set(c.parameter, c.value)
		page.RawQuery = query.Encode()
		refused("another "+c.parameter, c.want, b.finish(b.come(b.authorize(page, "ann"))))
	}

	// Accounts that there are already.
	for _, name := range []string{"bob", "eve"} {
		res, text := b.send("POST", b.Base+"/api/auth/local/register", url.Values{"username": {name},
			"email": {name + "@people.test"}, "password": {"secret-" + name}}, "")
		if res.StatusCode != 200 {
			t.Fatalf("register: %s %s", res.Status, text)
		}
	}
	if bob := b.enter("bob"); bob.status != 200 || bob.User.Username != "bob" {
		t.Errorf("bob, whose address is verified: %+v", bob)
	}
	refused("eve, whose address is not verified",
		"idp does not vouch for your email address: confirm it there, and log in again", b.enter("uneve"))

	// The provider is down, and comes back with other keys.
	b.forget()
	query = b.come(b.authorize(b.begin(), "ann"))
	p.stop()
	if down := b.finish(query); down.status != 503 ||
		down.Error.Message != "idp cannot be reached; try again later, or log in another way" {
		t.Errorf("while it is down: %+v", down)
	}
	if res, text := b.send("POST", b.Base+"/api/auth/local", url.Values{"identifier": {"eve"}, "password": {"secret-eve"}},
		""); res.StatusCode != 200 {
		t.Errorf("a login by password while it is down: %s %s", res.Status, text)
	}
	p.start()
	if after := b.enter("ann"); after.status != 200 || after.User.ID != ann.User.ID {
		t.Errorf("with other keys: %+v", after)
	}
}
