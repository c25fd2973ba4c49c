package store

import (
	"io"

	bolt "go.etcd.io/bbolt"
)

// Size returns how many bytes CopyTo writes.
func (s *Snapshot) Size() int64 { return s.tx.Size() }

// CopyTo writes the file to w as the snapshot sees it; the copy can be opened as a store. Other goroutines can write to the store meanwhile.
func (s *Snapshot) CopyTo(w io.Writer) (int64, error) { return s.tx.WriteTo(w) }

// CopyStored calls to with the size of the file, and writes the file to the writer that to returns. Unlike a snapshot, the copy is of the present state
// also while the definitions change and readers see the content as it was before: it has what is converted so far. CopyStored does not wait for that.
func (f *file) CopyStored(to func(size int64) io.Writer) error {
	return f.read(func(tx *bolt.Tx) error {
		_, err := tx.WriteTo(to(tx.Size()))
		return err
	})
}
