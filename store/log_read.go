package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"

	"lectern/contenttypes"
	"lectern/store/internal/format"
	"lectern/store/internal/logentry"
)

// Errors of reading the log, for errors.Is. Who gets one of them must begin anew with all content.
var (
	// ErrOtherEpoch: the position is of another store, or of the store before it was restored.
	ErrOtherEpoch = errors.New("the position is not one of this log")
	// ErrTrimmed: the log no longer has all entries after the position.
	ErrTrimmed = errors.New("the log no longer has all entries after the position")
)

// A Position is a place in the log: behind the entry with its sequence. Clients must take its text as opaque.
type Position struct {
	Epoch    Epoch
	Sequence uint64
}

// String returns the position as ParsePosition reads it.
func (p Position) String() string { return p.Epoch.String() + "-" + strconv.FormatUint(p.Sequence, 10) }

// ParsePosition parses the text of a Position. The error wraps ErrOtherEpoch.
func ParsePosition(text string) (p Position, err error) {
	epoch, sequence, _ := strings.Cut(text, "-")
	if p.Epoch, err = logentry.ParseEpoch(epoch); err == nil {
		p.Sequence, err = strconv.ParseUint(sequence, 10, 48)
	}
	if err != nil || p.String() != text {
		return Position{}, fmt.Errorf("%q: %w", text, ErrOtherEpoch)
	}
	return p, nil
}

// Position returns the position of the snapshot's content: behind the last entry.
func (s *Snapshot) Position() (Position, error) {
	epoch, err := s.epoch()
	return Position{epoch, s.Sequence()}, err
}

// OldestPosition returns the position before the oldest entry of the log.
func (s *Snapshot) OldestPosition() (Position, error) {
	epoch, err := s.epoch()
	return Position{epoch, getNumber(s.bucket(format.Meta), format.KeyLogBefore)}, err
}

func (s *Snapshot) epoch() (Epoch, error) {
	return logentry.ParseEpoch(string(format.WithoutChecksum(s.bucket(format.Meta).Get(format.KeyEpoch))))
}

// Entries returns the entries after a position, oldest first. It returns an error that wraps ErrOtherEpoch or
// ErrTrimmed if the log does not have them. An entry may be used until the snapshot ends.
func (s *Snapshot) Entries(since Position) (iter.Seq2[*Entry, error], error) {
	oldest, err := s.OldestPosition()
	switch {
	case err != nil:
		return nil, err
	case since.Epoch != oldest.Epoch || since.Sequence > s.Sequence():
		return nil, fmt.Errorf("read the log after %s: %w", since, ErrOtherEpoch)
	case since.Sequence < oldest.Sequence:
		return nil, fmt.Errorf("read the log after %s: %w; it begins after %s", since, ErrTrimmed, oldest)
	}
	return func(yield func(*Entry, error) bool) { s.eachEntry(since.Sequence, yield) }, nil
}

// eachEntry calls yield with the entries after a sequence. It ends with an error if one is missing or cannot be
// decoded.
func (s *Snapshot) eachEntry(after uint64, yield func(*Entry, error) bool) {
	c := s.bucket(format.Log).Cursor()
	k, v := c.Seek(be.AppendUint64(nil, after+1))
	for next := after + 1; next <= s.Sequence(); next++ {
		if len(k) != 8 || be.Uint64(k) != next {
			yield(nil, fmt.Errorf("entry %d of the log is missing", next))
			return
		}
		var raw []byte
		raw, k, v = entryAt(c, k, v)
		e, err := ParseEntry(next, raw)
		if !yield(e, err) || err != nil {
			return
		}
	}
}

// entryAt returns the entry whose first key and value a cursor has found, as it is stored, and the key and value after
// it.
func entryAt(c *treeCursor, k, v []byte) (raw, next, value []byte) {
	raw = format.WithoutChecksum(v) // without room behind it, so that append copies it
	sequence := be.Uint64(k)
	for next, value = c.Next(); len(next) == 12 && be.Uint64(next) == sequence; next, value = c.Next() {
		raw = append(raw, format.WithoutChecksum(value)...)
	}
	return raw, next, value
}

// A Change says what a batch did to one document.
type Change struct {
	Type       string // uid of the content-type
	DocumentID string
	Action     Action
}

// Changes returns what the entry of a batch did to documents. Names are those of the snapshot's definitions; documents
// of types that are no longer defined are left out.
func (s *Snapshot) Changes(e *Entry) []Change {
	list := make([]Change, 0, len(e.Changes))
	for _, c := range e.Changes {
		if b := s.bound.numbered(c.Schema); b != nil {
			list = append(list, Change{Type: b.schema.UID, DocumentID: string(c.DocumentID), Action: c.Action})
		}
	}
	return list
}

