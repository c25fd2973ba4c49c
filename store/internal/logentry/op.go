package logentry

import (
	"bytes"
	"encoding/binary"

	"lectern/store/internal/format"
)

// An OpKind is what an Op does.
type OpKind byte

// Kinds of ops.
const (
	PutRow OpKind = iota + 1 // replaces a row by one with the same id
	PutLink
	DeleteLink
	AddRow    // puts a row whose id was not there: of a new version, or of one that is published again
	DeleteRow // deletes a row, and tells its documentId
)

// OfRow reports whether an Op of this kind changes a row.
func (k OpKind) OfRow() bool { return k != PutLink && k != DeleteLink }

// RemovesRow reports whether an Op of this kind deletes a row.
func (k OpKind) RemovesRow() bool { return k == DeleteRow }

// An Op is a change of one row or link, in an entry.
type Op struct {
	Kind OpKind

	Schema   uint16 // of the row, or of the owner of the link's attribute
	Slot     format.Slot
	Doc      uint64
	Data     []byte // the row that is put, without its checksum; the documentId of the row that is deleted
	Replaced ReplacedRow

	Link LinkOp
}

// A LinkOp is a link in numbers.
type LinkOp struct {
	Schema, Field  uint16
	Set            format.LinkSet
	From, To       format.End
	FromPos, ToPos uint64
}

// AppendRowOp appends the change of a row: kind u8 · schema · slot · doc · the row or documentId with its length · the
// replaced row (see ReplacedRow). The upper bits of the kind are those of the replaced row.
func AppendRowOp(b []byte, o Op) []byte {
	b = binary.AppendUvarint(append(b, byte(o.Kind)|byte(o.Replaced.Kind)<<replacedShift), uint64(o.Schema))
	b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(o.Slot)), o.Doc)
	b = appendCounted(b, o.Data)
	return o.Replaced.append(b)
}

// AppendLinkOp appends the change of a link: kind u8 · schema · field · set u8 · (schema · locale · doc · position) of
// either end.
func AppendLinkOp(b []byte, kind OpKind, l LinkOp) []byte {
	b = binary.AppendUvarint(append(b, byte(kind)), uint64(l.Schema))
	b = append(binary.AppendUvarint(b, uint64(l.Field)), byte(l.Set))
	b = binary.AppendUvarint(appendEnd(b, l.From), l.FromPos)
	return binary.AppendUvarint(appendEnd(b, l.To), l.ToPos)
}

func appendEnd(b []byte, r format.End) []byte {
	b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(r.Schema)), uint64(r.Locale))
	return binary.AppendUvarint(b, r.Doc)
}

// EachOp calls f with the changes of rows and links in their order, until f returns an error.
func (e *Entry) EachOp(f func(Op) error) error {
	for d := (entryDecoder{raw: e.Ops}); len(d.raw) > 0; {
		kind := d.byte()
		o := Op{Kind: OpKind(kind & (1<<replacedShift - 1)), Schema: d.short()}
		switch o.Kind {
		case PutRow, AddRow, DeleteRow:
			o.Slot, o.Doc, o.Data = format.Slot(d.short()), d.number(format.NumberMask), d.counted()
			d.failed = d.failed || len(o.Data) == 0 || !o.Kind.RemovesRow() && len(o.Data) < format.RowHeader
			o.Replaced = d.replaced(replacedKind(kind>>replacedShift), o)
		case PutLink, DeleteLink:
			o.Link = LinkOp{Schema: o.Schema, Field: d.short(), Set: format.LinkSet(d.byte())}
			o.Link.From, o.Link.FromPos = d.end(), d.number(1<<64-1)
			o.Link.To, o.Link.ToPos = d.end(), d.number(1<<64-1)
			d.failed = d.failed || o.Link.Set > format.DraftLinks || kind>>replacedShift > 0
		default:
			d.failed = true
		}
		if d.failed {
			return ErrEntry
		}
		if err := f(o); err != nil {
			return err
		}
	}
	return nil
}

func (d *entryDecoder) end() format.End {
	return format.End{Schema: d.short(), Locale: d.short(), Doc: d.number(format.NumberMask)}
}

// A ReplacedRow is what an entry holds of the row that one of its changes replaced or removed. So a row can be read as
// it was before each entry of the log, even if the entry that put it has been removed.
type ReplacedRow struct {
	Kind replacedKind
	Data []byte // of ReplacedWhole: the row; of ReplacedFields: see appendReplacedFields
}

