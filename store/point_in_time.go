package store

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sort"
	"time"

	"lectern/contenttypes"
	"lectern/store/internal/format"
	"lectern/store/internal/logentry"
)

// A snapshot of the past is a Snapshot that shows documents as they were behind an earlier entry of the log. Rows,
// lists of versions and links are those of the present with the changes of the later entries undone, and only for the
// documents that are read. Each entry holds what was before it, so everything is known exactly from the oldest entry of
// the log on.
//
// Indexes are not undone. A snapshot of the past finds documents by their documentId and follows relations, and refuses
// queries.

// Errors of ViewAt and SequenceOf.
var (
	// ErrConverted: content was converted since. It cannot be shown under the present definitions.
	ErrConverted = errors.New("content was converted since then, because its definitions have changed")
	// ErrFuture: the log is not there yet.
	ErrFuture = errors.New("this is in the future")
	// errIndexOfPast: a query was asked of a snapshot of the past.
	errIndexOfPast = errors.New("a snapshot of the past has no indexes")
)

// past is what a snapshot of the past knows about the entries that it undoes. nil is the present.
type past struct {
	sequence  uint64                     // of the last entry that it shows
	unblocked []logentry.Touch           // touches of the entries after the last block, in order
	rows      map[rowRef]pastRows        // by document
	links     map[format.End]undoneLinks // by end, with the locale 0
	entries   map[uint64]*Entry          // decoded
}

type rowRef struct {
	schema uint16
	doc    uint64
}

// pastRows are the versions of a document that have changed since: the rows as they were, nil for those that were not
// there.
type pastRows map[format.Slot][]byte

// undoneLinks are the links of one end that have changed since, by their keys: the values as they were, nil for links
// that were not there.
type undoneLinks map[string][]byte

// ViewAt calls f with a snapshot of the past that shows the content behind the entry with a sequence. It returns an
// error that wraps ErrTrimmed, ErrConverted or ErrFuture if that is not known.
func (s *Snapshot) ViewAt(sequence uint64, f func(*Snapshot) error) error {
	if err := s.canShow(sequence); err != nil {
		return fmt.Errorf("the content behind entry %d of the log: %w", sequence, err)
	}
	unblocked, err := s.sortedTouches(sequence)
	if err != nil {
		return err
	}
	then := newSnapshot(s.store, s.tx)
	then.bound, then.work = s.bound, s.work
	then.past = &past{sequence: sequence, unblocked: unblocked, rows: map[rowRef]pastRows{},
		links: map[format.End]undoneLinks{}, entries: map[uint64]*Entry{}}
	defer func() { s.work = then.work }()
	err = f(then)
	s.store.stats.add(&then.stats)
	if then.failed != nil {
		s.failed = then.failed
		return then.failed
	}
	return err
}

// IsPast reports whether the snapshot is one of the past.
func (s *Snapshot) IsPast() bool { return s.past != nil }

// canShow returns an error if the content behind an entry is not known.
func (s *Snapshot) canShow(sequence uint64) error {
	switch {
	case sequence > s.Sequence():
		return ErrFuture
	case sequence < s.logBegins():
		return ErrTrimmed
	case sequence < getNumber(s.bucket(format.Meta), format.KeyConverted):
		return ErrConverted
	}
	return nil
}

// SequenceOf returns the sequence of a position. The error wraps ErrOtherEpoch if the position is of another history,
// ErrTrimmed if its entry was removed, and ErrFuture if there is no such entry yet.
func (s *Snapshot) SequenceOf(at Position) (uint64, error) {
	oldest, err := s.OldestPosition()
	switch {
	case err != nil:
		return 0, err
	case at.Sequence > s.Sequence() && at.Epoch == oldest.Epoch:
		return 0, fmt.Errorf("%s: %w", at, ErrFuture)
	case at.Sequence > s.Sequence():
		return 0, fmt.Errorf("%s: %w", at, ErrOtherEpoch)
	case at.Sequence <= oldest.Sequence:
		return 0, fmt.Errorf("%s: %w", at, ErrTrimmed)
	}
	e, err := s.entry(at.Sequence)
	if err == nil && e.Epoch != at.Epoch {
		err = fmt.Errorf("%s: %w", at, ErrOtherEpoch)
	}
	return at.Sequence, err
}

