package providers_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"golang.org/x/oauth2"

	"lectern/auth/providers"
	"lectern/auth/providers/providertest"
	"lectern/documents/apierror"
)

const (
	redirectURI = "https://api.people.test/api/connect/idp/callback"
	callback    = "https://www.people.test/connect/idp?from=idp"
)

// A harness has one provider of the settings, and the fake that it leads to.
type harness struct {
	*testing.T
	fake *providertest.Provider
	p    *providers.Provider
	now  time.Time
	log  strings.Builder
}

func start(t *testing.T, change func(*providers.Settings)) *harness {
	h := &harness{T: t, fake: providertest.New(t), now: time.Now()}
	h.fake.Claims = map[string]any{"email": "Ann@people.test", "email_verified": true, "preferred_username": "ann"}
	s := providers.Settings{Name: "idp", Issuer: h.fake.URL, ClientID: providertest.ClientID,
		ClientSecret: providertest.ClientSecret, Callback: callback}
	if change != nil {
		change(&s)
	}
	h.p = h.open(s, nil)
	return h
}

func (h *harness) open(s providers.Settings, over http.RoundTripper) *providers.Provider {
	all, err := providers.New(providers.Options{Settings: []providers.Settings{s}, Secret: []byte("a secret"),
		Now: func() time.Time { return h.now }, Log: slog.New(slog.NewTextHandler(&h.log, nil)), HTTP: over})
	if err != nil {
		h.Fatal(err)
	}
	return all.Get(s.Name)
}

// begin begins a login, and logs in at the provider. It returns the state and the query with which the browser comes
// back.
func (h *harness) begin(page, challenge string) (state string, query url.Values) {
	h.Helper()
	location, state, err := h.p.Begin(h.Context(), redirectURI, page, challenge)
	if err != nil {
		h.Fatal(err)
	}
	if u, err := url.Parse(location); err != nil || u.Query().Get("scope") != "openid email profile" {
		h.Errorf("the login begins at %s", location)
	}
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Get(location)
	if err != nil {
		h.Fatal(err)
	}
	res.Body.Close()
	back, err := res.Location()
	if err != nil {
		h.Fatalf("%s: %v", res.Status, err)
	}
	if !strings.HasPrefix(back.String(), redirectURI+"?") {
		h.Fatalf("the provider sends the browser to %s", back)
	}
	return state, back.Query()
}

// login logs in at the provider and returns the code for the front end.
func (h *harness) login() string {
	h.Helper()
	state, query := h.begin("", "")
	location, code := h.p.Return(h.Context(), state, query)
	if code == "" || !strings.HasPrefix(location, callback[:strings.Index(callback, "?")]) {
		h.Fatalf("back at %s", location)
	}
	return code
}

// finish trades a code, and returns the address of the user, or the status and message of the error.
func (h *harness) finish(t providers.Trade) string {
	h.Helper()
	id, err := h.p.Finish(h.Context(), t)
	if err == nil {
		return id.Email
	}
	var answer *apierror.Error
	if !errors.As(err, &answer) {
		h.Fatal(err)
	}
	return fmt.Sprint(answer.Status, " ", answer.Message)
}

func TestLogin(t *testing.T) {
	h := start(t, nil)
	state, query := h.begin("", "")
	location, code := h.p.Return(t.Context(), state, query)
	if want := callback[:strings.Index(callback, "?")] + "?access_token=" + code + "&from=idp"; location != want {
		t.Errorf("back at %s, want %s", location, want)
	}
	id, err := h.p.Finish(t.Context(), providers.Trade{Code: code})
	if err != nil || id.Provider != "idp" || id.Email != "Ann@people.test" || id.Username != "ann" {
		t.Errorf("got %+v, %v", id, err)
	}
	if got := h.finish(providers.Trade{Code: code}); got != "400 the login was used already, or has taken too long: begin again" {
		t.Errorf("the code a second time: %s", got)
	}
	for _, path := range []string{"/.well-known/openid-configuration", "/keys"} {
		h.login()
		if n := h.fake.Calls(path); n != 1 {
			t.Errorf("%d requests for %s", n, path)
		}
	}
	for _, secret := range []string{providertest.ClientSecret, code, "nn@people.test"} {
		if strings.Contains(h.log.String(), secret) {
			t.Errorf("the log has %q: %s", secret, &h.log)
		}
	}
}

