package store

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	bolt "go.etcd.io/bbolt"

	"lectern/internal/durable"
	"lectern/store/internal/format"
)

// A store has an identity, a random text that its copies share. It is in the file and in a marker beside the file. If only the marker is
// there, the file is lost; Open then fails, because creating an empty store would hide the loss.

// MarkerPath returns the path of the marker of the store at path.
func MarkerPath(path string) string { return path + ".id" }

const markerText = `%s
%s belongs beside this file. If it is gone, put it back, or a backup; to begin with an empty store, remove this file.
`

// CheckThere returns an error that wraps ErrLost if the store file at path is missing and its marker says that there was one.
func CheckThere(path string) error {
	marker := MarkerPath(path)
	switch _, err := os.Stat(marker); {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("open store: %w", err)
	}
	return fmt.Errorf("open store %s: %w: %s says that there was one; put it back, restore a backup, or remove %s to begin with an empty store",
		path, ErrLost, filepath.Base(marker), marker)
}

func newIdentity() string {
	var random [16]byte
	_, _ = rand.Read(random[:]) // never fails
	return hex.EncodeToString(random[:])
}

// mark writes the identity of the open store into the marker, and reports whether the marker named another store before.
func (f *file) mark() (replaced bool, err error) {
	identity, err := f.identity()
	if err != nil {
		return false, fmt.Errorf("identify store %s: %w", f.path, err)
	}
	marker := MarkerPath(f.path)
	was, err := os.ReadFile(marker)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("identify store: %w", err)
	}
	named, _, _ := strings.Cut(string(was), "\n")
	if named == identity {
		return false, nil
	}
	if err := durable.WriteFile(marker, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, markerText, identity, filepath.Base(f.path))
		return err
	}); err != nil {
		return false, fmt.Errorf("identify store: %w", err)
	}
	return named != "", nil
}

// identity returns the identity of the open store.
func (f *file) identity() (identity string, err error) {
	err = f.read(func(tx *bolt.Tx) error {
		if identity = string(format.WithoutChecksum(f.meta(tx).Get(format.KeyIdentity))); identity == "" {
			return errors.New("it has no identity")
		}
		return nil
	})
	return identity, err
}

// tempSuffix ends the names of files that are being written beside a store, and are then renamed.
const tempSuffix = durable.Suffix

// removeUnfinished removes the files that a killed process was writing beside the store at path. The caller must have locked the store.
func removeUnfinished(path string) error {
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), filepath.Base(path)+".") && strings.HasSuffix(e.Name(), tempSuffix) {
			if err := os.Remove(filepath.Join(filepath.Dir(path), e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}