// SequenceAt returns the sequence of the last entry that was made at a time or before it. The error wraps ErrTrimmed if
// the log begins later.
func (s *Snapshot) SequenceAt(at time.Time) (uint64, error) {
	before, last := getNumber(s.bucket(format.Meta), format.KeyLogBefore), s.Sequence()
	var failed error
	n := sort.Search(int(last-before), func(i int) bool {
		made, err := s.timeOf(before + 1 + uint64(i))
		failed = cmp.Or(failed, err)
		return made.After(at)
	})
	if failed == nil && n == 0 && before > 0 {
		failed = fmt.Errorf("%s: %w", at.Format(time.RFC3339Nano), ErrTrimmed)
	}
	return before + uint64(n), failed
}

// timeOf returns the time of an entry.
func (s *Snapshot) timeOf(sequence uint64) (time.Time, error) {
	v := s.get(format.Log, be.AppendUint64(nil, sequence))
	if v == nil {
		return time.Time{}, fmt.Errorf("entry %d of the log is missing", sequence)
	}
	return logentry.EntryTime(format.WithoutChecksum(v))
}

// entry returns an entry of the log.
func (s *Snapshot) entry(sequence uint64) (found *Entry, err error) {
	if s.past != nil {
		if e := s.past.entries[sequence]; e != nil {
			return e, nil
		}
	}
	s.eachEntry(sequence-1, func(e *Entry, failed error) bool {
		found, err = e, failed
		return false
	})
	if s.past != nil && err == nil {
		s.past.entries[sequence] = found
	}
	return found, err
}

// touching returns, in order, the sequences of the entries that changed a subject and come after a given sequence. It
// finds them in the stored blocks of touches and in unblocked, which must hold the touches of the entries after the
// last block, in order.
func (s *Snapshot) touching(after uint64, schema uint16, subject uint64, unblocked []logentry.Touch) (list []uint64) {
	c := s.bucket(format.History).Cursor()
	for k, v := c.Seek(be.AppendUint64(nil, after+1)); k != nil && s.step(); k, v = c.Next() {
		list = logentry.StoredTouches(k, v).AppendEntries(list, schema, subject)
	}
	i, _ := slices.BinarySearchFunc(unblocked, logentry.Touch{Schema: schema, Subject: subject},
		logentry.CompareTouches)
	for ; i < len(unblocked) && unblocked[i].Schema == schema && unblocked[i].Subject == subject; i++ {
		list = append(list, unblocked[i].Sequence)
	}
	for len(list) > 0 && list[0] <= after {
		list = list[1:]
	}
	return list
}

// sortedTouches returns the touches of the entries after the last block and after a sequence, in order, each once.
// Those of entries before the sequence may be among them: the list is read once for several sequences.
func (s *Snapshot) sortedTouches(after uint64) ([]logentry.Touch, error) {
	if t := &s.touches; t.head == s.Sequence() && t.after <= after {
		return t.list, nil
	}
	list, err := s.unblocked(after)
	slices.SortFunc(list, logentry.CompareTouches)
	if list = slices.Compact(list); err == nil {
		s.touches = readTouches{list: list, after: after, head: s.Sequence()}
	}
	return list, err
}

// readTouches are the touches that sortedTouches has read.
type readTouches struct {
	list        []logentry.Touch
	after, head uint64 // the sequences between which they were made
}

// eachLater calls f with the changes that later entries made to a subject, oldest first.
func (s *Snapshot) eachLater(schema uint16, subject uint64, f func(logentry.Op) error) {
	for _, sequence := range s.touching(s.past.sequence, schema, subject, s.past.unblocked) {
		if !s.step() {
			return
		}
		e, err := s.entry(sequence)
		if err == nil {
			err = e.EachOp(f)
		}
		if err != nil {
			s.failed = cmp.Or(s.failed, err)
			return
		}
	}
}

// pastRows returns the versions of a document that later entries changed.
func (s *Snapshot) pastRows(schema uint16, doc uint64) pastRows {
	known, ok := s.past.rows[rowRef{schema, doc}]
	if ok {
		return known
	}
	found := pastRows{}
	s.eachLater(schema, logentry.RowsSubject|doc, func(o logentry.Op) (err error) {
		if o.Kind.OfRow() && o.Schema == schema && o.Doc == doc {
			if _, ok := found[o.Slot]; !ok {
				found[o.Slot], err = o.Before()
			}
		}
		return err
	})
	s.past.rows[rowRef{schema, doc}] = found
	return found
}