// TestReturn sends browsers back that have not begun the login, or too long ago, or whose user has changed their mind.
func TestReturn(t *testing.T) {
	h := start(t, nil)
	other := h.open(providers.Settings{Name: "other", Issuer: h.fake.URL, ClientID: providertest.ClientID,
		Callback: callback}, nil)
	for _, c := range []struct {
		name   string
		change func(state *string, query url.Values)
		want   string
	}{
		{"without the cookie", func(state *string, _ url.Values) { *state = "" }, "OAuth2 state mismatch"},
		{"with the cookie of another login", func(state *string, _ url.Values) { *state, _ = h.begin("", "") },
			"OAuth2 state mismatch"},
		{"with a changed cookie", func(state *string, _ url.Values) { *state = "A" + (*state)[1:] }, "OAuth2 state mismatch"},
		{"with the cookie of another provider", func(state *string, _ url.Values) {
			_, *state, _ = other.Begin(t.Context(), redirectURI, "", "")
		}, "OAuth2 state mismatch"},
		{"with a code in place of the cookie", func(state *string, _ url.Values) { *state = h.login() },
			"OAuth2 state mismatch"},
		{"without state", func(_ *string, query url.Values) { query.Del("state") }, "OAuth2 state mismatch"},
		{"with another state", func(_ *string, query url.Values) { query.Set("state", "x") }, "OAuth2 state mismatch"},
		{"from another issuer", func(_ *string, query url.Values) { query.Set("iss", "https://idp.test") },
			"the answer comes from another provider"},
		{"without code", func(_ *string, query url.Values) { query.Del("code") }, "OAuth2 missing code parameter"},
		{"refused by the user", func(_ *string, query url.Values) {
			query.Set("error", "access_denied")
			query.Set("error_description", "not\nnow")
		}, "not now"},
		{"after too long", func(*string, url.Values) { h.now = h.now.Add(providers.StateLife + time.Second) },
			"the login has taken too long: begin again"},
	} {
		state, query := h.begin("", "")
		c.change(&state, query)
		location, code := h.p.Return(t.Context(), state, query)
		u, err := url.Parse(location)
		if err != nil || code != "" || u.Host != "www.people.test" || u.Query().Get("error") == "" ||
			u.Query().Get("error_description") != c.want || u.Query().Has("access_token") {
			t.Errorf("%s: sent to %s with code %q", c.name, location, code)
		}
	}
}

func TestBeginRefuses(t *testing.T) {
	h := start(t, nil)
	for _, c := range []struct{ page, challenge, want string }{
		{"https://www.people.test/connect/idp?mine=1", "", ""},
		{"https://www.people.test/other", "", "Invalid callback URL provided"},
		{"https://evil.test/connect/idp", "", "Invalid callback URL provided"},
		{"https://user@www.people.test/connect/idp", "", "Invalid callback URL provided"},
		{"//www.people.test/connect/idp", "", "Invalid callback URL provided"},
		{"", "short", "code_challenge must be the SHA-256 of a verifier in base64url: 43 characters"},
	} {
		_, _, err := h.p.Begin(t.Context(), redirectURI, c.page, c.challenge)
		var answer *apierror.Error
		if errors.As(err, &answer); c.want == "" && err != nil || c.want != "" && (answer == nil || answer.Message != c.want) {
			t.Errorf("%q %q: %v", c.page, c.challenge, err)
		}
	}
}

