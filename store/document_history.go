package store

import (
	"bytes"
	"cmp"
	"errors"
	"maps"
	"slices"
	"time"

	"lectern/contenttypes"
	"lectern/store/internal/format"
	"lectern/store/internal/logentry"
)

// A HistoryItem says what one entry of the log did to one version of a document.
type HistoryItem struct {
	VersionChange
	Position Position // behind the entry
	Time     time.Time
	By       Principal
	// Changed are the attributes that have another value than before, system attributes left out. A version that is not
	// there has no values, but it may have links, which an unpublication keeps.
	Changed []*contenttypes.Attribute
}

// A HistoryQuery chooses items of a document's history.
type HistoryQuery struct {
	Type       *contenttypes.ContentType
	DocumentID string
	Match      func(Status, string) bool // by status and locale; nil: all
	// Shows reports whether the reader may see an attribute of the document, or of a component in it. Changes of others
	// are left out; nil shows all.
	Shows func(*contenttypes.Attribute) bool
	// Visible returns the condition that a version of a status must have met for the reader to see its items: as the
	// entry left it or, if the entry removed it, as it was before. A version that did not meet it before counts as
	// created. nil shows all, and so does a nil condition.
	Visible func(Status) Filter
	Offset  int
	Limit   int // negative: all
}

// A versionEdit is what an entry did to a version, with its row before and after; nil for none.
type versionEdit struct {
	slot          format.Slot
	op            logentry.Op // the last one
	before, after []byte
}

// History returns what the entries of the log did to a document, newest first, and how many items there are on all
// pages. A document that was deleted and made again has one history. Entries that changed only links to the document,
// in other documents, are not part of it.
func (s *Snapshot) History(q HistoryQuery) (page []HistoryItem, total int, err error) {
	b := s.bound.of(&q.Type.Schema)
	unblocked, err := s.sortedTouches(0)
	if err != nil {
		return nil, 0, err
	}
	for _, sequence := range s.changing(b, q.DocumentID, unblocked) {
		e, err := s.entry(sequence.entry)
		if err != nil {
			return nil, 0, err
		}
		items, edits, err := s.itemsOf(e, b, sequence.doc, q.DocumentID)
		if err != nil {
			return nil, 0, err
		}
		for i := len(items) - 1; i >= 0; i-- {
			if q.Match != nil && !q.Match(items[i].Status, items[i].Locale) {
				continue
			}
			if q.Visible != nil && !s.limit(&items[i], &edits[i], b, q.Visible(items[i].Status)) {
				continue
			}
			if total++; total > q.Offset && (q.Limit < 0 || len(page) < q.Limit) {
				items[i].Changed = s.changedAttributes(e, b, sequence.doc, edits[i], q.Shows)
				page = append(page, items[i])
			}
		}
	}
	return page, total, s.failed
}

// limit reports whether an item is of a version that met a condition, and makes it one of a creation if the version
// did not before. What is not known has not met it.
func (s *Snapshot) limit(item *HistoryItem, v *versionEdit, b *boundSchema, only Filter) bool {
	if only == nil {
		return true
	}
	met := func(data []byte, sequence uint64) (met bool) {
		if data == nil {
			return false
		}
		if rowsDecide(only) {
			r := s.loggedVersion(b, v.slot, item.Doc, data)
			return r.Exists() && s.Matches(r, only, item.Status)
		}
		err := s.ViewAt(sequence, func(then *Snapshot) error {
			r := then.row(b, v.slot, item.Doc)
			met = r.Exists() && then.Matches(r, only, item.Status)
			return nil
		})
		return err == nil && met
	}
	before := met(v.before, item.Position.Sequence-1)
	if v.after == nil {
		return before
	}
	if !before {
		v.before = nil
		if item.Action == Updated {
			item.Action = Created
		}
	}
	return met(v.after, item.Position.Sequence)
}

// rowsDecide reports whether a filter looks only at what is in the row.
func rowsDecide(f Filter) bool {
	all := func(parts []Filter) bool {
		return !slices.ContainsFunc(parts, func(f Filter) bool { return !rowsDecide(f) })
	}
	switch f := f.(type) {
	case And:
		return all(f)
	case Or:
		return all(f)
	case Not:
		return rowsDecide(f.Filter)
	case Through:
		return !f.Attr.IsRelation() && !f.Attr.System && rowsDecide(f.Filter)
	case Compare:
		return true
	}
	return false
}

// A documentEntry is an entry that changed rows of a document.
type documentEntry struct{ entry, doc uint64 }

