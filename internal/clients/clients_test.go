package clients

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lectern/internal/servertest"
)

// TestStrapiClient tests the server with @strapi/client.
func TestStrapiClient(t *testing.T) { runFiles(t, "strapi/*.test.js") }

// TestApolloClient tests the server with @apollo/client.
func TestApolloClient(t *testing.T) { runFiles(t, "apollo/*.test.js") }

// TestGraphQLSSE tests subscriptions with graphql-sse.
func TestGraphQLSSE(t *testing.T) { runFiles(t, "sse/*.test.js") }

// TestAudits runs the audits of graphql-http against the server.
func TestAudits(t *testing.T) { runFiles(t, "audits/*.test.js") }

// runFiles runs the test files that match a pattern, each as a subtest.
func runFiles(t *testing.T, pattern string) {
	if err := install(t.Context(), "."); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: no test files, %v", pattern, err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".test.js")
		t.Run(name, func(t *testing.T) { runFile(t, file) })
	}
}

// runFile runs one test file against a server with an empty store.
func runFile(t *testing.T, file string) { runNode(t, file, servertest.Serve(t, "project", nil)) }

// runNode runs one test file and passes it the description of the server under test.
func runNode(t *testing.T, file string, against any, env ...string) {
	ready, err := json.Marshal(against)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	node := exec.CommandContext(ctx, "node", "--test", "--test-reporter=spec", file)
	node.Env = append(append(os.Environ(), "LECTERN="+string(ready), "NO_COLOR=1"), env...)
	output, err := node.CombinedOutput()
	if err != nil {
		t.Fatalf("node: %v\n%s", err, output)
	}
	t.Logf("%s", output)
}

const (
	modules  = "node_modules"
	lockFile = "package-lock.json"
)

// install installs the modules of the lock file of a folder unless they are there. It renames the finished directory
// into place, so that an interrupted install is not used.
func install(ctx context.Context, folder string) error {
	if installed(folder) {
		return nil
	}
	if err := os.MkdirAll("../../.cache", 0o755); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("../../.cache", "clients-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	for _, name := range []string{"package.json", lockFile} {
		if err := copyFile(filepath.Join(dir, name), filepath.Join(folder, name)); err != nil {
			return err
		}
	}
	npm := exec.CommandContext(ctx, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	npm.Dir = dir
	if output, err := npm.CombinedOutput(); err != nil {
		return fmt.Errorf("npm ci: %w; these tests want Node with npm, and the network to install\n%s", err, output)
	}
	if err := copyFile(filepath.Join(dir, modules, lockFile), filepath.Join(folder, lockFile)); err != nil {
		return err
	}
	if installed(folder) { // another run installed them meanwhile
		return nil
	}
	if err := os.RemoveAll(filepath.Join(folder, modules)); err != nil {
		return err
	}
	return os.Rename(filepath.Join(dir, modules), filepath.Join(folder, modules))
}

// installed reports whether the modules of a folder are those of its lock file. An install leaves a copy of the lock
// file beside them.
func installed(folder string) bool {
	wanted, err := os.ReadFile(filepath.Join(folder, lockFile))
	if err != nil {
		return false
	}
	got, err := os.ReadFile(filepath.Join(folder, modules, lockFile))
	return err == nil && bytes.Equal(got, wanted)
}

func copyFile(to, from string) error {
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, content, 0o644)
}
