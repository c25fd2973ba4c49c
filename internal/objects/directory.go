package objects

import (
	"cmp"
	"context"
	"crypto/rand"
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
	"lectern/internal/within"
)

// ErrChanged: an object is not as long as the program that extends it left it, because another program wrote it.
var ErrChanged = errors.New("another program has changed it")

// A Directory keeps objects as files below a directory, with mode 0600. Put writes a file in the directory incoming,
// syncs and renames it. No name of an object, and no symbolic link, leads out of the directory.
type Directory struct{ path string }

const incoming = ".incoming"

// NewDirectory returns the Directory at path for a program that alone writes to it. It creates a directory that does
// not exist, and removes what a killed program has left in incoming.
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

// do opens the directory for the work on one object.
func (d *Directory) do(name string, work func(*os.Root) error) error {
	if !fs.ValidPath(name) || name == "." || strings.HasPrefix(name, ".") || strings.Contains(name, "/.") {
		return fmt.Errorf("%q is not the name of an object", name)
	}
	return within.Do(d.path, work)
}

// Put implements Store.
func (d *Directory) Put(ctx context.Context, name string, r io.Reader, _ int64) error {
	return d.do(name, func(root *os.Root) error { return put(ctx, root, name, r) })
}

func put(ctx context.Context, root *os.Root, name string, r io.Reader) (err error) {
	if err := durable.MkdirAllIn(root, path.Dir(name), 0o700); err != nil {
		return err
	}
	unfinished := path.Join(incoming, rand.Text())
	f, err := root.OpenFile(unfinished, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, ignoreClosed(f.Close()), root.Remove(unfinished))
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
	if err = root.Rename(unfinished, name); err != nil {
		return err
	}
	return durable.SyncIn(root, path.Dir(name))
}

func ignoreClosed(err error) error {
	if errors.Is(err, fs.ErrClosed) {
		return nil
	}
	return err
}

// Extend implements Store.
func (d *Directory) Extend(_ context.Context, name string, content []byte, from int) error {
	return d.do(name, func(root *os.Root) error { return extend(root, name, content, from) })
}

func extend(root *os.Root, name string, content []byte, from int) (err error) {
	flags := os.O_WRONLY
	if from == 0 {
		flags |= os.O_CREATE | os.O_TRUNC
		if err := durable.MkdirAllIn(root, path.Dir(name), 0o700); err != nil {
			return err
		}
	}
	f, err := root.OpenFile(name, flags, 0o600)
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
		return durable.SyncIn(root, path.Dir(name))
	}
	return nil
}

// Open implements Store.
func (d *Directory) Open(_ context.Context, name string) (r io.ReadCloser, err error) {
	err = d.do(name, func(root *os.Root) error {
		r, err = within.OpenIn(root, name)
		return err
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}

// List implements Store. It leaves out files that are being written.
func (d *Directory) List(ctx context.Context, prefix string) (list []Info, err error) {
	top := path.Clean(prefix)
	err = d.do(top, func(root *os.Root) error {
		list, err = listBelow(ctx, root, top)
		return err
	})
	return list, err
}

func listBelow(ctx context.Context, root *os.Root, top string) (list []Info, err error) {
	err = fs.WalkDir(root.FS(), top, func(name string, e fs.DirEntry, err error) error {
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
		list = append(list, Info{name, info.Size(), info.ModTime()})
		return nil
	})
	slices.SortFunc(list, func(a, b Info) int { return strings.Compare(a.Name, b.Name) })
	return list, err
}

// Delete implements Store.
func (d *Directory) Delete(_ context.Context, name string) error {
	err := d.do(name, func(root *os.Root) error { return root.Remove(name) })
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
