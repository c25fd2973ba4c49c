package gateway_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"lectern/gateway"
)

// The page for browsers depends on the setting, the environment and the program, in this order. The test passes with
// and without the IDE in the build: without it, a page says that the IDE is missing.
func TestLandingPageFollowsTheSettings(t *testing.T) {
	choose := func(ide bool, page http.Handler) *gateway.Extensions {
		x := &gateway.Extensions{}
		x.LandingPage(func(p *gateway.Project) (bool, http.Handler) {
			if p.Definition().Settings.GraphQL.Endpoint == "" {
				t.Error("asked with half a project")
			}
			return ide, page
		})
		return x
	}
	own := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "a page of its own") })
	const plain, wanted, custom = "plain", "wanted", "custom"
	for _, tt := range []struct {
		name       string
		setting    string
		production bool
		extensions *gateway.Extensions
		want       string
	}{
		{"development", "", false, nil, wanted},
		{"production", "", true, nil, plain},
		{"set to true", "landingPage: true", true, nil, wanted},
		{"set to false", "landingPage: false", false, nil, plain},
		{"playgroundAlways in production", "playgroundAlways: true", true, nil, wanted},
		{"playgroundAlways beside landingPage", "{playgroundAlways: true, landingPage: false}", true, nil, wanted},
		{"no playgroundAlways", "playgroundAlways: false", false, nil, wanted},
		{"no playgroundAlways in production", "playgroundAlways: false", true, nil, plain},
		{"no playgroundAlways beside landingPage", "{playgroundAlways: false, landingPage: true}", true, nil, wanted},
		{"a program says true", "landingPage: false", true, choose(true, nil), wanted},
		{"a program says false", "landingPage: true", false, choose(false, nil), plain},
		{"a program renders it", "landingPage: false", true, choose(false, own), custom},
	} {
		t.Run(tt.name, func(t *testing.T) {
			files := with(nil)
			if tt.setting != "" {
				setting := tt.setting
				if !strings.HasPrefix(setting, "{") {
					setting = "{" + setting + "}"
				}
				files["config/plugins.yaml"] = "graphql:\n  config: " + setting + "\n" + files["config/plugins.yaml"]
			}
			ready, _ := run(t, writeProject(t, files),
				gateway.Options{Ephemeral: true, Production: tt.production, Extensions: tt.extensions}, nil)
			r := newAPI(t, ready).do("GET", "/graphql", "", nil, "Accept", "text/html,*/*;q=0.8")
			got := wanted
			switch {
			case r.text == "a page of its own":
				got = custom
			case !strings.Contains(r.text, `id="ide"`) && !strings.Contains(r.text, "generate ./gateway"):
				got = plain
			}
			if r.status != 200 || got != tt.want {
				t.Errorf("the page is %s, want %s: %d %s", got, tt.want, r.status, r.text)
			}
			policy := r.header.Get("Content-Security-Policy")
			if got != custom && (!strings.HasPrefix(policy, "default-src 'none'; ") ||
				!strings.Contains(policy, "frame-ancestors 'none'")) {
				t.Errorf("Content-Security-Policy: %s", policy)
			}
		})
	}
}
