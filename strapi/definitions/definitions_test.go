package definitions_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"lectern/gateway"
	"lectern/jsontree"
	"lectern/strapi/definitions"
)

var update = flag.Bool("update", false, "write what Convert returns into the files of testdata/")

// TestConvert converts the sources in testdata/*.txtar. A file holds the files of a Strapi project below strapi/, the
// schemas of an archive in archive.jsonl, and the expected result: the files below lectern/, and the notes in notes.
func TestConvert(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("there are no test cases", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			archive := txtar.Parse(data)
			p, err := definitions.Convert(source(archive))
			if err != nil {
				t.Fatal(err)
			}
			checks(t, p)
			got := result(archive, p)
			if *update {
				if err := os.WriteFile(file, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(string(data), string(got)); diff != "" && !*update {
				t.Errorf("the result differs (-want +got); run with -update if it is right:\n%s", diff)
			}
		})
	}
}

// source returns the source that a test case describes.
func source(archive *txtar.Archive) (s definitions.Source) {
	tree := fstest.MapFS{}
	for _, f := range archive.Files {
		if name, ok := strings.CutPrefix(f.Name, "strapi/"); ok {
			tree[name] = &fstest.MapFile{Data: f.Data}
			s.Tree = tree
		}
		if f.Name == "archive.jsonl" {
			s.Archive = schemas(string(f.Data))
		}
	}
	return s
}

// schemas returns the lines of a text as the schemas of an archive.
func schemas(lines string) definitions.Schemas {
	return func(line func([]byte) error) error {
		for l := range strings.Lines(lines) {
			if err := line([]byte(l)); err != nil {
				return err
			}
		}
		return nil
	}
}

// result returns a test case with what Convert returned.
func result(archive *txtar.Archive, p *definitions.Converted) []byte {
	out := &txtar.Archive{Comment: archive.Comment}
	for _, f := range archive.Files {
		if strings.HasPrefix(f.Name, "strapi/") || f.Name == "archive.jsonl" {
			out.Files = append(out.Files, f)
		}
	}
	for _, name := range p.Files() {
		out.Files = append(out.Files, txtar.File{Name: "lectern/" + name, Data: p.File(name)})
	}
	var notes strings.Builder
	for _, n := range p.Notes {
		fmt.Fprintf(&notes, "%s: %s\n", n.Level, n)
	}
	out.Files = append(out.Files, txtar.File{Name: "notes", Data: []byte(notes.String())})
	return txtar.Format(out)
}

// checks writes a project and checks it as `lectern check` does.
func checks(t *testing.T, p *definitions.Converted) {
	t.Helper()
	dir := t.TempDir()
	if err := p.Write(dir); err != nil {
		t.Fatal(err)
	}
	_, problems, _, err := gateway.Check(dir, gateway.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(problems) > 0 {
		t.Errorf("the written project does not pass the check:\n%v", problems)
	}
}

// TestHostileNames converts sources with names that lead elsewhere.
func TestHostileNames(t *testing.T) {
	const article = `{"info":{"singularName":%q,"pluralName":"articles","displayName":"A"},"attributes":{"title":{"type":"string"}}}`
	for _, name := range []string{"../../../name", "/tmp/name", "..", "a/b", "name\n", ""} {
		files := fstest.MapFS{
			"src/api/article/content-types/article/schema.json": {Data: fmt.Appendf(nil, article, "article")},
			"src/api/other/content-types/other/schema.json":     {Data: fmt.Appendf(nil, article, name)},
		}
		p, err := definitions.FromTree(files)
		if err != nil {
			t.Fatal(err)
		}
		if files := schemaFiles(p); !slices.Equal(files, []string{"content-types/article.yaml"}) {
			t.Errorf("singularName %q: made %v", name, files)
		}
		if !slices.ContainsFunc(
			p.Notes, func(n definitions.Note) bool { return strings.Contains(n.What, "cannot be the uid") }) {
			t.Errorf("singularName %q: no note says why the type is left out: %v", name, p.Notes)
		}
	}
	_, err := definitions.Convert(
		definitions.Source{Archive: schemas(`{"uid":"x./../../../name","modelType":"component","attributes":{}}`)})
	if err == nil || !strings.Contains(err.Error(), "schema 1 of the archive") {
		t.Errorf("error %v", err)
	}
}

// TestWriteOutside checks that no symbolic link leads the files of a project out of its directory.
func TestWriteOutside(t *testing.T) {
	p, err := definitions.Convert(
		definitions.Source{Archive: schemas(`{"uid":"api::article.article","modelType":"contentType",` +
			`"kind":"collectionType","info":{"singularName":"article","pluralName":"articles","displayName":"A"},` +
			`"attributes":{"title":{"type":"string"}}}`)})
	if err != nil {
		t.Fatal(err)
	}
	dir, outside := t.TempDir(), t.TempDir()
	if err := os.Symlink(outside, filepath.Join(dir, "content-types")); err != nil {
		t.Fatal(err)
	}
	if err := p.Write(dir); err == nil {
		t.Error("it wrote through a symbolic link")
	}
	if there, _ := os.ReadDir(outside); len(there) > 0 {
		t.Errorf("it wrote %v", there)
	}
}

// TestTreeSchemas reads the schemas of the projects in testdata, and converts them as those of an archive: the types
// and components are those that the project is converted to.
func TestTreeSchemas(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		from := source(txtar.Parse(data))
		if from.Tree == nil || from.Archive != nil {
			continue
		}
		compared++
		list, err := definitions.TreeSchemas(from.Tree)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		var lines strings.Builder
		for _, s := range list {
			lines.Write(append(jsontree.Append(nil, s), '\n'))
		}
		ofTree, err := definitions.FromTree(from.Tree)
		if err != nil {
			t.Fatal(err)
		}
		ofSchemas, err := definitions.Convert(definitions.Source{Archive: schemas(lines.String())})
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if diff := cmp.Diff(schemaFiles(ofTree), schemaFiles(ofSchemas)); diff != "" {
			t.Errorf("%s: -tree +schemas\n%s", file, diff)
		}
	}
	if compared < 3 {
		t.Errorf("%d projects compared", compared)
	}
}

// schemaFiles returns the paths of the types and components of a project.
func schemaFiles(p *definitions.Converted) []string {
	return slices.DeleteFunc(p.Files(), func(name string) bool { return strings.HasPrefix(name, "config/") })
}
