// Package relcache caches the targets of relations, so that a relation that was followed once can be followed again
// without reading its links or searching for their targets.
//
// A Cache holds no content. It stores a target as a location: a number that says where the target's row lies in one
// state of the file. Each state of the file therefore needs a new Cache. A Cache allocates memory in chunks up to a
// bound; when it is full, it ignores further lists.
//
// A Cache is a hash table. The lists and their locations stand one after the other in the chunks, each as an entry of a
// few words. A cell of the table is one word, too: it says where an entry begins. Readers take no lock, because an
// entry is complete before a cell leads to it, and does not change afterwards.
package relcache

import (
	"math/bits"
	"sync"
	"sync/atomic"
)

// A Key identifies a list of links.
type Key [2]uint64

// A Cache maps lists of links to the locations of their targets. Several goroutines may use it at the same time.
type Cache struct {
	// cells is the hash table. The low bits of a cell (hashBits) hold a part of the hash of an entry's key, and the
	// other bits the position of the entry, counted in words from the beginning of the first chunk. A cell of 0 is
	// empty.
	cells  []atomic.Uint64
	chunks []atomic.Pointer[chunk]

	adding sync.Mutex // held by Put
	used   int        // number of words in use, in all chunks
	full   atomic.Bool
}

// A chunk holds entries. An entry is a sequence of words: the two words of the key of a list, one word with the number
// of its targets that are known (times two, plus one if the list has no others), and the location of each of these
// targets.
type chunk [chunkWords]uint64

const (
	chunkWords = 1 << 12
	entryHead  = 3 // number of words of an entry before its locations

	hashBits  = 8 // bits of a key's hash in its cell, which rule out most other keys
	groupSize = 4 // number of cells in which a key may be
)

// New returns a Cache for about this many lists, rounded up to a power of two. It allocates 8 bytes per list at once,
// and at most 40 bytes per list in total.
func New(lists int) *Cache {
	cells := 1 << bits.Len(uint(max(lists, groupSize)-1))
	return &Cache{
		cells:  make([]atomic.Uint64, cells),
		chunks: make([]atomic.Pointer[chunk], 1+4*cells/chunkWords),
		used:   1, // no entry begins at 0, which marks an empty cell
	}
}

// Get returns the locations of the first targets of a list, as many as are known; all reports that the list has no
// others. The caller must not change the slice.
func (c *Cache) Get(key Key) (locations []uint64, all bool) {
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

// Put stores the locations of the first targets of a list; all says that the list has no others. It does nothing if at
// least as many locations are stored already, or if there is no room.
func (c *Cache) Put(key Key, locations []uint64, all bool) {
	if c.Full() {
		return
	}
	c.adding.Lock()
	defer c.adding.Unlock()
	if known, allKnown := c.Get(key); allKnown || !all && len(locations) <= len(known) {
		return
	}
	at, entry := c.allocate(entryHead + len(locations))
	if entry == nil {
		return
	}
	entry[0], entry[1], entry[2] = key[0], key[1], uint64(len(locations))<<1
	if all {
		entry[2] |= 1
	}
	copy(entry[entryHead:], locations)

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

// Words returns how much memory the entries take, in words of eight bytes.
func (c *Cache) Words() int {
	c.adding.Lock()
	defer c.adding.Unlock()
	return c.used
}

// allocate allocates an entry of size words in one chunk, and returns its position and its words. It returns no words
// if there is no room.
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

// entry returns the words of the entry that a cell leads to. Words of later entries may follow them: the caller reads
// as many as the entry says that it has.
func (c *Cache) entry(cell uint64) []uint64 {
	at := int(cell >> hashBits)
	return c.chunks[at/chunkWords].Load()[at%chunkWords:]
}

// group returns the first of the groupSize cells in which a key may be, and the part of the key's hash that its cell
// holds.
func (c *Cache) group(key Key) (first int, hash uint64) {
	h := Hash(key)
	return int(h>>hashBits) & (len(c.cells) - 1) &^ (groupSize - 1), h & (1<<hashBits - 1)
}

// Hash returns a hash of the two numbers of a key. Do not use its highest bits, which are not well mixed.
func Hash(key Key) uint64 {
	h := (key[0] ^ bits.RotateLeft64(key[1], 24)) * 0x9e3779b97f4a7c15
	return h ^ h>>29
}