// TestFinish trades codes that are none, and codes of logins for which the provider gives tokens that are not for this
// login or this client.
func TestFinish(t *testing.T) {
	const invalid = "400 the id_token of idp is not valid for this login"
	const notOurs = "400 the access_token is none of this server: send the one with which the browser came back from " +
		"/connect/idp; tokens of the provider are not taken"
	for _, c := range []struct {
		name   string
		change func(h *harness, t *providers.Trade)
		want   string
	}{
		{"another audience", func(h *harness, _ *providers.Trade) { h.fake.Claims["aud"] = "another" }, invalid},
		{"two audiences", func(h *harness, _ *providers.Trade) {
			h.fake.Claims["aud"] = []string{providertest.ClientID, "another"}
		}, invalid},
		{"two audiences, for this party", func(h *harness, _ *providers.Trade) {
			h.fake.Claims["aud"], h.fake.Claims["azp"] = []string{"another", providertest.ClientID}, providertest.ClientID
		}, "Ann@people.test"},
		{"another party", func(h *harness, _ *providers.Trade) { h.fake.Claims["azp"] = "another" }, invalid},
		{"another nonce", func(h *harness, _ *providers.Trade) { h.fake.Claims["nonce"] = "another" }, invalid},
		{"no nonce", func(h *harness, _ *providers.Trade) { h.fake.Claims["nonce"] = nil }, invalid},
		{"another issuer", func(h *harness, _ *providers.Trade) { h.fake.Claims["iss"] = "https://idp.test" }, invalid},
		{"expired", func(h *harness, _ *providers.Trade) {
			h.fake.Claims["exp"] = h.now.Add(-2 * time.Minute).Unix()
		}, invalid},
		{"expired by a clock that is behind", func(h *harness, _ *providers.Trade) {
			h.fake.Claims["exp"] = h.now.Add(-30 * time.Second).Unix()
		}, "Ann@people.test"},
		{"made by a clock that is ahead", func(h *harness, _ *providers.Trade) {
			h.fake.Claims["iat"], h.fake.Claims["nbf"] = h.now.Add(time.Minute).Unix(), h.now.Add(time.Minute).Unix()
		}, "Ann@people.test"},
		{"another access token", func(h *harness, _ *providers.Trade) { h.fake.Claims["at_hash"] = "another" }, invalid},
		{"no subject in the userinfo", func(h *harness, _ *providers.Trade) {
			h.fake.Claims["email"], h.fake.UserInfo = nil, map[string]any{"email": "eve@people.test", "email_verified": true}
		}, "400 the answer of idp is not about this login"},
		{"the address in the userinfo", func(h *harness, _ *providers.Trade) {
			h.fake.Claims["email"], h.fake.Claims["email_verified"] = nil, nil
			h.fake.UserInfo = map[string]any{"sub": "1", "email": "ann@people.test", "email_verified": "true"}
		}, "ann@people.test"},
		{"no address", func(h *harness, _ *providers.Trade) {
			h.fake.Claims["email"], h.fake.UserInfo = nil, map[string]any{"sub": "1"}
		}, "400 Email was not available."},
		{"an address that is not verified", func(h *harness, _ *providers.Trade) { h.fake.Claims["email_verified"] = false },
			"400 idp does not vouch for your email address: confirm it there, and log in again"},
		{"an address of which nothing is said", func(h *harness, _ *providers.Trade) { h.fake.Claims["email_verified"] = nil },
			"400 idp does not vouch for your email address: confirm it there, and log in again"},
		{"an address in a verified domain of Microsoft", func(h *harness, _ *providers.Trade) {
			h.fake.Claims["email_verified"], h.fake.Claims["xms_edov"] = nil, 1
		}, "Ann@people.test"},
		{"too late", func(h *harness, _ *providers.Trade) { h.now = h.now.Add(providers.CodeLife + time.Second) },
			"400 the login has taken too long: begin again"},
		{"a state in place of the code", func(h *harness, t *providers.Trade) { t.Code, _ = h.begin("", "") }, notOurs},
		{"a token of the provider", func(_ *harness, t *providers.Trade) { t.Code = "ya29.a0AfH6SMBx" },
			notOurs},
		{"by a front end that has not begun the login", func(_ *harness, t *providers.Trade) { t.Verifier = "x" },
			"400 code_verifier does not fit the code_challenge with which the login began"},
		{"by a page of another origin", func(_ *harness, t *providers.Trade) {
			t.FromCookie, t.Origin = true, "https://evil.people.test"
		}, "400 OAuth authentication requires a completed provider session"},
		{"by the page", func(_ *harness, t *providers.Trade) { t.FromCookie, t.Origin = true, "https://www.people.test" },
			"Ann@people.test"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := start(t, nil)
			trade := providers.Trade{Code: h.login()}
			c.change(h, &trade)
			if got := h.finish(trade); got != c.want {
				t.Errorf("got %s, want %s\n%s", got, c.want, &h.log)
			}
		})
	}
}

// TestChallenge begins logins with a challenge, so that only the front end with its verifier can finish them.
func TestChallenge(t *testing.T) {
	h := start(t, nil)
	verifier := oauth2.GenerateVerifier()
	for sent, want := range map[string]string{
		"": "400 code_verifier does not fit the code_challenge with which the login began", verifier: "Ann@people.test",
		oauth2.GenerateVerifier(): "400 code_verifier does not fit the code_challenge with which the login began",
	} {
		state, query := h.begin("", oauth2.S256ChallengeFromVerifier(verifier))
		_, code := h.p.Return(t.Context(), state, query)
		if got := h.finish(providers.Trade{Code: code, Verifier: sent}); got != want {
			t.Errorf("with %q: %s", sent, got)
		}
	}
}

