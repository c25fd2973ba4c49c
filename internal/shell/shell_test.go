package shell_test

import (
	"os/exec"
	"testing"

	"lectern/internal/shell"
)

func TestPath(t *testing.T) {
	for path, want := range map[string]string{
		"blog":        "blog",
		"./blog/":     "blog",
		"a/../b":      "b",
		"/srv/blog-1": "/srv/blog-1",
		"":            ".",
		"my blog":     "'my blog'",
		"it's":        `'it'\''s'`,
		"$HOME":       "'$HOME'",
		"~":           "'~'",
		"a*b":         "'a*b'",
		"a\nb":        "'a\nb'",
		"größe":       "größe",
	} {
		if got := shell.Path(path); got != want {
			t.Errorf("%q: %s, want %s", path, got, want)
		}
	}
}

// TestShellReadsAPathAsItIs lets a shell print paths with every byte that is printed.
func TestShellReadsAPathAsItIs(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip(err)
	}
	call, want := "printf '%s\n'", ""
	for c := byte('\t'); c < 0x7f; c++ {
		if c == '/' || c == '.' || c > '\n' && c < ' ' {
			continue
		}
		path := "x" + string(rune(c)) + "y"
		if c == '~' || c == '#' {
			path = string(rune(c)) + "y" // where it means something
		}
		call += " " + shell.Path(path)
		want += path + "\n"
	}
	out, err := exec.Command("sh", "-c", call).CombinedOutput()
	if err != nil || string(out) != want {
		t.Errorf("%q, %v, want %q", out, err, want)
	}
}
