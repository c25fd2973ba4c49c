// Package durable writes files that survive a loss of power: completely, or not at all.
//
// Where the name of a file comes from somebody else (another server, an archive, a backup, a document), WriteIn writes
// it below an os.Root: no such name, and no symbolic link on the way, leads out of that directory.
package durable

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
)

// Suffix ends the name of a file that WriteFile has not completed. It is left behind if the process is killed.
const Suffix = ".new"

// WriteFile creates or replaces the file at path with the output of write. It writes and syncs a file beside path that
// only the owner of the process can read, and renames it to path. After a crash, path has either its former content or
// the new one. Two calls for the same path must not run at the same time.
func WriteFile(path string, write func(io.Writer) error) error {
	unfinished := path + Suffix
	if err := os.Remove(unfinished); err != nil && !errors.Is(err, fs.ErrNotExist) { // of a process that was killed
		return err
	}
	f, err := os.OpenFile(unfinished, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if err := fill(f, write); err != nil {
		return errors.Join(err, os.Remove(unfinished))
	}
	if err := os.Rename(unfinished, path); err != nil {
		return errors.Join(err, os.Remove(unfinished))
	}
	return SyncDir(filepath.Dir(path))
}

// WriteIn is WriteFile for a file below root. It makes the directories above the file, with the permissions dirs. name
// has slashes.
func WriteIn(root *os.Root, name string, dirs fs.FileMode, write func(io.Writer) error) error {
	if !fs.ValidPath(name) || name == "." {
		return fmt.Errorf("%q is no name of a file below %s", name, root.Name())
	}
	unfinished := name + Suffix
	if err := MkdirAllIn(root, path.Dir(name), dirs); err != nil {
		return err
	}
	if err := root.Remove(unfinished); err != nil && !errors.Is(err, fs.ErrNotExist) { // of a process that was killed
		return err
	}
	f, err := root.OpenFile(unfinished, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if err := fill(f, write); err != nil {
		return errors.Join(err, root.Remove(unfinished))
	}
	if err := root.Rename(unfinished, name); err != nil {
		return errors.Join(err, root.Remove(unfinished))
	}
	return SyncIn(root, path.Dir(name))
}

// fill writes, syncs and closes a file.
func fill(f *os.File, write func(io.Writer) error) error {
	err := write(f)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// SyncIn is SyncDir for a directory below root.
func SyncIn(root *os.Root, dir string) error {
	d, err := root.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// SyncDir makes the names in a directory durable, such as that of a file that was renamed.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// MkdirAll creates the directory at path and its missing parents, with mode 0700, and makes their names durable. It
// does nothing if the directory exists.
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

// MkdirAllIn is MkdirAll for a directory below root.
func MkdirAllIn(root *os.Root, name string, mode fs.FileMode) error {
	there := func() bool {
		info, err := root.Stat(name)
		return err == nil && info.IsDir()
	}
	if there() {
		return nil
	}
	if parent := path.Dir(name); parent != name {
		if err := MkdirAllIn(root, parent, mode); err != nil {
			return err
		}
	}
	if err := root.Mkdir(name, mode); err != nil && !there() { // another may have made it meanwhile
		return err
	}
	return SyncIn(root, path.Dir(name))
}

func isDirectory(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
