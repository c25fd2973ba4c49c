package store

import (
	"math"
	"os"
	"syscall"
)

// BlindToSpace makes stores work as on a file system that cannot allocate space ahead and does not report how much is free. restore ends
// the effect.
func BlindToSpace() (restore func()) {
	allocate, ask := allocateFile, available
	allocateFile = func(*os.File, int64, int64) error { return syscall.EOPNOTSUPP }
	available = func(*os.File) int64 { return math.MaxInt64 }
	return func() { allocateFile, available = allocate, ask }
}
