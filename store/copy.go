package store

import "io"

// Size returns how many bytes CopyTo writes.
func (s *Snapshot) Size() int64 { return s.tx.Size() }

// CopyTo writes the file to w as the snapshot sees it; the copy can be opened as a store. Other goroutines can write to the store meanwhile.
func (s *Snapshot) CopyTo(w io.Writer) (int64, error) { return s.tx.WriteTo(w) }
