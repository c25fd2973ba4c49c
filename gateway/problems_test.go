package gateway_test

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"lectern/gateway"
	"lectern/internal/yamlfile"
)

var updateProblems = flag.Bool("update-problems", false,
	"write what is found wrong with the projects in testdata/problems into them")

// basic holds the files that every test project has.
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

// writeProject creates a project directory with basic and files.
func writeProject(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	writeFiles(t, dir, basic)
	writeFiles(t, dir, files)
	return dir
}

// writeFiles writes files, given by their paths relative to dir.
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

// TestProblemsOfProjectsAreNamed compares the problems that Load finds in the projects of testdata/problems with their
// part "want".
func TestProblemsOfProjectsAreNamed(t *testing.T) {
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