// pastRow is row for a snapshot of the past.
func (s *Snapshot) pastRow(b *boundSchema, sl format.Slot, doc uint64) Record {
	data, changed := s.pastRows(b.number, doc)[sl]
	if !changed {
		return s.record(sl, doc, s.rowData(format.AppendRowKey(nil, b.number, sl, doc)))
	}
	if data == nil {
		return Record{}
	}
	if layout := int(be.Uint16(data)); layout >= len(s.bound.tables) || s.bound.tables[layout].bound != b {
		s.failed = cmp.Or(s.failed, fmt.Errorf("%w: a row of an unknown layout", logentry.ErrEntry))
		return Record{}
	}
	return s.record(sl, doc, data)
}

// pastDocument is document for a snapshot of the past. Documents that were deleted since are found by the entries that
// removed their rows.
func (s *Snapshot) pastDocument(b *boundSchema, documentID string) []byte {
	present := s.get(format.Docs, format.DocKey(b.number, documentID))
	if present != nil {
		if v := s.pastVersions(b.number, format.Number(present), present); v != nil {
			return v
		}
	}
	var found []byte
	for _, doc := range s.removed(b.number, documentID) {
		if found == nil && (present == nil || doc != format.Number(present)) {
			found = s.pastVersions(b.number, doc, nil)
		}
	}
	return found
}

// removed returns the documents with a documentId of which later entries removed a version, each once.
func (s *Snapshot) removed(schema uint16, documentID string) (list []uint64) {
	s.eachLater(schema, logentry.IDSubjectOf([]byte(documentID)), func(o logentry.Op) error {
		if o.Kind == logentry.DeleteRow && o.Schema == schema && string(o.Data) == documentID &&
			!slices.Contains(list, o.Doc) {
			list = append(list, o.Doc)
		}
		return nil
	})
	return list
}

// pastVersions returns the list of versions that a document had, as the bucket docs holds it, nil if it had none.
// present is the list that it has now; it may be nil.
func (s *Snapshot) pastVersions(schema uint16, doc uint64, present []byte) []byte {
	changed := s.pastRows(schema, doc)
	v := be.AppendUint64(nil, doc)
	for rest := present[min(8, len(present)):]; len(rest) >= 2; rest = rest[2:] {
		if _, ok := changed[format.Slot(be.Uint16(rest))]; !ok {
			v = append(v, rest[:2]...)
		}
	}
	begin := len(v)
	for sl, row := range changed {
		if row != nil {
			v = be.AppendUint16(v, uint16(sl))
		}
	}
	if len(v) == 8 {
		return nil
	}
	sortSlots(v[begin:])
	return v
}

// sortSlots puts encoded slots in order.
func sortSlots(v []byte) {
	list := make([]format.Slot, 0, len(v)/2)
	for rest := v; len(rest) >= 2; rest = rest[2:] {
		list = append(list, format.Slot(be.Uint16(rest)))
	}
	slices.Sort(list)
	for i, sl := range list {
		be.PutUint16(v[2*i:], uint16(sl))
	}
}

// Only returns the document of a single type; ok is false if it has none.
func (s *Snapshot) Only(t *contenttypes.ContentType) (documentID string, ok bool) {
	b := s.bound.of(&t.Schema)
	prefix := be.AppendUint16(nil, b.number)
	c := s.bucket(format.Docs).Cursor()
	for k, _ := c.Seek(prefix); bytes.HasPrefix(k, prefix); k, _ = c.Next() {
		if id := string(k[2:]); s.document(b, id) != nil {
			return id, true
		}
	}
	if s.past == nil {
		return "", false
	}
	removed, err := s.removedIDs(b.number, s.past.sequence, s.past.unblocked)
	if err != nil {
		s.failed = cmp.Or(s.failed, err)
		return "", false
	}
	for _, id := range removed {
		if s.document(b, id) != nil {
			return id, true
		}
	}
	return "", false
}

// LastOnly returns the document of a single type or, if it has none, the one that it had last, as far as the log knows
// it.
func (s *Snapshot) LastOnly(t *contenttypes.ContentType) (documentID string, err error) {
	documentID, ok := s.Only(t)
	if ok {
		return documentID, nil
	}
	unblocked, err := s.sortedTouches(0)
	if err != nil {
		return "", err
	}
	ids, err := s.removedIDs(s.bound.of(&t.Schema).number, s.logBegins(), unblocked)
	if len(ids) > 0 {
		documentID = ids[len(ids)-1]
	}
	return documentID, err
}

