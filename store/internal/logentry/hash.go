package logentry

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
)

// The log is a chain: each entry holds the hash of the entry before it. So the hash of the last entry stands for all
// entries up to it. Whoever keeps that hash elsewhere can tell later whether an entry was changed, removed, added or
// moved. The oldest entry of a trimmed log holds the hash of the one that was removed last.
//
// The hash is a plain SHA-256 without a key. A key would have to lie where the server can read it, and who can change
// the log can read what the server reads.

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

// HashOf returns the hash of an entry that is given as it is stored.
func HashOf(sequence uint64, raw []byte) (h EntryHash) {
	sum := sha256.New()
	var number [8]byte
	be.PutUint64(number[:], sequence)
	sum.Write(number[:])
	sum.Write(raw)
	sum.Sum(h[:0])
	return h
}

// Hash returns the hash of an entry that was read from a log.
func (e *Entry) Hash() EntryHash { return HashOf(e.Sequence, e.Encoded) }

// ErrBroken: an entry does not hold the hash of the one before it.
var ErrBroken = errors.New("the chain of the log is broken")

// FollowsOn returns an error unless the entry holds the hash of the one before it.
func (e *Entry) FollowsOn(before *Entry, hash EntryHash) error {
	if e.Previous != hash {
		return fmt.Errorf("%w: entry %d does not hold the hash of entry %d; one of them was changed or replaced",
			ErrBroken, e.Sequence, before.Sequence)
	}
	return nil
}
