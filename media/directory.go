package media

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"
	"syscall"

	"lectern/documents"
	"lectern/documents/apierror"
)

// errUnwritable is what a client is told where files cannot be stored.
var errUnwritable = &apierror.Error{Status: 503, Name: "ServiceUnavailableError", Message: "files cannot be stored: the directory of uploads is gone or cannot be written to", NoDetails: true}

// A directory is where a library keeps files. It may be removed, moved or replaced while it is in use: whoever stores something
// works in that which its path names by then, and makes it where there is none.
type directory struct {
	path   string
	failed func(error) // is told when it was gone

	now    atomic.Pointer[os.Root]
	mu     sync.Mutex // held to open it anew
	former []*os.Root // who began with one may still be at work in it
}

func openDirectory(path string, failed func(error)) (*directory, error) {
	d := &directory{path: path, failed: failed}
	return d, d.open()
}

// open opens the directory and what belongs into it, and makes what is missing.
func (d *directory) open() error {
	if err := os.MkdirAll(d.path, 0o700); err != nil {
		return fmt.Errorf("make the directory of uploads: %w", err)
	}
	root, err := os.OpenRoot(d.path)
	if err != nil {
		return fmt.Errorf("open the directory of uploads: %w", err)
	}
	if err := root.MkdirAll(incoming, 0o700); err != nil {
		return fmt.Errorf("make the directory of incoming files: %w", errors.Join(err, root.Close()))
	}
	if former := d.now.Swap(root); former != nil {
		d.former = append(d.former, former)
	}
	return nil
}

func (d *directory) root() *os.Root { return d.now.Load() }

// there reports whether the directory that is open is the one that its path names.
func (d *directory) there() (bool, error) {
	named, err := os.Stat(d.path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	opened, err := d.root().Stat(".")
	return err == nil && os.SameFile(named, opened), nil
}

// find opens the directory anew if it is not the one that its path names, and makes it if there is none.
func (d *directory) find() error {
	if there, err := d.there(); there || err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if there, err := d.there(); there || err != nil {
		return err
	}
	if err := d.open(); err != nil {
		return err
	}
	d.failed(fmt.Errorf("the directory of uploads %s was removed or replaced while it was in use: files are stored in the one that is there now; "+
		"put back what is missing", d.path))
	return nil
}

// reopened is the directory that the path names now, if that is another than root; otherwise there is nothing new to be found.
func (d *directory) reopened(root *os.Root) (*os.Root, error) {
	if _, err := os.Stat(d.path); err != nil {
		return nil, fs.ErrNotExist // reading makes none
	}
	if err := d.find(); err != nil {
		return nil, err
	}
	if now := d.root(); now != root {
		return now, nil
	}
	return nil, fs.ErrNotExist
}

// create makes an empty file in the directory.
func (d *directory) create(name string) (f *os.File, root *os.Root, err error) {
	if err := d.find(); err != nil {
		return nil, nil, d.unwritable(err)
	}
	attempt := func() (*os.File, error) {
		root = d.root()
		return root.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	}
	if f, err = attempt(); errors.Is(err, fs.ErrNotExist) {
		if err = root.MkdirAll(incoming, 0o700); err == nil {
			f, err = attempt()
		}
	}
	return f, root, d.unwritable(err)
}

// unwritable has clients told of an error of making a file, unless a full disk is its cause.
func (d *directory) unwritable(err error) error {
	if err == nil || documents.Unavailable(err) != nil {
		return err
	}
	d.failed(fmt.Errorf("files cannot be stored: %w", err))
	return fmt.Errorf("%w: %w", errUnwritable, err)
}

// health says why files cannot be stored in the directory; nil when they can.
func (d *directory) health() error {
	switch info, err := os.Stat(d.path); {
	case err != nil:
		return err
	case !info.IsDir():
		return &os.PathError{Op: "open", Path: d.path, Err: syscall.ENOTDIR}
	}
	return writable(d.path)
}

func (d *directory) close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	errs := []error{d.root().Close()}
	for _, root := range d.former {
		errs = append(errs, root.Close())
	}
	return errors.Join(errs...)
}
