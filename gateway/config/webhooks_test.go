package config_test

import (
	"encoding/json"
	"net/netip"
	"reflect"
	"strings"
	"testing"

	"lectern/gateway/config"
	"lectern/webhooks"
)

const testSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

func TestWebhooks(t *testing.T) {
	t.Setenv("LECTERN_TEST_SECRET", testSecret)
	d, err := load(t, map[string]string{"config/webhooks.yaml": `
webhooks:
  - name: build
    url: https://example.org/hook?key=1
    events: [entry.publish, entry.unpublish]
    types: [api::article.article]
    secret: ["${LECTERN_TEST_SECRET}", "` + testSecret + `"]
    headers: {Authorization: Bearer x}
    format: strapi
    enabled: false
    allowPrivate: [10.1.2.3/8, "::1"]
  - {name: all, url: "http://example.org"}
`})
	if err != nil {
		t.Fatal(err)
	}
	secret, err := webhooks.ParseSecret(testSecret)
	if err != nil {
		t.Fatal(err)
	}
	want := []webhooks.Hook{{
		Name: "build", URL: "https://example.org/hook?key=1", Events: []string{"entry.publish", "entry.unpublish"},
		Types:   []string{"api::article.article"},
		Secrets: []webhooks.Secret{secret, secret}, Headers: map[string]string{"Authorization": "Bearer x"},
		Format: webhooks.Strapi, Disabled: true,
		AllowPrivate: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("::1/128")},
	}, {Name: "all", URL: "http://example.org", Events: webhooks.Events(), Format: webhooks.Standard}}
	if !reflect.DeepEqual(d.Settings.Webhooks, want) {
		t.Errorf("got %+v, want %+v", d.Settings.Webhooks, want)
	}
}

func TestWebhookProblems(t *testing.T) {
	_, err := load(t, map[string]string{"config/server.yaml": "log: {keep: 0}\n", "config/webhooks.yaml": `
webhooks:
  - name: Build
    url: example.org
    events: [entry.created]
    types: [api::none.none, plugin::i18n.locale]
    secret: secret-of-mine
    format: xml
    headers:
      webhook-id: mine
      "a b": c
      D: "e\nf"
    allowPrivate: [everything]
    retries: 3
  - {name: a, url: "https://example.org"}
  - {name: a, url: "https://example.org"}
  - url: https://user:password@
`})
	if err == nil {
		t.Fatal("no problems")
	}
	want := `config/webhooks.yaml:3: name must be lower-case letters, digits and -, at most 63, such as search-index, not "Build"
config/webhooks.yaml:3: webhooks are sent from the log of changes, which log.keep: 0 in config/server.yaml switches off; leave log.keep out
config/webhooks.yaml:4: url must be an address such as https://www.example.org/hook
config/webhooks.yaml:5: there is no event "entry.created"; there are entry.create, entry.update, entry.delete, entry.publish, entry.unpublish, media.create, media.update, media.delete
config/webhooks.yaml:6: there is no content-type "api::none.none" with events; write its uid, such as api::article.article
config/webhooks.yaml:6: there is no content-type "plugin::i18n.locale" with events; write its uid, such as api::article.article
config/webhooks.yaml:7: a secret is whsec_ and 24 to 64 bytes in base64, as ` + "`echo whsec_$(openssl rand -base64 32)`" + ` prints it
config/webhooks.yaml:8: format must be standard or strapi, not "xml"
config/webhooks.yaml:10: the server sets the header webhook-id itself; leave it out
config/webhooks.yaml:11: "a b" is no name of a header
config/webhooks.yaml:12: the value of the header D has characters that a header cannot have
config/webhooks.yaml:13: this is an address or a range, such as 10.0.0.1 or 10.0.0.0/8, not "everything"
config/webhooks.yaml:14: unknown key "retries"; known are name, url, events, types, secret, headers, format, enabled, allowPrivate
config/webhooks.yaml:16: name is that of a webhook above; give each its own
config/webhooks.yaml:17: key "name" is missing
config/webhooks.yaml:17: url must be an address such as https://www.example.org/hook`
	if got := err.Error(); got != want {
		t.Errorf("problems:\n%s\nwant:\n%s", got, want)
	}
}

// FuzzWebhooks loads random files, and files with random secrets. There must be problems, or hooks that can be used;
// problems of a secret must not show it.
func FuzzWebhooks(f *testing.F) {
	f.Add("webhooks: [{name: a, url: 'https://example.org', secret: " + testSecret +
		", allowPrivate: [10.0.0.0/8], headers: {A: b}}]")
	f.Add("webhooks: [{name: a, url: 'https://example.org', secret: [" + testSecret +
		"x], events: [x], types: {a: b}}, 1, null]")
	f.Add("webhooks: {a: b}")
	f.Fuzz(func(t *testing.T, text string) {
		const end = "-the-end-of-a-secret"
		secret, err := json.Marshal(text + end)
		if err != nil {
			t.Fatal(err)
		}
		for _, value := range []string{string(secret), "[" + string(secret) + "]", `{"a":` + string(secret) + "}",
			"[[" + string(secret) + "]]"} {
			_, problems := config.ReadWebhooks(`{"webhooks":[{"name":"a","url":"https://example.org","secret":` +
				value + "}]}")
			if len(problems) == 0 || strings.Contains(problems.Error(), end) {
				t.Errorf("a wrong secret has the problems %v", problems)
			}
		}
		hooks, problems := config.ReadWebhooks(text)
		if len(problems) > 0 {
			return
		}
		names := map[string]bool{}
		for _, h := range hooks {
			if names[h.Name] || h.Name == "" || h.URL == "" || len(h.Events) == 0 || h.Format != webhooks.Standard &&
				h.Format != webhooks.Strapi {
				t.Errorf("%q is read as %+v", text, h)
			}
			names[h.Name] = true
		}
	})
}
