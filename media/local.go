package media

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"lectern/internal/durable"
)

// local is the Storage that keeps files in a directory.
type local struct{ dir *directory }

var _ Storage = (*local)(nil)

// Provider implements Storage.
func (*local) Provider() string { return "local" }

// URL implements Storage.
func (*local) URL(name string) string { return "/uploads/" + name }

// Put implements Storage. Storing a file is a rename, because the spool is in the same file system.
func (s *local) Put(_ context.Context, files []Stored) error {
	root := s.dir.root()
	for i, f := range files {
		var err error
		if !isStoredName(f.Name) {
			err = errors.New("this is not a valid file name")
		} else if err = root.Rename(f.Spooled, f.Name); errors.Is(err, fs.ErrPermission) ||
			errors.Is(err, syscall.EROFS) {
			err = s.dir.unwritable(err)
		}
		if err != nil && i == 0 {
			err = fmt.Errorf("%w: %w", errNoneStored, err)
		}
		if err != nil {
			return fmt.Errorf("store %q: %w", f.Name, err)
		}
	}
	return durable.SyncIn(root, ".")
}

// Open implements Storage. It refuses symbolic links and everything else that is not a regular file, as if it did not
// exist.
func (s *local) Open(_ context.Context, name string) (*Object, error) {
	if !isStoredName(name) {
		return nil, fs.ErrNotExist
	}
	root := s.dir.root()
	named, err := root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) { // the directory may have been replaced
		if root, err = s.dir.reopened(root); err == nil {
			named, err = root.Lstat(name)
		}
	}
	if err != nil {
		return nil, err
	}
	if !named.Mode().IsRegular() {
		return nil, fs.ErrNotExist
	}
	f, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil || !os.SameFile(named, info) { // replaced between the two calls, perhaps by a link
		return nil, errors.Join(fs.ErrNotExist, err, f.Close())
	}
	return &Object{Content: f, Size: info.Size(), Modified: info.ModTime(),
		ETag: fmt.Sprintf(`"%x-%x"`, info.ModTime().UnixNano(), info.Size())}, nil
}

// Delete implements Storage.
func (s *local) Delete(_ context.Context, names []string) error {
	var errs []error
	for _, name := range names {
		if !isStoredName(name) {
			continue
		}
		if err := s.dir.root().Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
