package store

import (
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

// Entries returns the entries after a position, oldest first. It returns an error that wraps ErrOtherEpoch or ErrTrimmed if the log does
// not have them. An entry may be used until the snapshot ends.
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

// eachEntry calls yield with the entries after a sequence. It ends with an error if one is missing or cannot be decoded.
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

// entryAt returns the entry whose first key and value a cursor has found, as it is stored, and the key and value after it.
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

// Changes returns what the entry of a batch did to documents. Names are those of the snapshot's definitions; documents of types that are
// no longer defined are left out.
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

// BeginEpoch begins a new epoch, by an entry of its own. It is for a store whose content was put back: positions of the history that was
// left become invalid.
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
	former := f.log.epoch
	f.log.epoch = logentry.NewEpoch()
	tx.sequence++
	tx.log.by = by
	if err = tx.append(EpochEntry, logentry.Conversion{}); err == nil {
		err = putEpoch(tx.bucket(format.Meta), f.log.epoch)
	}
	if err == nil && f.part.Load() != nil { // from here on, what there is is all that there is
		err = errors.Join(tx.bucket(format.Meta).Delete(format.KeyPart), tx.bucket(format.Meta).Delete(format.KeyPartHash))
	}
	if err == nil {
		err = tx.finish()
	}
	if err == nil {
		err = tx.commit(true)
	}
	if err != nil {
		f.log.epoch = former
		return fmt.Errorf("begin an epoch: %w", err)
	}
	return nil
}

func putEpoch(meta *tree, e Epoch) error {
	return meta.Put(format.KeyEpoch, freshValue{[]byte(e.String())})
}
