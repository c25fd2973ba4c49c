package objects

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"lectern/internal/ctxio"
	"lectern/internal/durable"
)

// ErrChanged: an object is not as long as the program that extends it left it, because another program wrote it.
var ErrChanged = errors.New("another program has changed it")

// A Directory keeps objects as files below a directory, with mode 0600. Put writes a file in the directory incoming, syncs and renames it.
type Directory struct{ path string }

const incoming = ".incoming"

// NewDirectory returns the Directory at path for a program that alone writes to it. It creates a directory that does not exist, and removes
// what a killed program has left in incoming.
func NewDirectory(path string) (*Directory, error) {
	if err := os.RemoveAll(filepath.Join(path, incoming)); err != nil {
		return nil, err
	}
	if err := durable.MkdirAll(filepath.Join(path, incoming)); err != nil {
		return nil, err
	}
	return OpenDirectory(path)
}

// OpenDirectory returns the Directory at path, which must exist.
func OpenDirectory(path string) (*Directory, error) {
	path = filepath.Clean(path)
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.IsDir():
		return nil, fmt.Errorf("%s is not a directory", path)
	}
	return &Directory{path}, nil
}

// String implements Store.
func (d *Directory) String() string { return d.path }

func (d *Directory) at(name string) (string, error) {
	if !fs.ValidPath(name) || name == "." || strings.HasPrefix(name, ".") || strings.Contains(name, "/.") {
		return "", fmt.Errorf("%q is not the name of an object", name)
	}
	return filepath.Join(d.path, filepath.FromSlash(name)), nil
}

// Put implements Store.
func (d *Directory) Put(ctx context.Context, name string, r io.Reader, _ int64) (err error) {
	to, err := d.at(name)
	if err != nil {
		return err
	}
	if err := durable.MkdirAll(filepath.Dir(to)); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Join(d.path, incoming), "")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, ignoreClosed(f.Close()), os.Remove(f.Name()))
		}
	}()
	if _, err = io.Copy(ctxio.NewWriter(ctx, f), r); err != nil {
		return err
	}
	if err = f.Sync(); err != nil {
		return err
	}
	if err = f.Close(); err != nil {
		return err
	}
	if err = os.Rename(f.Name(), to); err != nil {
		return err
	}
	return durable.SyncDir(filepath.Dir(to))
}

func ignoreClosed(err error) error {
	if errors.Is(err, fs.ErrClosed) {
		return nil
	}
	return err
}

// Extend implements Store.
func (d *Directory) Extend(_ context.Context, name string, content []byte, from int) (err error) {
	to, err := d.at(name)
	if err != nil {
		return err
	}
	flags := os.O_WRONLY
	if from == 0 {
		flags |= os.O_CREATE | os.O_TRUNC
		if err := durable.MkdirAll(filepath.Dir(to)); err != nil {
			return err
		}
	}
	f, err := os.OpenFile(to, flags, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w: %w", ErrChanged, err)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if info, err := f.Stat(); err != nil || info.Size() != int64(from) {
		return cmp.Or(err, fmt.Errorf("extend %s: %w", name, ErrChanged))
	}
	if _, err = f.WriteAt(content[from:], int64(from)); err == nil {
		err = f.Sync() // some file systems report only here that the disk is full
	}
	if err != nil { // so that it can be tried again
		return errors.Join(err, f.Truncate(int64(from)))
	}
	if from == 0 {
		return durable.SyncDir(filepath.Dir(to))
	}
	return nil
}

// Open implements Store.
func (d *Directory) Open(_ context.Context, name string) (io.ReadCloser, error) {
	at, err := d.at(name)
	if err != nil {
		return nil, err
	}
	f, err := os.Open(at)
	if err != nil {
		return nil, err
	}
	return f, nil
}

// List implements Store. It leaves out files that are being written.
func (d *Directory) List(ctx context.Context, prefix string) (list []Info, err error) {
	top, err := d.at(path.Clean(prefix))
	if err != nil {
		return nil, err
	}
	err = filepath.WalkDir(top, func(at string, e fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case e.IsDir() || e.Name()[0] == '.' || !e.Type().IsRegular():
			return ctx.Err()
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		name, err := filepath.Rel(d.path, at)
		list = append(list, Info{filepath.ToSlash(name), info.Size(), info.ModTime()})
		return err
	})
	slices.SortFunc(list, func(a, b Info) int { return strings.Compare(a.Name, b.Name) })
	return list, err
}

// Delete implements Store.
func (d *Directory) Delete(_ context.Context, name string) error {
	at, err := d.at(name)
	if err != nil {
		return err
	}
	if err := os.Remove(at); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
