package store

import (
	"lectern/contenttypes"
	"lectern/store/internal/format"
	"lectern/store/internal/logentry"
)

// Logged returns a version as an entry of the log left it or, if the entry removed it, as it was before. There is no Record if the entry did
// not change the version, or if content was converted since. What the version links to is not in the Record: a read that follows its links
// finds those of the snapshot. The Record may be used until the snapshot ends.
func (s *Snapshot) Logged(e *Entry, t *contenttypes.ContentType, documentID string, st Status, locale string) (found Record, err error) {
	b := s.bound.of(&t.Schema)
	sl, ok := s.slot(t, st, locale)
	if !ok || e.Sequence <= getNumber(s.bucket(format.Meta), format.KeyConverted) {
		return found, nil
	}
	err = e.EachOp(func(o logentry.Op) error {
		if !o.Kind.OfRow() || o.Schema != b.number || o.Slot != sl {
			return nil
		}
		id, err := s.loggedID(b, o)
		if err != nil || id != documentID {
			return err
		}
		if o.Kind.RemovesRow() {
			if o.Data, err = o.Before(); err != nil {
				return err
			}
		}
		found, err = s.loggedRow(b, o)
		return err
	})
	return found, err
}
