//go:build !linux

package store

import (
	"errors"
	"math"
	"os"
)

// allocate grows a file.
func allocate(f *os.File, _, to int64) error {
	info, err := f.Stat()
	if err != nil || info.Size() >= to {
		return err
	}
	return f.Truncate(to)
}

func reallocate(*os.File, int64, int64) error { return errors.ErrUnsupported }

// available returns how many bytes the file system of a file has left, as far as that is known. Tests replace it.
var available = func(*os.File) int64 { return math.MaxInt64 }

// duplicate fails: on this system the store refuses writes after a failed commit.
func (*opened) duplicate(string) (*os.File, error) {
	return nil, errors.New("a file cannot be opened anew in place on this system")
}

func (*opened) lock() error { return nil }
