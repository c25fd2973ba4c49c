package providers_test

import (
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
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
		{"https://www.people.test/connect/idp?" + strings.Repeat("x", 2000), "", "the callback URL is longer than 2000 bytes"},
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

// TestSeveralNodes has each step of a login reach another node. A node with another secret takes none.

func TestSeveralNodes(t *testing.T) {
	h := start(t, nil)
	node := func(secret string) *providers.Provider {
		all, err := providers.New(providers.Options{Settings: []providers.Settings{h.p.Settings}, Secret: []byte(secret),
			Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		return all.Get("idp")
	}
	state, query := h.begin("", "")
	if _, code := node("another").Return(t.Context(), state, query); code != "" {
		t.Error("a node with another secret takes the state")
	}
	_, code := node("a secret").Return(t.Context(), state, query)
	if _, err := node("another").Finish(t.Context(), providers.Trade{Code: code}); err == nil {
		t.Error("a node with another secret takes the code")
	}
	if id, err := node("a secret").Finish(t.Context(), providers.Trade{Code: code}); err != nil || id.Email != "Ann@people.test" {
		t.Errorf("%+v, %v", id, err)
	}
}

// TestBeginIsBusy lets only so many logins wait for a provider that does not say where they begin.

// FuzzReturn gives a provider cookies and codes that it has not made.

func FuzzReturn(f *testing.F) {
	all, err := providers.New(providers.Options{Settings: []providers.Settings{{Name: "github", Callback: callback}},
		Secret: []byte(rand.Text()), Log: slog.New(slog.DiscardHandler)}) // each process of a fuzz test has another
	if err != nil {
		f.Fatal(err)
	}
	p := all.Get("github")
	location, state, err := p.Begin(f.Context(), redirectURI, "", "")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(state, location)
	f.Add("", "https://a.test/?code=x&state=")
	f.Add("AAAA", "https://a.test/?error=x&error_description=%ff%00")
	f.Fuzz(func(t *testing.T, text, address string) {
		u, err := url.Parse(address)
		if err != nil {
			return
		}
		to, code := p.Return(t.Context(), text, u.Query())
		if !strings.HasPrefix(to, callback[:strings.Index(callback, "?")+1]) {
			t.Errorf("sent to %s", to)
		}
		if code != "" && text != state {
			t.Errorf("%q is taken for a state", text)
		}
		if id, err := p.Finish(t.Context(), providers.Trade{Code: text}); err == nil {
			t.Errorf("%q is taken for a code of %v", text, id)
		}
	})
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

// TestSecretAmongParameters logs in by providers that take the secret of a client in the body alone.

// TestProviderFails makes the provider give no answer, or one that cannot be used.

// TestDiscoveryFails begins logins while the provider cannot be found. It is not asked at each of them.

// TestEndpoints refuses a provider whose discovery document has another issuer, or endpoints without protection.

// answering is a transport that answers requests with JSON.

// TestPresets logs in by providers without OpenID Connect, whose answers are those of their documentation.

// TestBusy lets only so many logins wait for a provider that does not answer.
