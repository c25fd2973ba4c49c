package repository

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"lectern/command"
	"lectern/gateway"
)

var anyYAMLBlock = regexp.MustCompile("(?s)```yaml\n(.*?)```")

// settingsFiles maps the first key of an example to the file that it belongs to. "" is for examples that no project has
// alone: a file for Compose, and parts of a definition and of a webhook.
var settingsFiles = map[string]string{
	"host": "config/server.yaml", "desk": "config/server.yaml", "idempotency": "config/server.yaml", "replica": "config/server.yaml",
	"cluster": "config/server.yaml", "limits": "config/server.yaml", "url": "config/server.yaml",
	"log": "config/server.yaml", "metrics": "config/server.yaml", "tracing": "config/server.yaml",
	"cache": "config/api.yaml", "openapi": "config/api.yaml", "populate": "config/api.yaml", "preview": "config/api.yaml",
	"rateLimit": "config/api.yaml", "roles": "config/permissions.yaml", "tokens": "config/permissions.yaml",
	"upload": "config/plugins.yaml", "mcp": "config/plugins.yaml",
	"i18n": "config/plugins.yaml", "graphql": "config/plugins.yaml", "kind": "content-types/guide.yaml",
	"uid":      "content-types/guide.yaml",
	"webhooks": "config/webhooks.yaml", "users-permissions": "config/plugins.yaml", "allowPrivate": "", "services": "", "slug": "",
}

// TestGuideSettings puts each example of a settings file in the guides into a project of its own and checks that: it
// must have no problem but a type or component that only the guide knows.
func TestGuideSettings(t *testing.T) {
	for _, name := range []string{"IMAGE_SECRET", "S3_ACCESS_KEY", "S3_SECRET_KEY", "METRICS_TOKEN", "TRACING_KEY",
		"JWT_SECRET", "LECTERN_REPLICA_TOKEN", "GOOGLE_SECRET", "KEYCLOAK_SECRET", "PARTNERS_SECRET"} {
		t.Setenv(name, "a secret that only this test uses")
	}
	t.Setenv("SEARCH_WEBHOOK_SECRET", "whsec_"+base64.StdEncoding.EncodeToString(make([]byte, 32)))
	checked := 0
	for _, guide := range trackedFiles(t, "docs/*.md") {
		if executedGuides[guide] != "" {
			continue // TestGuidesFromAnEmptyProject serves its examples
		}
		text, err := os.ReadFile(guide)
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range anyYAMLBlock.FindAllStringSubmatch(string(text), -1) {
			key, _, _ := strings.Cut(strings.TrimSpace(withoutComments(block[1])), ":")
			file, known := settingsFiles[key]
			if !known {
				t.Errorf("%s: settingsFiles does not say where the example that begins with %s belongs", guide, key)
			}
			if file != "" {
				checkSettings(t, guide, file, block[1])
				checked++
			}
		}
	}
	if checked < 12 {
		t.Errorf("only %d examples were checked", checked)
	}
}

// withoutComments leaves out lines that are comments.
func withoutComments(text string) string {
	var kept strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "#") {
			kept.WriteString(line)
		}
	}
	return kept.String()
}

// onlyInGuides matches problems with names that the guides use and the example project lacks.
var onlyInGuides = regexp.MustCompile(
	`"(api::page\.page|api::tag\.tag|api::subscriber\.subscriber|shared\.address|fans|notes)"|Invalid key cover`)

func checkSettings(t *testing.T, guide, file, text string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "site")
	if code := command.Main(t.Context(), []string{"init", dir}, command.Program{}); code != 0 {
		t.Fatalf("init: exit code %d", code)
	}
	text = strings.Replace(text, "singularName: article\n  pluralName: articles\n",
		"singularName: guide\n  pluralName: guides\n", 1) // there is one already
	if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	_, problems, _, err := gateway.Check(dir, gateway.Options{})
	if err != nil {
		t.Fatalf("%s: %s: %v", guide, file, err)
	}
	for _, p := range problems {
		if !onlyInGuides.MatchString(p.Message) {
			t.Errorf("%s: %s", guide, p)
		}
	}
}
