package clients

import (
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"lectern/gateway"
	"lectern/internal/servertest"
)

// generator is the folder of the validator and the generator, which want other packages than the clients.
const generator = "generated"

// TestGeneratedClient validates the OpenAPI documents of the conformance projects, generates a client from the one that
// a server answers, compiles generated/client.test.ts with it as strictly as can be, and runs that against the server.
func TestGeneratedClient(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles a large program")
	}
	if err := install(t.Context(), generator); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	files := documents(t, dir)
	against := servertest.Serve(t, "../../testdata/conformance/projects/kitchen", nil)
	live := filepath.Join(dir, "openapi.json")
	write(t, live, fetch(t, against.Base+"/api/_openapi.json", against.Tokens["full"]))
	public := filepath.Join(dir, "public.json")
	write(t, public, fetch(t, against.Base+"/api/_openapi.json", ""))
	run(t, "node", append([]string{filepath.Join(generator, "validate.js"), live, public}, files...)...)

	run(t, "node", filepath.Join(generator, modules, "openapi-typescript", "bin", "cli.js"), live, "--output",
		filepath.Join(dir, "api.ts"))
	for _, name := range []string{"client.test.ts", "tsconfig.json", "package.json"} {
		if err := copyFile(filepath.Join(dir, name), filepath.Join(generator, name)); err != nil {
			t.Fatal(err)
		}
	}
	installed, err := filepath.Abs(filepath.Join(generator, modules))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(installed, filepath.Join(dir, modules)); err != nil {
		t.Fatal(err)
	}
	run(t, filepath.Join(generator, modules, ".bin", "tsc"), "-p", dir)
	runNode(t, filepath.Join(dir, "js", "client.test.js"), against)
}

// documents writes the OpenAPI documents of the conformance projects, as `lectern openapi` prints them.
func documents(t *testing.T, dir string) (files []string) {
	t.Helper()
	projects, err := filepath.Glob("../../testdata/conformance/projects/*")
	if err != nil || len(projects) < 3 {
		t.Fatalf("%d projects, %v", len(projects), err)
	}
	for _, project := range projects {
		d, err := gateway.Load(project, nil)
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, filepath.Base(project)+".json")
		write(t, file, string(d.OpenAPI()))
		files = append(files, file)
	}
	return files
}

// run runs a program, and fails the test if the program fails.
func run(t *testing.T, program string, args ...string) {
	t.Helper()
	output, err := exec.CommandContext(t.Context(), program, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", filepath.Base(program), err, head(output, 10_000))
	}
}

// fetch returns the body of an answer.
func fetch(t *testing.T, url, token string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d, %v", url, res.StatusCode, err)
	}
	return string(body)
}
