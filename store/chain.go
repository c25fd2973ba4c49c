package store

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"lectern/store/internal/format"
)

// The log is a chain: each entry holds the hash of the entry before it. So the hash of the last entry stands for all entries up to it. Whoever
// keeps that hash elsewhere can tell later whether an entry was changed, removed, added or moved. The oldest entry of a trimmed log holds the
// hash of the one that was removed last.
//
// The hash is a plain SHA-256 without a key. A key would have to lie where the server can read it, and who can change the log can read what
// the server reads.

// An EntryHash is the SHA-256 of the sequence of an entry, 8 bytes, and of the entry as it is stored.
type EntryHash [sha256.Size]byte

// String returns the hash in hexadecimal digits.
func (h EntryHash) String() string { return hex.EncodeToString(h[:]) }

// ParseEntryHash parses the text of an EntryHash.
func ParseEntryHash(text string) (h EntryHash, err error) {
	raw, err := hex.DecodeString(text)
	if err != nil || len(raw) != len(h) {
		return h, fmt.Errorf("%q is no hash of an entry: it has %d hexadecimal digits", text, 2*len(h))
	}
	return EntryHash(raw), nil
}

func hashOf(sequence uint64, raw []byte) (h EntryHash) {
	sum := sha256.New()
	var number [8]byte
	be.PutUint64(number[:], sequence)
	sum.Write(number[:])
	sum.Write(raw)
	sum.Sum(h[:0])
	return h
}

// Hash returns the hash of an entry that was read from a log.
func (e *Entry) Hash() EntryHash { return hashOf(e.Sequence, e.raw) }

// errBroken: an entry does not hold the hash of the one before it.
var errBroken = errors.New("the chain of the log is broken")

// followsOn returns an error unless the entry holds the hash of the one before it.
func (e *Entry) followsOn(before *Entry, hash EntryHash) error {
	if e.previous != hash {
		return fmt.Errorf("%w: entry %d does not hold the hash of entry %d; one of them was changed or replaced", errBroken, e.Sequence, before.Sequence)
	}
	return nil
}

// previousHash returns the hash of the last entry, or zeros if the log has none.
func (tx *Tx) previousHash() EntryHash {
	if tx.log.last != nil {
		return hashOf(tx.log.lastSequence, tx.log.last)
	}
	last := tx.sequence - 1
	if raw := tx.storedEntry(last); raw != nil {
		return hashOf(last, raw)
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
			c.Before = e.previous
		} else {
			err = e.followsOn(before, c.Head)
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
