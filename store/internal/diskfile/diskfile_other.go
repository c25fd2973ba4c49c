//go:build !linux

package diskfile

import (
	"errors"
	"math"
	"os"
)

// Allocate grows a file.
func Allocate(f *os.File, _, to int64) error {
	info, err := f.Stat()
	if err != nil || info.Size() >= to {
		return err
	}
	return f.Truncate(to)
}

// Reallocate is not supported.
func Reallocate(*os.File, int64, int64) error { return errors.ErrUnsupported }

// Available returns how many bytes the file system of a file has left, as far as that is known. Tests replace it.
var Available = func(*os.File) int64 { return math.MaxInt64 }

// Duplicate fails: on this system the store refuses writes after a failed commit.
func Duplicate(*os.File) (*os.File, error) {
	return nil, errors.New("a file cannot be opened anew in place on this system")
}

// Lock does nothing.
func Lock(*os.File) error { return nil }
