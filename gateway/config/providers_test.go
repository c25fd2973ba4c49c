package config_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"lectern/auth/providers"
)

func TestProviders(t *testing.T) {
	t.Setenv("LECTERN_TEST_SECRET", "a secret")
	d, err := load(t, map[string]string{"config/plugins.yaml": `
users-permissions:
  config:
    providers:
      keycloak:
        issuer: http://localhost:8080/realms/staff
        clientId: website
        clientSecret: ${LECTERN_TEST_SECRET}
        callback: http://localhost:3000/connect/keycloak
        scope: [openid, email]
        audiences: app
        trustAddresses: true
      github: {clientId: x, callback: app.people.test://login, scope: user:email}
      google: {enabled: false}
`})
	if err != nil {
		t.Fatal(err)
	}
	want := []providers.Settings{
		{Name: "github", ClientID: "x", Callback: "app.people.test://login", Scopes: []string{"user:email"}},
		{Name: "keycloak", Issuer: "http://localhost:8080/realms/staff", ClientID: "website", ClientSecret: "a secret",
			Callback: "http://localhost:3000/connect/keycloak", Scopes: []string{"openid", "email"}, Audiences: []string{"app"},
			TrustAddresses: true},
	}
	if diff := cmp.Diff(want, d.Settings.Users.Providers); diff != "" {
		t.Error(diff)
	}
}

func TestProviderProblems(t *testing.T) {
	for _, c := range []struct{ name, settings, problem string }{
		{"github", "{callback: https://a.test}", `clientId must be the ID that github has given you`},
		{"github", "{clientId: x}", `callback must be the page of your front end, such as https://www.example.org/connect/github, not ""`},
		{"github", "{clientId: x, callback: 'javascript:alert(1)'}", `callback must be the page of your front end, such as https://www.example.org/connect/github, not "javascript:alert(1)"`},
		{"github", "{clientId: x, callback: https://a.test, issuer: https://b.test}", `github has no issuer; take it out`},
		{"github", "{clientId: x, callback: https://a.test, audiences: [y]}", `github makes no id_token; take audiences out`},
		{"local", "{clientId: x, callback: https://a.test}", `"local" is no name for a provider; take lower-case letters, digits and -, at most 31, but neither local nor email`},
		{"Google", "{clientId: x, callback: https://a.test}", `"Google" is no name for a provider; take lower-case letters, digits and -, at most 31, but neither local nor email`},
		{"twitter", "{clientId: x, callback: https://a.test}", `twitter tells no address that it vouches for, by which accounts are found; take it out`},
		{"keycloak", "{clientId: x, callback: https://a.test}", `issuer is missing: write the one of your account at keycloak, such as https://HOST/realms/REALM`},
		{"own", "{clientId: x, callback: https://a.test}", `issuer is missing: write the one of your account at own, such as https://login.example.org`},
		{"own", "{clientId: x, callback: https://a.test, issuer: http://login.example.org}", `issuer must be an address such as https://login.example.org, or http://localhost:PORT on this machine, not "http://login.example.org"`},
		{"own", "{clientId: x, callback: https://a.test, issuer: login.example.org}", `issuer must be an address such as https://login.example.org, or http://localhost:PORT on this machine, not "login.example.org"`},
		{"microsoft", "{clientId: x, callback: https://a.test, issuer: https://login.microsoftonline.com/common/v2.0}", `issuer must name your tenant, as https://login.microsoftonline.com/TENANT-ID/v2.0: anybody can make a tenant whose users have the addresses of others`},
		{"own", "{clientid: x}", `unknown key "clientid"; did you mean "clientId"?`},
	} {
		_, err := load(t, map[string]string{"config/plugins.yaml": "users-permissions:\n  config:\n    providers:\n      " +
			c.name + ": " + c.settings + "\n"})
		if want := "config/plugins.yaml:4: " + c.problem; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", c.settings, err, want)
		}
	}
}
