package logentry

import (
	"bytes"
	"cmp"
	"hash/fnv"
	"slices"
	"sort"

	"lectern/store/internal/format"
)

// A Touch says that an entry changed something.
type Touch struct {
	Schema   uint16
	Subject  uint64
	Sequence uint64
}

// The upper two bits of a subject say what it names. The others are a number or hash.
const (
	RowsSubject  = 0       // the rows of a document
	LinksSubject = 1 << 62 // the links of a document or component, of either side
	IDSubject    = 1 << 63 // removed rows with a documentId, by the hash of it
	subjectMask  = 1<<62 - 1
)

// IDSubjectOf returns the subject of the removed rows with a documentId.
func IDSubjectOf(documentID []byte) uint64 {
	h := fnv.New64a()
	h.Write(documentID)
	return IDSubject | h.Sum64()&subjectMask
}

// A stretch ends at each entry whose sequence BlockEntries divides, or at the entry with which it has BlockTouches.
// Only tests change them.
var (
	BlockEntries uint64 = 1024
	BlockTouches        = 4096
)

const touchLen = 2 + 8 + 2

// CompareTouches orders touches by schema, subject and sequence.
func CompareTouches(x, y Touch) int {
	return cmp.Or(cmp.Compare(x.Schema, y.Schema), cmp.Compare(x.Subject, y.Subject),
		cmp.Compare(x.Sequence, y.Sequence))
}

// AppendTouches appends what an entry changed.
func (e *Entry) AppendTouches(list []Touch) []Touch {
	_ = e.EachOp(func(o Op) error { // the ops of each Entry can be read
		switch o.Kind {
		case PutRow, AddRow:
			list = append(list, Touch{o.Schema, RowsSubject | o.Doc, e.Sequence})
		case DeleteRow:
			list = append(list, Touch{o.Schema, RowsSubject | o.Doc, e.Sequence},
				Touch{o.Schema, IDSubjectOf(o.Data), e.Sequence})
		case PutLink, DeleteLink:
			list = append(list, Touch{o.Link.From.Schema, LinksSubject | o.Link.From.Doc, e.Sequence},
				Touch{o.Link.To.Schema, LinksSubject | o.Link.To.Doc, e.Sequence})
		}
		return nil
	})
	return list
}

// A TouchBlock holds the touches of a stretch in order, each once: schema u16 · subject u64 · distance of its entry
// from the last u16.
type TouchBlock struct {
	Last uint64 // the sequence of the last entry
	Data []byte
}

// NewTouchBlock encodes the touches of a stretch, and puts them in order.
func NewTouchBlock(last uint64, list []Touch) TouchBlock {
	slices.SortFunc(list, CompareTouches)
	list = slices.Compact(list)
	b := make([]byte, 0, touchLen*len(list)+format.ChecksumLen)
	for _, t := range list {
		b = be.AppendUint64(be.AppendUint16(b, t.Schema), t.Subject)
		b = be.AppendUint16(b, uint16(last-t.Sequence))
	}
	return TouchBlock{last, b}
}

// StoredTouches returns the block that is stored as v under k.
func StoredTouches(k, v []byte) TouchBlock {
	return TouchBlock{be.Uint64(k), format.WithoutChecksum(v)}
}

// Len returns how many touches the block has.
func (b TouchBlock) Len() int { return len(b.Data) / touchLen }

// At returns a touch by its place in the order.
func (b TouchBlock) At(i int) Touch {
	d := b.Data[i*touchLen:]
	return Touch{be.Uint16(d), be.Uint64(d[2:]), b.Last - uint64(be.Uint16(d[10:]))}
}

// AppendRemovals appends the sequences of the entries that removed rows of a schema, one for each documentId.
func (b TouchBlock) AppendRemovals(list []uint64, schema uint16) []uint64 {
	for i := b.search(touchKey(schema, IDSubject)); i < b.Len() && b.At(i).Schema == schema; i++ {
		list = append(list, b.At(i).Sequence)
	}
	return list
}

func touchKey(schema uint16, subject uint64) []byte {
	return be.AppendUint64(be.AppendUint16(make([]byte, 0, touchLen), schema), subject)
}

// search returns the place of the first touch whose schema and subject are a key or come after it.
func (b TouchBlock) search(key []byte) int {
	return sort.Search(b.Len(), func(i int) bool { return bytes.Compare(b.Data[i*touchLen:][:len(key)], key) >= 0 })
}

// AppendEntries appends the sequences of the entries that changed a subject, in order.
func (b TouchBlock) AppendEntries(list []uint64, schema uint16, subject uint64) []uint64 {
	key := touchKey(schema, subject)
	i := b.search(key)
	for ; i < b.Len() && bytes.Equal(b.Data[i*touchLen:][:len(key)], key); i++ {
		list = append(list, b.At(i).Sequence)
	}
	return list
}

// Since returns the block without the touches of entries up to before.
func (b TouchBlock) Since(before uint64) TouchBlock {
	if len(b.Data)%touchLen != 0 {
		return b
	}
	var list []Touch
	for i := range b.Len() {
		if t := b.At(i); t.Sequence > before {
			list = append(list, t)
		}
	}
	return NewTouchBlock(b.Last, slices.Clip(list))
}
