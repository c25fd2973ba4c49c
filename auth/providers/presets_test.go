package providers_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"lectern/auth/providers"
	"lectern/documents/apierror"
)

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
