package clients

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"lectern/internal/servertest"
)

const (
	mcpSuite     = "mcp" // the folder of the suite, and of the scenarios that fail
	mcpSuiteNode = 22    // the first version of Node that runs it
)

// TestMCPConformance has the conformance suite of the Model Context Protocol judge the endpoint for assistants. The
// suite fails if a scenario fails that expected-failures.yaml does not list, and if one passes that it lists.
func TestMCPConformance(t *testing.T) {
	if major := nodeMajor(t); major < mcpSuiteNode {
		t.Skipf("the suite wants Node %d or newer, and this is Node %d", mcpSuiteNode, major)
	}
	if err := install(t.Context(), mcpSuite); err != nil {
		t.Fatal(err)
	}
	against := servertest.Serve(t, projectWithMCP(t), nil)
	output, err := exec.CommandContext(t.Context(), filepath.Join(mcpSuite, modules, ".bin", "conformance"), "server",
		"--url", against.Base+"/mcp", "--suite", "all",
		"--expected-failures", filepath.Join(mcpSuite, "expected-failures.yaml"), "--output-dir",
		t.TempDir()).CombinedOutput()
	if err != nil {
		_, summary, found := bytes.Cut(output, []byte("=== SUMMARY ==="))
		if !found {
			summary = output
		}
		t.Errorf("conformance: %v\n%s", err, summary)
	}
}

// projectWithMCP returns a copy of the project that has the endpoint.
func projectWithMCP(t *testing.T) string {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("project")); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "config/plugins.yaml")
	settings, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	write(t, file, string(settings)+"mcp: {enabled: true}\n")
	return dir
}

// nodeMajor returns the major version of Node.
func nodeMajor(t *testing.T) int {
	output, err := exec.CommandContext(t.Context(), "node", "--version").Output() // v22.1.0
	if err != nil {
		t.Fatal("these tests want Node with npm: ", err)
	}
	text, _, _ := strings.Cut(strings.TrimPrefix(string(output), "v"), ".")
	major, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return major
}
