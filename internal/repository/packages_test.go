package repository

import (
	"flag"
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/packages.md")

const packagesPage = "docs/packages.md"

const packagesHead = `# Packages

The first sentence of each package's comment; ` + "`go doc lectern/store`" + ` shows the rest. [ARCHITECTURE.md](../ARCHITECTURE.md) has
the layers, and the way of a request through them. This page is generated: change the comment, and run
` + "`go generate ./internal/repository`" + `.

| package | |
|---|---|
`

// TestPackagesPageIsFresh compares docs/packages.md with the comments of the packages, each of which must have one.
func TestPackagesPageIsFresh(t *testing.T) {
	var page strings.Builder
	page.WriteString(packagesHead)
	for _, line := range packages(t, "{{.Doc}}") {
		importPath, said, _ := strings.Cut(line, " ")
		name := inModule(importPath)
		if name == "" {
			name = "main.go"
		}
		// A comment begins "Package name ", or with the name of the program.
		said = strings.TrimPrefix(said, "Package ")
		_, said, _ = strings.Cut(said, " ")
		if !strings.HasSuffix(said, ".") {
			t.Errorf("%s: the comment of the package must begin with a sentence that says what it does, and is %q",
				importPath, said)
		}
		fmt.Fprintf(&page, "| `%s` | %s |\n", name, strings.ReplaceAll(strings.TrimSuffix(said, "."), "|", `\|`))
	}
	if *update {
		if err := os.WriteFile(packagesPage, []byte(page.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(packagesPage)
	if err != nil {
		t.Fatal(err)
	}
	if string(text) != page.String() {
		t.Error(packagesPage + " differs from the comments of the packages: run go generate ./internal/repository")
	}
}

// TestPackageCommentsAreInTheirFile has the comment of each package in doc.go, or in the file that has the name of the
// package or of its folder.
func TestPackageCommentsAreInTheirFile(t *testing.T) {
	for name := range trackedPaths(t) {
		if path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.PackageClauseOnly|parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		in := strings.TrimSuffix(path.Base(name), ".go")
		if file.Doc != nil && in != "doc" && in != file.Name.Name && in != path.Base(path.Dir(name)) {
			t.Errorf("%s has the comment of the package %s, which belongs in doc.go", name, file.Name.Name)
		}
	}
}

// namedFile matches the name of a Go file in a comment.
var namedFile = regexp.MustCompile(`[\w/]+\.go\b`)

// TestNamedFilesOfPackagesExist looks for each file that the comment of a package names, in the folder of the package
// or, if it names a folder too, in the repository.
func TestNamedFilesOfPackagesExist(t *testing.T) {
	tracked := trackedPaths(t)
	for name := range tracked {
		if path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		comment, _, ok := strings.Cut(string(text), "\npackage ")
		if !ok { // the file begins with its package
			continue
		}
		for _, file := range namedFile.FindAllString(comment, -1) {
			if !tracked[path.Join(path.Dir(name), file)] && !tracked[file] {
				t.Errorf("%s names %s, which does not exist", name, file)
			}
		}
	}
}
