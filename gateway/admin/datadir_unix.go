//go:build unix

package admin

import (
	"errors"
	"os"
	"syscall"
)

// lockDirectory locks a directory, or fails with ErrBusy if another process has locked it.
func lockDirectory(path string) (unlock func(), err error) {
	dir, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(dir.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		dir.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, ErrBusy
		}
		return nil, err
	}
	return func() { dir.Close() }, nil
}
