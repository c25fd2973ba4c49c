package store

import (
	"io"

	bolt "go.etcd.io/bbolt"
)

// Size returns how many bytes CopyTo writes.
func (s *Snapshot) Size() int64 { return s.tx.Size() }

// CopyTo writes the file to w as the snapshot sees it; the copy can be opened as a store. Other goroutines can write to the store meanwhile.
func (s *Snapshot) CopyTo(w io.Writer) (int64, error) { return s.tx.WriteTo(w) }

// CopyStored writes the file as it is stored now to the writer that to returns, which is called with the size of the file. It waits for nobody. While
// the definitions change and readers see the content as it was before, the copy has what is converted by then.
func (f *file) CopyStored(to func(size int64) io.Writer) error {
	return f.read(func(tx *bolt.Tx) error {
		_, err := tx.WriteTo(to(tx.Size()))
		return err
	})
}
