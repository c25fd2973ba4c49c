package repository

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"lectern/command"
	"lectern/gateway"
)

var (
	yamlBlock = regexp.MustCompile("(?s)```yaml\n# (\\S+)\n(.*?)```")
	jsBlock   = regexp.MustCompile("(?s)```js\n(.*?)```")
)

// TestStrapiGuideYAML writes the configuration files of docs/coming-from-strapi.md to the example project and loads it.
func TestStrapiGuideYAML(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "site")
	if code := command.Main(t.Context(), []string{"init", dir}, command.Program{}); code != 0 {
		t.Fatalf("init: exit code %d", code)
	}
	guide, err := os.ReadFile(filepath.Join("docs", "coming-from-strapi.md"))
	if err != nil {
		t.Fatal(err)
	}
	blocks := yamlBlock.FindAllStringSubmatch(string(guide), -1)
	if len(blocks) < 2 {
		t.Fatalf("the guide has %d files", len(blocks))
	}
	for _, block := range blocks {
		if err := os.WriteFile(filepath.Join(dir, block[1]), []byte(block[2]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("JWT_SECRET", "a secret that only this test uses")
	if _, err := gateway.Load(dir, nil); err != nil {
		t.Error(err)
	}
}

// TestStrapiGuideJavaScript checks the syntax of the JavaScript in docs/coming-from-strapi.md.
func TestStrapiGuideJavaScript(t *testing.T) {
	if _, err := exec.LookPath("node"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	blocks := blocksOf(t, "coming-from-strapi.md", jsBlock)
	if len(blocks) < 6 {
		t.Fatalf("the guide has %d blocks of JavaScript", len(blocks))
	}
	for _, block := range blocks {
		kind := "commonjs"
		if strings.HasPrefix(block, "import ") {
			kind = "module"
		}
		check := exec.Command("node", "--check", "--input-type="+kind)
		check.Stdin = strings.NewReader(block)
		if out, err := check.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s\n%s", err, block, out)
		}
	}
}
