package filesync

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"sync"
	"time"

	"lectern/gateway/internal/replication"
	"lectern/internal/within"
)

// compareEvery is how often all files are compared, beside when something has changed.
const compareEvery = 10 * time.Minute

// Sums remembers the checksums of uploaded files, so that each is read once. The zero value is ready for use. Its
// methods are safe for concurrent use.
type Sums struct {
	mu    sync.Mutex
	known map[string]replication.File
}

// List lists the uploaded files in a directory, without those that are not complete.
func (s *Sums) List(ctx context.Context, dir string) ([]replication.File, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	list, known := []replication.File{}, map[string]replication.File{}
	err := each(dir, func(root *os.Root, name string, info fs.FileInfo) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		f, ok := s.known[name]
		if !ok || !f.Same(info) {
			sum, err := sumOf(root, name)
			if err != nil {
				return err
			}
			f = replication.File{Name: name, Size: info.Size(), Modified: info.ModTime(), SHA256: sum}
		}
		known[name] = f
		list = append(list, f)
		return nil
	})
	s.known = known
	return list, err
}

// each calls f with the files below a directory of uploads. It skips those that are removed meanwhile.
func each(dir string, f func(*os.Root, string, fs.FileInfo) error) error {
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer root.Close()
	return fs.WalkDir(root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() && name != "." && name[0] == '.' {
			return fs.SkipDir // incomplete uploads
		}
		var info fs.FileInfo
		if err == nil && e.Type().IsRegular() && within.IsFileName(name) {
			if info, err = e.Info(); err == nil {
				err = f(root, name, info)
			}
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
}

func sumOf(root *os.Root, name string) (string, error) {
	f, err := within.OpenIn(root, name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	return replication.Checksum(f)
}
