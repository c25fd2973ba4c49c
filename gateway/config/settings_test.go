package config_test

import (
	"log/slog"
	"os"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"lectern/auth"
	"lectern/gateway/config"
	"lectern/internal/yamlfile"
	"lectern/store"
)

// load loads a project of two content types and the given files, by their paths in the project.
func load(t *testing.T, files map[string]string) (*config.Definition, error) {
	t.Helper()
	project := fstest.MapFS{
		"content-types/article.yaml": {Data: []byte("kind: collectionType\ninfo: {singularName: article, pluralName: articles}\nattributes: {title: {type: string}}\n")},
		"content-types/home.yaml":    {Data: []byte("kind: singleType\ninfo: {singularName: home, pluralName: homes}\nattributes: {title: {type: string}}\n")},
	}
	for name, text := range files {
		project[name] = &fstest.MapFile{Data: []byte(text)}
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, project); err != nil {
		t.Fatal(err)
	}
	d, problems, err := config.Load(dir, func(*config.Definition) yamlfile.Problems { return nil })
	if err == nil {
		err = problems.Err()
	}
	return d, err
}

func TestDefaults(t *testing.T) {
	d, err := load(t, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(config.Default(), d.Settings); diff != "" {
		t.Error(diff)
	}
}

func TestSettings(t *testing.T) {
	t.Setenv("LECTERN_TEST_PORT", "8080")
	d, err := load(t, map[string]string{
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
log: {level: "${LECTERN_TEST_LEVEL}", format: json, requests: true, sample: 0.25, keep: 7d, maxSize: 2GiB}
`,
		"config/api.json":     `{"rest": {"prefix": "/content/v1/", "maxLimit": -1}, "preview": {"lifespan": "90m"}}`,
		"config/plugins.yaml": "i18n: {config: {defaultLocale: de, locales: [fr, {code: pt-BR, name: Português}]}}\nupload: {enabled: false}\n",
		"config/permissions.yaml": `
roles:
  public: {api::article.article: [find], api::home.home: [find]}
  editor: {}
tokens:
  - {name: news, type: custom, permissions: [api::article.article.find], lifespan: 30d}
`,
	})
	if err != nil {
		t.Fatal(err)
	}
	s := d.Settings
	got := []any{
		s.Server.Host, s.Server.Port, s.Server.URL, s.Server.TrustedProxies[0].String(),
		s.Server.TrustedProxies[1].String(),
		s.Server.Compress, s.Server.CORS.Origins, s.Server.CORS.MaxAge, s.Server.Limits.JSONBytes,
		s.Server.Limits.FormBytes,
		s.Server.Limits.Handle, s.Server.Limits.Idle, s.Server.Log.Level, s.Server.Log.Format, *s.Server.Log.Requests,
		s.Server.Log.Sample, s.Server.Log.Limits(),
		s.REST, s.I18n, s.Upload.Enabled, s.Users.Enabled, s.Roles, s.Tokens,
	}
	want := []any{
		"0.0.0.0", 8080, "https://content.example.org", "10.0.0.0/8", "::1/128",
		false, []string{"https://www.example.org"}, 600, int64(10 << 20), int64(2048),
		90 * time.Second, config.DefaultLimits.Idle, slog.LevelDebug, "json", true, 0.25,
		store.LogLimits{Keep: 7 * 24 * time.Hour, MaxSize: 2 << 30},
		config.REST{Prefix: "/content/v1", DefaultLimit: 25, MaxLimit: -1, WithCount: true,
			RateLimits: config.Default().REST.RateLimits, PreviewLifespan: 90 * time.Minute},
		config.I18n{Enabled: true, DefaultLocale: "de", Locales: []config.Locale{{Code: "de", Name: "de"},
			{Code: "fr", Name: "fr"}, {Code: "pt-BR", Name: "Português"}}},
		false, true,
		map[string][]string{"public": {"api::article.article.find", "api::home.home.find"}, "editor": {}},
		[]auth.Declaration{{Name: "news", Kind: auth.Custom, Permissions: []string{"api::article.article.find"},
			Lifespan: 30 * 24 * time.Hour}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestLogOfChanges reads how long the log of changes is kept.
func TestLogOfChanges(t *testing.T) {
	for text, want := range map[string]store.LogLimits{
		"{level: info}":                {Keep: config.DefaultKeep, MaxSize: config.DefaultLogSize},
		"{keep: 0}":                    {MaxSize: config.DefaultLogSize, Off: true},
		"{keep: 0d}":                   {MaxSize: config.DefaultLogSize, Off: true},
		"{keep: 12h30m, maxSize: 5mb}": {Keep: 12*time.Hour + 30*time.Minute, MaxSize: 5 << 20},
	} {
		d, err := load(t, map[string]string{"config/server.yaml": "log: " + text})
		if err != nil {
			t.Errorf("%s: %v", text, err)
		} else if got := d.Settings.Server.Log.Limits(); got != want {
			t.Errorf("%s is %+v, want %+v", text, got, want)
		}
	}
}

// TestClusterProblems reads settings of nodes, and expects the place of what is wrong.
func TestClusterProblems(t *testing.T) {
	node := "cluster:\n  name: node1\n  address: 10.0.0.1:7331\n"
	for text, want := range map[string]string{
		node: "",
		node + "  join: [10.0.0.2:7331, host.lan:7331]\n  expect: 3\n  vote: false\n  certificates: certs\n": "",
		"cluster:\n  address: 10.0.0.1:7331\n":                            "config/server.yaml:2: cluster needs name",
		"cluster:\n  vote: false\n":                                       "config/server.yaml:2: cluster needs name",
		"cluster:\n  name: node1\n":                                       "config/server.yaml:2: cluster needs address",
		"cluster:\n  name: Node 1\n  address: 10.0.0.1:7331\n":            "config/server.yaml:2: \"Node 1\" cannot be the name",
		"cluster:\n  name: node1\n  address: 0.0.0.0:7331\n":              "config/server.yaml:3: other nodes cannot reach",
		node + "  join: 10.0.0.2\n":                                       "config/server.yaml:4: \"10.0.0.2\" is not HOST:PORT",
		node + "  expect: 3\n":                                            "config/server.yaml:4: expect is how many",
		node + "  voter: false\n":                                         "config/server.yaml:4: ",
		node + "log:\n  keep: 0\n":                                        "config/server.yaml:5: keep must not be 0",
		node + "replica:\n  url: https://cms.example.com\n  token: key\n": "config/server.yaml:2: a server cannot be both",
	} {
		_, err := load(t, map[string]string{"config/server.yaml": text})
		if (err == nil) != (want == "") || err != nil && !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// TestReplicaProblems reads settings of replicas, and expects the place of what is wrong.
func TestReplicaProblems(t *testing.T) {
	for text, want := range map[string]string{
		"replica:\n  url: https://cms.example.com\n  token: key\n  writes: forward\n": "",
		"replica:\n  url: https://cms.example.com\n":                                  "config/server.yaml:2: replica needs token",
		"replica:\n  token: key\n":                                                    "config/server.yaml:2: replica needs url",
		"replica:\n  writes: forward\n":                                               "config/server.yaml:2: replica needs url",
		"replica:\n  url: cms.example.com\n  token: key\n":                            "config/server.yaml:2: url must be the address",
		"replica:\n  token: key\n  url: https://me:secret@cms.example.com\n":          "config/server.yaml:3: url must be the address",
		"replica:\n  url: https://cms.example.com\n  token: key\n  writes: both\n":    "config/server.yaml:4: writes must be refuse or forward",
		"replica:\n  url: https://cms.example.com\n  token: key\n  write: forward\n":  "config/server.yaml:4: ",
	} {
		_, err := load(t, map[string]string{"config/server.yaml": text})
		if (err == nil) != (want == "") || err != nil && !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}
