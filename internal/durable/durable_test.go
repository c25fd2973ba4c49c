package durable_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"lectern/internal/durable"
)

// TestWriteIn writes files below a directory, and none outside of it.
func TestWriteIn(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	for name, target := range map[string]string{"out": outside, "up": "..", "file": filepath.Join(outside, "file"),
		"in": "there"} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	write := func(name string) error {
		return durable.WriteIn(root, name, 0o700, func(w io.Writer) error {
			_, err := io.WriteString(w, name)
			return err
		})
	}
	for _, name := range []string{"a", "there/b", "there/deeper/c", "in/d", "a"} {
		if err := write(name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if text, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(text) != name {
			t.Errorf("%s has %q (%v)", name, text, err)
		}
	}
	for _, name := range []string{"", ".", "..", "../a", "there/../../a", "/tmp/a", "there//b", "a\x00b", "out/a",
		"out/deeper/a", "up/a", "a/b"} {
		if err := write(name); err == nil {
			t.Errorf("%q was written", name)
		}
	}
	if err := write("file"); err != nil { // the link is replaced, and what it leads to is not
		t.Error(err)
	}
	if there, err := os.ReadDir(outside); err != nil || len(there) > 0 {
		t.Errorf("outside there is %v (%v)", there, err)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "*"+durable.Suffix)); err != nil || len(left) > 0 {
		t.Errorf("left %v (%v)", left, err)
	}
}

// TestWriteFile replaces a file, beside which a killed process has left another.
func TestWriteFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	if err := os.WriteFile(path+durable.Suffix, []byte("a longer text of a process that was killed"),
		0o644); err != nil {
		t.Fatal(err)
	}
	failed := errors.New("failed")
	for _, step := range []struct {
		text string
		err  error
		want string
	}{{"first", nil, "first"}, {"second", nil, "second"}, {"third", failed, "second"}} {
		err := durable.WriteFile(path, func(w io.Writer) error {
			_, err := io.WriteString(w, step.text)
			return errors.Join(err, step.err)
		})
		if !errors.Is(err, step.err) {
			t.Errorf("writing %q: %v, want %v", step.text, err, step.err)
		}
		if text, err := os.ReadFile(path); err != nil || string(text) != step.want {
			t.Errorf("after writing %q the file has %q (%v), want %q", step.text, text, err, step.want)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("the file has the mode %v (%v)", info.Mode(), err)
		}
		if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
			t.Errorf("after writing %q the directory has %v (%v)", step.text, entries, err)
		}
	}
}

// TestMkdirAll makes directories that exist in part, and one below a file.
func TestMkdirAll(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("file", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{".", "a", "a/b/c", "a/b/c/", "./d//e", t.TempDir() + "/f/g"} {
		if err := durable.MkdirAll(path); err != nil {
			t.Error(err)
		}
		if info, err := os.Stat(path); err != nil || !info.IsDir() || path != "." && info.Mode().Perm() != 0o700 &&
			!filepath.IsAbs(path) {
			t.Errorf("%s: %v, %v", path, info, err)
		}
	}
	for _, path := range []string{"file", "file/a"} {
		if err := durable.MkdirAll(path); err == nil {
			t.Errorf("made the directory %s", path)
		}
	}
}
