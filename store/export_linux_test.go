package store

import (
	"math"
	"os"
	"syscall"

	"lectern/store/internal/diskfile"
)

// BlindToSpace makes stores work as on a file system that cannot allocate space ahead and does not report how much is
// free. restore ends the effect.
func BlindToSpace() (restore func()) {
	allocate, ask := diskfile.AllocateFile, diskfile.Available
	diskfile.AllocateFile = func(*os.File, int64, int64) error { return syscall.EOPNOTSUPP }
	diskfile.Available = func(*os.File) int64 { return math.MaxInt64 }
	return func() { diskfile.AllocateFile, diskfile.Available = allocate, ask }
}
