package command

import (
	"strings"
	"testing"
)

// TestProgressSaysWhatChanges shows the same progress several times, as a backup that follows a quiet server does.
func TestProgressSaysWhatChanges(t *testing.T) {
	var out strings.Builder
	p := &progress{w: &out}
	for _, entries := range []int{1, 1, 1, 28, 28} {
		p.show("%s, 0.0 s behind", count(entries, "entry"))
	}
	p.done("a base was taken")
	p.show("%s, 0.0 s behind", count(28, "entry"))
	const want = "1 entry, 0.0 s behind\n28 entries, 0.0 s behind\na base was taken\n28 entries, 0.0 s behind\n"
	if out.String() != want {
		t.Errorf("printed\n%swant\n%s", out.String(), want)
	}
}
