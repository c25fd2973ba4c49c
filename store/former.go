package store

import (
	"bytes"
	"encoding/binary"
	"errors"
)

// A formerRow is what the entry of a change holds of the row before it, so that a row can be read as it was before each entry of the log,
// even if the entry that put it has been removed.
type formerRow struct {
	kind formerKind
	data []byte // of formerWhole: the row; of formerFields: see appendFormerFields
}

// A formerKind says how an entry holds the former row. It stands in the upper bits of an op's kind.
type formerKind byte

const (
	formerUnknown formerKind = iota // in entries of version 1
	formerNone                      // there was none
	formerFields                    // the fields of the new row that were different
	formerWhole                     // the row
	formerKinds
)

const formerShift = 4

// formerOf returns the formerRow of a change of old, which is nil if there was no row. The result refers to scratch, or to old.
func formerOf(old []byte, o op, scratch []byte) formerRow {
	return formerOfRow(withoutChecksum(rows, old), o, scratch)
}

// formerOfRow is formerOf for a row without a checksum.
func formerOfRow(old []byte, o op, scratch []byte) formerRow {
	if old == nil {
		return formerRow{kind: formerNone}
	}
	if !o.kind.removesRow() && sameHeader(old, o.data) {
		return formerRow{kind: formerFields, data: appendFormerFields(scratch, old, o.data)}
	}
	return formerRow{kind: formerWhole, data: old}
}

// sameHeader reports whether two rows have the same layout, number of fields and id.
func sameHeader(x, y []byte) bool {
	return be.Uint16(x) == be.Uint16(y) && fieldsOf(x) == fieldsOf(y) && bytes.Equal(idOf(x), idOf(y))
}

// idOf returns the id of an encoded row.
func idOf(row []byte) []byte { return row[4:recordHeader] }

// fieldsOf returns how many fields an encoded row has.
func fieldsOf(row []byte) int { return int(be.Uint16(row[2:]) &^ summedFlag) }

// appendFormerFields appends the fields of old that differ from those of row, which has the same header: for each its distance to the last
// one, and its bytes with their length before them.
func appendFormerFields(b, old, row []byte) []byte {
	n := fieldsOf(row)
	was, is := old[recordHeader:], row[recordHeader:]
	last := 0
	for p := range n {
		ws, we := fieldSpan(was, int16(p))
		is0, ie := fieldSpan(is, int16(p))
		if field := was[4*n:][ws:we]; !bytes.Equal(field, is[4*n:][is0:ie]) {
			b = appendCounted(binary.AppendUvarint(b, uint64(p-last)), field)
			last = p
		}
	}
	return b
}

func (f formerRow) append(b []byte) []byte {
	if f.kind >= formerFields {
		b = appendCounted(b, f.data)
	}
	return b
}

// former reads the formerRow of an op, and fails unless the op can have it.
func (d *entryDecoder) former(kind formerKind, o op) (f formerRow) {
	if f.kind = kind; kind >= formerFields {
		f.data = d.counted()
	}
	removed := o.kind.removesRow()
	switch {
	case d.failed:
	case kind >= formerKinds, removed && kind == formerFields, removed && kind == formerNone, kind == formerWhole && len(f.data) < recordHeader:
		d.failed = true
	case kind == formerFields:
		_, err := f.row(o.data)
		d.failed = err != nil
	}
	return f
}

// errNoFormer: an entry of version 1 does not say what was before.
var errNoFormer = errors.New("the entry does not hold the former row")

// before returns the row before the change, without a checksum, nil if there was none.
func (o *op) before() ([]byte, error) { return o.former.row(o.data) }

// row returns the former row, given the one that replaced it.
func (f formerRow) row(next []byte) ([]byte, error) {
	switch f.kind {
	case formerUnknown:
		return nil, errNoFormer
	case formerNone:
		return nil, nil
	case formerWhole:
		return f.data, nil
	}
	n := fieldsOf(next)
	if len(next) < recordHeader+4*n {
		return nil, errEntry
	}
	b := append(make([]byte, 0, len(next)+len(f.data)), next[:recordHeader+4*n]...)
	b[flagAt(rows)] &^= summedFlag >> 8
	ends, payload := next[recordHeader:], next[recordHeader+4*n:]
	d, head := entryDecoder{raw: f.data}, len(b)
	changed := d.nextField(0, n)
	for p := range n {
		if p == changed {
			b = append(b, d.counted()...)
			changed = d.nextField(p, n)
		} else if start, end := fieldSpan(ends, int16(p)); start <= end && uint64(end) <= uint64(len(payload)) {
			b = append(b, payload[start:end]...)
		} else {
			return nil, errEntry
		}
		be.PutUint32(b[recordHeader+4*p:], uint32(len(b)-head))
	}
	if d.failed || len(d.raw) > 0 {
		return nil, errEntry
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
