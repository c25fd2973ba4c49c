package repository

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// trackedFiles returns the paths of the files that git tracks, or of those that match one of the patterns. What else
// lies in the folder, such as a project that README.md has made there, is not part of the repository, and no test may
// depend on it.
func trackedFiles(t *testing.T, patterns ...string) (files []string) {
	t.Helper()
	out, err := exec.Command("git", "ls-files", "-z").Output()
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip("the repository is not a git checkout: ", err)
	}
	for _, name := range strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		matches := func(pattern string) bool { ok, err := path.Match(pattern, name); return ok && err == nil }
		if len(patterns) == 0 || slices.ContainsFunc(patterns, matches) {
			files = append(files, name)
		}
	}
	return files
}

// trackedPaths returns the paths of the files that git tracks, and of their folders.
func trackedPaths(t *testing.T) map[string]bool {
	t.Helper()
	paths := map[string]bool{}
	for _, name := range trackedFiles(t) {
		for ; name != "."; name = path.Dir(name) {
			paths[name] = true
		}
	}
	return paths
}

// packages returns what go list prints of each package of the repository, in the form of a template.
func packages(t *testing.T, form string) (lines []string) {
	t.Helper()
	out, err := exec.Command("go", "list", "-e", "-f", "{{.ImportPath}} "+form, "./...").Output()
	if err != nil {
		t.Fatal(err)
	}
	tracked := trackedPaths(t)
	for line := range strings.Lines(string(out)) {
		name, _, _ := strings.Cut(line, " ")
		if dir := inModule(name); dir == "" || tracked[dir] {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	if len(lines) < 10 {
		t.Fatalf("found only %d packages", len(lines))
	}
	return lines
}

// besides are files that may lie in the folder of a clone: what README.md makes there, and work of its owner.
var besides = map[string]string{
	"blog/config/permissions.yaml":    "roles: {}\n",
	"blog/data/content.db":            "content",
	"lectern":                         "a program",
	"ideas.md":                        "See [the plan](plan.md) and `store/nothing.go`.\n",
	"docs/draft.md":                   "```yaml\nunheardOf: 1\n```\n\nSee [the plan](plan.md).\n",
	"cmd/mine/main.go":                "package main\n\nimport \"lectern/store\"\n\nvar _ store.Query\n\nfunc main() {}\n",
	"cmd/mine/main_test.go":           "package main\n",
	"gateway/notes/notes.go":          "package notes\n\nvar e = struct{ Name string }{Name: \"MineError\"}\n",
	"examples/mine/config/server.yml": "secret: of mine\n",
	"examples/mine/README.md":         "See [the plan](plan.md).\n",
	"examples/magazine/magazine":      "a program",
	"examples/magazine/data/content":  "content",
}

// inAClone matches the tests that read what lies in the folder and take no servers or builds.
var inAClone = regexp.MustCompile(
	`^Test(Links|NamedFilesExist|PackagesPageIsFresh|Root|ImportsRunOneWay|GuideSettings|ExtendingGuide|` +
		`StrapiGuideYAML|ExamplesShipNoSecret|KindsOfErrors|PageOfErrors|OverviewListsEveryPage)$`)

// TestOtherFilesInTheFolder runs the tests that read the folder in a clone in which other files lie.
func TestOtherFilesInTheFolder(t *testing.T) {
	trackedFiles(t) // skips without git
	root := filepath.Join(t.TempDir(), "clone")
	state := strings.TrimSpace(
		run(t, exec.Command("git", "-c", "user.name=test", "-c", "user.email=test@example.org", "stash", "create")))
	if state == "" { // nothing is changed since the last commit
		state = "HEAD"
	}
	run(t, exec.Command("git", "clone", "--quiet", "--shared", "--no-checkout", ".", root))
	run(t, exec.Command("git", "-C", root, "checkout", "--quiet",
		strings.TrimSpace(run(t, exec.Command("git", "rev-parse", state)))))
	writeFiles(t, root, besides)
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	tests := exec.Command(program, "-test.run", inAClone.String(), "-test.v")
	tests.Dir = filepath.Join(root, "internal", "repository")
	var out bytes.Buffer
	tests.Stdout, tests.Stderr = &out, &out
	err = tests.Run()
	passed := strings.Count(out.String(), "--- PASS: Test")
	if want := strings.Count(inAClone.String(), "|") + 1; err != nil || passed != want {
		t.Error(fmt.Sprintf("%d of %d tests passed: %v\n", passed, want, err), out.String())
	}
}