// TestTrustAddresses believes a provider that says nothing about addresses, if the settings say so.
func TestTrustAddresses(t *testing.T) {
	h := start(t, func(s *providers.Settings) { s.TrustAddresses = true })
	h.fake.Claims["email_verified"] = nil
	if got := h.finish(providers.Trade{Code: h.login()}); got != "Ann@people.test" {
		t.Error(got)
	}
}

// TestRotatedKeys replaces the key of the provider. Its keys are read again for a token with another key, but only so
// often.
func TestRotatedKeys(t *testing.T) {
	h := start(t, nil)
	for range 2 {
		if got := h.finish(providers.Trade{Code: h.login()}); got != "Ann@people.test" {
			t.Fatal(got)
		}
		h.fake.Rotate()
	}
	if n := h.fake.Calls("/keys"); n != 2 {
		t.Errorf("the keys were read %d times, want 2", n)
	}
	for range 20 {
		h.fake.Rotate()
		h.finish(providers.Trade{Code: h.login()})
	}
	if n := h.fake.Calls("/keys"); n != 5 {
		t.Errorf("the keys were read %d times, want 5", n)
	}
	h.now = h.now.Add(10 * time.Second)
	if got := h.finish(providers.Trade{Code: h.login()}); got != "Ann@people.test" {
		t.Error(got)
	}
}

// TestSecretAmongParameters logs in by providers that take the secret of a client in the body alone.
func TestSecretAmongParameters(t *testing.T) {
	for _, methods := range [][]string{{"client_secret_post"}, {"client_secret_basic", "client_secret_post"}} {
		h := start(t, nil)
		h.fake.Methods = methods
		for range 2 {
			if got := h.finish(providers.Trade{Code: h.login()}); got != "Ann@people.test" {
				t.Errorf("%v: %s\n%s", methods, got, &h.log)
			}
		}
		if n := h.fake.Calls("/token"); n != 1+len(methods) {
			t.Errorf("%v: %d requests for two tokens", methods, n)
		}
	}
}

// TestProviderFails makes the provider give no answer, or one that cannot be used.
func TestProviderFails(t *testing.T) {
	const down, wrong = "503 idp cannot be reached; try again later, or log in another way",
		"502 idp gives an answer that cannot be used; try again later, or log in another way"
	fails := func(path string, status int, body string) func(*harness) {
		return func(h *harness) {
			h.fake.Answer = func(w http.ResponseWriter, r *http.Request) bool {
				if r.URL.Path != path {
					return false
				}
				w.Header().Set("Content-Type", "application/json")
				w.Header().Set("Location", "/elsewhere")
				w.WriteHeader(status)
				_, _ = io.WriteString(w, body)
				return true
			}
		}
	}
	for _, c := range []struct {
		name string
		fail func(*harness)
		want string
	}{
		{"is down", func(h *harness) { h.fake.Close() }, down},
		{"token: 500", fails("/token", 500, "{}"), wrong},
		{"token: no JSON", fails("/token", 200, "<html>"), wrong},
		{"token: without end", fails("/token", 200, `{"access_token":"`+strings.Repeat("x", 3<<20)), wrong},
		{"token: another place", fails("/token", 307, ""), wrong},
		{"token: a client that is not known", fails("/token", 401, `{"error":"invalid_client"}`), wrong},
		{"token: no id_token", fails("/token", 200, `{"access_token":"x"}`), "400 the id_token of idp is not valid for this login"},
		{"keys: 500", fails("/keys", 500, ""), wrong},
		{"keys: without end", fails("/keys", 200, `{"keys":[`+strings.Repeat("{},", 1<<20)), wrong},
		{"userinfo: long", func(h *harness) {
			h.fake.Claims["email"] = nil
			fails("/userinfo", 200, strings.Repeat(" ", 2<<20)+
				`{"sub":"1","email":"ann@people.test","email_verified":true}`)(h)
		}, wrong},
		{"userinfo: 500", func(h *harness) {
			h.fake.Claims["email"] = nil
			fails("/userinfo", 500, "")(h)
		}, wrong},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := start(t, nil)
			trade := providers.Trade{Code: h.login()}
			c.fail(h)
			if got := h.finish(trade); got != c.want {
				t.Errorf("got %s, want %s\n%s", got, c.want, &h.log)
			}
			if h.fake.Calls("/elsewhere") > 0 {
				t.Error("the server follows a redirect")
			}
		})
	}
}

