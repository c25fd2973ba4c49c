package media_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// mountUploads gives the uploads of a project a small file system of their own.
func (s *server) mountUploads() (uploads string) {
	s.Helper()
	if os.Getuid() != 0 {
		s.Skip("only root may mount a file system")
	}
	uploads = filepath.Join(s.dir, "data/uploads")
	if err := os.MkdirAll(uploads, 0o700); err != nil {
		s.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", uploads, "tmpfs", 0, "size=3m"); err != nil {
		s.Skip("a file system cannot be mounted here: ", err)
	}
	s.Cleanup(func() {
		s.stop()
		if err := syscall.Unmount(uploads, 0); err != nil {
			s.Error(err)
		}
	})
	return uploads
}

// serves checks that files are served and content is written, and that an upload and the health are answered as they
// are to be.
func (s *server) serves(f fileAnswer, status int, says, state string) {
	s.Helper()
	if a := s.get(f.URL); a.status != 200 || string(a.body) != "content" {
		s.Errorf("the file: %d %s", a.status, a.body)
	}
	s.created("/api/people", `{"data":{"name":"P"}}`)
	if a := s.post("", file("b.txt", "text/plain", strings.Repeat("b", 100_000))); a.status != status ||
		!strings.Contains(string(a.body), says) {
		s.Errorf("an upload: %d %s", a.status, a.body)
	}
	if a := s.get("/_health"); a.status != map[bool]int{true: 204, false: 503}[state == ""] ||
		!strings.Contains(string(a.body), state) {
		s.Errorf("health: %d %s", a.status, a.body)
	}
	if a := s.get("/_ready"); a.status != 200 {
		s.Errorf("ready: %d %s", a.status, a.body)
	}
}

// TestFullDiskOfUploadsSparesTheContent fills the disk of uploads, while that of the content has room.
func TestFullDiskOfUploadsSparesTheContent(t *testing.T) {
	s := &server{T: t, dir: writeProject(t, "")}
	uploads := s.mountUploads()
	s.start()
	f := s.upload(file("a.txt", "text/plain", "content"))[0]
	filler, err := os.Create(filepath.Join(uploads, "filler"))
	if err != nil {
		t.Fatal(err)
	}
	for block := make([]byte, 4096); err == nil; {
		_, err = filler.Write(block)
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	s.serves(f, 507, "there is no space left on the disk of uploads", `"state":"uploads-full"`)
	if err := errors.Join(filler.Close(), os.Remove(filler.Name())); err != nil {
		t.Fatal(err)
	}
	s.serves(f, 201, "", "")
}

// TestReadOnlyUploadsAreServed starts a server whose uploads cannot be written to. It serves what is there, and stores
// files again when it may.
func TestReadOnlyUploadsAreServed(t *testing.T) {
	mounted := func(flags uintptr) func(t *testing.T, uploads string) {
		return func(t *testing.T, uploads string) {
			if err := syscall.Mount("tmpfs", uploads, "tmpfs", syscall.MS_REMOUNT|flags, "size=3m"); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, c := range []struct {
		name        string
		mount       bool
		lock, allow func(t *testing.T, uploads string)
	}{
		{"a read-only file system", true, mounted(syscall.MS_RDONLY), mounted(0)},
		{"a file in place of the incoming files", false, func(t *testing.T, uploads string) {
			if err := os.RemoveAll(filepath.Join(uploads, ".incoming")); err != nil {
				t.Fatal(err)
			}
			writeFile(t, filepath.Join(uploads, ".incoming"), "")
		}, func(t *testing.T, uploads string) {
			if err := os.Remove(filepath.Join(uploads, ".incoming")); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &server{T: t, dir: writeProject(t, "")}
			s.stop = func() {}
			uploads := filepath.Join(s.dir, "data/uploads")
			if c.mount {
				s.mountUploads()
			}
			s.start()
			f := s.upload(file("a.txt", "text/plain", "content"))[0]
			s.stop()
			c.lock(t, uploads)
			s.expectErrors.Store(true)
			s.start()
			if logged := s.errors.String(); !strings.Contains(
				logged, "uploaded files can be read, and none can be stored") {
				t.Errorf("the log of the start: %s", logged)
			}
			s.serves(f, 503, "files cannot be stored: the directory of uploads is gone or cannot be written to",
				`"state":"unwritable"`)
			c.allow(t, uploads)
			s.serves(f, 201, "", "")
		})
	}
}
