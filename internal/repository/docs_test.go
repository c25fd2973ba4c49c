package repository

import (
	"os"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// documentation returns the text of every page of documentation, by its path.
func documentation(t *testing.T) map[string]string {
	t.Helper()
	pages := map[string]string{}
	for _, name := range trackedFiles(t, "*.md", "docs/*.md", "examples/*/*.md") {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		pages[name] = string(text)
	}
	if len(pages) < 10 {
		t.Fatalf("found only %d pages", len(pages))
	}
	return pages
}

// TestOverviewListsEveryPage looks for every page of docs/ in docs/README.md.
func TestOverviewListsEveryPage(t *testing.T) {
	pages := documentation(t)
	for page := range pages {
		name, isGuide := strings.CutPrefix(page, "docs/")
		if isGuide && name != "README.md" && !strings.Contains(pages["docs/README.md"], "]("+name+")") {
			t.Errorf("docs/README.md leaves out %s", name)
		}
	}
}

var (
	fencedBlock  = regexp.MustCompile("(?ms)^```.*?^```$")
	link         = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	section      = regexp.MustCompile(`(?m)^## (.*)$`)
	heading      = regexp.MustCompile(`(?m)^#+ (.*)$`)
	notInAnchors = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
	quoted       = regexp.MustCompile("`([^`\n]+)`")
)

// anchors returns the anchors that GitHub gives to the headings of a page.
func anchors(text string) []string {
	var list []string
	for _, g := range heading.FindAllStringSubmatch(fencedBlock.ReplaceAllString(text, ""), -1) {
		list = append(list, strings.ReplaceAll(notInAnchors.ReplaceAllString(strings.ToLower(g[1]), ""), " ", "-"))
	}
	return list
}

// TestLinks follows every link of the documentation that leads to a file of the repository or to a heading.
func TestLinks(t *testing.T) {
	pages, tracked := documentation(t), trackedPaths(t)
	followed := 0
	for page, text := range pages {
		for _, g := range link.FindAllStringSubmatch(fencedBlock.ReplaceAllString(text, ""), -1) {
			if strings.Contains(g[1], "://") {
				continue
			}
			followed++
			target, anchor, _ := strings.Cut(g[1], "#")
			name := page
			if target != "" {
				name = path.Join(path.Dir(page), target)
			}
			if !tracked[name] && name != "." {
				t.Errorf("%s links to %s, which is not in the repository", page, g[1])
			} else if anchor != "" && !slices.Contains(anchors(pages[name]), anchor) {
				t.Errorf("%s links to %s, and %s has no such heading", page, g[1], name)
			}
		}
	}
	if followed < 30 {
		t.Errorf("followed only %d links", followed)
	}
}

// contents is a list at the top of a page that leads to the headings of the page.
var contents = regexp.MustCompile(`(?m)^- \[[^]]*\]\(#`)

// TestContentsAreComplete looks for each section of a page in its list of contents, if it has one, and expects the
// pages for those who look after a server, its permissions and its desk to have one and to be short.
func TestContentsAreComplete(t *testing.T) {
	pages := documentation(t)
	for page, text := range pages {
		text = fencedBlock.ReplaceAllString(text, "")
		top, _, _ := strings.Cut(text, "\n## ")
		if !contents.MatchString(top) {
			continue
		}
		for _, g := range section.FindAllStringSubmatch(text, -1) {
			if anchor := anchors(g[0])[0]; !strings.Contains(top, "](#"+anchor+")") {
				t.Errorf("the list of contents of %s leaves out %s", page, g[1])
			}
		}
	}
	for _, name := range []string{"running", "backup", "trouble", "observability", "metrics", "network",
		"permissions-reference", "roles", "desk", "desk-api"} {
		text := pages["docs/"+name+".md"]
		if top, _, _ := strings.Cut(text, "\n## "); !contents.MatchString(top) {
			t.Errorf("docs/%s.md has no list of contents", name)
		}
		if len(text) > longestPage {
			t.Errorf("docs/%s.md has %d characters: at most %d can be read in one go", name, len(text), longestPage)
		}
	}
}

const longestPage = 12_000

// TestNamedFilesExist looks for every file and folder of the repository that the documentation names in backquotes. A
// page may leave out the first folders of a path, and may name several files by a pattern.
func TestNamedFilesExist(t *testing.T) {
	tracked := trackedPaths(t)
	known := map[string]bool{} // paths of files and folders, complete and without their first folders
	for name := range tracked {
		for rest, more := name, true; more; _, rest, more = strings.Cut(rest, "/") {
			known[rest] = true
		}
	}
	looked := 0
	for page, text := range documentation(t) {
		for _, g := range quoted.FindAllStringSubmatch(fencedBlock.ReplaceAllString(text, ""), -1) {
			name := strings.TrimSuffix(strings.TrimPrefix(g[1], module+"/"), "/")
			first, _, isPath := strings.Cut(name, "/")
			if !tracked[first] || !isPath {
				if path.Ext(name) != ".go" {
					continue // a setting, a value, or a file of a project
				}
			}
			if strings.ContainsAny(name, " ()<>{}…") {
				continue
			}
			looked++
			if !known[name] && !matchesAny(name, known) {
				t.Errorf("%s names %s, which does not exist", page, g[1])
			}
		}
	}
	if looked < 100 {
		t.Errorf("looked for only %d files", looked)
	}
}

// TestGuardsExist looks for each test that a row of docs/security.md names, and in each file that the last column names
// as a guard for the text that follows it.
func TestGuardsExist(t *testing.T) {
	page, err := os.ReadFile("docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]bool{}
	for _, name := range trackedFiles(t) {
		if strings.HasSuffix(name, "_test.go") {
			for _, g := range testFunction.FindAllStringSubmatch(readFile(t, name), -1) {
				tests[g[1]] = true
			}
		}
	}
	looked := 0
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(line, " | ")
		if len(cells) < 4 || strings.HasPrefix(line, "| attack") {
			continue
		}
		for _, g := range quoted.FindAllStringSubmatch(cells[len(cells)-2], -1) {
			if strings.HasPrefix(g[1], "Test") && !tests[g[1]] {
				t.Errorf("docs/security.md names %s, which does not exist", g[1])
			}
		}
		file := ""
		for _, g := range quoted.FindAllStringSubmatch(cells[len(cells)-1], -1) {
			if ext := path.Ext(g[1]); ext == ".go" || ext == ".js" {
				file = g[1]
				continue
			}
			if looked++; file == "" || !strings.Contains(readFile(t, file), g[1]) {
				t.Errorf("%s does not have the guard %s that docs/security.md names", file, g[1])
			}
		}
	}
	if looked < 100 {
		t.Errorf("looked for only %d guards", looked)
	}
}

var testFunction = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)`)

// readFile returns the text of a file of the repository.
func readFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Error(err)
	}
	return string(text)
}

// matchesAny reports whether a pattern matches one of the names.
func matchesAny(pattern string, names map[string]bool) bool {
	if !strings.Contains(pattern, "*") {
		return false
	}
	for name := range names {
		if ok, err := path.Match(pattern, name); err == nil && ok {
			return true
		}
	}
	return false
}

// ofEveryRepository are the entries of the root that need no description: one finds them in most repositories.
var ofEveryRepository = []string{
	".ci", ".gitignore", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "README.md", "docs", "go.mod",
	"go.sum",
}

// TestRoot looks for every file and folder of the root in ARCHITECTURE.md. It finds files that were committed by
// mistake.
func TestRoot(t *testing.T) {
	out, err := exec.Command("git", "ls-tree", "--name-only", "HEAD").Output()
	if err != nil {
		t.Skip("the repository is not a git checkout: ", err)
	}
	text, err := os.ReadFile("ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		name := strings.TrimSpace(line)
		if slices.Contains(ofEveryRepository, name) {
			continue
		}
		if described := regexp.MustCompile("`" + regexp.QuoteMeta(name) + "[`/]"); !described.Match(text) {
			t.Errorf("%s belongs to nothing that ARCHITECTURE.md describes", name)
		}
	}
}
