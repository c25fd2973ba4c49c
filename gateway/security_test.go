package gateway_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestSecurityPageNamesWhatExists checks that the tests and the guards that docs/security.md names exist.
func TestSecurityPageNamesWhatExists(t *testing.T) {
	page, err := os.ReadFile("../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	var tests strings.Builder
	files, err := exec.Command("git", "-C", "..", "ls-files", "*_test.go").Output()
	if err != nil {
		t.Skip("the repository is not a git checkout: ", err)
	}
	for name := range strings.Lines(string(files)) {
		text, err := os.ReadFile(filepath.Join("..", strings.TrimSpace(name)))
		if err != nil {
			t.Fatal(err)
		}
		tests.Write(text)
	}
	rows := 0
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(strings.TrimSpace(line), " | ")
		if len(cells) != 4 || !strings.HasPrefix(line, "| ") || cells[0] == "| attack" {
			continue
		}
		rows++
		for _, name := range words.FindAllStringSubmatch(cells[2], -1) {
			if !strings.Contains(tests.String(), "func "+name[1]+"(") {
				t.Errorf("there is no test %s: %s", name[1], line)
			}
		}
		for guard := range strings.SplitSeq(strings.TrimSuffix(cells[3], " |"), ";") {
			names := words.FindAllStringSubmatch(guard, -1)
			if len(names) == 0 {
				t.Errorf("no guard: %s", line)
				continue
			}
			text, err := os.ReadFile(filepath.Join("..", filepath.FromSlash(names[0][1])))
			if err != nil {
				t.Errorf("%v: %s", err, line)
			}
			for _, name := range names[1:] {
				if !strings.Contains(string(text), name[1]) {
					t.Errorf("%s has no %q: %s", names[0][1], name[1], line)
				}
			}
		}
	}
	if rows < 30 {
		t.Errorf("only %d rows were read", rows)
	}
}

var words = regexp.MustCompile("`([^`]+)`")
