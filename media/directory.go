package media

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"

	"lectern/documents/apierror"
	"lectern/internal/diskspace"
)

// ErrNoRoom is the answer to a client when the disk of uploads is full. Content has a disk of its own, perhaps, and can
// be written then.
var ErrNoRoom = &apierror.Error{Status: http.StatusInsufficientStorage, Name: "InsufficientStorageError",
	NoDetails: true, Reason: apierror.Space,
	Message: "there is no space left on the disk of uploads; no file can be stored until there is"}

// errUnwritable is the answer to a client when files cannot be stored.
var errUnwritable = unavailable(apierror.Uploads,
	"files cannot be stored: the directory of uploads is gone or cannot be written to")

// A directory is where a library stores files. The operator may remove, move or replace it while the server runs: each
// new file goes to the directory that the path names at that time, which is created if it does not exist.
type directory struct {
	path   string
	failed func(error) // called with errors that the operator should see

	overQuota atomic.Bool // the last file that was to be stored exceeded a quota, of which the file system does not tell

	now     atomic.Pointer[os.Root]
	mu      sync.Mutex // guards open and earlier
	earlier []*os.Root // directories opened earlier; a request that began with one may still use it
}

// openDirectory opens the directory at a path. If nothing can be written there, it can be read from, and failed is
// called; the first file that can be stored makes what is missing.
func openDirectory(path string, failed func(error)) (*directory, error) {
	d := &directory{path: path, failed: failed}
	err := d.open()
	if d.root() == nil {
		return d, err
	}
	if err != nil {
		failed(unstorable(err))
	}
	return d, nil
}

// unstorable says of an error at the start what it means for the files.
func unstorable(err error) error {
	return fmt.Errorf("uploaded files can be read, and none can be stored: %w", err)
}

// open opens the directory and creates it, and the directory of incoming files below it, if they do not exist.
func (d *directory) open() error {
	if err := os.MkdirAll(d.path, 0o700); err != nil {
		return fmt.Errorf("make the directory of uploads: %w", err)
	}
	root, err := os.OpenRoot(d.path)
	if err != nil {
		return fmt.Errorf("open the directory of uploads: %w", err)
	}
	if before := d.now.Swap(root); before != nil {
		d.earlier = append(d.earlier, before)
	}
	if err := root.MkdirAll(incoming, 0o700); err != nil {
		return fmt.Errorf("make the directory of incoming files: %w", err)
	}
	return nil
}

func (d *directory) root() *os.Root { return d.now.Load() }

// current reports whether the open directory is the one that its path names now.
func (d *directory) current() (bool, error) {
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

// find reopens the directory if its path names another one now, and creates it if there is none.
func (d *directory) find() error {
	if current, err := d.current(); current || err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if current, err := d.current(); current || err != nil {
		return err
	}
	if err := d.open(); err != nil {
		return err
	}
	d.failed(fmt.Errorf("the directory of uploads %s was removed or replaced while it was in use: "+
		"new files are stored in the directory that is there now; put back the files that are missing", d.path))
	return nil
}

// reopened returns the directory that the path names now. The error is fs.ErrNotExist if there is none, or if that
// directory is root itself.
func (d *directory) reopened(root *os.Root) (*os.Root, error) {
	if _, err := os.Stat(d.path); err != nil {
		return nil, fs.ErrNotExist // reading does not create the directory
	}
	if err := d.find(); err != nil {
		return nil, err
	}
	if now := d.root(); now != root {
		return now, nil
	}
	return nil, fs.ErrNotExist
}

// create creates an empty file in the directory and returns it with the root that it was created in.
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

// unwritable logs an error of creating a file and makes it one that clients get as errUnwritable, or as ErrNoRoom if
// the disk is full.
func (d *directory) unwritable(err error) error {
	if err == nil || noSpace(err) {
		return d.noRoom(err)
	}
	d.failed(fmt.Errorf("files cannot be stored: %w", err))
	return fmt.Errorf("%w: %w", errUnwritable, err)
}

// noRoom makes the error of a full disk one that clients get as ErrNoRoom. Other errors, and nil, stay as they are.
func (d *directory) noRoom(err error) error {
	d.overQuota.Store(errors.Is(err, syscall.EDQUOT))
	if !noSpace(err) || errors.Is(err, ErrNoRoom) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrNoRoom, err)
}

// leastRoom is the space below which the disk counts as full. Files that are larger than what is left are refused as
// well.
const leastRoom = 1 << 20

// health returns why files cannot be stored in the directory; nil means that they can.
func (d *directory) health() error {
	switch info, err := os.Stat(d.path); {
	case err != nil:
		return err
	case !info.IsDir():
		return &os.PathError{Op: "open", Path: d.path, Err: syscall.ENOTDIR}
	}
	if err := writable(d.path); err != nil {
		return err
	}
	in := filepath.Join(d.path, incoming)
	switch info, err := os.Stat(in); {
	case errors.Is(err, fs.ErrNotExist): // the next file makes it
	case err != nil:
		return err
	case !info.IsDir():
		return &os.PathError{Op: "open", Path: in, Err: syscall.ENOTDIR}
	default:
		if err := writable(in); err != nil {
			return err
		}
	}
	return d.room()
}

// room returns ErrNoRoom if the disk is full.
func (d *directory) room() error {
	f, err := d.root().Open(".")
	if err != nil {
		return err
	}
	defer f.Close()
	if d.overQuota.Load() || diskspace.Available(f) < leastRoom {
		return ErrNoRoom
	}
	return nil
}

func (d *directory) close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	errs := []error{d.root().Close()}
	for _, root := range d.earlier {
		errs = append(errs, root.Close())
	}
	return errors.Join(errs...)
}
