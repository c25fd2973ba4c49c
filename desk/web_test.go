package desk

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestWeb checks the types of the page, and runs its tests that need no browser.
func TestWeb(t *testing.T) {
	runNPM(t, "run", "check")
	runNPM(t, "test")
}

// TestForms drives forms in Chromium (in the path, or named by CHROMIUM) against a server. The page of these tests has
// nothing but a form.
func TestForms(t *testing.T) {
	driveBrowser(t, "bench")
}

// TestBrowser drives the whole desk in Chromium.
func TestBrowser(t *testing.T) {
	if IsMissing() {
		lack(t, "the build would hold no desk: run go generate ./desk")
	}
	driveBrowser(t, "browser")
}

// driveBrowser runs a script of npm that starts the program named by LECTERN, and the browser named by CHROMIUM.
func driveBrowser(t *testing.T, script string) {
	t.Helper()
	if testing.Short() {
		t.Skip("it drives a browser for minutes")
	}
	chromium := os.Getenv("CHROMIUM")
	if chromium == "" {
		chromium, _ = exec.LookPath("chromium")
	}
	if chromium == "" {
		lack(t, "no Chromium: install one (apt-get install chromium), or name it by CHROMIUM")
	}
	lectern := filepath.Join(t.TempDir(), "lectern")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", lectern, "..").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	t.Setenv("LECTERN", lectern)
	t.Setenv("CHROMIUM", chromium)
	runNPM(t, "run", script)
}

// runNPM runs npm in web/, with the modules that go generate installs there.
func runNPM(t *testing.T, args ...string) {
	t.Helper()
	if _, err := os.Stat("web/node_modules"); err != nil {
		lack(t, "no modules: run go generate ./desk")
	}
	npm := exec.CommandContext(t.Context(), "npm", args...)
	npm.Dir = "web"
	out, err := npm.CombinedOutput()
	if err != nil {
		t.Fatalf("npm %v: %v\n%s", args, err, out)
	}
	t.Logf("%s", out)
}

// lack skips a test that lacks a tool; in CI the test fails.
func lack(t *testing.T, what string) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatal(what)
	}
	t.Skip("SKIPPED, NOT TESTED: " + what)
}
