package media

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"time"
)

// incoming is the directory, beside the stored files, that holds what is not theirs yet: files that are received or made, and
// the notes of what is going on (see journal.go).
const incoming = ".incoming"

// A spool makes files that are to be stored once they are whole.
type spool struct{ dir *directory }

// A spooled is a file in the spool.
type spooled struct {
	*os.File
	name string // below the root
	root *os.Root
}

func randomName() string {
	var random [12]byte
	_, _ = rand.Read(random[:]) // never fails
	return hex.EncodeToString(random[:])
}

// create makes an empty file.
func (s *spool) create() (*spooled, error) {
	name := path.Join(incoming, randomName())
	f, root, err := s.dir.create(name)
	if err != nil {
		return nil, err
	}
	return &spooled{File: f, name: name, root: root}, nil
}

// finish brings a file to disk and closes it, and returns its size; where writing it failed it is removed.
func (f *spooled) finish(failed error) (size int64, err error) {
	err = failed
	if err == nil {
		size, err = f.Seek(0, io.SeekEnd)
	}
	if err == nil { // clocks of file systems are coarse, and the time is part of what tells two contents apart
		err = f.root.Chtimes(f.name, time.Now(), time.Now())
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return 0, errors.Join(err, f.root.Remove(f.name))
	}
	return size, nil
}

// list returns the names of all files in the spool, notes among them, but for the spare.
func (s *spool) list() ([]string, error) {
	entries, err := fs.ReadDir(s.dir.root().FS(), incoming)
	if err != nil {
		return nil, fmt.Errorf("list the incoming files: %w", err)
	}
	var names []string
	for _, e := range entries {
		if name := path.Join(incoming, e.Name()); name != spareName {
			names = append(names, name)
		}
	}
	return names, nil
}

// remove removes files from the spool; those that were stored meanwhile are not there any more.
func (s *spool) remove(names ...string) error {
	var errs []error
	for _, name := range names {
		if err := s.dir.root().Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// syncDir makes the names in a directory below root durable.
func syncDir(root *os.Root, dir string) error {
	d, err := root.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
