package logentry

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"lectern/store/internal/format"
)

var be = binary.BigEndian

// An Entry is one entry of the log: a batch, a transaction of a conversion, or the beginning of an epoch. Entries hold
// numbers in place of names and pointers, so that an entry can be read and applied without a Model. The entries of
// conversions hold the definitions, in which the numbers are explained.
type Entry struct {
	Sequence uint64
	Epoch    Epoch
	Time     time.Time // when the entry was made, in milliseconds
	By       Principal
	Kind     EntryKind

	Previous    EntryHash // of the entry before it; zeros if the log had none
	Docs, Items uint64    // the greatest number of a document and the greatest id of a component that were given out
	Locales     []string
	FirstLocale uint64 // the number of the first of locales
	Changes     []DocChange
	Answer      []byte // that is kept under an idempotency key, with the key; nil if there is none
	Conversion  Conversion
	Ops         []byte // see AppendRowOp and AppendLinkOp
	Encoded     []byte // the whole entry as it was decoded

	Partial   bool      // the entry was reduced to a part: see Snapshot.PartEntries
	WholeHash EntryHash // of the entry before it was reduced
}

// Raw returns the entry as the log stores it. ParseEntry reads it in another process, whatever store that has.
func (e *Entry) Raw() []byte { return e.Encoded }

// Size returns how many bytes of memory an entry that was read takes, about.
func (e *Entry) Size() int { return len(e.Encoded) + len(e.Ops) }

// An EntryKind says what an entry records.
type EntryKind uint8

const (
	BatchEntry      EntryKind = iota // a Batch
	ConversionEntry                  // a transaction of a conversion
	EpochEntry                       // the beginning of an epoch
	entryKinds
)

// A Principal is the kind and name of a caller, as the log and schedules record them.
type Principal struct {
	Kind string // public, token, user, command or system
	Name string // of the token, user or command; otherwise ""
}

// An Action is what happened to a document.
type Action uint8

const (
	Created Action = iota
	Updated
	Deleted
	PublishedAction
	Unpublished
	actions
)

// String returns the name of the action, as the change feed shows it.
func (a Action) String() string { return actionNames[a] }

var actionNames = [actions]string{"create", "update", "delete", "publish", "unpublish"}

// A DocChange is a Change with the number of the type.
type DocChange struct {
	Schema     uint16
	DocumentID []byte
	Action     Action
}

// A Conversion is what the entry of a conversion adds to the changes of rows and links. The definitions and what is
// left to do are stored as they stand. Work on indexes is not recorded: a replica repeats the step on its own rows.
type Conversion struct {
	Catalog []byte // the definitions after the transaction; nil if they have not changed
	Pending []byte // what is left of the conversion; nil if nothing is
	Step    []byte // the step before the transaction, if it works on indexes
	Rows    uint64 // how many rows the step went through at most

	// Converted says that the transaction converted content, or that stored content means something else under the new
	// definitions.
	Converted bool
}

// entryVersion is the first byte of each entry. Readers refuse entries of other versions.
const Version = 1

// The encoding of an entry is
//
//	version u8 · kind u8 · epoch 8 bytes · time in ms · hash of the entry before it 32 bytes ·
//	kind and name of the principal · docs · items ·
//	number of locales · [number of the first · the codes] · number of changes · (schema · action u8 · documentId) … ·
//	the answer ·
//	of a conversion: catalog · pending · step · rows · converted u8 · the changes of rows and links, up to the end (see pack.go)
//
// Numbers are uvarints, and texts have their length before them. The sequence is in the key.
func (e *Entry) Append(b []byte) []byte {
	b = append(b, Version, byte(e.Kind))
	b = append(b, e.Epoch[:]...)
	b = binary.AppendUvarint(b, uint64(e.Time.UnixMilli()))
	b = append(b, e.Previous[:]...)
	b = appendCounted(appendCounted(b, e.By.Kind), e.By.Name)
	b = binary.AppendUvarint(binary.AppendUvarint(b, e.Docs), e.Items)
	b = binary.AppendUvarint(b, uint64(len(e.Locales)))
	if len(e.Locales) > 0 {
		b = binary.AppendUvarint(b, e.FirstLocale)
		for _, code := range e.Locales {
			b = appendCounted(b, code)
		}
	}
	b = binary.AppendUvarint(b, uint64(len(e.Changes)))
	for _, c := range e.Changes {
		b = append(binary.AppendUvarint(b, uint64(c.Schema)), byte(c.Action))
		b = appendCounted(b, c.DocumentID)
	}
	b = appendCounted(b, e.Answer)
	if e.Kind == ConversionEntry {
		c := &e.Conversion
		b = appendCounted(appendCounted(appendCounted(b, c.Catalog), c.Pending), c.Step)
		b = binary.AppendUvarint(b, c.Rows)
		b = append(b, 0)
		if c.Converted {
			b[len(b)-1] = 1
		}
	}
	return appendPacked(b, e.Ops)
}

