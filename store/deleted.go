package store

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"lectern/contenttypes"
	"lectern/store/internal/format"
	"lectern/store/internal/logentry"
)

// A DeletedDocument says when a document was deleted, by whom, and which versions it had until then.
type DeletedDocument struct {
	DocumentID string
	Position   Position // behind the entry that deleted it
	Before     Position // behind the entry before that, at which the document is as it was last
	Time       time.Time
	By         Principal
	Versions   []Version // in order of locale and status
}

// A Version names a version of a document.
type Version struct {
	Status Status
	Locale string // "" if the type is not localized
}

// A DeletedQuery chooses documents that were deleted. Match and Visible limit versions as those of a HistoryQuery do; a
// document none of whose last versions is left is left out.
type DeletedQuery struct {
	Type    *contenttypes.ContentType
	Match   func(Status, string) bool
	Visible func(Status) Filter
	Offset  int
	Limit   int // negative: all
}

// Deleted returns documents that were deleted and not made again, the last one first, and how many there are on all
// pages. Documents of which the log does not know any more what they were are left out.
func (s *Snapshot) Deleted(q DeletedQuery) (page []DeletedDocument, total int, err error) {
	b := s.bound.of(&q.Type.Schema)
	oldest, err := s.OldestPosition()
	if err != nil {
		return nil, 0, err
	}
	known := max(oldest.Sequence, getNumber(s.bucket(format.Meta), format.KeyConverted))
	entries, err := s.removing(b)
	if err != nil {
		return nil, 0, err
	}
	seen := map[string]bool{}
	for _, sequence := range slices.Backward(entries) {
		if sequence-1 <= oldest.Sequence || sequence-1 < known || !s.step() {
			break
		}
		e, err := s.entry(sequence)
		if err != nil {
			return nil, 0, err
		}
		removed, err := removalsOf(e, b)
		if err != nil {
			return nil, 0, err
		}
		for _, r := range removed {
			if _, exists := s.Document(q.Type, r.documentID); exists || seen[r.documentID] {
				continue
			}
			seen[r.documentID] = true
			versions := s.lastVersions(&q, b, e, &r)
			if len(versions) == 0 {
				continue
			}
			if total++; total <= q.Offset || q.Limit >= 0 && len(page) >= q.Limit {
				continue
			}
			before, err := s.entry(sequence - 1)
			if err != nil {
				return nil, 0, err
			}
			page = append(page, DeletedDocument{DocumentID: r.documentID, Position: Position{e.Epoch, sequence},
				Before: Position{before.Epoch, sequence - 1}, Time: e.Time, By: e.By, Versions: versions})
		}
	}
	return page, total, s.failed
}

// removing returns the sequences of the entries that removed rows of a type, in order.
func (s *Snapshot) removing(b *boundSchema) (list []uint64, err error) {
	unblocked, err := s.sortedTouches(0)
	if err != nil {
		return nil, err
	}
	found := map[uint64]bool{}
	c := s.bucket(format.History).Cursor()
	for k, v := c.Seek(be.AppendUint64(nil, s.logBegins()+1)); k != nil && s.step(); k, v = c.Next() {
		for _, sequence := range logentry.StoredTouches(k, v).AppendRemovals(nil, b.number) {
			found[sequence] = true
		}
	}
	for _, t := range unblocked {
		if t.Schema == b.number && t.Subject >= logentry.IDSubject {
			found[t.Sequence] = true
		}
	}
	return slices.Sorted(maps.Keys(found)), s.failed
}

// A removal is what an entry did to the versions of a document of which it removed at least one.
type removal struct {
	doc        uint64
	documentID string
	edits      []versionEdit
}

// removalsOf returns the documents of which an entry removed versions.
func removalsOf(e *Entry, b *boundSchema) (list []removal, err error) {
	at := map[uint64]int{}
	err = e.EachOp(func(o logentry.Op) (err error) {
		if !o.Kind.OfRow() || o.Schema != b.number {
			return nil
		}
		i, known := at[o.Doc]
		if !known {
			i, at[o.Doc] = len(list), len(list)
			list = append(list, removal{doc: o.Doc})
		}
		if o.Kind.RemovesRow() {
			list[i].documentID = string(o.Data)
		}
		list[i].edits, err = appendEdit(list[i].edits, o)
		return err
	})
	return slices.DeleteFunc(list, func(r removal) bool { return r.documentID == "" }), err
}

// lastVersions returns the versions that an entry removed, as far as a query chooses them.
func (s *Snapshot) lastVersions(q *DeletedQuery, b *boundSchema, e *Entry, r *removal) (list []Version) {
	slices.SortFunc(r.edits, func(x, y versionEdit) int { return cmp.Compare(x.slot, y.slot) })
	for i := range r.edits {
		edit := &r.edits[i]
		v := Version{edit.slot.Status(), s.localeCode(edit.slot.Locale())}
		if edit.before == nil || edit.after != nil || q.Match != nil && !q.Match(v.Status, v.Locale) {
			continue
		}
		item := HistoryItem{VersionChange: VersionChange{Type: b.typ, Doc: r.doc, DocumentID: r.documentID,
			Status: v.Status, Locale: v.Locale, Action: Deleted}, Position: Position{e.Epoch, e.Sequence}}
		if q.Visible == nil || s.limit(&item, edit, b, q.Visible(v.Status)) {
			list = append(list, v)
		}
	}
	return list
}
