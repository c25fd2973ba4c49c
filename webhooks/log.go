package webhooks

import (
	"context"

	"lectern/contenttypes"
	"lectern/store"
)

// Content is what hooks hear of: the content that is served now, under its definitions.
type Content struct {
	Store *store.Store
	Model *contenttypes.Model
	// Document appends a version of a document as JSON: what everybody may see of it and, if populated is set, of what
	// it leads to. It appends null if that is too long.
	Document func(ctx context.Context, dst []byte, s *store.Snapshot, r store.Record, populated bool) ([]byte, error)
}

// readAtOnce is how many entries of the log are read in one snapshot.
const readAtOnce = 500

// A page is a part of the log.
type page struct {
	events []*Event
	upTo   uint64 // the sequence of the last entry that was read
	more   bool   // there are later entries
	lost   uint64 // how many entries after the position the log does not have any more
}

// events reads the events of the entries after a sequence.
func (c *Content) events(after uint64) (p page, err error) {
	err = c.Store.View(func(s *store.Snapshot) error {
		p = page{upTo: after}
		oldest, err := s.OldestPosition()
		if err != nil {
			return err
		}
		if after < oldest.Sequence {
			p.lost, p.upTo = oldest.Sequence-after, oldest.Sequence
		}
		if p.upTo >= s.Sequence() {
			return nil
		}
		entries, err := s.Entries(store.Position{Epoch: oldest.Epoch, Sequence: p.upTo})
		if err != nil {
			return err
		}
		read := 0
		for e, err := range entries {
			if err != nil {
				return err
			}
			if p.more = read == readAtOnce; p.more {
				break
			}
			events, err := eventsOf(s, e)
			if err != nil {
				return err
			}
			p.events = append(p.events, events...)
			p.upTo = e.Sequence
			read++
		}
		return nil
	})
	return p, err
}

// present returns the sequence of the last entry of the log.
func (c *Content) present() (sequence uint64, err error) {
	err = c.Store.View(func(s *store.Snapshot) error {
		sequence = s.Sequence()
		return nil
	})
	return sequence, err
}

// version returns the version that an event is about as the event left it, or as it was before the event removed it. If
// the log cannot tell, it returns the present version, if there is one.
func (c *Content) version(s *store.Snapshot, e *Event) (r store.Record, err error) {
	t := c.Model.Type(e.Type)
	if t == nil {
		return r, nil
	}
	if r, err = logged(s, t, e); err != nil || r.Exists() || e.removes() {
		return r, err
	}
	if doc, ok := s.Document(t, e.Document); ok {
		r = s.Version(t, doc, e.Status, e.Locale)
	}
	return r, nil
}

// logged returns the version that an event is about from its entry in the log. There is none if the log cannot tell.
func logged(s *store.Snapshot, t *contenttypes.ContentType, e *Event) (r store.Record, err error) {
	oldest, err := s.OldestPosition()
	if err != nil || e.Sequence <= oldest.Sequence {
		return r, err
	}
	entries, err := s.Entries(store.Position{Epoch: oldest.Epoch, Sequence: e.Sequence - 1})
	if err != nil {
		return r, err
	}
	for entry, err := range entries {
		if err != nil {
			return r, err
		}
		return s.Logged(entry, t, e.Document, e.Status, e.Locale)
	}
	return r, nil
}

// eventsOf returns the events of an entry. Conversions have none: their cause is a change of definitions, not of
// content.
func eventsOf(s *store.Snapshot, e *store.Entry) ([]*Event, error) {
	if e.Kind != store.BatchEntry {
		return nil, nil
	}
	changes, err := s.VersionChanges(e)
	var list []*Event
	for i, c := range changes {
		if CanSend(c.Type) {
			list = append(list, &Event{
				Epoch: e.Epoch, Sequence: e.Sequence, Index: i, Name: nameOf(c), Type: c.Type.UID,
				Document: c.DocumentID, Locale: c.Locale,
				Status: c.Status, Time: e.Time,
			})
		}
	}
	return list, err
}

// nameOf returns the name of the event for a change.
func nameOf(c store.VersionChange) string {
	if c.Type.UID != contenttypes.FileUID {
		return [...]string{
			store.Created: EntryCreate, store.Updated: EntryUpdate, store.Deleted: EntryDelete,
			store.PublishedAction: EntryPublish, store.Unpublished: EntryUnpublish,
		}[c.Action]
	}
	switch c.Action {
	case store.Created:
		return MediaCreate
	case store.Deleted:
		return MediaDelete
	}
	return MediaUpdate
}
