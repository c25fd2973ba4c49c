package media

import (
	"errors"
	"os"
	"testing"
	"time"
)

// TestSpoolTimes finishes files and checks that each has its own modification time, because ETags are made from it.
// File systems alone give the same time to all files written within some milliseconds.
func TestSpoolTimes(t *testing.T) {
	dir, err := openDirectory(t.TempDir(), func(err error) { t.Error(err) })
	if err != nil {
		t.Fatal(err)
	}
	defer dir.close()
	root, s := dir.root(), &spool{dir}
	for range 3 {
		f, err := s.create()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString("content"); err != nil {
			t.Fatal(err)
		}
		written := time.Now()
		size, err := f.finish(nil)
		if err != nil {
			t.Fatal(err)
		}
		info, err := root.Stat(f.name)
		if err != nil {
			t.Fatal(err)
		}
		if info.ModTime().Before(written.Truncate(time.Microsecond)) || size != 7 || info.Size() != 7 {
			t.Errorf("a file that was finished after %v is of %v, and has %d bytes", written, info.ModTime(), size)
		}
	}
	f, err := s.create()
	if err != nil {
		t.Fatal(err)
	}
	failed := errors.New("the client has gone")
	if _, err := f.finish(failed); !errors.Is(err, failed) {
		t.Errorf("finished with %v", err)
	}
	if _, err := root.Stat(f.name); !os.IsNotExist(err) {
		t.Errorf("what could not be written is left: %v", err)
	}
}
