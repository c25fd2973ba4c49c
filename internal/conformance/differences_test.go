package conformance

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestDifferencesPageIsFresh(t *testing.T) {
	d := loadDifferences(t)
	page, err := os.ReadFile("../../docs/differences.md")
	if err != nil {
		t.Fatal(err)
	}
	if string(page) != d.Markdown() {
		t.Error("docs/differences.md is stale: run go generate ./internal/conformance")
	}
}

// An area is one table of the page.
func TestDifferencesAreGrouped(t *testing.T) {
	seen, last := map[string]bool{}, ""
	for _, x := range loadDifferences(t).Beyond {
		if x.Area != last && seen[x.Area] {
			t.Errorf("area %q is in two places", x.Area)
		}
		seen[x.Area], last = true, x.Area
	}
}

func TestLoadDifferencesNamesProblems(t *testing.T) {
	file := filepath.Join(t.TempDir(), "d.yaml")
	text := "suites:\n- suite: a\n  step: b\n  ours: c\nbeyond:\n- area: a\n  reference: r\n  ours: o\n  why: w\nother: []\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := LoadDifferences(file)
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"d.yaml:2: reason is missing", `d.yaml:9: unknown key "why"`, `d.yaml:10: unknown key "other"`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v\ndoes not say %s", err, want)
		}
	}
}

func loadDifferences(t *testing.T) *Differences {
	t.Helper()
	d, err := LoadDifferences("../../testdata/conformance/differences.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return d
}
