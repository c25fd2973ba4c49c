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

	"lectern/internal/durable"
)

// A spare is a file whose disk space is allocated in advance, so that the journal entry of a removal can be written on
// a full disk: the entry overwrites the spare. When the removal is done, the file is the spare again.
type spare struct {
	dir   *directory
	mu    sync.Mutex // guards the creation of the file
	made  atomic.Bool
	idle  chan struct{}          // contains one element while the file is the spare and not a journal entry
	entry atomic.Pointer[string] // name of the journal entry that the spare has become; nil if none
}

const spareSize = 16 << 10

var spareName = path.Join(incoming, "spare")

func newSpare(d *directory) *spare { return &spare{dir: d, idle: make(chan struct{}, 1)} }

// ensure creates the spare if there is none. A full disk is no error.
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
		return fmt.Errorf("create the spare journal entry: %w", err)
	}
	s.made.Store(true)
	s.idle <- struct{}{}
	return nil
}

// write overwrites the spare with text, padded with blanks, which JSON ignores.
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

// take makes the spare a journal entry with this text. It waits while the spare is another entry, until ctx ends. If
// there is no spare it returns the error lacking.
func (s *spare) take(ctx context.Context, text []byte, lacking error) (name string, err error) {
	if !s.made.Load() || len(text) > spareSize {
		return "", lacking
	}
	select {
	case <-s.idle:
	case <-ctx.Done():
		return "", ctx.Err()
	}
	name = path.Join(incoming, randomName()+entrySuffix)
	root := s.dir.root()
	err = s.write(0, text)
	if err == nil {
		err = root.Rename(spareName, name)
	}
	if errors.Is(err, fs.ErrNotExist) { // the directory was removed
		s.made.Store(false)
		return "", errors.Join(lacking, err)
	}
	if err != nil {
		s.idle <- struct{}{}
		return "", err
	}
	s.entry.Store(&name)
	if err := durable.SyncIn(root, incoming); err != nil {
		_, failed := s.giveBack(name)
		return "", errors.Join(err, failed)
	}
	return name, nil
}

// giveBack makes a journal entry the spare again; mine is false if the entry is a file of its own.
func (s *spare) giveBack(name string) (mine bool, err error) {
	if entry := s.entry.Load(); entry == nil || *entry != name {
		return false, nil
	}
	s.entry.Store(nil)
	if err := s.dir.root().Rename(name, spareName); err != nil {
		s.made.Store(false)
		return true, err
	}
	s.idle <- struct{}{}
	return true, nil
}

// noSpace reports whether an error means that a disk or a quota is full.
func noSpace(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}
