package format

import (
	"bytes"
	"sort"
)

// A Block holds neighbouring entries of one index space, in order of key:
//
//	count u16 · end of each entry u16 … · the entries, each its whole key and doc u64 · checksum u32 (see checksum.go)
//
// The ends give the k-th entry directly and allow binary search for a key. A write to an index mostly replaces one
// block.
type Block []byte

const (
	maxBlockEntries = 32  // a block with more entries is split
	maxBlockBytes   = 920 // maximum size of its entries: bbolt splits no page of four values, which then fit
)

// Len returns how many entries the block has.
func (b Block) Len() int {
	if len(b) < 2 {
		return 0
	}
	return int(be.Uint16(b))
}

// Entry returns the key and the document of the i-th entry.
func (b Block) Entry(i int) (key, doc []byte) {
	first := 2 + 2*b.Len()
	start, end := first, first+int(be.Uint16(b[2+2*i:]))
	if i > 0 {
		start += int(be.Uint16(b[2*i:]))
	}
	return b[start : end-8 : end-8], b[end-8 : end : end]
}

// Search returns the position of the first entry whose key is at least key, or the number of entries if there is none.
func (b Block) Search(key []byte) int {
	return sort.Search(b.Len(), func(i int) bool {
		k, _ := b.Entry(i)
		return bytes.Compare(k, key) >= 0
	})
}

// Each calls yield with up to n entries, beginning with the i-th, until yield returns false. It returns the number of
// calls.
func (b Block) Each(i, n int, yield func(key, doc []byte) bool) int {
	n = min(n, b.Len()-i)
	ends, payload := b[2:2+2*b.Len()], b[2+2*b.Len():]
	start := 0
	if i > 0 {
		start = int(be.Uint16(ends[2*i-2:]))
	}
	for j := range n {
		end := int(be.Uint16(ends[2*(i+j):]))
		if !yield(payload[start:end-8], payload[end-8:end]) {
			return j + 1
		}
		start = end
	}
	return n
}

// A BlockEntry is an entry to be written into a block.
type BlockEntry struct {
	Key []byte
	Doc uint64
}

// ID returns the id of the row, with which each key ends.
func (e BlockEntry) ID() uint64 { return be.Uint64(e.Key[len(e.Key)-8:]) }

func (e BlockEntry) size() int { return len(e.Key) + 8 }

// AppendEntries appends the entries of the block.
func (b Block) AppendEntries(list []BlockEntry) []BlockEntry {
	for i := range b.Len() {
		k, doc := b.Entry(i)
		list = append(list, BlockEntry{k, be.Uint64(doc)})
	}
	return list
}

// NewBlock encodes entries, which are in order of key.
func NewBlock(entries []BlockEntry) Block {
	size := 2 + 2*len(entries) + ChecksumLen // for the checksum
	for _, e := range entries {
		size += e.size()
	}
	b := be.AppendUint16(make(Block, 0, size), uint16(len(entries)))
	end := 0
	for _, e := range entries {
		end += e.size()
		b = be.AppendUint16(b, uint16(end))
	}
	for _, e := range entries {
		b = be.AppendUint64(append(b, e.Key...), e.Doc)
	}
	return b
}

// SplitEntries divides entries into lists for one block each. If all fit into one block, it returns one list; otherwise
// the lists leave room for more entries.
func SplitEntries(entries []BlockEntry) [][]BlockEntry {
	if Fits(entries) {
		return [][]BlockEntry{entries}
	}
	var lists [][]BlockEntry
	for len(entries) > 0 {
		n, size := 0, 0
		for n < len(entries) && n < maxBlockEntries*2/3 && (n == 0 || size+entries[n].size() <= maxBlockBytes*2/3) {
			size += entries[n].size()
			n++
		}
		lists, entries = append(lists, entries[:n]), entries[n:]
	}
	return lists
}

// PackEntries divides entries into lists that fill a block each. The last one has the rest.
func PackEntries(entries []BlockEntry) (lists [][]BlockEntry) {
	first, size := 0, 0
	for i, e := range entries {
		if size += e.size(); i-first == maxBlockEntries || size > maxBlockBytes && i > first {
			lists, first, size = append(lists, entries[first:i]), i, e.size()
		}
	}
	return append(lists, entries[first:])
}

// Fits reports whether entries fit into one block.
func Fits(entries []BlockEntry) bool { return fits(entries, maxBlockEntries, maxBlockBytes) }

// YoungBlock returns the block that stands in the place of a young one: it is empty, and not as other empty blocks.
func YoungBlock() Block { return append(make(Block, 0, 3+ChecksumLen), 0, 0, 1) }

// IsYoung reports whether a stored block is a YoungBlock.
func (b Block) IsYoung() bool { return len(b) == 3+ChecksumLen && b[0]|b[1] == 0 && b[2] == 1 }

func fits(entries []BlockEntry, most, bytes int) bool {
	size := 0
	for _, e := range entries {
		size += e.size()
	}
	return len(entries) <= most && size <= bytes
}

// NewTally encodes the counts of a group or span: its entries, and the parts that hold them, blocks or groups.
//
//	entries u64 · parts u32
func NewTally(entries, parts int) []byte {
	return be.AppendUint32(be.AppendUint64(make([]byte, 0, 12), uint64(entries)), uint32(parts))
}

// TallyEntries returns the number of entries that NewTally has encoded.
func TallyEntries(v []byte) int { return int(Number(v)) }

// TallyParts returns the number of parts that NewTally has encoded.
func TallyParts(v []byte) int { return int(be.Uint32(v[8:])) }

// SpaceEnd is a suffix: a space followed by it is a key after all entries of the space.
var SpaceEnd = bytes.Repeat([]byte{0xFF}, 12)
