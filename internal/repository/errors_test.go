package repository

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"lectern/documents/apierror"
)

var updateErrors = flag.Bool("update-errors", false, "write the table of docs/errors.md")

// errorName matches the name of an error in the source of a package: the field of an Error, or an argument of a
// function that makes one.
var errorName = regexp.MustCompile(`(?:Name: |BadRequest\()"([A-Z][A-Za-z]*)"`)

// TestKindsOfErrors compares the names of errors in the source with apierror.Kinds.
func TestKindsOfErrors(t *testing.T) {
	used := map[string]string{}
	roots := []string{"auth", "documents", "gateway", "media", "shadowcrud", "store"}
	for _, path := range trackedFiles(t) {
		root, _, _ := strings.Cut(path, "/")
		if !slices.Contains(roots, root) || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range errorName.FindAllSubmatch(text, -1) {
			if name := string(found[1]); strings.HasSuffix(name, "Error") {
				used[name] = path
			}
		}
	}
	if len(used) < 10 {
		t.Fatalf("found only %d names", len(used))
	}
	for name, path := range used {
		if _, ok := apierror.KindOf(name); !ok {
			t.Errorf("%s: apierror.Kinds lacks %s: add it, then run go test ./internal/repository -run TestPageOfErrors -update-errors", path, name)
		}
	}
	for _, kind := range apierror.Kinds() {
		if used[kind.Name] == "" {
			t.Errorf("apierror.Kinds has %s, which no error has", kind.Name)
		}
		if kind.Statuses == "" || kind.Title == "" || kind.Meaning == "" {
			t.Errorf("apierror.Kinds: %s lacks a text", kind.Name)
		}
	}
}

// TestPageOfErrors checks that the table of docs/errors.md says what apierror.Kinds says.
func TestPageOfErrors(t *testing.T) {
	const page, begin, end = "docs/errors.md", "<!-- errors -->\n", "<!-- end -->"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), begin)
	_, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("%s lacks the marks of its table", page)
	}
	var table strings.Builder
	table.WriteString("| name | status | title | meaning |\n|---|---|---|---|\n")
	for _, k := range apierror.Kinds() {
		fmt.Fprintf(&table, "| <a id=\"%s\"></a>`%s` | %s | %s | %s |\n", k.Name, k.Name, k.Statuses, k.Title,
			k.Meaning)
	}
	want := before + begin + table.String() + end + after
	switch {
	case *updateErrors:
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	case want != string(text):
		t.Errorf("%s is stale: run go test ./internal/repository -run TestPageOfErrors -update-errors", page)
	}
}
