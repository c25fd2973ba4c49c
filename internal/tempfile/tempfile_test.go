package tempfile_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"lectern/internal/tempfile"
)

func TestFileHasNoNameAndKeepsItsContentUntilItIsClosed(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	for _, at := range []string{dir, ""} {
		f, err := tempfile.New(at)
		if err != nil {
			t.Fatal(err)
		}
		if filepath.Dir(f.Name()) != dir {
			t.Errorf("%q: it is made at %s", at, f.Name())
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("%q: the directory has %v, %v", at, left, err)
		}
		if _, err := f.WriteString("content"); err != nil {
			t.Fatal(err)
		}
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			t.Fatal(err)
		}
		if text, err := io.ReadAll(f); string(text) != "content" || err != nil {
			t.Errorf("%q: %q, %v", at, text, err)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestNewNeedsADirectory(t *testing.T) {
	if f, err := tempfile.New(filepath.Join(t.TempDir(), "missing")); !errors.Is(err, fs.ErrNotExist) || f != nil {
		t.Errorf("%v, %v", f, err)
	}
}
