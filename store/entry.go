package store

import "lectern/store/internal/logentry"

// An Entry is one entry of the log: a batch, a transaction of a conversion, or the beginning of an epoch. It can be read and applied without a
// Model. Programs use its sequence, epoch, time, principal and kind; what it changed is told by Snapshot.VersionChanges.
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

// An Epoch is a random number that names a history of content. A restored store begins a new one, because its history differs from the
// one after its backup was taken.
type Epoch = logentry.Epoch

// An EntryHash is the SHA-256 of the sequence of an entry, 8 bytes, and of the entry as it is stored.
type EntryHash = logentry.EntryHash

// A Hash identifies a key of a caller, a request, or the permissions of a caller.
type Hash = logentry.Hash

// An Answer is what a client was answered.
type Answer = logentry.Answer

// A KeptAnswer is the answer to a write that was carried out.
type KeptAnswer = logentry.KeptAnswer

// ParseEntry returns the entry of which Entry.Raw returned raw, and checks all of it. The Entry refers to the memory of raw.
func ParseEntry(sequence uint64, raw []byte) (*Entry, error) {
	return logentry.ParseEntry(sequence, raw)
}

// ParsePartEntry parses an entry that was reduced to a part, of which Entry.Raw returned raw and Entry.Whole returned whole.
func ParsePartEntry(sequence uint64, whole EntryHash, raw []byte) (*Entry, error) {
	return logentry.ParsePartEntry(sequence, whole, raw)
}

// ParseEntryHash parses the text of an EntryHash.
func ParseEntryHash(text string) (EntryHash, error) { return logentry.ParseEntryHash(text) }

// KeyOf returns the Hash of a key of a caller, given the hashes of the caller and of both: half of either, so that the key tells whose it is.
func KeyOf(caller, key Hash) Hash { return logentry.KeyOf(caller, key) }
