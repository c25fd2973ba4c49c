package store

import (
	"bytes"
	"encoding/binary"
	"lectern/store/internal/format"
)

// A replacedRow is what an entry holds of the row that one of its changes replaced or removed. So a row can be read as it was before each
// entry of the log, even if the entry that put it has been removed.
type replacedRow struct {
	kind replacedKind
	data []byte // of replacedWhole: the row; of replacedFields: see appendReplacedFields
}

// A replacedKind says how an entry holds the replaced row. It stands in the upper bits of an op's kind.
type replacedKind byte

const (
	replacedNone   replacedKind = iota // there was none
	replacedFields                     // the fields of the new row that were different
	replacedWhole                      // the row
	replacedKinds
)

const replacedShift = 4

// replacedOf returns the replacedRow of a change of old, which is nil if there was no row. The result refers to scratch, or to old.
func replacedOf(old []byte, o op, scratch []byte) replacedRow {
	return replacedOfRow(format.WithoutChecksum(old), o, scratch)
}

// replacedOfRow is replacedOf for a row without a checksum.
func replacedOfRow(old []byte, o op, scratch []byte) replacedRow {
	if old == nil {
		return replacedRow{kind: replacedNone}
	}
	if !o.kind.removesRow() && format.SameHeader(old, o.data) {
		return replacedRow{kind: replacedFields, data: appendReplacedFields(scratch, old, o.data)}
	}
	return replacedRow{kind: replacedWhole, data: old}
}

// appendReplacedFields appends the fields of old that differ from those of row, which has the same header: for each its distance to the last
// one, and its bytes with their length before them.
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

func (f replacedRow) append(b []byte) []byte {
	if f.kind != replacedNone {
		b = appendCounted(b, f.data)
	}
	return b
}

// replaced reads the replacedRow of an op, and fails unless the op can have it.
func (d *entryDecoder) replaced(kind replacedKind, o op) (f replacedRow) {
	if f.kind = kind; kind != replacedNone {
		f.data = d.counted()
	}
	removed := o.kind.removesRow()
	switch {
	case d.failed:
	case kind >= replacedKinds, removed && kind == replacedFields, removed && kind == replacedNone, kind == replacedWhole && len(f.data) < format.RowHeader:
		d.failed = true
	case kind == replacedFields:
		_, err := f.row(o.data)
		d.failed = err != nil
	}
	return f
}

// before returns the row before the change, without a checksum, nil if there was none.
func (o *op) before() ([]byte, error) { return o.replaced.row(o.data) }

// row returns the replaced row, given the one that replaced it.
func (f replacedRow) row(next []byte) ([]byte, error) {
	switch f.kind {
	case replacedNone:
		return nil, nil
	case replacedWhole:
		return f.data, nil
	}
	n := format.Fields(next)
	if len(next) < format.RowHeader+4*n {
		return nil, errEntry
	}
	b := append(make([]byte, 0, len(next)+len(f.data)), next[:format.RowHeader+4*n]...)
	ends, payload := next[format.RowHeader:], next[format.RowHeader+4*n:]
	d, head := entryDecoder{raw: f.data}, len(b)
	changed := d.nextField(0, n)
	for p := range n {
		if p == changed {
			b = append(b, d.counted()...)
			changed = d.nextField(p, n)
		} else if start, end := format.FieldSpan(ends, int16(p)); start <= end && uint64(end) <= uint64(len(payload)) {
			b = append(b, payload[start:end]...)
		} else {
			return nil, errEntry
		}
		be.PutUint32(b[format.RowHeader+4*p:], uint32(len(b)-head))
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