// A replacedKind says how an entry holds the replaced row. It stands in the upper bits of an op's kind.
type replacedKind byte

// Kinds of replaced rows.
const (
	ReplacedNone   replacedKind = iota // there was none
	ReplacedFields                     // the fields of the new row that were different
	ReplacedWhole                      // the row
	replacedKinds
)

const replacedShift = 4

// ReplacedOf returns what the entry of a change holds of old, which is nil if there was no row. The result refers to
// scratch, or to old.
func ReplacedOf(old []byte, o Op, scratch []byte) ReplacedRow {
	return ReplacedOfRow(format.WithoutChecksum(old), o, scratch)
}

// ReplacedOfRow is ReplacedOf for a row without a checksum.
func ReplacedOfRow(old []byte, o Op, scratch []byte) ReplacedRow {
	if old == nil {
		return ReplacedRow{Kind: ReplacedNone}
	}
	if !o.Kind.RemovesRow() && format.SameHeader(old, o.Data) {
		return ReplacedRow{Kind: ReplacedFields, Data: appendReplacedFields(scratch, old, o.Data)}
	}
	return ReplacedRow{Kind: ReplacedWhole, Data: old}
}

// appendReplacedFields appends the fields of old that differ from those of row, which has the same header: for each its
// distance to the last one, and its bytes with their length before them.
func appendReplacedFields(b, old, row []byte) []byte {
	n := format.Fields(row)
	was, is := old[format.RowHeader:], row[format.RowHeader:]
	last := 0
	for p := range n {
		ws, we := format.FieldSpan(was, int16(p))
		is0, ie := format.FieldSpan(is, int16(p))
		if field := was[4*n:][ws:we]; !bytes.Equal(field, is[4*n:][is0:ie]) {
			b = appendCounted(binary.AppendUvarint(b, uint64(p-last)), field)
			last = p
		}
	}
	return b
}

func (f ReplacedRow) append(b []byte) []byte {
	if f.Kind != ReplacedNone {
		b = appendCounted(b, f.Data)
	}
	return b
}

// replaced reads the ReplacedRow of an Op, and fails unless the Op can have it.
func (d *entryDecoder) replaced(kind replacedKind, o Op) (f ReplacedRow) {
	if f.Kind = kind; kind != ReplacedNone {
		f.Data = d.counted()
	}
	removed := o.Kind.RemovesRow()
	switch {
	case d.failed:
	case kind >= replacedKinds, removed && kind == ReplacedFields, removed && kind == ReplacedNone,
		kind == ReplacedWhole && len(f.Data) < format.RowHeader:
		d.failed = true
	case kind == ReplacedFields:
		_, err := f.row(o.Data)
		d.failed = err != nil
	}
	return f
}

// Before returns the row before the change, without a checksum, nil if there was none.
func (o *Op) Before() ([]byte, error) { return o.Replaced.row(o.Data) }

// row returns the replaced row, given the one that replaced it.
func (f ReplacedRow) row(next []byte) ([]byte, error) {
	switch f.Kind {
	case ReplacedNone:
		return nil, nil
	case ReplacedWhole:
		return f.Data, nil
	}
	n := format.Fields(next)
	if len(next) < format.RowHeader+4*n {
		return nil, ErrEntry
	}
	b := append(make([]byte, 0, len(next)+len(f.Data)), next[:format.RowHeader+4*n]...)
	ends, payload := next[format.RowHeader:], next[format.RowHeader+4*n:]
	d, head := entryDecoder{raw: f.Data}, len(b)
	changed := d.nextField(0, n)
	for p := range n {
		if p == changed {
			b = append(b, d.counted()...)
			changed = d.nextField(p, n)
		} else if start, end := format.FieldSpan(ends, int16(p)); start <= end && uint64(end) <= uint64(len(payload)) {
			b = append(b, payload[start:end]...)
		} else {
			return nil, ErrEntry
		}
		be.PutUint32(b[format.RowHeader+4*p:], uint32(len(b)-head))
	}
	if d.failed || len(d.raw) > 0 {
		return nil, ErrEntry
	}
	return b, nil
}

// nextField reads which field follows the field p among those that were different, n if none does.
func (d *entryDecoder) nextField(p, n int) int {
	if d.failed || len(d.raw) == 0 {
		return n
	}
	return p + int(d.number(uint64(n)))
}
