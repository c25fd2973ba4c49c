package within_test

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"lectern/internal/within"
)

func TestOpen(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	for path, text := range map[string]string{filepath.Join(dir, "a"): "inside",
		filepath.Join(outside, "a"): "outside"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{"in": "a", "out": outside, "file": filepath.Join(outside, "a")} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"a", "in"} {
		f, err := within.Open(dir, name)
		if err != nil {
			t.Fatal(err)
		}
		if text, err := io.ReadAll(f); err != nil || string(text) != "inside" {
			t.Errorf("%s has %q (%v)", name, text, err)
		}
		f.Close()
	}
	refused := []string{"", ".", "..", "../a", "/etc/passwd", "out/a", "file", "a\x00", "missing", "a/b",
		pipe(t, dir)} // a pipe would wait for a writer
	for _, name := range refused {
		if f, err := within.Open(dir, name); err == nil {
			f.Close()
			t.Errorf("%q was opened", name)
		}
	}
	for name, want := range map[string]bool{"a": true, "file": true, "out/a": false, "../x": false} {
		if _, err := within.Lstat(dir, name); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestMake(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	if err := within.Do(dir, func(*os.Root) error { return nil }); !os.IsNotExist(err) {
		t.Errorf("a directory that does not exist: %v", err)
	}
	err := within.Make(dir, 0o700, func(root *os.Root) error { return root.WriteFile("c", nil, 0o600) })
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "c")); err != nil {
		t.Error(err)
	}
}

func TestIsFileName(t *testing.T) {
	for name, want := range map[string]bool{
		"a": true, "a.png": true, "a/b.png": true, "é b": true,
		"": false, ".": false, "..": false, "/a": false, "a/": false, "a//b": false, "../a": false, "a/../b": false,
		"a/./b": false,
		".a":    false, "a/.b": false, `a\b`: false, "c:": false, "a\x00": false, "a\n": false, "\xff": false,
	} {
		if got := within.IsFileName(name); got != want {
			t.Errorf("%q: %t", name, got)
		}
	}
}
