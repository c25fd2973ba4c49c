package gateway

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

// Names of what lies in a data directory.
const (
	storeName   = "content.db"
	uploadsName = "uploads"
	controlName = "control.sock"
)

// A dataDir is a data directory that this process alone works with, from lockDataDir to release.
type dataDir struct {
	path      string
	temporary bool // removed by release
	unlock    func()
}

// ErrBusy says that another process works with the data directory.
var ErrBusy = errors.New("in use by another process")

// busyError says who works with a data directory, and what to do about it. It wraps ErrBusy.
func busyError(path string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	r, err := dialControl(ctx, controlPath(path))
	if err != nil {
		return fmt.Errorf("the data directory %s is %w, which starts or stops or is busy with it; try again when it is done, or name another one with --data", path, ErrBusy)
	}
	defer r.Close()
	return fmt.Errorf("the data directory %s is %w: the server with process id %d, which serves %s; stop it first (kill %d), or name another one with --data",
		path, ErrBusy, r.Server.PID, r.Server.Base, r.Server.PID)
}

// lockDataDir makes the directory where there is none and keeps other processes out of it. The lock is the kernel's and
// goes with the process, however it ends.
func lockDataDir(path string) (*dataDir, error) {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, withAccess(fmt.Errorf("make the data directory: %w", err))
	}
	unlock, err := lockDirectory(path)
	if err != nil {
		return nil, withAccess(fmt.Errorf("lock the data directory: %w", err))
	}
	d := &dataDir{path: path, unlock: unlock}
	if err := finishRestore(path); err != nil {
		unlock()
		return nil, err
	}
	return d, nil
}

// withAccess says what to do where the system keeps this process from writing into a data directory.
func withAccess(err error) error {
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
		return fmt.Errorf("%w; let the user who runs this write there, or name another directory with --data", err)
	}
	return err
}

// temporaryDataDir makes a data directory that goes away when it is released.
func temporaryDataDir() (*dataDir, error) {
	path, err := os.MkdirTemp("", "lectern-")
	if err != nil {
		return nil, fmt.Errorf("make a temporary data directory: %w", err)
	}
	d, err := lockDataDir(path)
	if err != nil {
		os.RemoveAll(path)
		return nil, err
	}
	d.temporary = true
	return d, nil
}

func (d *dataDir) join(name string) string { return filepath.Join(d.path, name) }

func (d *dataDir) release() error {
	d.unlock()
	if d.temporary {
		return os.RemoveAll(d.path)
	}
	return nil
}
