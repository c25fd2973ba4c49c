package media_test

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"lectern/gateway"
)

// TestBackupHasTheFilesOfItsDocuments takes a backup with files while a client deletes one, and restores it. Each
// document in the restored project has its files.
func TestBackupHasTheFilesOfItsDocuments(t *testing.T) {
	s := serve(t, "")
	f := s.upload(file("a.png", "image/png", pngOf(picture(300, 200))), file("b.txt", "text/plain", "hello"))
	writeFile(t, filepath.Join(s.dir, "data/uploads/.incoming/on-its-way"), "half a fi")
	var backup bytes.Buffer
	deleting := writerFunc(func(p []byte) (int, error) { // after the store was copied and before the files are
		if f != nil && bytes.Contains(p, []byte("uploads/")) {
			if a := s.do("DELETE", fmt.Sprint("/api/upload/files/", f[0].ID), "", nil); a.status != 200 {
				t.Errorf("delete: %d %s", a.status, a.body)
			}
			f = nil
		}
		return backup.Write(p)
	})
	names := []string{"thumbnail_" + f[0].Hash + ".png", f[0].Hash + ".png", f[1].Hash + ".txt"}
	if err := s.project.Backup(t.Context(), deleting); err != nil {
		t.Fatal(err)
	}
	var got []string
	for archive := tar.NewReader(bytes.NewReader(backup.Bytes())); ; {
		head, err := archive.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if name, ok := strings.CutPrefix(head.Name, "uploads/"); ok {
			got = append(got, name)
		}
	}
	slices.Sort(got)
	slices.Sort(names)
	if diff := cmp.Diff(names, got); diff != "" {
		t.Errorf("in the backup: %s", diff)
	}
	if files, _ := s.stored(); len(files) != 1 {
		t.Errorf("after the backup: %v", files)
	}
	s.stop()
	if _, err := gateway.Directory(s.dir, gateway.Options{}).Restore(&backup); err != nil {
		t.Fatal(err)
	}
	s.start()
	if all := s.allFiles(); len(all) != 2 {
		t.Errorf("restored: %v", all)
	} else {
		for _, f := range all {
			if a := s.get(f.URL); a.status != 200 {
				t.Errorf("%s: %d", f.URL, a.status)
			}
		}
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }
