//go:build unix

package media

import (
	"os"
	"syscall"
)

// writable returns an error if this process may not create files in dir.
func writable(dir string) error {
	const write, search = 2, 1
	if err := syscall.Access(dir, write|search); err != nil {
		return &os.PathError{Op: "access", Path: dir, Err: err}
	}
	return nil
}
