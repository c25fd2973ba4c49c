package store

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"

	"lectern/store/internal/format"

	bolt "go.etcd.io/bbolt"

	"lectern/store/internal/logentry"
)

// A note is a small JSON value that a part of the server keeps beside the content, such as how far webhooks have been
// delivered. Notes are durable like content and part of backups, but they are no content: a note has no entry in the
// log and no sequence, and exports do not have it. A replica has the notes of the copy that it began with, and does not
// follow their changes. The nodes of a cluster have the same notes.
//
// Notes are in the bucket meta, under the prefix note/.

// noteKey returns the key of a note in the bucket meta.
func noteKey(name string) []byte { return append([]byte(format.PrefixNote), name...) }

// Note returns the note of that name, nil if there is none. It is valid until the snapshot ends.
func (s *Snapshot) Note(name string) []byte {
	return format.WithoutChecksum(s.bucket(format.Meta).Get(noteKey(name)))
}

// Notes returns the notes whose names begin with a prefix, in the order of their names. They are valid until the
// snapshot ends.
func (s *Snapshot) Notes(prefix string) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		begin := noteKey(prefix)
		c := s.bucket(format.Meta).Cursor()
		for k, v := c.Seek(begin); bytes.HasPrefix(k, begin); k, v = c.Next() {
			if !yield(string(k[len(format.PrefixNote):]), format.WithoutChecksum(v)) {
				return
			}
		}
	}
}

// ReadNote calls read with the note of that name, nil if there is none. It reads what is stored now, and waits for
// nobody, also while the definitions change and readers see the content as it was before.
func (f *file) ReadNote(name string, read func([]byte) error) error {
	return f.read(func(tx *bolt.Tx) error { return read(format.WithoutChecksum(f.meta(tx).Get(noteKey(name)))) })
}

// ReadNote is Store.ReadNote.
func (r *Replica) ReadNote(name string, read func([]byte) error) error {
	return r.file.ReadNote(name, read)
}

// PutNote stores a note, which must be JSON.
func (tx *Tx) PutNote(name string, value []byte) error {
	if !json.Valid(value) {
		return fmt.Errorf("put the note %s: it is no JSON", name)
	}
	tx.adds = true
	return tx.changeNote(logentry.NoteChange{Name: name, Value: value})
}

// DeleteNote removes a note. It is no error if there is none.
func (tx *Tx) DeleteNote(name string) error {
	return tx.changeNote(logentry.NoteChange{Name: name})
}

func (tx *Tx) changeNote(c logentry.NoteChange) error {
	if err := tx.begin(); err != nil {
		return err
	}
	tx.applied++
	if tx.proposes() {
		tx.log.proposal.Notes = append(tx.log.proposal.Notes,
			logentry.NoteChange{Name: c.Name, Value: bytes.Clone(c.Value)})
	}
	if err := putNote(tx.bucket(format.Meta), c); err != nil {
		tx.half = err
		return err
	}
	return nil
}

// putNote makes the change of a note.
func putNote(meta *tree, c logentry.NoteChange) error {
	if c.Value == nil {
		return meta.Delete(noteKey(c.Name))
	}
	return meta.Put(noteKey(c.Name), copied(c.Value))
}
