package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"lectern/store/internal/format"
	"time"
)

// An Entry is one entry of the log: a batch, a transaction of a conversion, or the beginning of an epoch. Entries hold numbers in place of
// names and pointers, so that an entry can be read and applied without a Model. The entries of conversions hold the definitions, in which
// the numbers are explained.
type Entry struct {
	Sequence uint64
	Epoch    Epoch
	Time     time.Time // when the entry was made, in milliseconds
	By       Principal
	Kind     EntryKind

	previous    EntryHash // of the entry before it; zeros if the log had none
	docs, items uint64    // the greatest number of a document and the greatest id of a component that were given out
	locales     []string
	firstLocale uint64 // the number of the first of locales
	changes     []docChange
	answer      []byte // that is kept under an idempotency key, with the key (see answers.go); nil if there is none
	conversion  conversionEntry
	ops         []byte // see appendRowOp and appendLinkOp
	raw         []byte // the whole entry as it was decoded

	partial bool      // the entry was reduced to a part: see Snapshot.PartEntries
	whole   EntryHash // of the entry before it was reduced
}

// Raw returns the entry as the log stores it. ParseEntry reads it in another process, whatever store that has.
func (e *Entry) Raw() []byte { return e.raw }

// Size returns how many bytes of memory an entry that was read takes, about.
func (e *Entry) Size() int { return len(e.raw) + len(e.ops) }

// ParseEntry returns the entry of which Raw returned raw, and checks all of it. The Entry refers to the memory of raw.
func ParseEntry(sequence uint64, raw []byte) (*Entry, error) { return decodeEntry(sequence, raw) }

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

// A Change says what a batch did to one document.
type Change struct {
	Type       string // uid of the content-type
	DocumentID string
	Action     Action
}

// A docChange is a Change with the number of the type.
type docChange struct {
	schema     uint16
	documentID []byte
	action     Action
}

// A conversionEntry is what the entry of a conversion adds to the changes of rows and links. The definitions and what is left to do are
// stored as they stand. Work on indexes is not recorded: a replica repeats the step on its own rows.
type conversionEntry struct {
	catalog []byte // the definitions after the transaction; nil if they have not changed
	pending []byte // what is left of the conversion; nil if nothing is
	step    []byte // the step before the transaction, if it works on indexes
	rows    uint64 // how many rows the step went through at most

	// converted says that the transaction converted content, or that stored content means something else under the new definitions.
	converted bool
}

// entryVersion is the first byte of each entry. Readers refuse entries of other versions.
const entryVersion = 1

// The encoding of an entry is
//
//	version u8 · kind u8 · epoch 8 bytes · time in ms · hash of the entry before it 32 bytes ·
//	kind and name of the principal · docs · items ·
//	number of locales · [number of the first · the codes] · number of changes · (schema · action u8 · documentId) … ·
//	the answer ·
//	of a conversion: catalog · pending · step · rows · converted u8 · the changes of rows and links, up to the end (see pack.go)
//
// Numbers are uvarints, and texts have their length before them. The sequence is in the key.
func (e *Entry) append(b []byte) []byte {
	b = append(b, entryVersion, byte(e.Kind))
	b = append(b, e.Epoch[:]...)
	b = binary.AppendUvarint(b, uint64(e.Time.UnixMilli()))
	b = append(b, e.previous[:]...)
	b = appendCounted(appendCounted(b, e.By.Kind), e.By.Name)
	b = binary.AppendUvarint(binary.AppendUvarint(b, e.docs), e.items)
	b = binary.AppendUvarint(b, uint64(len(e.locales)))
	if len(e.locales) > 0 {
		b = binary.AppendUvarint(b, e.firstLocale)
		for _, code := range e.locales {
			b = appendCounted(b, code)
		}
	}
	b = binary.AppendUvarint(b, uint64(len(e.changes)))
	for _, c := range e.changes {
		b = append(binary.AppendUvarint(b, uint64(c.schema)), byte(c.action))
		b = appendCounted(b, c.documentID)
	}
	b = appendCounted(b, e.answer)
	if e.Kind == ConversionEntry {
		c := &e.conversion
		b = appendCounted(appendCounted(appendCounted(b, c.catalog), c.pending), c.step)
		b = binary.AppendUvarint(b, c.rows)
		b = append(b, 0)
		if c.converted {
			b[len(b)-1] = 1
		}
	}
	return appendPacked(b, e.ops)
}

func appendCounted[T string | []byte](b []byte, text T) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}

// Errors of decoding.
var (
	errEntry        = errors.New("the entry of the log is malformed")
	errEntryVersion = errors.New("the entry of the log is of another version of Lectern")
)

