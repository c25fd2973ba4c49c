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

// Names of files and directories in a data directory.
const (
	StoreName   = "content.db"
	UploadsName = "uploads"
	ImagesName  = "image-cache"
	controlName = "control.sock"
)

// A DataDir is a data directory that this process has locked.
type DataDir struct {
	Path      string
	temporary bool // Release removes the directory
	unlock    func()
}

// ErrBusy is the error for a data directory that another process uses.
var ErrBusy = errors.New("in use by another process")

// BusyError returns an error that says which process uses the data directory at path, and what to do about it. It wraps
// ErrBusy.
func BusyError(path string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	r, err := dial(ctx, path)
	if err != nil {
		return fmt.Errorf("the data directory %s is %w, which starts or stops or is busy with it; "+
			"try again when it is done, or name another one with --data", path, ErrBusy)
	}
	defer r.Close()
	return fmt.Errorf("the data directory %s is %w: the server with process id %d, which serves %s; "+
		"stop it first (kill %d), or name another one with --data",
		path, ErrBusy, r.Server.PID, r.Server.Base, r.Server.PID)
}

// Lock locks the data directory at path for this process, and finishes a restore that was interrupted. It creates a
// missing directory. If another process has locked the directory, the error wraps ErrBusy. The kernel releases the lock
// when this process ends.
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

// lockAsIs locks a data directory without changing anything in it.
func lockAsIs(path string) (*DataDir, error) {
	unlock, err := lockDirectory(path)
	if err != nil {
		return nil, withHint(err)
	}
	return &DataDir{Path: path, unlock: unlock}, nil
}

// withHint returns err. If err says that this process may not write to the data directory, it adds what to do about it.
func withHint(err error) error {
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
		return fmt.Errorf("%w; let the user who runs this write there, or name another directory with --data", err)
	}
	return err
}

// Temporary creates and locks a data directory that Release removes.
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

// Join returns the path of the file or directory name in d.
func (d *DataDir) Join(name string) string { return filepath.Join(d.Path, name) }

// Release unlocks the directory, and removes it if it is temporary.
func (d *DataDir) Release() error {
	d.unlock()
	if d.temporary {
		return os.RemoveAll(d.Path)
	}
	return nil
}
