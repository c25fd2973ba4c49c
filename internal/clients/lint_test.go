package clients

import (
	"os/exec"
	"path/filepath"
	"testing"

	"lectern/internal/servertest"
)

// linters is the folder of the linters of OpenAPI documents and of their rules.
const linters = "lint"

// TestOpenAPILint has Redocly and Spectral judge the OpenAPI document of everything that a server may do, and that of
// the public.
func TestOpenAPILint(t *testing.T) {
	if testing.Short() {
		t.Skip("reads long documents")
	}
	if err := install(t.Context(), linters); err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"REDOCLY_TELEMETRY": "off", "REDOCLY_SUPPRESS_UPDATE_NOTICE": "true"} {
		t.Setenv(name, value)
	}
	dir := t.TempDir()
	against := servertest.Serve(t, "../../testdata/conformance/projects/kitchen", nil)
	var files []string
	for _, as := range []string{"full", "public"} {
		file := filepath.Join(dir, as+".json")
		write(t, file, fetch(t, against.Base+"/api/_openapi.json", against.Tokens[as]))
		files = append(files, file)
	}
	bin := filepath.Join(linters, modules, ".bin")
	run(t, filepath.Join(bin, "redocly"), append([]string{"lint", "--config", filepath.Join(linters, "redocly.yaml")},
		files...)...)
	run(t, filepath.Join(bin, "spectral"),
		append([]string{"lint", "--ruleset", filepath.Join(linters, "spectral.yaml"), "--fail-severity", "hint"},
			files...)...)

	// The linters see what is wrong.
	broken := filepath.Join(dir, "broken.json")
	write(t, broken, `{"openapi":"3.1.1","info":{"title":"x","version":"1"},"servers":[{"url":"/"}],"security":[],
		"paths":{"/x":{"get":{"operationId":"x","summary":"x","responses":{"302":{"description":"x"}}}}}}`)
	if err := exec.CommandContext(t.Context(), filepath.Join(bin, "redocly"), "lint", "--config",
		filepath.Join(linters, "redocly.yaml"), broken).Run(); err == nil {
		t.Error("Redocly takes an operation that refuses nothing")
	}
}