// Sequence returns the number of the last entry of the log, or of the last batch if no log is kept.
func (s *Snapshot) Sequence() uint64 { return getNumber(s.bucket(format.Meta), format.KeySequence) }

// Revision returns the number of the last batch that changed a row of a type, or a link from one.
func (s *Snapshot) Revision(t *contenttypes.ContentType) uint64 {
	return s.revision(s.bound.of(&t.Schema).number)
}

// BeginEpoch begins a new epoch, by an entry of its own. It is for a store whose content was put back: positions of the
// history that was left become invalid.
func (s *Store) BeginEpoch(ctx context.Context) error {
	if err := s.refused(); err != nil {
		return err
	}
	return s.byWriter(ctx, func() error {
		return s.guard(func() error { return s.beginEpoch(s.current.Load(), PrincipalOf(ctx)) })
	})
}

func (f *file) beginEpoch(s *Store, by Principal) error {
	defer f.snapshots.Drain()()
	btx, err := f.beginWrite()
	if err != nil {
		return err
	}
	defer rollback(btx)
	tx := newTx(s, btx)
	defer tx.end()
	before := f.log.epoch
	f.log.epoch = logentry.NewEpoch()
	tx.sequence++
	tx.log.by = by
	if err = tx.append(EpochEntry, logentry.Conversion{}); err == nil {
		err = putEpoch(tx.bucket(format.Meta), f.log.epoch)
	}
	if err == nil && f.part.Load() != nil { // from here on, what there is is all that there is
		err = errors.Join(tx.bucket(format.Meta).Delete(format.KeyPart),
			tx.bucket(format.Meta).Delete(format.KeyPartHash))
	}
	if err == nil {
		err = tx.finish()
	}
	if err == nil {
		err = tx.commit(true)
	}
	if err != nil {
		f.log.epoch = before
		return fmt.Errorf("begin an epoch: %w", err)
	}
	return nil
}

func putEpoch(meta *tree, e Epoch) error {
	return meta.Put(format.KeyEpoch, freshValue{[]byte(e.String())})
}

// An Entry is one entry of the log: a batch, a transaction of a conversion, or the beginning of an epoch. It can be
// read and applied without a Model. Programs use its sequence, epoch, time, principal and kind; what it changed is told
// by Snapshot.VersionChanges.
type Entry = logentry.Entry

// An EntryKind says what an entry records.
type EntryKind = logentry.EntryKind

// Kinds of entries.
const (
	BatchEntry      = logentry.BatchEntry      // a Batch
	ConversionEntry = logentry.ConversionEntry // a transaction of a conversion
	EpochEntry      = logentry.EpochEntry      // the beginning of an epoch
)

// An Action is what happened to a document.
type Action = logentry.Action

// Actions.
const (
	Created         = logentry.Created
	Updated         = logentry.Updated
	Deleted         = logentry.Deleted
	PublishedAction = logentry.PublishedAction
	Unpublished     = logentry.Unpublished
)

// A Principal is the kind and name of a caller, as the log and schedules record them.
type Principal = logentry.Principal

// An Epoch is a random number that names a history of content. A restored store begins a new one, because its history
// differs from the one after its backup was taken.
type Epoch = logentry.Epoch

// An EntryHash is the SHA-256 of the sequence of an entry, 8 bytes, and of the entry as it is stored.
type EntryHash = logentry.EntryHash

// A Hash identifies a key of a caller, a request, or the permissions of a caller.
type Hash = logentry.Hash

// An Answer is what a client was answered.
type Answer = logentry.Answer

// A KeptAnswer is the answer to a write that was carried out.
type KeptAnswer = logentry.KeptAnswer

// ParseEntry returns the entry of which Entry.Raw returned raw, and checks all of it. The Entry refers to the memory of
// raw.
func ParseEntry(sequence uint64, raw []byte) (*Entry, error) {
	return logentry.ParseEntry(sequence, raw)
}

// ParsePartEntry parses an entry that was reduced to a part, of which Entry.Raw returned raw and Entry.Whole returned
// whole.
func ParsePartEntry(sequence uint64, whole EntryHash, raw []byte) (*Entry, error) {
	return logentry.ParsePartEntry(sequence, whole, raw)
}

// ParseEntryHash parses the text of an EntryHash.
func ParseEntryHash(text string) (EntryHash, error) { return logentry.ParseEntryHash(text) }

// KeyOf returns the Hash of a key of a caller, given the hashes of the caller and of both: half of either, so that the
// key tells whose it is.
func KeyOf(caller, key Hash) Hash { return logentry.KeyOf(caller, key) }

// previousHash returns the hash of the last entry, or zeros if the log has none.
func (tx *Tx) previousHash() EntryHash {
	if tx.log.last != nil {
		return logentry.HashOf(tx.log.lastSequence, tx.log.last)
	}
	last := tx.sequence - 1
	if raw := tx.storedEntry(last); raw != nil {
		return logentry.HashOf(last, raw)
	}
	return EntryHash{}
}

