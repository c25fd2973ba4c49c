package media

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"sync"
	"sync/atomic"
	"syscall"
)

// A note needs space, that of a removal too, which would free some. A spare is a file that has its space on the disk already: where
// there is no more, a note is written over it, and when that has done its work it is the spare again.
type spare struct {
	dir  *directory
	mu   sync.Mutex // held to make it
	made atomic.Bool
	idle chan struct{}          // has one while the spare is there and no note
	note atomic.Pointer[string] // that it is; nil: none
}

const spareSize = 16 << 10

var spareName = path.Join(incoming, "spare")

func newSpare(d *directory) *spare { return &spare{dir: d, idle: make(chan struct{}, 1)} }

// ensure makes the spare where there is none. That there is no space for it is no error.
func (s *spare) ensure() error {
	if s.made.Load() {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.made.Load() {
		return nil
	}
	if err := s.write(os.O_CREATE, nil); err != nil {
		if noSpace(err) {
			return s.dir.root().Remove(spareName)
		}
		return fmt.Errorf("make the spare note: %w", err)
	}
	s.made.Store(true)
	s.idle <- struct{}{}
	return nil
}

// write writes text over the spare, with blanks behind it, which take no part in JSON.
func (s *spare) write(flag int, text []byte) error {
	f, err := s.dir.root().OpenFile(spareName, os.O_WRONLY|flag, 0o600)
	if err != nil {
		return err
	}
	all := make([]byte, spareSize)
	for i := copy(all, text); i < len(all); i++ {
		all[i] = ' '
	}
	if _, err = f.Write(all); err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// take makes a note of the spare. It waits while that is another note, unless ctx ends. lacking is the error where there is no spare.
func (s *spare) take(ctx context.Context, text []byte, lacking error) (name string, err error) {
	if !s.made.Load() || len(text) > spareSize {
		return "", lacking
	}
	select {
	case <-s.idle:
	case <-ctx.Done():
		return "", ctx.Err()
	}
	name = path.Join(incoming, randomName()+noteSuffix)
	root := s.dir.root()
	err = s.write(0, text)
	if err == nil {
		err = root.Rename(spareName, name)
	}
	if errors.Is(err, fs.ErrNotExist) { // it went with the directory
		s.made.Store(false)
		return "", errors.Join(lacking, err)
	}
	if err != nil {
		s.idle <- struct{}{}
		return "", err
	}
	s.note.Store(&name)
	if err := syncDir(root, incoming); err != nil {
		_, failed := s.giveBack(name)
		return "", errors.Join(err, failed)
	}
	return name, nil
}

// giveBack makes a note the spare again; mine is false when it was not made of that.
func (s *spare) giveBack(name string) (mine bool, err error) {
	if note := s.note.Load(); note == nil || *note != name {
		return false, nil
	}
	s.note.Store(nil)
	if err := s.dir.root().Rename(name, spareName); err != nil {
		s.made.Store(false)
		return true, err
	}
	s.idle <- struct{}{}
	return true, nil
}

// noSpace reports whether an error says that a disk or a quota is used up.
func noSpace(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}
