package store

import (
	"errors"
	"math"
	"slices"

	"lectern/contenttypes"
	"lectern/store/internal/format"
	"lectern/store/internal/logentry"
)

// everyType is the number under which the revision of a conversion is kept. A conversion changes how rows of any type
// are read, so it counts as a change of them all. No schema has this number.
const everyType = math.MaxUint16

// revise notes that the transaction changes the rows of a schema, or what they lead to.
func (tx *Tx) revise(schema uint16) { tx.revisions[schema] = tx.sequence }

// reviseLink notes that a link changes what an answer about its owner shows. The owner of a component's link has
// another row than the component; then the link counts for its target.
func (tx *Tx) reviseLink(from, to format.End) {
	if b := tx.bound.numbered(from.Schema); b != nil && b.typ != nil {
		tx.revise(from.Schema)
		return
	}
	tx.revise(to.Schema)
}

// A revisionCache holds the revisions that a snapshot has looked up. They stay the same as long as the snapshot lives.
type revisionCache struct {
	epoch    string // "": nothing was looked up
	sequence uint64
	all      uint64   // the last conversion
	byType   []uint64 // by number of the schema; unknownRevision if it was not looked up
}

const unknownRevision = math.MaxUint64

// cachedRevisions returns the cache of the snapshot, which must not belong to a write transaction.
func (s *Snapshot) cachedRevisions() *revisionCache {
	c := &s.revised
	if c.epoch == "" {
		meta := s.bucket(format.Meta)
		c.epoch = string(format.WithoutChecksum(meta.Get(format.KeyEpoch)))
		c.sequence, c.all = getNumber(meta, format.KeySequence), s.revision(everyType)
	}
	return c
}

// cachedRevision returns the revision of a type.
func (s *Snapshot) cachedRevision(t *contenttypes.ContentType) uint64 {
	c, n := s.cachedRevisions(), int(s.bound.of(&t.Schema).number)
	for len(c.byType) <= n {
		c.byType = append(c.byType, unknownRevision)
	}
	if c.byType[n] == unknownRevision {
		c.byType[n] = s.revision(uint16(n))
	}
	return c.byType[n]
}

// AppendRevisions appends what identifies the content of some types: the epoch of the store, the last conversion, and
// the last change of each type or of a link between them. Two snapshots of any stores that append the same, for the
// same types in the same order, show the same rows of these types, with the same links between them. Replicas of
// different parts never append the same. With nil for the types it identifies the whole content.
//
// It reads no rows. It must not be called in a write transaction.
func (s *Snapshot) AppendRevisions(dst []byte, types []*contenttypes.ContentType) []byte {
	c := s.cachedRevisions()
	dst = append(dst, c.epoch...)
	if s.store.part.Load() != nil {
		dst = append(dst, format.WithoutChecksum(s.bucket(format.Meta).Get(format.KeyPart))...)
	}
	if types == nil {
		return be.AppendUint64(dst, c.sequence)
	}
	dst = be.AppendUint64(dst, c.all)
	for _, t := range types {
		dst = be.AppendUint64(dst, s.cachedRevision(t))
	}
	return dst
}

// Showing tells which relations the documents of a type show, and in whose revisions their changes are noted.
type Showing struct {
	Type    *contenttypes.ContentType
	Linking []*contenttypes.ContentType // the owners of the relations whose other side the type has
	Targets []*contenttypes.ContentType // the targets of the relations in its components: see reviseLink
}

// lastOf returns the highest of the revisions of the types.
func (s *Showing) lastOf(revision func(*contenttypes.ContentType) uint64) uint64 {
	last := revision(s.Type)
	for _, list := range [...][]*contenttypes.ContentType{s.Linking, s.Targets} {
		for _, t := range list {
			last = max(last, revision(t))
		}
	}
	return last
}

