package admin

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"lectern/internal/durable"
)

// WriteFile creates or replaces the file at path with the output of write. It writes a file beside path, syncs it and
// renames it to path. If anything fails, path is left as it was.
func WriteFile(path string, write func(io.Writer) error) (err error) {
	switch there, err := os.Stat(path); {
	case err == nil && there.IsDir():
		return fmt.Errorf("%s is a directory; name a file in it", path)
	case err == nil && !there.Mode().IsRegular(): // renaming would replace a device
		return fmt.Errorf("%s is no ordinary file; write to - and redirect that", path)
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-") // with mode 0600
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no directory %s", filepath.Dir(path))
	}
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(f.Name())
		}
	}()
	if err = write(f); err != nil {
		return err
	}
	if err = f.Sync(); err != nil {
		return err
	}
	if err = f.Close(); err != nil {
		return err
	}
	if err = os.Rename(f.Name(), path); err != nil {
		return err
	}
	return durable.SyncDir(filepath.Dir(path))
}
