// Package durable writes files that survive a loss of power: completely, or not at all.
package durable

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Suffix ends the name of a file that WriteFile has not completed. It is left behind if the process is killed.
const Suffix = ".new"

// WriteFile creates or replaces the file at path with the output of write. It writes and syncs a file beside path that only the owner of
// the process can read, and renames it to path. After a crash, path has either its former content or the new one. Two calls for
// the same path must not run at the same time.
func WriteFile(path string, write func(io.Writer) error) error {
	unfinished := path + Suffix
	if err := os.Remove(unfinished); err != nil && !errors.Is(err, fs.ErrNotExist) { // of a process that was killed
		return err
	}
	f, err := os.OpenFile(unfinished, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if err = write(f); err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(unfinished, path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(unfinished))
	}
	return SyncDir(filepath.Dir(path))
}

// SyncDir makes the names in a directory durable, such as that of a file that was renamed.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// MkdirAll creates the directory at path and its missing parents, with mode 0700, and makes their names durable. It does nothing if the
// directory exists.
func MkdirAll(path string) error {
	if isDirectory(path) {
		return nil
	}
	parent := filepath.Dir(filepath.Clean(path))
	if parent != path {
		if err := MkdirAll(parent); err != nil {
			return err
		}
	}
	if err := os.Mkdir(path, 0o700); err != nil && !isDirectory(path) { // another may have made it meanwhile
		return err
	}
	return SyncDir(parent)
}

func isDirectory(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