// TestDiscoveryFails begins logins while the provider cannot be found. It is not asked at each of them.
func TestDiscoveryFails(t *testing.T) {
	h := start(t, nil)
	broken := true
	h.fake.Answer = func(w http.ResponseWriter, r *http.Request) bool {
		if broken {
			w.WriteHeader(500)
		}
		return broken
	}
	begin := func() string {
		_, _, err := h.p.Begin(t.Context(), redirectURI, "", "")
		if err == nil {
			return "done"
		}
		var answer *apierror.Error
		errors.As(err, &answer)
		return fmt.Sprint(answer.Status)
	}
	for range 3 {
		if got := begin(); got != "502" {
			t.Error(got)
		}
	}
	if n := h.fake.Calls("/.well-known/openid-configuration"); n != 1 {
		t.Errorf("asked %d times", n)
	}
	broken = false
	h.now = h.now.Add(5 * time.Second)
	if got := begin(); got != "done" {
		t.Errorf("after the failure: %s", got)
	}
	broken = true
	h.now = h.now.Add(2 * time.Hour)
	before := h.fake.Calls("/.well-known/openid-configuration")
	for range 3 {
		if got := begin(); got != "done" {
			t.Errorf("what was found before is of use while the provider fails: %s", got)
		}
	}
	if n := h.fake.Calls("/.well-known/openid-configuration") - before; n != 1 {
		t.Errorf("asked %d times", n)
	}
}

// TestEndpoints refuses a provider whose discovery document has another issuer, or endpoints without protection.
func TestEndpoints(t *testing.T) {
	for _, c := range []struct{ key, value, want string }{
		{"", "", "done"},
		{"issuer", "https://evil.test", "502"},
		{"token_endpoint", "http://idp.test/token", "502"},
		{"jwks_uri", "http://idp.test/keys", "502"},
		{"jwks_uri", "file:///etc/passwd", "502"},
		{"userinfo_endpoint", "http://169.254.169.254/", "502"},
		{"authorization_endpoint", "javascript:alert(1)", "502"},
	} {
		document := map[string]string{"issuer": "https://idp.test", "authorization_endpoint": "https://idp.test/a",
			"token_endpoint": "https://idp.test/t", "jwks_uri": "https://idp.test/k"}
		document[c.key] = c.value
		h := &harness{T: t, now: time.Now()}
		p := h.open(providers.Settings{Name: "idp", Issuer: "https://idp.test", ClientID: "x", Callback: callback},
			answering(func(*http.Request) any { return document }))
		got := "done"
		if _, _, err := p.Begin(t.Context(), redirectURI, "", ""); err != nil {
			var answer *apierror.Error
			errors.As(err, &answer)
			got = fmt.Sprint(answer.Status)
		}
		if got != c.want {
			t.Errorf("%s %s: %s", c.key, c.value, got)
		}
	}
}

// answering is a transport that answers requests with JSON.
type answering func(*http.Request) any

func (a answering) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	w.Header().Set("Content-Type", "application/json")
	value := a(r)
	if value == nil {
		w.WriteHeader(404)
	}
	_ = json.NewEncoder(w).Encode(value)
	return w.Result(), nil
}

