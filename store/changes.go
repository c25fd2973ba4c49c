package store

import (
	"bytes"
	"fmt"

	"lectern/contenttypes"
	"lectern/store/internal/format"
	"lectern/store/internal/logentry"
)

// A VersionChange says what an entry of the log did to one version of a document.
type VersionChange struct {
	Type       *contenttypes.ContentType
	Doc        uint64
	DocumentID string
	Status     Status
	Locale     string // "" if the type is not localized
	// Action is Created, Updated or Deleted. For the published version of a type with drafts it is PublishedAction where the document is
	// published, for the first time or again, and Unpublished where its draft stays.
	Action Action
	// New says that the version was not there before.
	New bool
}

// VersionChanges returns what an entry did to the versions of documents, in the order in which they were changed. It reads no rows of the
// snapshot, since they may be gone. Names are those of the snapshot's definitions; versions of types that are no longer defined are left
// out.
func (s *Snapshot) VersionChanges(e *Entry) ([]VersionChange, error) {
	var list []VersionChange
	err := e.EachOp(func(o logentry.Op) error {
		if !o.Kind.OfRow() {
			return nil
		}
		b := s.bound.numbered(o.Schema)
		if b == nil || b.typ == nil {
			return nil
		}
		if int(o.Slot.Locale()) >= len(s.store.locales.current.Load().codes) {
			return fmt.Errorf("%w: a row of an unknown locale", logentry.ErrEntry)
		}
		id, err := s.loggedID(b, o)
		if err != nil {
			return err
		}
		list = append(list, VersionChange{
			Type: b.typ, Doc: o.Doc, DocumentID: id, Status: o.Slot.Status(), Locale: s.localeCode(o.Slot.Locale()),
			Action: actionOf(b.typ, o), New: o.Replaced.Kind == logentry.ReplacedNone,
		})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("entry %d: %w", e.Sequence, err)
	}
	return withUnpublished(list), nil
}

// actionOf returns what an op did to its row. A deleted published version counts as deleted.
func actionOf(t *contenttypes.ContentType, o logentry.Op) Action {
	switch {
	case o.Kind.RemovesRow():
		return Deleted
	case o.Kind == logentry.PutRow:
		return Updated
	case t.DraftAndPublish && o.Slot.Status() == Published:
		return PublishedAction
	case o.Replaced.Kind > logentry.ReplacedNone: // the entry deleted it and made it again
		return Updated
	}
	return Created
}

// withUnpublished sets the action of the published versions that were deleted without their drafts.
func withUnpublished(list []VersionChange) []VersionChange {
	type draft struct {
		typ    *contenttypes.ContentType
		doc    uint64
		locale string
	}
	drafts := map[draft]bool{}
	for _, c := range list {
		if c.Action == Deleted && c.Status == Draft {
			drafts[draft{c.Type, c.Doc, c.Locale}] = true
		}
	}
	for i := range list {
		c := &list[i]
		if c.Action == Deleted && c.Status == Published && c.Type.DraftAndPublish && !drafts[draft{c.Type, c.Doc, c.Locale}] {
			c.Action = Unpublished
		}
	}
	return list
}

// loggedID returns the documentId of the row that an op puts or deletes.
func (s *Snapshot) loggedID(b *boundSchema, o logentry.Op) (string, error) {
	if o.Kind.RemovesRow() {
		return string(o.Data), nil
	}
	r, err := s.loggedRow(b, o)
	if err != nil {
		return "", err
	}
	return r.DocumentID(), nil
}

// loggedRow returns the row that an op puts. It refers to the memory of the entry.
func (s *Snapshot) loggedRow(b *boundSchema, o logentry.Op) (Record, error) {
	layout := int(be.Uint16(o.Data))
	if layout >= len(s.bound.tables) || s.bound.tables[layout].bound != b {
		return Record{}, fmt.Errorf("%w: a row of an unknown layout", logentry.ErrEntry)
	}
	r := Record{table: s.bound.tables[layout], slot: o.Slot, doc: o.Doc, snap: s, data: o.Data}
	if err := r.check(); err != nil {
		return Record{}, fmt.Errorf("%w: %w", logentry.ErrEntry, err)
	}
	return r, nil
}

// Model returns the model of the snapshot's definitions.
func (s *Snapshot) Model() *contenttypes.Model { return s.bound.model }

// TypeNumber returns the number of a type. The store gives no other type the same number, ever.
func (s *Snapshot) TypeNumber(t *contenttypes.ContentType) uint16 {
	return s.bound.of(&t.Schema).number
}

// NumberedType returns the type with a number, nil if it is not defined.
func (s *Snapshot) NumberedType(number uint16) *contenttypes.ContentType {
	if b := s.bound.numbered(number); b != nil {
		return b.typ
	}
	return nil
}

// Locales returns the locales that versions were ever written in. New ones are added at the end.
func (s *Snapshot) Locales() []string { return s.store.locales.current.Load().codes[1:] }

// VersionsAfter calls yield with the versions of a type that have this status and locale, in order of their documents' numbers, from the one
// after the document after on, until yield returns false.
func (s *Snapshot) VersionsAfter(t *contenttypes.ContentType, status Status, locale string, after uint64, yield func(Record) bool) {
	sl, ok := s.slot(t, status, locale)
	if !ok {
		return
	}
	b := s.bound.of(&t.Schema)
	prefix := format.AppendRowKey(nil, b.number, sl, 0)[:format.RowKeyLen-8]
	c := s.take(format.Rows)
	defer s.give(format.Rows, c)
	s.stats.seeks++
	for k, v := c.Seek(format.AppendRowKey(nil, b.number, sl, after+1)); len(k) == format.RowKeyLen && bytes.HasPrefix(k, prefix); k, v = c.Next() {
		if !s.step() || !yield(s.record(sl, be.Uint64(k[len(prefix):]), v)) {
			return
		}
	}
}

// NextCommit returns a channel that is closed when the next transaction has become durable. A reader that calls it before it takes a
// snapshot misses nothing that it does not find in the snapshot. All who wait share one channel, so that waiting costs a write nothing.
func (s *Store) NextCommit() <-chan struct{} {
	for {
		if awaited := s.awaited.Load(); awaited != nil {
			return *awaited
		}
		made := make(chan struct{})
		if s.awaited.CompareAndSwap(nil, &made) {
			return made
		}
	}
}

// revise records that all up to a sequence is durable, and wakes those who wait for it.
func (f *file) revise(sequence uint64) {
	f.revised.Store(sequence)
	if f.awaited.Load() != nil {
		close(*f.awaited.Swap(nil))
	}
}
