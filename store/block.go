package store

import (
	"bytes"
	"sort"
)

// A block holds neighbouring entries of one index space, in order of key:
//
//	count u16 · end of each entry u16 … · the entries, each its whole key and doc u64 · checksum u32 (see checksum.go)
//
// The ends give the k-th entry directly and allow binary search for a key. A write to an index mostly replaces one block.
type block []byte

const (
	maxBlockEntries = 64   // a block with more entries is split
	maxBlockBytes   = 2000 // maximum size of its entries; two blocks then fill a page of the file
)

func (b block) len() int {
	if len(b) < 2 {
		return 0
	}
	return int(be.Uint16(b))
}

// entry returns the key and the document of the i-th entry.
func (b block) entry(i int) (key, doc []byte) {
	first := 2 + 2*b.len()
	start, end := first, first+int(be.Uint16(b[2+2*i:]))
	if i > 0 {
		start += int(be.Uint16(b[2*i:]))
	}
	return b[start : end-8 : end-8], b[end-8 : end : end]
}

// search returns the position of the first entry whose key is at least key, or the number of entries if there is none.
func (b block) search(key []byte) int {
	return sort.Search(b.len(), func(i int) bool {
		k, _ := b.entry(i)
		return bytes.Compare(k, key) >= 0
	})
}

// each calls yield with up to n entries, beginning with the i-th, until yield returns false. It returns the number of calls.
func (b block) each(i, n int, yield func(key, doc []byte) bool) int {
	n = min(n, b.len()-i)
	ends, payload := b[2:2+2*b.len()], b[2+2*b.len():]
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

// An indexEntry is an entry to be written into a block.
type indexEntry struct {
	key []byte
	doc uint64
}

func (e indexEntry) size() int { return len(e.key) + 8 }

func (b block) appendEntries(list []indexEntry) []indexEntry {
	for i := range b.len() {
		k, doc := b.entry(i)
		list = append(list, indexEntry{k, be.Uint64(doc)})
	}
	return list
}

func newBlock(entries []indexEntry) block {
	size := 2 + 2*len(entries) + checksumLen // withChecksum appends the checksum
	for _, e := range entries {
		size += e.size()
	}
	b := be.AppendUint16(make(block, 0, size), uint16(len(entries)))
	end := 0
	for _, e := range entries {
		end += e.size()
		b = be.AppendUint16(b, uint16(end))
	}
	for _, e := range entries {
		b = be.AppendUint64(append(b, e.key...), e.doc)
	}
	return b
}

// splitEntries divides entries into lists for one block each. If all fit into one block, it returns one list; otherwise the lists leave
// room for more entries.
func splitEntries(entries []indexEntry) [][]indexEntry {
	if fits(entries, maxBlockEntries, maxBlockBytes) {
		return [][]indexEntry{entries}
	}
	var lists [][]indexEntry
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

func fits(entries []indexEntry, most, bytes int) bool {
	size := 0
	for _, e := range entries {
		size += e.size()
	}
	return len(entries) <= most && size <= bytes
}

// An indexCursor iterates over the entries of all blocks of the index in order of key, as a bolt.Cursor does over keys. It does not stop
// at the end of a space.
type indexCursor struct {
	c     *treeCursor
	block block
	i     int
}

func (x *indexCursor) at() (key, doc []byte) { return x.block.entry(x.i) }

// Seek moves to the first entry whose key is at least key.
func (x *indexCursor) Seek(key []byte) (k, doc []byte) {
	bound, v := floor(x.c, key)
	if bound == nil {
		bound, v = x.c.First()
	}
	if bound == nil {
		return nil, nil
	}
	x.block = v
	if x.i = x.block.search(key); x.i < x.block.len() {
		return x.at()
	}
	return x.nextBlock()
}

// Next moves to the next entry.
func (x *indexCursor) Next() (k, doc []byte) {
	if x.i++; x.i < x.block.len() {
		return x.at()
	}
	return x.nextBlock()
}

func (x *indexCursor) nextBlock() (k, doc []byte) {
	for bound, v := x.c.Next(); bound != nil; bound, v = x.c.Next() {
		if x.block, x.i = v, 0; x.block.len() > 0 {
			return x.at()
		}
	}
	return nil, nil
}

// Prev moves to the previous entry.
func (x *indexCursor) Prev() (k, doc []byte) {
	if x.i--; x.i >= 0 {
		return x.at()
	}
	bound, v := x.c.Prev()
	return x.lastOf(bound, v)
}

// Last moves to the last entry of the index.
func (x *indexCursor) Last() (k, doc []byte) {
	bound, v := x.c.Last()
	return x.lastOf(bound, v)
}

// lastOf moves to the last entry of a block or, if the block is empty, to the last entry before it.
func (x *indexCursor) lastOf(bound, v []byte) (k, doc []byte) {
	for ; bound != nil; bound, v = x.c.Prev() {
		if x.block, x.i = v, block(v).len()-1; x.i >= 0 {
			return x.at()
		}
	}
	return nil, nil
}

// Each calls yield with the first n entries whose keys are at least key, until yield returns false.
func (x *indexCursor) Each(key []byte, n int, yield func(key, doc []byte) bool) {
	for k, _ := x.Seek(key); k != nil && n > 0; k, _ = x.nextBlock() {
		more := true
		n -= x.block.each(x.i, n, func(k, doc []byte) bool { more = yield(k, doc); return more })
		if !more {
			return
		}
	}
}

// move moves to the i-th entry of the block whose key is bound.
func (x *indexCursor) move(bound []byte, i int) (k, doc []byte) {
	_, v := x.c.Seek(bound)
	x.block, x.i = v, i
	return x.at()
}
