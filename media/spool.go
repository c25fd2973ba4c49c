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

// incoming is the directory, below that of the stored files, that contains the spool and the journal (see journal.go).
const incoming = ".incoming"

// A spool is where files are written before they are stored: received files and the formats made from them.
type spool struct{ dir *directory }

// A spooled is a file in the spool that is open for writing.
type spooled struct {
	*os.File
	name   string // relative to root
	root   *os.Root
	noRoom func(error) error // see directory.noRoom
}

func randomName() string {
	var random [12]byte
	_, _ = rand.Read(random[:]) // never fails: crypto/rand ends the process instead
	return hex.EncodeToString(random[:])
}

// create creates an empty file in the spool.
func (s *spool) create() (*spooled, error) {
	name := path.Join(incoming, randomName())
	f, root, err := s.dir.create(name)
	if err != nil {
		return nil, err
	}
	return &spooled{File: f, name: name, root: root, noRoom: s.dir.noRoom}, nil
}

// finish makes a file durable, closes it and returns its size. If failed is not nil, or one of the steps fails, it
// removes the file and returns the error.
func (f *spooled) finish(failed error) (size int64, err error) {
	err = failed
	if err == nil {
		size, err = f.Seek(0, io.SeekEnd)
	}
	if err == nil { // file systems have coarse clocks, and the time is part of the ETag
		err = f.root.Chtimes(f.name, time.Now(), time.Now())
	}
	if err == nil {
		err = f.Sync()
	}
	if err = f.noRoom(errors.Join(err, f.Close())); err != nil {
		return 0, errors.Join(err, f.root.Remove(f.name))
	}
	return size, nil
}

// copyTo writes the content of a file in the spool to w.
func (s *spool) copyTo(w io.Writer, name string) error {
	f, err := s.dir.root().Open(name)
	if err != nil {
		return err
	}
	_, err = io.Copy(w, f)
	return errors.Join(err, f.Close())
}

// list returns the names of all files in the spool and the journal, without the spare.
func (s *spool) list() ([]string, error) {
	entries, err := fs.ReadDir(s.dir.root().FS(), incoming)
	if errors.Is(err, fs.ErrNotExist) { // it could not be made
		return nil, nil
	}
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

// remove deletes files from the spool. A file that is no longer there is no error: it was stored.
func (s *spool) remove(names ...string) error {
	var errs []error
	for _, name := range names {
		if err := s.dir.root().Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
