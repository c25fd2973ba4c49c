package gateway_test

import (
	"errors"
	"flag"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"lectern/auth"
	"lectern/gateway"
	"lectern/internal/yamlfile"
)

var updateProblems = flag.Bool("update-problems", false, "write what is found wrong with the projects in testdata/problems into them")

// basic is the project that the files of a test are added to.
var basic = map[string]string{
	"content-types/article.yaml": `
kind: collectionType
info: {singularName: article, pluralName: articles, displayName: Article}
attributes: {title: {type: string}}
`,
	"content-types/home.yaml": `
kind: singleType
info: {singularName: home, pluralName: homes, displayName: Home}
attributes: {title: {type: string}}
`}

// writeProject makes a project directory of basic and files.
func writeProject(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	writeFiles(t, dir, basic)
	writeFiles(t, dir, files)
	return dir
}

// writeFiles writes files of a project, by their paths in it.
func writeFiles(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestProblems compares what Load finds wrong with the projects in testdata/problems with their part "want".
func TestProblems(t *testing.T) {
	archives, err := filepath.Glob("testdata/problems/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatal("no projects", err)
	}
	for _, name := range archives {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			files, want := map[string]string{}, ""
			var kept []txtar.File
			for _, f := range archive.Files {
				if f.Name == "want" {
					want = string(f.Data)
					continue
				}
				files[f.Name] = string(f.Data)
				kept = append(kept, f)
			}
			_, err = gateway.Load(writeProject(t, files), nil)
			var problems yamlfile.Problems
			if !errors.As(err, &problems) {
				t.Fatalf("got %v, want problems", err)
			}
			got := problems.Error() + "\n"
			if *updateProblems {
				archive.Files = append(kept, txtar.File{Name: "want", Data: []byte(got)})
				if err := os.WriteFile(name, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDefaults(t *testing.T) {
	d, err := gateway.Load(writeProject(t, nil), nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(gateway.DefaultSettings(), d.Settings); diff != "" {
		t.Error(diff)
	}
}

func TestSettings(t *testing.T) {
	t.Setenv("LECTERN_TEST_PORT", "8080")
	d, err := gateway.Load(writeProject(t, map[string]string{
		".env": "LECTERN_TEST_PORT=1\nLECTERN_TEST_LEVEL=debug\n",
		"config/server.yml": `
host: ${LECTERN_TEST_HOST:0.0.0.0}
port: ${LECTERN_TEST_PORT}
url: https://content.example.org/
trustedProxies: [10.1.2.3/8, "::1"]
compress: false
cors: {origin: https://www.example.org, maxAge: 10m}
limits: {json: 10mb, form: 2048}
timeouts: {request: 1m30s}
log: {level: "${LECTERN_TEST_LEVEL}", format: json}
`,
		"config/api.json":     `{"rest": {"prefix": "/content/v1/", "maxLimit": -1}}`,
		"config/plugins.yaml": "i18n: {config: {defaultLocale: de, locales: [fr, {code: pt-BR, name: Português}]}}\nupload: {enabled: false}\n",
		"config/permissions.yaml": `
roles:
  public: {api::article.article: [find], api::home.home: [find]}
  editor: {}
tokens:
  - {name: news, type: custom, permissions: [api::article.article.find], lifespan: 30d}
`,
	}), nil)
	if err != nil {
		t.Fatal(err)
	}
	s := d.Settings
	got := []any{
		s.Server.Host, s.Server.Port, s.Server.URL, s.Server.TrustedProxies[0].String(), s.Server.TrustedProxies[1].String(),
		s.Server.Compress, s.Server.CORS.Origins, s.Server.CORS.MaxAge, s.Server.Limits.JSONBytes, s.Server.Limits.FormBytes,
		s.Server.Limits.Handle, s.Server.Limits.Idle, s.Server.LogLevel, s.Server.LogFormat,
		s.REST, s.I18n, s.Upload.Enabled, s.Users.Enabled, s.Roles, s.Tokens,
	}
	want := []any{
		"0.0.0.0", 8080, "https://content.example.org", "10.0.0.0/8", "::1/128",
		false, []string{"https://www.example.org"}, 600, int64(10 << 20), int64(2048),
		90 * time.Second, gateway.DefaultLimits.Idle, slog.LevelDebug, "json",
		gateway.RESTSettings{Prefix: "/content/v1", DefaultLimit: 25, MaxLimit: -1, WithCount: true},
		gateway.I18nSettings{Enabled: true, DefaultLocale: "de", Locales: []gateway.LocaleSetting{{Code: "de", Name: "de"}, {Code: "fr", Name: "fr"}, {Code: "pt-BR", Name: "Português"}}},
		false, true,
		map[string][]string{"public": {"api::article.article.find", "api::home.home.find"}, "editor": {}},
		[]auth.Declaration{{Name: "news", Kind: auth.Custom, Permissions: []string{"api::article.article.find"}, Lifespan: 30 * 24 * time.Hour}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
