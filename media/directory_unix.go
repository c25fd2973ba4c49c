//go:build unix

package media

import (
	"os"
	"syscall"
)

// writable says why nobody can make files in a directory.
func writable(dir string) error {
	const write, search = 2, 1
	if err := syscall.Access(dir, write|search); err != nil {
		return &os.PathError{Op: "access", Path: dir, Err: err}
	}
	return nil
}
