package store

import (
	"lectern/contenttypes"
	"lectern/store/internal/format"
	"lectern/store/internal/logentry"
)

// A RowEdit is what an entry of the log did to one version of a document.
type RowEdit struct {
	Doc           uint64
	Locale        string // "" if the type is not localized
	Before, After Record // the zero Record for none
}

// RowEdits returns what an entry did to the versions of a type that have this status, one RowEdit for each version.
// What the versions link to is not in the Records: a read that follows their links finds those of the snapshot. Rows of
// layouts that content was converted from since are left out. Records may be used until the snapshot ends.
func (s *Snapshot) RowEdits(e *Entry, t *contenttypes.ContentType, status Status) (list []RowEdit, err error) {
	if !t.DraftAndPublish {
		status = Published
	}
	type version struct {
		slot format.Slot
		doc  uint64
	}
	known := map[version]int{}
	b := s.bound.of(&t.Schema)
	err = e.EachOp(func(o logentry.Op) error {
		if !o.Kind.OfRow() || o.Schema != b.number || o.Slot.Status() != status {
			return nil
		}
		i, found := known[version{o.Slot, o.Doc}]
		if !found {
			before, err := o.Before()
			if err != nil {
				return err
			}
			i = len(list)
			known[version{o.Slot, o.Doc}] = i
			list = append(list, RowEdit{Doc: o.Doc, Locale: s.localeCode(o.Slot.Locale()),
				Before: s.loggedVersion(b, o.Slot, o.Doc, before)})
		}
		if list[i].After = (Record{}); !o.Kind.RemovesRow() {
			list[i].After = s.loggedVersion(b, o.Slot, o.Doc, o.Data)
		}
		return nil
	})
	return list, err
}

// LinkEdits calls yield with the ends of the links under owning attributes that an entry put or deleted.
func (s *Snapshot) LinkEdits(e *Entry, attrs []*contenttypes.Attribute,
	yield func(a *contenttypes.Attribute, from, to Ref)) error {
	return e.EachOp(func(o logentry.Op) error {
		if o.Kind.OfRow() {
			return nil
		}
		for _, a := range attrs {
			if schema, field := s.bound.relation(a); o.Link.Schema == schema && o.Link.Field == field {
				yield(a, s.name(o.Link.From), s.name(o.Link.To))
			}
		}
		return nil
	})
}