func appendCounted[T string | []byte](b []byte, text T) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}

// Errors of decoding.
var (
	ErrEntry        = errors.New("the entry of the log is malformed")
	errEntryVersion = errors.New("the entry of the log is of another version of Lectern")
)

// ParseEntry returns the entry of which Raw returned raw, and checks all of it. The Entry refers to the memory of raw.
func ParseEntry(sequence uint64, raw []byte) (*Entry, error) {
	if len(raw) > 0 && raw[0] != Version {
		return nil, errEntryVersion
	}
	raw = raw[:len(raw):len(raw)] // so that append copies it
	d := entryDecoder{raw: raw}
	d.byte() // the version
	e := &Entry{Sequence: sequence, Kind: EntryKind(d.byte()), Encoded: raw}
	copy(e.Epoch[:], d.take(uint64(len(e.Epoch))))
	e.Time = time.UnixMilli(int64(d.number(1 << 52)))
	copy(e.Previous[:], d.take(uint64(len(e.Previous))))
	e.By = Principal{Kind: string(d.counted()), Name: string(d.counted())}
	e.Docs, e.Items = d.number(format.NumberMask), d.number(format.NumberMask)
	if n := d.number(format.MaxLocales); n > 0 {
		e.FirstLocale = d.number(format.MaxLocales)
		for range d.fitting(n) {
			e.Locales = append(e.Locales, string(d.counted()))
		}
	}
	for range d.fitting(d.number(format.NumberMask)) {
		e.Changes = append(e.Changes, DocChange{Schema: d.short(), Action: Action(d.byte()), DocumentID: d.counted()})
		d.failed = d.failed || e.Changes[len(e.Changes)-1].Action >= actions
	}
	e.Answer = d.answer()
	if e.Kind == ConversionEntry {
		e.Conversion = Conversion{Catalog: d.counted(), Pending: d.counted(), Step: d.counted(),
			Rows: d.number(1 << 20), Converted: d.byte() > 0}
	}
	if !d.failed {
		ops, ok := unpack(d.raw)
		e.Ops, d.failed = ops, !ok
	}
	if d.failed || e.Kind >= entryKinds || e.EachOp(func(Op) error { return nil }) != nil {
		return nil, fmt.Errorf("entry %d: %w", sequence, ErrEntry)
	}
	return e, nil
}

// EntryTime returns the time of an entry from its first part.
func EntryTime(raw []byte) (time.Time, error) {
	d := entryDecoder{raw: raw}
	d.take(2 + uint64(len(Epoch{})))
	if ms := d.number(1 << 52); !d.failed {
		return time.UnixMilli(int64(ms)), nil
	}
	return time.Time{}, ErrEntry
}

// An entryDecoder reads the parts of an entry one after the other. Once a part cannot be read it has failed, and
// returns zero values.
type entryDecoder struct {
	raw    []byte
	failed bool
}

// number reads a number that is at most most.
func (d *entryDecoder) number(most uint64) uint64 {
	n, size := binary.Uvarint(d.raw)
	if d.failed = d.failed || size <= 0 || n > most; d.failed {
		return 0
	}
	d.raw = d.raw[size:]
	return n
}

func (d *entryDecoder) short() uint16 { return uint16(d.number(1<<16 - 1)) }

func (d *entryDecoder) byte() byte {
	if b := d.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (d *entryDecoder) take(n uint64) []byte {
	if d.failed = d.failed || n > uint64(len(d.raw)); d.failed {
		return nil
	}
	b := d.raw[:n:n]
	d.raw = d.raw[n:]
	return b
}

// counted reads bytes that have their length before them, nil if there are none.
func (d *entryDecoder) counted() []byte {
	if n := d.number(uint64(len(d.raw))); n > 0 {
		return d.take(n)
	}
	return nil
}

// answer reads an answer with its key, nil if there is none.
func (d *entryDecoder) answer() []byte {
	raw := d.counted()
	if raw != nil {
		_, _, err := ParseAnswer(raw)
		d.failed = d.failed || err != nil
	}
	return raw
}

// fitting returns n, or fails if so many items cannot be in what is left.
func (d *entryDecoder) fitting(n uint64) uint64 {
	if d.failed = d.failed || n > uint64(len(d.raw)); d.failed {
		return 0
	}
	return n
}

// Whole returns the hash of the entry in the origin's log, if it was reduced to a part.
func (e *Entry) Whole() EntryHash { return e.WholeHash }

// ParsePartEntry parses an entry that was reduced to a part, of which Raw returned raw and Whole returned whole.
func ParsePartEntry(sequence uint64, whole EntryHash, raw []byte) (*Entry, error) {
	e, err := ParseEntry(sequence, raw)
	if err == nil {
		e.Partial, e.WholeHash = true, whole
	}
	return e, err
}
