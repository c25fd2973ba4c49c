package providers_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"lectern/auth/providers"
	"lectern/auth/providers/providertest"
	"lectern/documents/apierror"
)

// TestVerifyToken gives the server tokens that an app may have got, for its own client or for another one.
func TestVerifyToken(t *testing.T) {
	const invalid = "400 the id_token of idp is not valid for this server"
	for _, c := range []struct {
		name   string
		change func(*harness) object
		want   string
	}{
		{"of the app", func(*harness) object { return object{"aud": "app"} }, "Ann@people.test"},
		{"of another client", func(*harness) object { return object{"aud": "another"} }, invalid},
		{"of this server, which is no audience", func(*harness) object { return object{"aud": providertest.ClientID} }, invalid},
		{"of the app and another client", func(*harness) object {
			return object{"aud": []string{"app", "another"}, "azp": "another"}
		}, invalid},
		{"of the app, which another one may use", func(*harness) object {
			return object{"aud": []string{"app", "another"}, "azp": "app"}
		}, "Ann@people.test"},
		{"of another issuer", func(*harness) object { return object{"aud": "app", "iss": "https://idp.test"} }, invalid},
		{"that is old", func(h *harness) object { return object{"aud": "app", "iat": h.now.Add(-time.Hour / 2).Unix()} }, invalid},
		{"without a time", func(*harness) object { return object{"aud": "app", "iat": nil} }, invalid},
		{"of the future", func(h *harness) object { return object{"aud": "app", "iat": h.now.Add(time.Hour).Unix()} }, invalid},
		{"that has expired", func(h *harness) object {
			return object{"aud": "app", "exp": h.now.Add(-2 * time.Minute).Unix()}
		}, invalid},
		{"with an address that is not verified", func(*harness) object {
			return object{"aud": "app", "email_verified": false}
		}, "400 idp does not vouch for your email address: confirm it there, and log in again"},
	} {
		h := start(t, func(s *providers.Settings) { s.Audiences = []string{"app"} })
		if got := h.verify(h.fake.IDToken(c.change(h))); got != c.want {
			t.Errorf("%s: %s, want %s\n%s", c.name, got, c.want, &h.log)
		}
	}

	h := start(t, func(s *providers.Settings) { s.Audiences = []string{"app"} })
	token := h.fake.IDToken(object{"aud": "app"})
	head, rest, _ := strings.Cut(token, ".")
	for _, forged := range []string{"", "x", token[:len(token)-4] + "AAAA", head + "." + rest[:strings.Index(rest, ".")+1],
		"eyJhbGciOiJub25lIn0." + rest[:strings.Index(rest, ".")+1]} {
		if got := h.verify(forged); got != invalid {
			t.Errorf("%q: %s", forged, got)
		}
	}
	h.fake.Rotate()
	token = h.fake.IDToken(object{"aud": "app"})
	h.fake.Rotate()
	for range 20 {
		if got := h.verify(token); got != invalid {
			t.Errorf("signed with a key that the provider has no more: %s", got)
		}
	}
	if n := h.fake.Calls("/keys"); n > 5 {
		t.Errorf("the keys were read %d times", n)
	}

	h = start(t, nil)
	if got := h.verify(h.fake.IDToken(nil)); got != "400 no id_token of idp is taken: begin the login at /connect/idp" {
		t.Errorf("without audiences: %s", got)
	}
	h = start(t, func(s *providers.Settings) { s.Audiences = []string{"app"} })
	h.fake.Close()
	if got := h.verify("x"); got != "503 idp cannot be reached; try again later, or log in another way" {
		t.Errorf("of a provider that is down: %s", got)
	}
}

// verify returns the address of the user of a token, or the status and message of the error.
func (h *harness) verify(token string) string {
	h.Helper()
	id, err := h.p.VerifyToken(h.Context(), token)
	var answer *apierror.Error
	switch {
	case err == nil:
		return id.Email
	case !errors.As(err, &answer):
		h.Fatal(err)
	}
	return fmt.Sprint(answer.Status, " ", answer.Message)
}