// LastRevision returns the epoch of the store, and a sequence after which no entry has changed what documents of a type
// show of themselves and their relations, or converted the store. It must not be called in a write transaction.
func (s *Snapshot) LastRevision(showing *Showing) (epoch string, last uint64) {
	c := s.cachedRevisions()
	return c.epoch, max(c.all, showing.lastOf(s.cachedRevision))
}

// EpochText returns the text of the epoch that the transaction writes in.
func (tx *Tx) EpochText() string { return tx.store.log.epoch.String() }

// Changed reports whether an entry after a sequence has changed a document: its versions in a locale, the links from it
// and its components, or those to it that it shows. Changed also returns true when the log cannot tell: because it does
// not go back that far, because a conversion has changed content since, or because it is off.
func (tx *Tx) Changed(showing *Showing, doc uint64, locale string, after uint64) (bool, error) {
	t, linking := showing.Type, showing.Linking
	b := tx.bound.of(&t.Schema)
	switch last := max(tx.revision(everyType), showing.lastOf(tx.pendingRevision)); {
	case after > tx.sequence:
		return true, nil
	case last <= after:
		return false, nil
	case tx.store.log.limits.Off, after < max(tx.log.before, tx.log.converted):
		return true, nil
	}
	if err := tx.loadTouches(); err != nil {
		return false, err
	}
	sl, _ := tx.slot(t, Published, locale)
	of := format.End{Schema: b.number, Locale: sl.Locale(), Doc: doc}
	changed, err := tx.touched(logentry.RowsSubject, of, after, linking)
	if !changed && err == nil {
		changed, err = tx.touched(logentry.LinksSubject, of, after, linking)
	}
	for _, status := range [...]Status{Draft, Published} {
		tx.Version(t, doc, status, locale).eachComponent(func(c Record) bool {
			if !changed && err == nil { // a link goes with its target, and the row stays as it is
				changed, err = tx.touched(logentry.LinksSubject, c.ref(), after, nil)
			}
			return !changed && err == nil
		})
	}
	return changed, errors.Join(err, tx.Err())
}

// touched reports whether an entry after a sequence has changed what a kind of subjects says of a document or
// component. linking owns the links to it that count.
func (tx *Tx) touched(subjects uint64, of format.End, after uint64, linking []*contenttypes.ContentType) (bool, error) {
	subject := subjects | of.Doc
	list := tx.touching(after, of.Schema, subject, nil)
	for _, open := range tx.store.log.touches.list {
		if open.Schema == of.Schema && open.Subject == subject && open.Sequence > after {
			list = append(list, open.Sequence)
		}
	}
	for _, sequence := range slices.Backward(list) {
		if changed, err := tx.changes(sequence, of, linking); changed || err != nil {
			return changed, err
		}
	}
	return false, nil
}

// pendingRevision returns the revision of a type, this transaction included.
func (tx *Tx) pendingRevision(t *contenttypes.ContentType) uint64 {
	n := tx.bound.of(&t.Schema).number
	return max(tx.revision(n), tx.revisions[n])
}

// changes reports whether an entry has changed a localization of a document, a link from it, or one to it from a
// document of the types in linking.
func (tx *Tx) changes(sequence uint64, of format.End, linking []*contenttypes.ContentType) (found bool, err error) {
	e, err := ParseEntry(sequence, tx.storedEntry(sequence))
	if err != nil {
		return false, err
	}
	err = e.EachOp(func(o logentry.Op) error {
		switch {
		case found:
		case o.Kind.OfRow():
			found = o.Schema == of.Schema && o.Doc == of.Doc && o.Slot.Locale() == of.Locale
		case o.Link.From == of:
			found = true
		case o.Link.To == of:
			b := tx.bound.numbered(o.Link.From.Schema)
			found = b != nil && slices.Contains(linking, b.typ)
		}
		return nil
	})
	return found, err
}

func (s *Snapshot) revision(schema uint16) uint64 {
	var buf [16]byte
	return getNumber(s.bucket(format.Meta), be.AppendUint16(append(buf[:0], format.PrefixRev...), schema))
}
