package diskspace

import (
	"math"
	"os"
	"syscall"
)

// Available returns how many bytes the file system of a file or directory has left, or the greatest number if it does
// not say.
func Available(f *os.File) int64 {
	var s syscall.Statfs_t
	if err := syscall.Fstatfs(int(f.Fd()), &s); err != nil || s.Blocks == 0 {
		return math.MaxInt64
	}
	if s.Bavail > math.MaxInt64/uint64(s.Bsize) {
		return math.MaxInt64
	}
	return int64(s.Bavail) * int64(s.Bsize)
}