// decodeEntry decodes an entry and checks all of it. The Entry may refer to the memory of raw.
func decodeEntry(sequence uint64, raw []byte) (*Entry, error) {
	if len(raw) > 0 && raw[0] != entryVersion {
		return nil, errEntryVersion
	}
	raw = raw[:len(raw):len(raw)] // so that append copies it
	d := entryDecoder{raw: raw}
	d.byte() // the version
	e := &Entry{Sequence: sequence, Kind: EntryKind(d.byte()), raw: raw}
	copy(e.Epoch[:], d.take(uint64(len(e.Epoch))))
	e.Time = time.UnixMilli(int64(d.number(1 << 52)))
	copy(e.previous[:], d.take(uint64(len(e.previous))))
	e.By = Principal{Kind: string(d.counted()), Name: string(d.counted())}
	e.docs, e.items = d.number(format.NumberMask), d.number(format.NumberMask)
	if n := d.number(format.MaxLocales); n > 0 {
		e.firstLocale = d.number(format.MaxLocales)
		for range d.fitting(n) {
			e.locales = append(e.locales, string(d.counted()))
		}
	}
	for range d.fitting(d.number(format.NumberMask)) {
		e.changes = append(e.changes, docChange{schema: d.short(), action: Action(d.byte()), documentID: d.counted()})
		d.failed = d.failed || e.changes[len(e.changes)-1].action >= actions
	}
	e.answer = d.answer()
	if e.Kind == ConversionEntry {
		e.conversion = conversionEntry{catalog: d.counted(), pending: d.counted(), step: d.counted(), rows: d.number(1 << 20), converted: d.byte() > 0}
	}
	if !d.failed {
		ops, ok := unpack(d.raw)
		e.ops, d.failed = ops, !ok
	}
	if d.failed || e.Kind >= entryKinds || e.eachOp(func(op) error { return nil }) != nil {
		return nil, fmt.Errorf("entry %d: %w", sequence, errEntry)
	}
	return e, nil
}

// entryTime returns the time of an entry from its first part.
func entryTime(raw []byte) (time.Time, error) {
	d := entryDecoder{raw: raw}
	d.take(2 + uint64(len(Epoch{})))
	if ms := d.number(1 << 52); !d.failed {
		return time.UnixMilli(int64(ms)), nil
	}
	return time.Time{}, errEntry
}

// An entryDecoder reads the parts of an entry one after the other. Once a part cannot be read it has failed, and returns zero values.
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
		_, _, err := decodeAnswer(raw)
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

// An opKind is what an op does.
type opKind byte

const (
	opPutRow opKind = iota + 1 // replaces a row by one with the same id
	opPutLink
	opDeleteLink
	opAddRow    // puts a row whose id was not there: of a new version, or of one that is published again
	opDeleteRow // deletes a row, and tells its documentId
)

// ofRow reports whether an op of this kind changes a row.
func (k opKind) ofRow() bool { return k != opPutLink && k != opDeleteLink }

// removesRow reports whether an op of this kind deletes a row.
func (k opKind) removesRow() bool { return k == opDeleteRow }

// An op is a change of one row or link, in an entry.
type op struct {
	kind opKind

	schema   uint16 // of the row, or of the owner of the link's attribute
	slot     format.Slot
	doc      uint64
	data     []byte // the row that is put, without its checksum; the documentId of the row that is deleted
	replaced replacedRow

	link linkOp
}

// A linkOp is a link in numbers.
type linkOp struct {
	schema, field  uint16
	set            LinkSet
	from, to       format.End
	fromPos, toPos uint64
}

// appendRowOp appends the change of a row: kind u8 · schema · slot · doc · the row or documentId with its length · the replaced row (see
// replacedRow). The upper bits of the kind are the replacedKind.
func appendRowOp(b []byte, o op) []byte {
	b = binary.AppendUvarint(append(b, byte(o.kind)|byte(o.replaced.kind)<<replacedShift), uint64(o.schema))
	b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(o.slot)), o.doc)
	b = appendCounted(b, o.data)
	return o.replaced.append(b)
}

// appendLinkOp appends the change of a link: kind u8 · schema · field · set u8 · (schema · locale · doc · position) of either end.
func appendLinkOp(b []byte, kind opKind, l linkOp) []byte {
	b = binary.AppendUvarint(append(b, byte(kind)), uint64(l.schema))
	b = append(binary.AppendUvarint(b, uint64(l.field)), byte(l.set))
	b = binary.AppendUvarint(appendRef(b, l.from), l.fromPos)
	return binary.AppendUvarint(appendRef(b, l.to), l.toPos)
}

func appendRef(b []byte, r format.End) []byte {
	b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(r.Schema)), uint64(r.Locale))
	return binary.AppendUvarint(b, r.Doc)
}

// eachOp calls f with the changes of rows and links in their order, until f returns an error.
func (e *Entry) eachOp(f func(op) error) error {
	for d := (entryDecoder{raw: e.ops}); len(d.raw) > 0; {
		kind := d.byte()
		o := op{kind: opKind(kind & (1<<replacedShift - 1)), schema: d.short()}
		switch o.kind {
		case opPutRow, opAddRow, opDeleteRow:
			o.slot, o.doc, o.data = format.Slot(d.short()), d.number(format.NumberMask), d.counted()
			d.failed = d.failed || len(o.data) == 0 || !o.kind.removesRow() && len(o.data) < format.RowHeader
			o.replaced = d.replaced(replacedKind(kind>>replacedShift), o)
		case opPutLink, opDeleteLink:
			o.link = linkOp{schema: o.schema, field: d.short(), set: LinkSet(d.byte())}
			o.link.from, o.link.fromPos = d.ref(), d.number(1<<64-1)
			o.link.to, o.link.toPos = d.ref(), d.number(1<<64-1)
			d.failed = d.failed || o.link.set > DraftLinks || kind>>replacedShift > 0
		default:
			d.failed = true
		}
		if d.failed {
			return errEntry
		}
		if err := f(o); err != nil {
			return err
		}
	}
	return nil
}

func (d *entryDecoder) ref() format.End {
	return format.End{Schema: d.short(), Locale: d.short(), Doc: d.number(format.NumberMask)}
}
