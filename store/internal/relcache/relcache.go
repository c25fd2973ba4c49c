// Package relcache caches the targets of relations, so that a relation that was followed once can be followed again without reading
// its links or searching for their targets.
//
// A Cache holds no content. It stores a target as a place: a number that says where the target's row lies in one state of the file.
// Each state of the file therefore needs a new Cache. A Cache allocates memory in chunks up to a bound; when it is full, it ignores
// further lists.
package relcache

import (
	"math/bits"
	"sync"
	"sync/atomic"
)

// A Key identifies a list of links.
type Key [2]uint64

// A Cache maps lists of links to the places of their targets. Several goroutines may use it at the same time.
type Cache struct {
	cells  []atomic.Uint64 // offset of an entry in chunks, and in the low bits a part of its key's hash; 0 is an empty cell
	chunks []atomic.Pointer[chunk]

	adding sync.Mutex
	used   int // number of words in use, in all chunks
	full   atomic.Bool
}

// A chunk holds entries. An entry consists of the key of a list, twice the number of its known targets (plus one if the list has no
// others), and the place of each.
type chunk [chunkWords]uint64

const (
	chunkWords = 1 << 12
	entryHead  = 3

	hashBits  = 8 // bits of a key's hash in its cell, which rule out most other keys
	groupSize = 4 // number of cells in which a key may be
)

// New returns a Cache for about this many lists, rounded up to a power of two. It allocates 8 bytes per list at once, and at most
// 40 bytes per list in total.
func New(lists int) *Cache {
	cells := 1 << bits.Len(uint(max(lists, groupSize)-1))
	return &Cache{
		cells:  make([]atomic.Uint64, cells),
		chunks: make([]atomic.Pointer[chunk], 1+4*cells/chunkWords),
		used:   1, // no entry begins at 0, which marks an empty cell
	}
}

// Get returns the known places of a list's targets, from the first target on; whole reports that the list has no others. The caller
// must not change the slice.
func (c *Cache) Get(key Key) (places []uint64, whole bool) {
	first, hash := c.group(key)
	for i := first; i < first+groupSize; i++ {
		cell := c.cells[i].Load()
		if cell == 0 || cell&(1<<hashBits-1) != hash {
			continue
		}
		if entry := c.entry(cell); Key(entry[:2]) == key {
			return entry[entryHead : entryHead+entry[2]>>1], entry[2]&1 == 1
		}
	}
	return nil, false
}

// Put stores the places of the first targets of a list; whole says that the list has no others. It does nothing if at least as many
// places are stored already, or if there is no room.
func (c *Cache) Put(key Key, places []uint64, whole bool) {
	if c.Full() {
		return
	}
	c.adding.Lock()
	defer c.adding.Unlock()
	if known, all := c.Get(key); all || !whole && len(places) <= len(known) {
		return
	}
	at, entry := c.allocate(entryHead + len(places))
	if entry == nil {
		return
	}
	entry[0], entry[1], entry[2] = key[0], key[1], uint64(len(places))<<1
	if whole {
		entry[2] |= 1
	}
	copy(entry[entryHead:], places)

	first, hash := c.group(key)
	put := first + at%groupSize
	for i := first; i < first+groupSize; i++ {
		if cell := c.cells[i].Load(); cell == 0 || Key(c.entry(cell)[:2]) == key {
			put = i
			break
		}
	}
	c.cells[put].Store(uint64(at)<<hashBits | hash)
}

// Full reports whether the Cache has run out of room.
func (c *Cache) Full() bool { return c.full.Load() }

// Words returns the memory of the lists in words of eight bytes.
func (c *Cache) Words() int {
	c.adding.Lock()
	defer c.adding.Unlock()
	return c.used
}

// allocate reserves size words of one chunk for an entry. It returns a nil entry if there is no room.
func (c *Cache) allocate(size int) (at int, entry []uint64) {
	if size > chunkWords {
		return 0, nil
	}
	at = c.used
	if at%chunkWords+size > chunkWords {
		at = (at/chunkWords + 1) * chunkWords
	}
	if at/chunkWords == len(c.chunks) {
		c.full.Store(true)
		return 0, nil
	}
	words := c.chunks[at/chunkWords].Load()
	if words == nil {
		words = &chunk{}
		c.chunks[at/chunkWords].Store(words)
	}
	c.used = at + size
	return at, words[at%chunkWords:][:size]
}

// entry returns the words of a chunk from the entry of a cell to the end of the chunk.
func (c *Cache) entry(cell uint64) []uint64 {
	at := int(cell >> hashBits)
	return c.chunks[at/chunkWords].Load()[at%chunkWords:]
}

// group returns the first cell in which a key may be, and the bits of its hash that its cell holds.
func (c *Cache) group(key Key) (first int, hash uint64) {
	h := Hash(key)
	return int(h>>hashBits) & (len(c.cells) - 1) &^ (groupSize - 1), h & (1<<hashBits - 1)
}

// Hash returns a hash of the two numbers of a key. Do not use its highest bits, which are not well mixed.
func Hash(key Key) uint64 {
	h := (key[0] ^ bits.RotateLeft64(key[1], 24)) * 0x9e3779b97f4a7c15
	return h ^ h>>29
}
