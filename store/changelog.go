package store

import (
	"encoding/json"
	"fmt"

	"lectern/contenttypes"
)

// An Action is what happened to a document.
type Action uint8

const (
	Created Action = iota
	Updated
	Deleted
	PublishedAction
	Unpublished
)

// A Change is an entry of the change log: what happened to one document in one batch.
type Change struct {
	Sequence   uint64 `json:"-"`
	Type       string `json:"type"`
	DocumentID string `json:"documentId"`
	Action     Action `json:"action"`
}

// keptChanges is how many batches the change log keeps.
const keptChanges = 10_000

// log writes the entry of the batch that was applied last into the change log.
func (tx *Tx) log(list []Change) error {
	raw, err := json.Marshal(list)
	if err != nil {
		return fmt.Errorf("print changes: %w", err)
	}
	b := tx.bucket(changes)
	if tx.sequence > keptChanges {
		if err := b.Delete(be.AppendUint64(nil, tx.sequence-keptChanges)); err != nil {
			return err
		}
	}
	return b.Put(be.AppendUint64(nil, tx.sequence), freshValue{raw})
}

// Changes calls yield with the changes after a sequence number, oldest first. complete is false if the log no longer has all of them.
func (s *Snapshot) Changes(after uint64, yield func(Change) bool) (complete bool, err error) {
	complete = s.Sequence()-min(after, s.Sequence()) <= keptChanges
	c := s.bucket(changes).Cursor()
	for k, v := c.Seek(be.AppendUint64(nil, after+1)); k != nil; k, v = c.Next() {
		var list []Change
		if err := json.Unmarshal(textOf(v), &list); err != nil {
			return false, fmt.Errorf("read change log: %w", err)
		}
		for _, ch := range list {
			ch.Sequence = be.Uint64(k)
			if !yield(ch) {
				return complete, nil
			}
		}
	}
	return complete, nil
}

// Sequence returns the number of the last batch.
func (s *Snapshot) Sequence() uint64 { return getNumber(s.bucket(metas), keySequence) }

// Revision returns the number of the last batch that changed a row of a type.
func (s *Snapshot) Revision(t *contenttypes.ContentType) uint64 {
	return getNumber(s.bucket(metas), schemaKey(prefixRev, s.bound.of(&t.Schema).number))
}
