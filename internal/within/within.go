// Package within opens files whose names come from elsewhere: from another server, an archive, a backup or a document.
// No such name, and no symbolic link on the way, leads out of the directory that a function is given; the error is then
// that of an os.Root.
//
// Each call opens the directory anew, because operators may replace it while a program runs. Names have slashes.
// WriteIn of the package durable writes files below the same roots.
package within

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode"
)

// Do opens a directory for do.
func Do(dir string, do func(*os.Root) error) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	return errors.Join(do(root), root.Close())
}

// Make is Do, and makes the directory if there is none.
func Make(dir string, mode fs.FileMode, do func(*os.Root) error) error {
	if err := os.MkdirAll(dir, mode); err != nil {
		return err
	}
	return Do(dir, do)
}

// Open opens a regular file for reading. It refuses another kind of file, without waiting for the other end of a pipe.
func Open(dir, name string) (f *os.File, err error) {
	err = Do(dir, func(root *os.Root) error {
		f, err = OpenIn(root, name)
		return err
	})
	return f, err
}

// OpenIn is Open below a root.
func OpenIn(root *os.Root, name string) (*os.File, error) {
	info, err := root.Stat(name)
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: name, Err: errKind}
	}
	if err != nil {
		return nil, err
	}
	return root.Open(name)
}

var errKind = errors.New("not a regular file")

// Lstat describes a file, or the symbolic link that is there.
func Lstat(dir, name string) (info fs.FileInfo, err error) {
	err = Do(dir, func(root *os.Root) error {
		info, err = root.Lstat(name)
		return err
	})
	return info, err
}

// IsFileName reports whether a name, which has slashes, is that of a file below a directory on every system, and
// neither the file nor a directory on the way is hidden.
func IsFileName(name string) bool {
	return fs.ValidPath(name) && name[0] != '.' && !strings.Contains(name, "/.") && !strings.ContainsAny(name, `\:`) &&
		!strings.ContainsFunc(name, unicode.IsControl) && filepath.IsLocal(filepath.FromSlash(name))
}
