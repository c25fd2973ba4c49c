// Package pages reads the pages of a bbolt file and believes none of them before it has looked at all of it.
//
// bbolt takes its pages for whole: a bit that was flipped on the disk sends it to other memory, into an endless loop, or past keys
// that are there. A Cursor of this package goes through the same trees, and returns an error where a page cannot be what bbolt wrote.
// What it relies on is this:
//
//   - A page says its own number, and what it is.
//   - The elements of a page stand in ascending order of key, and their keys and values lie behind them without a gap, so that each
//     number in the table of elements follows from the others.
//   - The key under which a branch page leads to a page is the first key of that page.
//
// What is left are the bytes of keys and values. Whether these are whole is for the user of a Tree to say: see Tree.Check.
package pages

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"sync/atomic"
)

// The layout of a page: a header, a table of elements, and the keys and values.
//
//	header: id u64 · flags u16 · count u16 · overflow u32
//	branch element: position u32 · key size u32 · page u64
//	leaf element:   flags u32 · position u32 · key size u32 · value size u32
//
// A position is counted from the beginning of its element. Overflow is how many pages more than one the page takes.
const (
	headerLen  = 16
	elementLen = 16

	flagBranch   = 0x01
	flagLeaf     = 0x02
	flagFreelist = 0x10
	flagBucket   = 0x01 // of a leaf element: the value is a bucket

	bucketHeaderLen = 16 // root u64 · sequence u64
	maxDepth        = 32 // of a tree; one of 2^64 pages is not so deep
)

var order = binary.NativeEndian

// An Error says which page is damaged, and how.
type Error struct {
	Page   uint64
	Reason string
}

func (e *Error) Error() string { return fmt.Sprintf("page %d: %s", e.Page, e.Reason) }

func damaged(page uint64, format string, args ...any) *Error {
	return &Error{page, fmt.Sprintf(format, args...)}
}

// A File is the pages of one state of a bbolt file, as they lie in memory. It may be read by any number of goroutines.
type File struct {
	data     []byte
	pageSize int
	len      uint64 // in pages
	sound    *Marks
}

// NewFile returns the File of pages that lie in data one after the other. Pages marked in sound are not checked again, and those that
// are found whole are marked; sound may be nil.
func NewFile(data []byte, pageSize int, sound *Marks) *File {
	return &File{data, pageSize, uint64(len(data) / pageSize), sound}
}

// Len is how many pages there are.
func (f *File) Len() uint64 { return f.len }

// A Page is a branch or a leaf, with the pages that it overflows to.
type Page []byte

// take returns the page with a number and all that it overflows to, unchecked but for lying within the file.
func (f *File) take(id uint64) (Page, *Error) {
	if id < 2 || id >= f.len {
		return nil, damaged(id, "is named, but lies outside of the file")
	}
	p := Page(f.data[id*uint64(f.pageSize):])
	size := (uint64(order.Uint32(p[12:])) + 1) * uint64(f.pageSize)
	if size > uint64(len(p)) {
		return nil, damaged(id, "is longer than the file")
	}
	return p[:size:size], nil
}

func (p Page) id() uint64    { return order.Uint64(p) }
func (p Page) flags() uint16 { return order.Uint16(p[8:]) }
func (p Page) leaf() bool    { return p.flags() == flagLeaf }

// Len is how many elements a page has.
func (p Page) Len() int { return int(order.Uint16(p[10:])) }

// keyAt says where the key of the i-th element lies.
func (p Page) keyAt(i int) (at, end uint64) {
	element := uint64(headerLen + elementLen*i)
	e := p[element : element+elementLen]
	if p.leaf() {
		e = e[4:]
	}
	at = element + uint64(order.Uint32(e))
	return at, at + uint64(order.Uint32(e[4:]))
}

// Key is the key of the i-th element.
func (p Page) Key(i int) []byte {
	at, end := p.keyAt(i)
	return p[at:end:end]
}

// Value is the value of the i-th element of a leaf.
func (p Page) Value(i int) []byte {
	_, at := p.keyAt(i)
	end := at + p.valueLen(i)
	return p[at:end:end]
}

// leafElement is the key and the value of the i-th element of a leaf.
func (p Page) leafElement(i int) (k, v []byte) {
	element := headerLen + elementLen*i
	e := p[element:][:elementLen]
	at := uint64(element) + uint64(order.Uint32(e[4:]))
	value := at + uint64(order.Uint32(e[8:]))
	end := value + uint64(order.Uint32(e[12:]))
	return p[at:value:value], p[value:end:end]
}

