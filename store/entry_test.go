package store

import (
	"bytes"
	"testing"
	"time"

	"github.com/klauspost/compress/s2"
	"lectern/store/internal/format"
)

// someEntries are an entry of each kind.
func someEntries() []*Entry {
	at := time.UnixMilli(1_790_000_000_000)
	link := linkOp{3, 4, DraftLinks, format.End{Schema: 3, Doc: 1 << 40}, format.End{Schema: 5, Locale: 1, Doc: 9}, PosStep, 1<<64 - 1}
	row := make([]byte, format.RowHeader)
	put := op{kind: opAddRow, schema: 1, slot: 2, doc: 3, data: row, replaced: replacedRow{kind: replacedNone}}
	rewritten, changed := put, put
	rewritten.replaced = replacedRow{kind: replacedWhole, data: row}
	changed.kind = opPutRow
	changed.data = append([]byte{0, 7, 0, 2, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 1, 0, 0, 0, 2}, "xy"...)
	changed.replaced = replacedRow{kind: replacedFields, data: []byte{1, 3, 'a', 'b', 'c'}}
	removed := op{kind: opDeleteRow, schema: 1, slot: 3, doc: 3, data: []byte("some"), replaced: replacedRow{kind: replacedWhole, data: row}}
	ops := appendRowOp(appendRowOp(appendRowOp(nil, put), rewritten), changed)
	ops = appendLinkOp(appendLinkOp(ops, opPutLink, link), opDeleteLink, link)
	ops = appendRowOp(ops, removed)
	answer := KeptAnswer{At: at, ContentType: "application/json", Answer: Answer{Status: 201, Body: []byte("{}")}}
	return []*Entry{
		{Sequence: 1, Kind: ConversionEntry, Time: at, By: system,
			conversion: conversionEntry{catalog: []byte("{}"), pending: []byte("{}"), step: []byte("{}"), rows: 9, converted: true}},
		{Sequence: 2, Epoch: Epoch{1, 2, 3}, Time: at, By: Principal{"user", "somebody"}, docs: 7, items: 8, firstLocale: 1,
			locales: []string{"en", "de"}, changes: []docChange{{1, []byte("some"), Unpublished}}, ops: ops},
		{Sequence: 3, Kind: EpochEntry, Epoch: Epoch{4}, Time: at},
		{Sequence: 4, Kind: ConversionEntry, Time: at, By: system, conversion: conversionEntry{step: []byte("{}"), rows: 9}},
		{Sequence: 6, previous: EntryHash{1, 2, 3}, Time: at, By: Principal{"token", "a token"}, ops: ops},
		{Sequence: 7, previous: EntryHash{4, 5, 6}, Time: at, By: system, ops: bytes.Repeat(ops, 8)},
		{Sequence: 8, previous: EntryHash{4, 5, 6}, Time: at, By: system, ops: bytes.Repeat(ops, 8000)},
		{Sequence: 9, Time: at, By: Principal{"token", "a token"}, answer: answer.append(make([]byte, 32)), ops: ops},
	}
}

// FuzzEntry decodes any bytes as an entry. What is decoded must be encoded as something that is decoded as the same, and all of its changes
// must be readable. An entry that is cut off must be refused.
func FuzzEntry(f *testing.F) {
	for _, e := range someEntries() {
		f.Add(e.append(nil))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		e, err := decodeEntry(5, raw)
		if err != nil {
			return
		}
		again := e.append(nil)
		if second, err := decodeEntry(5, again); err != nil || !bytes.Equal(second.append(nil), again) {
			t.Fatalf("%x is decoded and encoded as %x, and then as %v", raw, again, err)
		}
		var ops []byte
		if err := e.eachOp(func(o op) error {
			if o.kind.ofRow() {
				ops = appendRowOp(ops, o)
			} else {
				ops = appendLinkOp(ops, o.kind, o.link)
			}
			return nil
		}); err != nil || len(ops) > len(e.ops) {
			t.Fatalf("the changes %x are read as %x (%v)", e.ops, ops, err)
		}
		if at, err := entryTime(raw); err != nil || !at.Equal(e.Time) {
			t.Fatalf("the time is %v and %v (%v)", e.Time, at, err)
		}
	})
}

// TestEntriesCutOff decodes every beginning of entries, and entries of another version. Each is refused, except where a change ends.
func TestEntriesCutOff(t *testing.T) {
	for _, e := range someEntries() {
		raw := e.append(nil)
		head := len(raw) - len(e.ops)
		if e.Sequence == 7 { // all of a compressed entry is needed
			head = len(raw)
		}
		for n := range head {
			if _, err := decodeEntry(e.Sequence, raw[:n]); err == nil {
				t.Errorf("entry %d: the first %d bytes of %d are taken", e.Sequence, n, len(raw))
			}
		}
		if got, err := decodeEntry(e.Sequence, raw); err != nil || !bytes.Equal(got.append(nil), raw) || got.By != e.By || !got.Time.Equal(e.Time) {
			t.Errorf("entry %d is decoded as %+v (%v)", e.Sequence, got, err)
		}
		raw[0] = entryVersion + 1
		if _, err := decodeEntry(e.Sequence, raw); err == nil {
			t.Errorf("entry %d: another version is taken", e.Sequence)
		}
	}
}

// TestPacked compresses changes, and reads blocks that take more memory than they may or are none.
func TestPacked(t *testing.T) {
	row := make([]byte, leastPacked-1)
	for i := range row {
		row[i] = byte(i * i >> 3)
	}
	for _, c := range []struct {
		name   string
		ops    []byte
		packed bool
	}{
		{"nothing", nil, false}, {"little", row, false}, {"a row three times", bytes.Repeat(row, 3), true},
		{"too much for so few bytes", make([]byte, 1<<20), false},
	} {
		b := appendPacked([]byte("head"), c.ops)
		ops, ok := unpack(b[4:])
		if is := b[4] == packed; !ok || !bytes.Equal(ops, c.ops) || is != c.packed || is && len(b) > len(c.ops)/2 {
			t.Errorf("%s: %d bytes are stored as %d, compressed: %v, and read as %d (%v)", c.name, len(c.ops), len(b), b[4] == packed, len(ops), ok)
		}
	}
	for _, b := range [][]byte{nil, {2}, {packed}, append([]byte{packed}, s2.Encode(nil, make([]byte, 1<<20))...), {packed, 0xff, 0xff, 0xff, 0xff, 0x0f, 0}} {
		if ops, ok := unpack(b); ok {
			t.Errorf("%x is read as %d bytes", b, len(ops))
		}
	}
}