// removedIDs returns the documentIds of a type of which the entries after a sequence removed a version, in the order of
// the last removals.
func (s *Snapshot) removedIDs(schema uint16, after uint64, unblocked []logentry.Touch) (ids []string, err error) {
	var list []uint64
	add := func(t logentry.Touch) {
		if t.Schema == schema && t.Subject&logentry.IDSubject > 0 && t.Sequence > after {
			list = append(list, t.Sequence)
		}
	}
	c := s.bucket(format.History).Cursor()
	for k, v := c.Seek(be.AppendUint64(nil, after+1)); k != nil && s.step(); k, v = c.Next() {
		b := logentry.StoredTouches(k, v)
		for i := range b.Len() {
			add(b.At(i))
		}
	}
	for _, t := range unblocked {
		add(t)
	}
	slices.Sort(list)
	for _, sequence := range slices.Compact(list) {
		e, err := s.entry(sequence)
		if err != nil {
			return nil, err
		}
		_ = e.EachOp(func(o logentry.Op) error {
			if o.Kind == logentry.DeleteRow && o.Schema == schema {
				ids = append(slices.DeleteFunc(ids, func(id string) bool { return id == string(o.Data) }),
					string(o.Data))
			}
			return nil
		})
	}
	return ids, nil
}

// logBegins returns the sequence of the last entry that the log no longer has.
func (s *Snapshot) logBegins() uint64 { return getNumber(s.bucket(format.Meta), format.KeyLogBefore) }

// A pastLink is a link in the list of one end, with its key.
type pastLink struct{ key, value []byte }

// pastLinks returns the links of a list, which is given by the prefix of their keys, in order.
func (s *Snapshot) pastLinks(list []byte) (found []pastLink) {
	undone := s.undoneLinks(list)
	c := s.bucket(format.Links).Cursor()
	for k, v := c.Seek(list); bytes.HasPrefix(k, list) && s.step(); k, v = c.Next() {
		if _, ok := undone[string(k)]; !ok {
			found = append(found, pastLink{k, v})
		}
	}
	for k, v := range undone {
		if v != nil && bytes.HasPrefix([]byte(k), list) {
			found = append(found, pastLink{[]byte(k), v})
		}
	}
	slices.SortFunc(found, func(x, y pastLink) int { return bytes.Compare(x.key, y.key) })
	return found
}

// undoneLinks returns the links that have changed of the end whose list has a prefix of keys.
func (s *Snapshot) undoneLinks(list []byte) undoneLinks {
	doc, sd := be.Uint64(list[8:]), format.Side(list[4])
	for _, schema := range s.listed(list) {
		end := format.End{Schema: schema, Doc: doc}
		known, ok := s.past.links[end]
		if !ok {
			known = s.undo(end)
			s.past.links[end] = known
		}
		if len(known) > 0 || sd == format.FromSide {
			return known
		}
	}
	return nil
}

// listed returns the types and components that the end of a list can be of. Numbers of documents are unique among all
// types.
func (s *Snapshot) listed(list []byte) (schemas []uint16) {
	owner := be.Uint16(list)
	if format.Side(list[4]) == format.FromSide {
		return []uint16{owner}
	}
	if b := s.bound.numbered(owner); b != nil {
		if i := slices.Index(b.fields, be.Uint16(list[2:])); i >= 0 && b.schema.Attributes[i].Target != nil {
			return []uint16{s.bound.of(&b.schema.Attributes[i].Target.Schema).number}
		}
	}
	for _, b := range s.bound.byNum {
		if b != nil && b.typ != nil {
			schemas = append(schemas, b.number)
		}
	}
	return schemas
}

// undo returns the links of a document or component that have changed since, in all locales.
func (s *Snapshot) undo(end format.End) undoneLinks {
	found := undoneLinks{}
	was := func(o logentry.Op, sd format.Side, of format.End, pos uint64, other format.End, otherPos uint64) {
		if of.Schema != end.Schema || of.Doc != end.Doc {
			return
		}
		key := format.LinkPrefix(o.Link.Schema, o.Link.Field, byte(sd), byte(o.Link.Set))
		key = be.AppendUint64(be.AppendUint64(be.AppendUint16(key, of.Locale), of.Doc), pos)
		if _, ok := found[string(key)]; ok {
			return
		}
		if found[string(key)] = nil; o.Kind == logentry.DeleteLink {
			found[string(key)] = format.NewLink(other, otherPos)
		}
	}
	s.eachLater(end.Schema, logentry.LinksSubject|end.Doc, func(o logentry.Op) error {
		if !o.Kind.OfRow() {
			l := o.Link
			was(o, format.FromSide, l.From, l.FromPos, l.To, l.ToPos)
			was(o, format.ToSide, l.To, l.ToPos, l.From, l.FromPos)
		}
		return nil
	})
	return found
}
