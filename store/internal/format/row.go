package format

import "bytes"

// RowHeader is the number of bytes before the ends of fields. A row, and each component inside one, is encoded as
//
//	layout u16 · fields u16 · id u64 · end of each field u32 … · the fields
//
// where a scalar field is its JSON text (empty for null) and a component or zone is
//
//	end of each item u32 … · the items, each like a row · count u32
//
// A field can be read without decoding the others, and copied into a response as it is.
const RowHeader = 2 + 2 + 8

// FieldSpan returns where the field at a position of the layout begins and ends. An attribute that is not in the
// layout, at position -1, is empty as null is. The compiler inlines FieldSpan, which keeps printing as fast as one loop
// over the directory.
func FieldSpan(ends []byte, position int16) (start, end uint32) {
	p := int(position)
	if p > 0 {
		start = be.Uint32(ends[4*p-4:])
	}
	if p >= 0 {
		end = be.Uint32(ends[4*p:])
	}
	return start, end
}

// SameHeader reports whether two rows have the same layout, number of fields and id.
func SameHeader(x, y []byte) bool {
	return be.Uint16(x) == be.Uint16(y) && Fields(x) == Fields(y) && bytes.Equal(ID(x), ID(y))
}

// ID returns the id of an encoded row.
func ID(row []byte) []byte { return row[4:RowHeader] }

// Fields returns how many fields an encoded row has.
func Fields(row []byte) int { return int(be.Uint16(row[2:])) }
