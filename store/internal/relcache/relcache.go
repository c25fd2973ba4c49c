// Package relcache remembers which rows lists of links lead to, so that a relation that was followed once is followed again without
// reading its links or searching for their targets.
//
// A Cache holds no content: a target is a place, a number that says where its row lies in one state of the file. Whoever changes the
// file begins a new Cache. Memory is taken a chunk at a time up to a bound; lists for which there is no room are not remembered.
package relcache

import (
	"math/bits"
	"sync"
	"sync/atomic"
)

// A Key names a list of links.
type Key [2]uint64

// A Cache maps lists of links to the places of their targets. It may be used by any number of goroutines.
type Cache struct {
	cells  []atomic.Uint64 // where in chunks an entry begins, and the low bits of its key's hash; 0: empty
	chunks []atomic.Pointer[chunk]

	adding sync.Mutex
	used   int // words of chunks
	full   atomic.Bool
}

// A chunk holds entries. An entry is the key of a list, twice the number of its known targets (plus one if these are all), and the
// place of each.
type chunk [chunkWords]uint64

const (
	chunkWords = 1 << 12
	entryHead  = 3

	hashBits  = 8 // of a key's hash, kept in its cell to tell most other keys apart
	groupSize = 4 // cells in which a key may be
)

// New returns a Cache for about as many lists, rounded up to a power of two. It takes eight bytes for each at once and at most 40
// altogether.
func New(lists int) *Cache {
	cells := 1 << bits.Len(uint(max(lists, groupSize)-1))
	return &Cache{
		cells:  make([]atomic.Uint64, cells),
		chunks: make([]atomic.Pointer[chunk], 1+4*cells/chunkWords),
		used:   1, // no entry begins at 0
	}
}

// Get returns the places of the first targets of a list, as many as are known; whole reports that the list has no others. The slice
// must not be changed.
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

// Put remembers the places of the first targets of a list; whole says that the list has no others. It does nothing if as many are
// known already, or if there is no room.
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

// Full reports that Put has no room left.
func (c *Cache) Full() bool { return c.full.Load() }

// Words is how much memory the lists take, in words of eight bytes.
func (c *Cache) Words() int {
	c.adding.Lock()
	defer c.adding.Unlock()
	return c.used
}

// allocate takes words of one chunk for an entry; nil when there is no room for it.
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

// entry returns the entry of a cell, with what follows it in its chunk.
func (c *Cache) entry(cell uint64) []uint64 {
	at := int(cell >> hashBits)
	return c.chunks[at/chunkWords].Load()[at%chunkWords:]
}

// group returns the first of the cells in which a key may be, and the bits of its hash that are kept there.
func (c *Cache) group(key Key) (first int, hash uint64) {
	h := Hash(key)
	return int(h>>hashBits) & (len(c.cells) - 1) &^ (groupSize - 1), h & (1<<hashBits - 1)
}

// Hash is a hash of two numbers, of which all bits but the uppermost are good.
func Hash(key Key) uint64 {
	h := (key[0] ^ bits.RotateLeft64(key[1], 24)) * 0x9e3779b97f4a7c15
	return h ^ h>>29
}