// storedEntry returns an entry as it is stored, or nil if there is none.
func (s *Snapshot) storedEntry(sequence uint64) []byte {
	c := s.bucket(format.Log).Cursor()
	k, v := c.Seek(be.AppendUint64(nil, sequence))
	if len(k) != 8 || be.Uint64(k) != sequence {
		return nil
	}
	raw, _, _ := entryAt(c, k, v)
	return raw
}

// A Chain is what VerifyChain has found out about the log of a snapshot.
type Chain struct {
	First, Last uint64    // the entries that the log has
	Before      EntryHash // of the entry before First; zero if First begins the chain
	Head        EntryHash // of the entry Last
	Expected    uint64    // the entry that has the expected hash
}

// ErrUnexpected: no entry of the log has the hash that was expected.
var ErrUnexpected = errors.New(
	"no entry of the log has that hash: the log was changed, or its entries up to there were removed by its limits " +
		"(log.keep, log.maxSize)")

// VerifyChain reads the whole log and returns an error if an entry is missing, was changed or stands at another place.
// If expected is not nil, an entry must have that hash.
func (s *Snapshot) VerifyChain(expected *EntryHash) (c Chain, err error) {
	oldest, err := s.OldestPosition()
	if err != nil {
		return c, err
	}
	c.First, c.Last = oldest.Sequence+1, oldest.Sequence
	var before *Entry
	s.eachEntry(oldest.Sequence, func(e *Entry, failed error) bool {
		if err = failed; err != nil {
			return false
		}
		if before == nil {
			c.Before = e.Previous
		} else {
			err = e.FollowsOn(before, c.Head)
		}
		before, c.Last, c.Head = e, e.Sequence, e.Hash()
		if expected != nil && c.Head == *expected {
			c.Expected = e.Sequence
		}
		return err == nil
	})
	switch {
	case err != nil:
		return c, fmt.Errorf("verify the log: %w", err)
	case expected != nil && c.Before == *expected && c.Before != (EntryHash{}):
		c.Expected = oldest.Sequence
	case expected != nil && c.Expected == 0:
		return c, fmt.Errorf("verify the log: %w", ErrUnexpected)
	}
	return c, nil
}

// A VersionChange says what an entry of the log did to one version of a document.
type VersionChange struct {
	Type       *contenttypes.ContentType
	Doc        uint64
	DocumentID string
	Status     Status
	Locale     string // "" if the type is not localized
	// Action is Created, Updated or Deleted. For the published version of a type with drafts it is PublishedAction
	// where the document is published, for the first time or again, and Unpublished where its draft stays.
	Action Action
	// New says that the version was not there before.
	New bool
}

// VersionChanges returns what an entry did to the versions of documents, in the order in which they were changed. It
// reads no rows of the snapshot, since they may be gone. Names are those of the snapshot's definitions; versions of
// types that are no longer defined are left out.
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
		if c.Action == Deleted && c.Status == Published && c.Type.DraftAndPublish &&
			!drafts[draft{c.Type, c.Doc, c.Locale}] {
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

// VersionsAfter calls yield with the versions of a type that have this status and locale, in order of their documents'
// numbers, from the one after the document after on, until yield returns false.
func (s *Snapshot) VersionsAfter(t *contenttypes.ContentType, status Status, locale string, after uint64,
	yield func(Record) bool) {
	sl, ok := s.slot(t, status, locale)
	if !ok {
		return
	}
	b := s.bound.of(&t.Schema)
	prefix := format.AppendRowKey(nil, b.number, sl, 0)[:format.RowKeyLen-8]
	c := s.take(format.Rows)
	defer s.give(format.Rows, c)
	s.stats.seeks++
	for k, v := c.Seek(format.AppendRowKey(nil, b.number, sl, after+1)); len(k) == format.RowKeyLen &&
		bytes.HasPrefix(k, prefix); k, v = c.Next() {
		if !s.step() || !yield(s.record(sl, be.Uint64(k[len(prefix):]), v)) {
			return
		}
	}
}

// NextCommit returns a channel that is closed when the next transaction has become durable. A reader that calls it
// before it takes a snapshot misses nothing that it does not find in the snapshot. All who wait share one channel, so
// that waiting costs a write nothing.
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

// Logged returns a version as an entry of the log left it or, if the entry removed it, as it was before. There is no
// Record if the entry did not change the version, or if content was converted since. What the version links to is not
// in the Record: a read that follows its links finds those of the snapshot. The Record may be used until the snapshot
// ends.
func (s *Snapshot) Logged(e *Entry, t *contenttypes.ContentType, documentID string, st Status,
	locale string) (found Record, err error) {
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
