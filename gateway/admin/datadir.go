package admin

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// Names in a data directory.
const (
	StoreName   = "content.db"
	UploadsName = "uploads"
	controlName = "control.sock"
)

// A DataDir is a data directory that this process has locked.
type DataDir struct {
	Path      string
	temporary bool // Release removes it
	unlock    func()
}

// ErrBusy says that another process uses the data directory.
var ErrBusy = errors.New("in use by another process")

// BusyError says which process uses a data directory and what to do about it. It wraps ErrBusy.
func BusyError(path string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	r, err := dial(ctx, path)
	if err != nil {
		return fmt.Errorf("the data directory %s is %w, which starts or stops or is busy with it; try again when it is done, or name another one with --data", path, ErrBusy)
	}
	defer r.Close()
	return fmt.Errorf("the data directory %s is %w: the server with process id %d, which serves %s; stop it first (kill %d), or name another one with --data",
		path, ErrBusy, r.Server.PID, r.Server.Base, r.Server.PID)
}

// Lock locks the data directory at path for this process, and finishes a restore that was interrupted. It creates the directory if
// there is none. The error wraps ErrBusy if another process has locked it. The kernel drops the lock when the process ends.
func Lock(path string) (*DataDir, error) {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, withHint(fmt.Errorf("make the data directory: %w", err))
	}
	unlock, err := lockDirectory(path)
	if err != nil {
		return nil, withHint(fmt.Errorf("lock the data directory: %w", err))
	}
	d := &DataDir{Path: path, unlock: unlock}
	if err := finishRestore(path); err != nil {
		unlock()
		return nil, err
	}
	return d, nil
}

// lockAsIs locks a data directory and changes nothing in it.
func lockAsIs(path string) (*DataDir, error) {
	unlock, err := lockDirectory(path)
	if err != nil {
		return nil, withHint(err)
	}
	return &DataDir{Path: path, unlock: unlock}, nil
}

// withHint adds what to do to an error of a data directory that this process may not write to.
func withHint(err error) error {
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
		return fmt.Errorf("%w; let the user who runs this write there, or name another directory with --data", err)
	}
	return err
}

// Temporary makes a data directory that Release removes.
func Temporary() (*DataDir, error) {
	path, err := os.MkdirTemp("", "lectern-")
	if err != nil {
		return nil, fmt.Errorf("make a temporary data directory: %w", err)
	}
	d, err := Lock(path)
	if err != nil {
		os.RemoveAll(path)
		return nil, err
	}
	d.temporary = true
	return d, nil
}

// Join returns the path of a name in the directory.
func (d *DataDir) Join(name string) string { return filepath.Join(d.Path, name) }

// Release unlocks the directory.
func (d *DataDir) Release() error {
	d.unlock()
	if d.temporary {
		return os.RemoveAll(d.Path)
	}
	return nil
}
