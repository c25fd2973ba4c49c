package logentry

import (
	"bytes"
	"testing"
	"time"

	"lectern/store/internal/format"

	"github.com/klauspost/compress/s2"
)

// someEntries are an entry of each kind.
func someEntries() []*Entry {
	at := time.UnixMilli(1_790_000_000_000)
	link := LinkOp{3, 4, format.DraftLinks, format.End{Schema: 3, Doc: 1 << 40},
		format.End{Schema: 5, Locale: 1, Doc: 9}, format.PosStep, 1<<64 - 1}
	row := make([]byte, format.RowHeader)
	put := Op{Kind: AddRow, Schema: 1, Slot: 2, Doc: 3, Data: row, Replaced: ReplacedRow{Kind: ReplacedNone}}
	rewritten, changed := put, put
	rewritten.Replaced = ReplacedRow{Kind: ReplacedWhole, Data: row}
	changed.Kind = PutRow
	changed.Data = append([]byte{0, 7, 0, 2, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 1, 0, 0, 0, 2}, "xy"...)
	changed.Replaced = ReplacedRow{Kind: ReplacedFields, Data: []byte{1, 3, 'a', 'b', 'c'}}
	removed := Op{Kind: DeleteRow, Schema: 1, Slot: 3, Doc: 3, Data: []byte("some"),
		Replaced: ReplacedRow{Kind: ReplacedWhole, Data: row}}
	ops := AppendRowOp(AppendRowOp(AppendRowOp(nil, put), rewritten), changed)
	ops = AppendLinkOp(AppendLinkOp(ops, PutLink, link), DeleteLink, link)
	ops = AppendRowOp(ops, removed)
	answer := KeptAnswer{At: at, ContentType: "application/json", Answer: Answer{Status: 201, Body: []byte("{}")}}
	return []*Entry{
		{Sequence: 1, Kind: ConversionEntry, Time: at, By: Principal{Kind: "system"},
			Conversion: Conversion{Catalog: []byte("{}"), Pending: []byte("{}"), Step: []byte("{}"), Rows: 9,
				Converted: true}},
		{Sequence: 2, Epoch: Epoch{1, 2, 3}, Time: at, By: Principal{"user", "somebody"}, Docs: 7, Items: 8,
			FirstLocale: 1,
			Locales:     []string{"en", "de"}, Changes: []DocChange{{1, []byte("some"), Unpublished}}, Ops: ops},
		{Sequence: 3, Kind: EpochEntry, Epoch: Epoch{4}, Time: at},
		{Sequence: 4, Kind: ConversionEntry, Time: at, By: Principal{Kind: "system"},
			Conversion: Conversion{Step: []byte("{}"), Rows: 9}},
		{Sequence: 6, Previous: EntryHash{1, 2, 3}, Time: at, By: Principal{"token", "a token"}, Ops: ops},
		{Sequence: 7, Previous: EntryHash{4, 5, 6}, Time: at, By: Principal{Kind: "system"}, Ops: bytes.Repeat(ops, 8)},
		{Sequence: 8, Previous: EntryHash{4, 5, 6}, Time: at, By: Principal{Kind: "system"},
			Ops: bytes.Repeat(ops, 8000)},
		{Sequence: 9, Time: at, By: Principal{"token", "a token"}, Answer: answer.Append(make([]byte, 32)), Ops: ops},
	}
}

// FuzzEntry decodes any bytes as an entry. What is decoded must be encoded as something that is decoded as the same,
// and all of its changes must be readable. An entry that is cut off must be refused.
func FuzzEntry(f *testing.F) {
	for _, e := range someEntries() {
		f.Add(e.Append(nil))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		e, err := ParseEntry(5, raw)
		if err != nil {
			return
		}
		again := e.Append(nil)
		if second, err := ParseEntry(5, again); err != nil || !bytes.Equal(second.Append(nil), again) {
			t.Fatalf("%x is decoded and encoded as %x, and then as %v", raw, again, err)
		}
		var ops []byte
		if err := e.EachOp(func(o Op) error {
			if o.Kind.OfRow() {
				ops = AppendRowOp(ops, o)
			} else {
				ops = AppendLinkOp(ops, o.Kind, o.Link)
			}
			return nil
		}); err != nil || len(ops) > len(e.Ops) {
			t.Fatalf("the changes %x are read as %x (%v)", e.Ops, ops, err)
		}
		if at, err := EntryTime(raw); err != nil || !at.Equal(e.Time) {
			t.Fatalf("the time is %v and %v (%v)", e.Time, at, err)
		}
	})
}

// TestEntriesCutOff decodes every beginning of entries, and entries of another version. Each is refused, except where a
// change ends.
func TestEntriesCutOff(t *testing.T) {
	for _, e := range someEntries() {
		raw := e.Append(nil)
		head := len(raw) - len(e.Ops)
		if e.Sequence == 7 { // all of a compressed entry is needed
			head = len(raw)
		}
		for n := range head {
			if _, err := ParseEntry(e.Sequence, raw[:n]); err == nil {
				t.Errorf("entry %d: the first %d bytes of %d are taken", e.Sequence, n, len(raw))
			}
		}
		if got, err := ParseEntry(e.Sequence, raw); err != nil || !bytes.Equal(got.Append(nil), raw) ||
			got.By != e.By || !got.Time.Equal(e.Time) {
			t.Errorf("entry %d is decoded as %+v (%v)", e.Sequence, got, err)
		}
		raw[0] = Version + 1
		if _, err := ParseEntry(e.Sequence, raw); err == nil {
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
			t.Errorf("%s: %d bytes are stored as %d, compressed: %v, and read as %d (%v)", c.name, len(c.ops), len(b),
				b[4] == packed, len(ops), ok)
		}
	}
	for _, b := range [][]byte{nil, {2}, {packed}, append([]byte{packed}, s2.Encode(nil, make([]byte, 1<<20))...),
		{packed, 0xff, 0xff, 0xff, 0xff, 0x0f, 0}} {
		if ops, ok := unpack(b); ok {
			t.Errorf("%x is read as %d bytes", b, len(ops))
		}
	}
}
