// Package pages reads the pages of a bbolt file, and checks each page before it uses it.
//
// bbolt trusts its pages: a bit that flipped on the disk makes it read other memory, loop forever, or miss keys that
// are there. A Cursor of this package walks over the same trees, but returns an error at a page that bbolt cannot have
// written. It relies on these facts:
//
//   - A page contains its own number and its kind.
//   - The elements of a page are in ascending order of key, and their keys and values follow without gaps, so each
//     number in the table of elements can be computed from the others.
//   - The key under which a branch page leads to a page is the first key of that page.
//
// This does not cover the bytes of keys and values. The user of a Tree checks those: see Tree.Check.
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
// A position is counted from the beginning of its element. Overflow is the number of further pages that the page takes.
const (
	headerLen  = 16
	elementLen = 16

	flagBranch   = 0x01
	flagLeaf     = 0x02
	flagFreelist = 0x10
	flagBucket   = 0x01 // of a leaf element: the value is a bucket

	bucketHeaderLen = 16 // root u64 · sequence u64
	maxDepth        = 32 // of a tree; even one of 2^64 pages is less deep
)

var order = binary.NativeEndian

// An Error says which page is damaged, and why.
type Error struct {
	Page   uint64
	Reason string
}

func (e *Error) Error() string { return fmt.Sprintf("page %d: %s", e.Page, e.Reason) }

func damaged(page uint64, format string, args ...any) *Error {
	return &Error{page, fmt.Sprintf(format, args...)}
}

// A File is one state of a bbolt file in memory. Any number of goroutines may read it.
type File struct {
	data     []byte
	pageSize int
	len      uint64 // in pages
	sound    *Marks
}

// NewFile returns the File of the pages in data. Pages that are marked in sound are not checked again, and pages that
// pass the check are marked. sound may be nil.
func NewFile(data []byte, pageSize int, sound *Marks) *File {
	return &File{data, pageSize, uint64(len(data) / pageSize), sound}
}

// Len returns the number of pages.
func (f *File) Len() uint64 { return f.len }

// A Page is a branch or a leaf, with its overflow pages.
type Page []byte

// take returns a page with its overflow pages. It checks only that they lie within the file.
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

// Len returns the number of elements in the page.
func (p Page) Len() int { return int(order.Uint16(p[10:])) }

// keyAt returns the offsets of the key of the i-th element.
func (p Page) keyAt(i int) (at, end uint64) {
	element := uint64(headerLen + elementLen*i)
	e := p[element : element+elementLen]
	if p.leaf() {
		e = e[4:]
	}
	at = element + uint64(order.Uint32(e))
	return at, at + uint64(order.Uint32(e[4:]))
}

// Key returns the key of the i-th element.
func (p Page) Key(i int) []byte {
	at, end := p.keyAt(i)
	return p[at:end:end]
}

// Value returns the value of the i-th element of a leaf.
func (p Page) Value(i int) []byte {
	_, at := p.keyAt(i)
	end := at + p.valueLen(i)
	return p[at:end:end]
}

// leafElement returns the key and the value of the i-th element of a leaf.
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

// child returns the number of the page to which the i-th element of a branch leads.
func (p Page) child(i int) uint64 { return order.Uint64(p[headerLen+elementLen*i+8:]) }

// search returns the first of n elements whose key is not less than key, and whether it is equal.
func (p Page) search(key []byte, n int) (i int, found bool) {
	position := headerLen // offset of the field "position" in the first element
	if p.leaf() {
		position += 4
	}
	low, high := 0, n
	for low < high {
		mid := int(uint(low+high) / 2)
		e := p[position+elementLen*mid:][:8]
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

// check returns an error unless bbolt can have written this page under this number. buckets says whether its values may
// be buckets.
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

// checkElements checks the table of elements, and returns how many bytes of the page are in use.
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

// Marks records which pages of a file have passed the check. Any number of goroutines may use it.
type Marks struct {
	words atomic.Pointer[[]atomic.Uint64]
}

// marksAtLeast is how many pages Marks has room for at first: those of a gigabyte.
const marksAtLeast = 1 << 18

func (m *Marks) has(id uint64) bool {
	if m == nil {
		return false
	}
	w := m.words.Load()
	return w != nil && id/64 < uint64(len(*w)) && (*w)[id/64].Load()&(1<<(id%64)) != 0
}

// add marks a page. When it needs more room it may lose marks that others set at the same moment; those pages are then
// checked again.
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

// Clear removes all marks, so that every page is checked again when it is next read.
func (m *Marks) Clear() { m.words.Store(nil) }
