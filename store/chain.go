package store

import (
	"errors"
	"fmt"

	"lectern/store/internal/format"
	"lectern/store/internal/logentry"
)

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
var ErrUnexpected = errors.New("no entry of the log has that hash: the log was changed, or its entries up to there were removed by its limits (log.keep, log.maxSize)")

// VerifyChain reads the whole log and returns an error if an entry is missing, was changed or stands at another place. If expected is not nil,
// an entry must have that hash.
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