// changing returns the entries that changed rows of the documents that have or had a documentId, newest first.
func (s *Snapshot) changing(b *boundSchema, documentID string, unblocked []logentry.Touch) (list []documentEntry) {
	oldest := s.logBegins()
	found := map[uint64]bool{}
	if v := s.document(b, documentID); v != nil {
		found[format.Number(v)] = true
	}
	for _, sequence := range s.touching(oldest, b.number, logentry.IDSubjectOf([]byte(documentID)), unblocked) {
		e, err := s.entry(sequence)
		if err != nil {
			s.failed = cmp.Or(s.failed, err)
			return nil
		}
		_ = e.EachOp(func(o logentry.Op) error {
			if o.Kind == logentry.DeleteRow && o.Schema == b.number && string(o.Data) == documentID {
				found[o.Doc] = true
			}
			return nil
		})
	}
	for doc := range maps.Keys(found) {
		for _, sequence := range s.touching(oldest, b.number, logentry.RowsSubject|doc, unblocked) {
			list = append(list, documentEntry{sequence, doc})
		}
	}
	slices.SortFunc(list,
		func(x, y documentEntry) int { return cmp.Or(cmp.Compare(y.entry, x.entry), cmp.Compare(y.doc, x.doc)) })
	return list
}

// itemsOf returns the items of an entry for a document, in order of locale and status, and what it did to each version.
func (s *Snapshot) itemsOf(e *Entry, b *boundSchema, doc uint64,
	documentID string) (items []HistoryItem, edits []versionEdit, err error) {
	err = e.EachOp(func(o logentry.Op) (err error) {
		if !o.Kind.OfRow() || o.Schema != b.number || o.Doc != doc {
			return nil
		}
		edits, err = appendEdit(edits, o)
		return err
	})
	slices.SortFunc(edits, func(x, y versionEdit) int { return cmp.Compare(x.slot, y.slot) })
	changes := make([]VersionChange, 0, len(edits))
	for _, v := range edits {
		changes = append(changes, VersionChange{Type: b.typ, Doc: doc, DocumentID: documentID, Status: v.slot.Status(),
			Locale: s.localeCode(v.slot.Locale()), Action: actionOf(b.typ, v.op)})
	}
	for _, c := range withUnpublished(changes) {
		items = append(items, HistoryItem{VersionChange: c, Position: Position{e.Epoch, e.Sequence}, Time: e.Time,
			By: e.By})
	}
	return items, edits, err
}

// appendEdit adds an op of a row to what an entry did to its version.
func appendEdit(edits []versionEdit, o logentry.Op) (_ []versionEdit, err error) {
	i := slices.IndexFunc(edits, func(v versionEdit) bool { return v.slot == o.Slot })
	if i < 0 {
		i = len(edits)
		edits = append(edits, versionEdit{slot: o.Slot})
		edits[i].before, err = o.Before()
	}
	if edits[i].op, edits[i].after = o, nil; !o.Kind.RemovesRow() {
		edits[i].after = o.Data
	}
	return edits, err
}

// changedAttributes returns the attributes that an entry changed in a version.
func (s *Snapshot) changedAttributes(e *Entry, b *boundSchema, doc uint64, v versionEdit,
	shows func(*contenttypes.Attribute) bool) (list []*contenttypes.Attribute) {
	d := entryDiff{sequence: e.Sequence, status: v.slot.Status(), lists: listEdits(e), snap: s, shows: shows}
	before, after := s.loggedVersion(b, v.slot, doc, v.before), s.loggedVersion(b, v.slot, doc, v.after)
	for _, a := range b.schema.Attributes {
		if !a.System && a.Type != contenttypes.ID && d.differs(a, before, after) {
			list = append(list, a)
		}
	}
	return list
}

// loggedVersion returns a row of an entry, the zero Record for none or for one of a layout that is no longer known.
func (s *Snapshot) loggedVersion(b *boundSchema, sl format.Slot, doc uint64, data []byte) Record {
	if data == nil || int(be.Uint16(data)) >= len(s.bound.tables) || s.bound.tables[be.Uint16(data)].bound != b {
		return Record{}
	}
	return s.record(sl, doc, data)
}

// A listEdit is what an entry did to the list of links of one end: the links that it changed, as they were and as they
// are, by position.
type listEdit struct {
	list          string // the prefix of their keys
	before, after map[uint64]format.End
}

