package media_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestUploadsDirectoryMayGoAndComeBack removes, moves, replaces and blocks the directory of uploads while the server
// uses it.
func TestUploadsDirectoryMayGoAndComeBack(t *testing.T) {
	s := serve(t, "")
	s.expectErrors.Store(true)
	uploads := filepath.Join(s.dir, "data/uploads")
	first := s.upload(file("first.txt", "text/plain", "first"))[0]
	well := func(want bool) {
		t.Helper()
		a := s.get("/_health")
		if want != (a.status == 204) || !want &&
			(a.status != 503 || !strings.Contains(string(a.body), `"state":"unwritable"`)) {
			t.Errorf("health: %d %s", a.status, a.body)
		}
	}
	shows := func(f fileAnswer, content string) {
		t.Helper()
		if a := s.get(f.URL); a.status != 200 || string(a.body) != content {
			t.Errorf("%s: %d %s", f.Name, a.status, a.body)
		}
	}
	do := func(errs ...error) {
		t.Helper()
		for _, err := range errs {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	well(true)

	t.Run("copied back", func(t *testing.T) {
		do(os.CopyFS(uploads+".copy", os.DirFS(uploads)), os.RemoveAll(uploads))
		well(false)
		if a := s.get(first.URL); a.status != 404 {
			t.Errorf("a file that is gone: %d", a.status)
		}
		do(os.Rename(uploads+".copy", uploads))
		well(true)
		shows(first, "first")
	})
	t.Run("moved", func(t *testing.T) {
		do(os.Rename(uploads, uploads+".moved"))
		well(false)
		second := s.upload(file("second.txt", "text/plain", "second"))[0]
		well(true)
		shows(second, "second")
		if _, err := os.Stat(filepath.Join(uploads, filepath.Base(second.URL))); err != nil {
			t.Errorf("it was not stored where the next start looks for it: %v", err)
		}
	})
	t.Run("removed", func(t *testing.T) {
		do(os.RemoveAll(uploads))
		if a := s.do("DELETE", "/api/upload/files/1", "", nil); a.status != 200 {
			t.Errorf("delete: %d %s", a.status, a.body)
		}
		shows(s.upload(file("third.txt", "text/plain", "third"))[0], "third")
	})
	t.Run("incoming removed", func(t *testing.T) {
		do(os.RemoveAll(filepath.Join(uploads, ".incoming")))
		shows(s.upload(file("fourth.txt", "text/plain", "fourth"))[0], "fourth")
	})
	t.Run("blocked", func(t *testing.T) {
		do(os.RemoveAll(uploads), os.WriteFile(uploads, nil, 0o700))
		well(false)
		a := s.post("", file("fifth.txt", "text/plain", "fifth"))
		if a.status != 503 || !strings.Contains(string(a.body), "ServiceUnavailableError") ||
			strings.Contains(string(a.body), s.dir) {
			t.Errorf("upload: %d %s", a.status, a.body)
		}
		do(os.Remove(uploads))
		shows(s.upload(file("fifth.txt", "text/plain", "fifth"))[0], "fifth")
		well(true)
	})
}