// TestPresets logs in by providers without OpenID Connect, whose answers are those of their documentation.
func TestPresets(t *testing.T) {
	type answers map[string]any // by host and path
	for _, c := range []struct {
		name, authorize string
		answers         answers
		want, username  string
	}{
		{"github", "https://github.com/login/oauth/authorize", answers{
			"github.com/login/oauth/access_token": object{"access_token": "t", "token_type": "bearer"},
			"api.github.com/user":                 object{"login": "ann", "email": nil},
			"api.github.com/user/emails": []object{{"email": "old@people.test", "primary": false, "verified": true},
				{"email": "ann@people.test", "primary": true, "verified": true}},
		}, "ann@people.test", "ann"},
		{"github", "https://github.com/login/oauth/authorize", answers{
			"github.com/login/oauth/access_token": object{"access_token": "t", "token_type": "bearer"},
			"api.github.com/user":                 object{"login": "ann", "email": "ann@people.test"},
			"api.github.com/user/emails":          []object{{"email": "ann@people.test", "primary": true, "verified": false}},
		}, "400 github does not vouch for your email address: confirm it there, and log in again", ""},
		{"github", "https://github.com/login/oauth/authorize", answers{
			"github.com/login/oauth/access_token": object{"error": "bad_verification_code"},
		}, "400 the login was used already, or has taken too long: begin again", ""},
		{"discord", "https://discord.com/oauth2/authorize", answers{
			"discord.com/api/oauth2/token": object{"access_token": "t", "token_type": "Bearer"},
			"discord.com/api/users/@me":    object{"username": "ann", "email": "ann@people.test", "verified": true},
		}, "ann@people.test", "ann"},
		{"discord", "https://discord.com/oauth2/authorize", answers{
			"discord.com/api/oauth2/token": object{"access_token": "t", "token_type": "Bearer"},
			"discord.com/api/users/@me":    object{"username": "ann", "email": "ann@people.test", "verified": false},
		}, "400 discord does not vouch for your email address: confirm it there, and log in again", ""},
		{"facebook", "https://www.facebook.com/dialog/oauth", answers{
			"graph.facebook.com/oauth/access_token": object{"access_token": "t", "token_type": "bearer"},
			"graph.facebook.com/me":                 object{"name": "Ann Lee", "id": "1"},
		}, "400 Email was not available.", ""},
		{"linkedin", "https://www.linkedin.com/oauth/v2/authorization", answers{
			"www.linkedin.com/oauth/v2/accessToken": object{"access_token": "t", "expires_in": 60},
			"api.linkedin.com/v2/userinfo":          object{"sub": "1", "name": "Ann", "email": "ann@people.test", "email_verified": true},
		}, "ann@people.test", "Ann"},
		{"patreon", "https://www.patreon.com/oauth2/authorize", answers{
			"www.patreon.com/api/oauth2/token": object{"access_token": "t", "token_type": "Bearer"},
			"www.patreon.com/api/oauth2/v2/identity": object{"data": object{"attributes": object{
				"email": "ann@people.test", "full_name": "Ann", "is_email_verified": true}}},
		}, "ann@people.test", "Ann"},
	} {
		h := &harness{T: t, now: time.Now()}
		h.p = h.open(providers.Settings{Name: c.name, ClientID: "id", ClientSecret: "s", Callback: callback},
			answering(func(r *http.Request) any {
				if r.Method == http.MethodGet && r.Header.Get("Authorization") != "Bearer t" {
					return nil
				}
				return c.answers[r.URL.Host+r.URL.Path]
			}))
		location, state, err := h.p.Begin(t.Context(), redirectURI, "", "")
		u, _ := url.Parse(location)
		if err != nil || !strings.HasPrefix(location, c.authorize+"?") || u.Query().Get("redirect_uri") != redirectURI {
			t.Errorf("%s: begins at %s, %v", c.name, location, err)
		}
		_, code := h.p.Return(t.Context(), state, url.Values{"state": {u.Query().Get("state")}, "code": {"c"}})
		id, err := h.p.Finish(t.Context(), providers.Trade{Code: code})
		got := id.Email
		if err != nil {
			got = h.finish(providers.Trade{Code: code})
		}
		if got != c.want || id.Username != c.username {
			t.Errorf("%s: %s %q, want %s\n%s", c.name, got, id.Username, c.want, &h.log)
		}
	}
}

type object = map[string]any

// TestBusy lets only so many logins wait for a provider that does not answer.
func TestBusy(t *testing.T) {
	h := start(t, nil)
	const most = 16
	codes := make([]string, most+1)
	for i := range codes {
		codes[i] = h.login()
	}
	arrived, release := make(chan struct{}, most), make(chan struct{})
	h.fake.Answer = func(_ http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/token" {
			arrived <- struct{}{}
			<-release
		}
		return false
	}
	done := make(chan string, most)
	for _, code := range codes[:most] {
		go func() {
			_, err := h.p.Finish(t.Context(), providers.Trade{Code: code})
			done <- fmt.Sprint(err)
		}()
	}
	for range most {
		<-arrived
	}
	if got := h.finish(providers.Trade{Code: codes[most]}); got != "503 too many logins by idp are at work; try again, or log in another way" {
		t.Error(got)
	}
	close(release)
	for range most {
		if got := <-done; got != "<nil>" {
			t.Error(got)
		}
	}
}
