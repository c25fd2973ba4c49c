package conformance

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/differences.md")

// TestDifferencesPageIsFresh checks that docs/differences.md is what differences.yaml says. With -update it writes the
// page.
func TestDifferencesPageIsFresh(t *testing.T) {
	const file = "../../docs/differences.md"
	d := loadDifferences(t)
	if *update {
		if err := os.WriteFile(file, []byte(d.Markdown()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(page) != d.Markdown() {
		t.Error("docs/differences.md is stale: run go generate ./internal/conformance")
	}
}

// TestDifferencesAreGrouped checks that deviations of one area are listed together, since each area becomes one table
// of the page.
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
	for _, want := range []string{"d.yaml:2: reason is missing", `d.yaml:9: unknown key "why"`,
		`d.yaml:10: unknown key "other"`} {
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
