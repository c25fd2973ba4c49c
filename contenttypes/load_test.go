package contenttypes_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/rogpeppe/go-internal/txtar"

	"lectern/contenttypes"
)

var update = flag.Bool("update", false, "write what is found into the golden files")

// TestGolden loads the project in each archive of testdata. Each archive holds the expected outcome: the problems in
// its file "problems", or the definitions of the project's types and components in its file "model".
func TestGolden(t *testing.T) {
	archives, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatal("no archives", err)
	}
	for _, file := range archives {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			opts := contenttypes.Options{Lookup: env}
			comment := string(archive.Comment)
			opts.WithoutUpload = strings.Contains(comment, "without upload")
			opts.WithoutI18N = strings.Contains(comment, "without i18n")
			opts.WithoutUsersPermissions = strings.Contains(comment, "without users-permissions")
			project := fstest.MapFS{}
			for _, f := range archive.Files {
				project[f.Name] = &fstest.MapFile{Data: f.Data}
			}
			model, problems := contenttypes.LoadFS(project, opts)
			name, got := "problems", problems.Error()
			if len(problems) == 0 {
				name, got = "model", describe(model)
			}
			golden(t, file, archive, name, strings.TrimSpace(got)+"\n")
		})
	}
}

func golden(t *testing.T, file string, archive *txtar.Archive, name, got string) {
	last := &archive.Files[len(archive.Files)-1]
	if *update {
		if last.Name != "problems" && last.Name != "model" {
			archive.Files = append(archive.Files, txtar.File{})
			last = &archive.Files[len(archive.Files)-1]
		}
		*last = txtar.File{Name: name, Data: []byte(got)}
		if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if last.Name != name || string(last.Data) != got {
		t.Errorf("%s:\n%s\nwant %s:\n%s", name, got, last.Name, last.Data)
	}
}

// describe prints the definitions of a model, without the built-in types.
func describe(m *contenttypes.Model) string {
	var b strings.Builder
	print := func(definition []byte) {
		b.WriteString(strings.ReplaceAll(string(definition), `{"name"`, "\n  {\"name\"") + "\n")
	}
	for _, t := range m.Types {
		if !t.BuiltIn {
			print(t.Definition())
		}
	}
	for _, c := range m.Components {
		print(c.Definition())
	}
	return b.String()
}

// TestConformanceProjects loads the projects that the conformance suites use.
func TestConformanceProjects(t *testing.T) {
	projects, err := filepath.Glob("../testdata/conformance/projects/*")
	if err != nil {
		t.Fatal(err)
	}
	if len(projects) == 0 {
		t.Fatal("the conformance projects are not there")
	}
	for _, dir := range projects {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			if _, problems := contenttypes.Load(dir, contenttypes.Options{}); problems != nil {
				t.Error(problems)
			}
		})
	}
}

func env(name string) (string, bool) {
	values := map[string]string{"PORT": "8080", "HOST": "example.org", "EMPTY": "", "ON": "true", "NUMBER": "12"}
	v, ok := values[name]
	return v, ok
}