// listEdits returns what an entry did to lists of links, by the prefix of their keys.
func listEdits(e *Entry) map[string]listEdit {
	lists := map[string]listEdit{}
	edit := func(o logentry.Op, sd format.Side, of format.End, pos uint64, other format.End) {
		key := string(be.AppendUint64(be.AppendUint16(format.LinkPrefix(o.Link.Schema, o.Link.Field, byte(sd),
			byte(o.Link.Set)), of.Locale), of.Doc))
		l, ok := lists[key]
		if !ok {
			l = listEdit{key, map[uint64]format.End{}, map[uint64]format.End{}}
			lists[key] = l
		}
		if _, added := l.after[pos]; o.Kind == logentry.PutLink {
			l.after[pos] = other
		} else if delete(l.after, pos); !added {
			l.before[pos] = other
		}
	}
	_ = e.EachOp(func(o logentry.Op) error {
		if !o.Kind.OfRow() {
			edit(o, format.FromSide, o.Link.From, o.Link.FromPos, o.Link.To)
			edit(o, format.ToSide, o.Link.To, o.Link.ToPos, o.Link.From)
		}
		return nil
	})
	return lists
}

// An entryDiff compares versions before and after an entry.
type entryDiff struct {
	sequence uint64
	status   Status
	lists    map[string]listEdit
	snap     *Snapshot
	shows    func(*contenttypes.Attribute) bool // see HistoryQuery
}

// differs reports whether an attribute of a row or component has another value after the entry that the reader may see.
// The ids of components are not compared.
func (d *entryDiff) differs(a *contenttypes.Attribute, before, after Record) bool {
	switch {
	case d.shows != nil && !d.shows(a):
		return false
	case a.IsRelation():
		return d.linksDiffer(a, before, after)
	case a.IsScalar():
		return !bytes.Equal(before.JSON(a), after.JSON(a))
	}
	var items []Record
	after.Each(a, func(item Record) bool { items = append(items, item); return true })
	same := true
	before.Each(a, func(item Record) bool {
		if same = len(items) > 0 && d.sameItem(item, items[0]); same {
			items = items[1:]
		}
		return same
	})
	return !same || len(items) > 0
}

func (d *entryDiff) sameItem(before, after Record) bool {
	if before.Component() != after.Component() {
		return false
	}
	return !slices.ContainsFunc(before.Component().Attributes, func(a *contenttypes.Attribute) bool {
		return a.Type != contenttypes.ID && d.differs(a, before, after)
	})
}

// linksDiffer compares the links of a row or component. A component that has another id afterwards lost all links of
// the one before, and got its own, in the entry. A row that is not there may have links: an unpublished version keeps
// them until the document is published again.
func (d *entryDiff) linksDiffer(a *contenttypes.Attribute, before, after Record) bool {
	was, is := d.list(a, before), d.list(a, after)
	switch {
	case !before.Exists():
		return d.listDiffers(is)
	case !after.Exists() || before.ref() == after.ref():
		return d.listDiffers(was)
	}
	return !slices.Equal(inOrder(was.before), inOrder(is.after))
}

// list returns what the entry did to the links of a row or component.
func (d *entryDiff) list(a *contenttypes.Attribute, of Record) listEdit {
	if !of.Exists() || a.System {
		return listEdit{}
	}
	return d.lists[string(d.snap.appendShownList(nil, a, d.status, of.ref()))]
}

// listDiffers reports whether a list leads to other ends after the entry, or to the same in another order. An entry may
// also give links other positions that leave them in their order.
func (d *entryDiff) listDiffers(l listEdit) bool {
	if maps.Equal(l.before, l.after) {
		return false
	}
	was, is := inOrder(l.before), inOrder(l.after)
	slices.SortFunc(was, compareRefs)
	slices.SortFunc(is, compareRefs)
	return !slices.Equal(was, is) || d.reordered(l)
}

// reordered compares the order of a list before and after the entry, with the links that the entry did not change. It
// reports a change where the list is not known any more.
func (d *entryDiff) reordered(l listEdit) bool {
	differs := true
	err := d.snap.ViewAt(d.sequence, func(then *Snapshot) error {
		before, after := maps.Clone(l.before), map[uint64]format.End{}
		for _, link := range then.pastLinks([]byte(l.list)) {
			pos := be.Uint64(link.key[format.LinkListLen:])
			after[pos], _ = format.ParseLink(link.value)
			if _, changed := l.after[pos]; !changed {
				before[pos] = after[pos]
			}
		}
		differs = !slices.Equal(inOrder(before), inOrder(after))
		return nil
	})
	if err != nil && !errors.Is(err, ErrConverted) {
		d.snap.failed = cmp.Or(d.snap.failed, err)
	}
	return differs
}

func compareRefs(x, y format.End) int {
	return cmp.Or(cmp.Compare(x.Schema, y.Schema), cmp.Compare(x.Locale, y.Locale), cmp.Compare(x.Doc, y.Doc))
}

// inOrder returns links in order of position.
func inOrder(links map[uint64]format.End) (list []format.End) {
	for _, pos := range slices.Sorted(maps.Keys(links)) {
		list = append(list, links[pos])
	}
	return list
}
