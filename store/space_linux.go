package store

import (
	"errors"
	"math"
	"os"
	"syscall"
)

// What a file system is asked for space by. Tests put others in their places.
var (
	allocateFile = func(f *os.File, from, n int64) error { return syscall.Fallocate(int(f.Fd()), 0, from, n) }
	available    = availableSpace
)

// allocate makes a file that long, with space on the disk for what lies between.
func allocate(f *os.File, from, to int64) error {
	if available(f) < to-from { // a file system may look for long for what it does not have
		return syscall.ENOSPC
	}
	err := reallocate(f, from, to)
	if !errors.Is(err, syscall.EOPNOTSUPP) && !errors.Is(err, syscall.ENOSYS) {
		return err
	}
	// It cannot keep space: that there is some now has to do.
	info, err := f.Stat()
	if err != nil || info.Size() >= to {
		return err
	}
	return f.Truncate(to)
}

// reallocate takes space for a part of a file that may have it already.
func reallocate(f *os.File, from, to int64) error {
	var err error
	for err = syscall.EINTR; err == syscall.EINTR; {
		err = allocateFile(f, from, to-from)
	}
	return os.NewSyscallError("fallocate", err)
}

// availableSpace is how many bytes the file system still gives; as many as can be where it does not say.
func availableSpace(f *os.File) int64 {
	var s syscall.Statfs_t
	if err := syscall.Fstatfs(int(f.Fd()), &s); err != nil || s.Blocks == 0 {
		return math.MaxInt64
	}
	if s.Bavail > math.MaxInt64/uint64(s.Bsize) {
		return math.MaxInt64
	}
	return int64(s.Bavail) * int64(s.Bsize)
}

// again is the open file once more, with the lock that bbolt has on it.
func (o *opened) again(string) (*os.File, error) {
	fd, err := syscall.Dup(int(o.handle.Fd()))
	if err != nil {
		return nil, os.NewSyscallError("dup", err)
	}
	syscall.CloseOnExec(fd)
	return os.NewFile(uintptr(fd), o.handle.Name()), nil
}

// lock takes the lock back that bbolt let go of when it closed the file which this one is in the place of.
func (o *opened) lock() error {
	return os.NewSyscallError("flock", syscall.Flock(int(o.handle.Fd()), syscall.LOCK_EX|syscall.LOCK_NB))
}
