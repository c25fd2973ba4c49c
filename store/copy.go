package store

import "io"

// Size is how many bytes CopyTo writes.
func (s *Snapshot) Size() int64 { return s.tx.Size() }

// CopyTo writes the whole file as the snapshot sees it: a store that Open opens. Writers go on meanwhile.
func (s *Snapshot) CopyTo(w io.Writer) (int64, error) { return s.tx.WriteTo(w) }