func (p Page) valueLen(i int) uint64 { return uint64(order.Uint32(p[headerLen+elementLen*i+12:])) }

// isBucket reports whether the i-th element of a leaf is a bucket.
func (p Page) isBucket(i int) bool { return order.Uint32(p[headerLen+elementLen*i:]) == flagBucket }

// child is the page that the i-th element of a branch leads to.
func (p Page) child(i int) uint64 { return order.Uint64(p[headerLen+elementLen*i+8:]) }

// search returns which of n elements is the first whose key is not less than key, and whether it is equal.
func (p Page) search(key []byte, n int) (i int, found bool) {
	place := headerLen // of the position in an element: this is Key without what is the same for all
	if p.leaf() {
		place += 4
	}
	low, high := 0, n
	for low < high {
		mid := int(uint(low+high) / 2)
		e := p[place+elementLen*mid:][:8]
		at := uint64(headerLen+elementLen*mid) + uint64(order.Uint32(e))
		switch c := bytes.Compare(p[at:at+uint64(order.Uint32(e[4:]))], key); {
		case c == 0:
			return mid, true
		case c < 0:
			low = mid + 1
		default:
			high = mid
		}
	}
	return low, false
}

// check reports whether a page can be one that bbolt wrote under this number. What is a bucket may be in the tree of buckets alone.
func (f *File) check(p Page, id uint64, buckets bool) *Error {
	if p.id() != id {
		return damaged(id, "says that it is page %d", p.id())
	}
	if p.flags() != flagBranch && p.flags() != flagLeaf {
		return damaged(id, "is neither branch nor leaf (%x)", p.flags())
	}
	used, err := p.checkElements(id, buckets)
	if err != nil {
		return err
	}
	if used < len(p)-f.pageSize {
		return damaged(id, "has more pages than it needs")
	}
	if !p.leaf() {
		for i := range p.Len() {
			if c := p.child(i); c < 2 || c >= f.Len() {
				return damaged(id, "leads to page %d, which is none", c)
			}
		}
	}
	return nil
}

// checkElements looks at the table of elements and returns how many bytes of the page are in use.
func (p Page) checkElements(id uint64, buckets bool) (used int, err *Error) {
	n, leaf := p.Len(), p.leaf()
	next := uint64(headerLen + elementLen*n)
	switch {
	case next > uint64(len(p)):
		return 0, damaged(id, "has more elements than room")
	case n == 0 && !leaf:
		return 0, damaged(id, "is an empty branch")
	case n == 0 && len(bytes.TrimLeft(p[headerLen:], "\x00")) > 0:
		return 0, damaged(id, "has content, and says that it has none")
	}
	var before []byte
	for i := range n {
		at, end := p.keyAt(i)
		if at != next || end == at || end > uint64(len(p)) {
			return 0, damaged(id, "element %d is out of place", i)
		}
		if next = end; leaf {
			if next += p.valueLen(i); next > uint64(len(p)) {
				return 0, damaged(id, "element %d is longer than the page", i)
			}
			if flags := order.Uint32(p[headerLen+elementLen*i:]); flags != 0 && !(buckets && flags == flagBucket) {
				return 0, damaged(id, "element %d has unknown flags %x", i, flags)
			}
		}
		key := p[at:end]
		if i > 0 && bytes.Compare(before, key) >= 0 {
			return 0, damaged(id, "element %d is out of order", i)
		}
		before = key
	}
	return int(next), nil
}

// Marks remembers which pages of a file were found whole. It may be used by any number of goroutines.
type Marks struct {
	words atomic.Pointer[[]atomic.Uint64]
}

// marksAtLeast is for how many pages marks are made at first: those of a gigabyte.
const marksAtLeast = 1 << 18

func (m *Marks) has(id uint64) bool {
	if m == nil {
		return false
	}
	w := m.words.Load()
	return w != nil && id/64 < uint64(len(*w)) && (*w)[id/64].Load()&(1<<(id%64)) != 0
}

// add marks a page. What others mark while there is need for more room may be lost: then a page is checked once more.
func (m *Marks) add(id uint64) {
	if m == nil {
		return
	}
	w := m.words.Load()
	if w == nil || id/64 >= uint64(len(*w)) {
		grown := make([]atomic.Uint64, max(marksAtLeast, 2*id)/64+1)
		if !m.words.CompareAndSwap(w, &grown) {
			return
		}
		w = &grown
	}
	(*w)[id/64].Or(1 << (id % 64))
}

// Clear forgets all marks, so that every page is checked anew when it is read next.
func (m *Marks) Clear() { m.words.Store(nil) }
