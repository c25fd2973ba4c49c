package logentry

import (
	"encoding/binary"
	"errors"

	"lectern/store/internal/format"
)

// A Transaction is what the nodes of a cluster apply together: the entries that it adds to the log, and the notes that
// it changes.
type Transaction struct {
	Entries []EncodedEntry
	Notes   []NoteChange
}

// An EncodedEntry is an entry of the log as it is stored.
type EncodedEntry struct {
	Sequence uint64
	Raw      []byte
}

// TransactionVersion is the first byte of an encoded transaction. Readers refuse other versions.
const TransactionVersion = 1

// Append appends the encoding:
//
//	version u8 · number of entries · (sequence · entry) … · number of notes · (name · 1 u8 · value, or name · 0 u8 for one that is removed) …
//
// Numbers are uvarints, and all else has its length before it.
func (t *Transaction) Append(b []byte) []byte {
	b = binary.AppendUvarint(append(b, TransactionVersion), uint64(len(t.Entries)))
	for _, e := range t.Entries {
		b = appendCounted(binary.AppendUvarint(b, e.Sequence), e.Raw)
	}
	b = binary.AppendUvarint(b, uint64(len(t.Notes)))
	for _, n := range t.Notes {
		if b = appendCounted(b, n.Name); n.Value == nil {
			b = append(b, 0)
		} else {
			b = appendCounted(append(b, 1), n.Value)
		}
	}
	return b
}

// Size returns about how long the encoding is.
func (t *Transaction) Size() (n int) {
	for _, e := range t.Entries {
		n += 16 + len(e.Raw)
	}
	for _, c := range t.Notes {
		n += 16 + len(c.Name) + len(c.Value)
	}
	return n + 16
}

var (
	errTransaction        = errors.New("the transaction of the cluster is malformed")
	errTransactionVersion = errors.New(
		"the transaction of the cluster was written by another version of Lectern, which this one cannot read: " +
			"give all nodes the same version")
)

// ParseTransaction decodes what Append has encoded, and checks all of it.
func ParseTransaction(data []byte) (entries []*Entry, notes []NoteChange, err error) {
	d := entryDecoder{raw: data}
	if version := d.byte(); !d.failed && version != TransactionVersion {
		return nil, nil, errTransactionVersion
	}
	for range d.fitting(d.number(format.NumberMask)) {
		sequence := d.number(format.NumberMask)
		raw := d.counted()
		if d.failed {
			break
		}
		e, err := ParseEntry(sequence, raw)
		if err != nil {
			return nil, nil, err
		}
		entries = append(entries, e)
	}
	for range d.fitting(d.number(format.NumberMask)) {
		n := NoteChange{Name: string(d.counted())}
		switch d.byte() {
		case 0:
		case 1:
			n.Value = d.counted()
			d.failed = d.failed || len(n.Value) == 0
		default:
			d.failed = true
		}
		notes = append(notes, n)
	}
	if d.failed || len(d.raw) > 0 {
		return nil, nil, errTransaction
	}
	return entries, notes, nil
}

// A NoteChange gives a note a value, or removes it if the value is nil.
type NoteChange struct {
	Name  string
	Value []byte
}
