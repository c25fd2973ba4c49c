//go:build unix

package config

import (
	"syscall"
)

// descriptors returns how many files and connections the process may have open, or 0 if the system does not tell.
func descriptors() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 0
	}
	return int(min(limit.Cur, 1<<30))
}
