package clients

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"lectern/gateway"
	"lectern/internal/servertest"
)

// TestSandbox opens the GraphQL IDE and the page with the OpenAPI document of a release build in a headless browser
// without access to any other host. It needs Chromium (in the path, or named by CHROMIUM) and the files that go
// generate makes. Without them it is skipped, but fails if the environment variable CI is set.
func TestSandbox(t *testing.T) {
	if testing.Short() {
		t.Skip("a release build takes a while")
	}
	chromium := findChromium()
	if chromium == "" {
		lack(t, "no Chromium: install one (apt-get install chromium), or name it by CHROMIUM")
	}
	if files, _ := filepath.Glob("../../gateway/internal/pages/sandbox/dist/assets/*.gz"); len(files) == 0 {
		lack(t, "the build would hold no IDE: run go generate ./gateway")
	}
	if err := install(t.Context(), "."); err != nil {
		t.Fatal(err)
	}
	lectern := buildRelease(t)
	servers := map[string]gateway.Ready{
		"development": startRelease(t, lectern, "development", nil),
		"production":  startRelease(t, lectern, "production", nil),
		"elsewhere": startRelease(t, lectern, "production", map[string]string{
			"api.yaml": "openapi: {page: true}\n",
			"plugins.yaml": `
graphql:
  config:
    endpoint: /content/query
    landingPage: true
    apolloServer: {introspection: false}
`}),
	}
	for _, file := range []string{"browser/sandbox.test.js", "browser/reader.test.js"} {
		runNode(t, file, servers, "CHROMIUM="+chromium)
	}
}

// lack skips a test that lacks a tool; in CI the test fails.
func lack(t *testing.T, what string) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatal(what)
	}
	t.Skip("SKIPPED, NOT TESTED: " + what)
}

func findChromium() string {
	names := []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"}
	if name := os.Getenv("CHROMIUM"); name != "" {
		names = []string{name}
	}
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// buildRelease builds a release by the commands in README.md.
func buildRelease(t *testing.T) string {
	t.Helper()
	lectern := filepath.Join(t.TempDir(), "lectern")
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", lectern, "../..")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, output)
	}
	return lectern
}

// startRelease serves project/ on an empty store until the test ends. config holds the texts of files that it has in
// config/ instead of its own.
func startRelease(t *testing.T, lectern, environment string, config map[string]string) (ready gateway.Ready) {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("project")); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "config", "server.yaml"), "log: {level: error}\n")
	for name, text := range config {
		write(t, filepath.Join(dir, "config", name), text)
	}
	ctx, stop := context.WithTimeout(context.Background(), 3*time.Minute)
	serve := exec.CommandContext(ctx, lectern, "serve", dir, "--ephemeral", "--addr", "127.0.0.1:0", "--env",
		environment)
	serve.Cancel = func() error { return serve.Process.Signal(os.Interrupt) }
	serve.Stderr = servertest.Failing{TB: t}
	out, err := serve.StdoutPipe()
	if err == nil {
		err = serve.Start()
	}
	if err != nil {
		stop()
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stop()
		if err := serve.Wait(); serve.ProcessState.ExitCode() != 0 {
			t.Errorf("serve: %v", err)
		}
	})
	if err := json.NewDecoder(out).Decode(&ready); err != nil {
		t.Fatal(err)
	}
	return ready
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
