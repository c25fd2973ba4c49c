package diskfile

import (
	"errors"
	"os"
	"syscall"

	"lectern/internal/diskspace"
)

// AllocateFile and Available call the file system. Tests replace them.
var (
	// AllocateFile allocates n bytes of a file.
	AllocateFile = func(f *os.File, from, n int64) error { return syscall.Fallocate(int(f.Fd()), 0, from, n) }
	// Available returns how many bytes the file system of a file has left, as far as that is known.
	Available = diskspace.Available
)

// Allocate grows a file from one length to another and allocates disk space for the difference.
func Allocate(f *os.File, from, to int64) error {
	if Available(f) < to-from { // asking first is faster than a failing fallocate
		return syscall.ENOSPC
	}
	err := Reallocate(f, from, to)
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

// Reallocate allocates space for a part of a file, which may have some already.
func Reallocate(f *os.File, from, to int64) error {
	var err error
	for err = syscall.EINTR; err == syscall.EINTR; {
		err = AllocateFile(f, from, to-from)
	}
	return os.NewSyscallError("fallocate", err)
}

// Duplicate returns another handle of an open file, which shares the locks on it.
func Duplicate(f *os.File) (*os.File, error) {
	fd, err := syscall.Dup(int(f.Fd()))
	if err != nil {
		return nil, os.NewSyscallError("dup", err)
	}
	syscall.CloseOnExec(fd)
	return os.NewFile(uintptr(fd), f.Name()), nil
}

// Lock takes the exclusive lock on a file.
func Lock(f *os.File) error {
	return os.NewSyscallError("flock", syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB))
}
