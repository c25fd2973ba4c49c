package store

import (
	"errors"
	"os"
	"syscall"

	"lectern/internal/diskspace"
)

// allocateFile and available call the file system. Tests replace them.
var (
	allocateFile = func(f *os.File, from, n int64) error { return syscall.Fallocate(int(f.Fd()), 0, from, n) }
	available    = diskspace.Available
)

// allocate grows a file from one length to another and allocates disk space for the difference.
func allocate(f *os.File, from, to int64) error {
	if available(f) < to-from { // asking first is faster than a failing fallocate
		return syscall.ENOSPC
	}
	err := reallocate(f, from, to)
	if !errors.Is(err, syscall.EOPNOTSUPP) && !errors.Is(err, syscall.ENOSYS) {
		return err
	}
	// The file system cannot allocate ahead. That it has the space now has to do.
	info, err := f.Stat()
	if err != nil || info.Size() >= to {
		return err
	}
	return f.Truncate(to)
}

// reallocate allocates space for a part of a file, which may have some already.
func reallocate(f *os.File, from, to int64) error {
	var err error
	for err = syscall.EINTR; err == syscall.EINTR; {
		err = allocateFile(f, from, to-from)
	}
	return os.NewSyscallError("fallocate", err)
}

// duplicate returns another handle of the open file, which shares the lock that bbolt has on it.
func (o *opened) duplicate(string) (*os.File, error) {
	fd, err := syscall.Dup(int(o.handle.Fd()))
	if err != nil {
		return nil, os.NewSyscallError("dup", err)
	}
	syscall.CloseOnExec(fd)
	return os.NewFile(uintptr(fd), o.handle.Name()), nil
}

// lock takes the lock on the file again. bbolt released it when it closed the former handle.
func (o *opened) lock() error {
	return os.NewSyscallError("flock", syscall.Flock(int(o.handle.Fd()), syscall.LOCK_EX|syscall.LOCK_NB))
}
