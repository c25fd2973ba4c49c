package store

import (
	"bytes"
	"slices"
	"sync"
	"sync/atomic"

	"lectern/contenttypes"
)

// A targetTable remembers where the rows lie that lists of links show: whoever follows a list that is known looks at neither
// its links nor the keys of their targets. It holds places alone, as all of places does. What there is no room for is not
// remembered; the memory is taken a chunk at a time.
type targetTable struct {
	cells  []atomic.Uint64 // each the beginning of an entry in chunks, and a few bits of its key's hash; 0: empty
	chunks []atomic.Pointer[targetChunk]

	adding sync.Mutex
	used   int // words of chunks
	full   atomic.Bool
}

// A targetChunk holds entries. Each is the key of a list, how many targets of it are known (and in the lowest bit, whether these
// are all) and the place of each: an offset in the file and, in the lowest bits, how long the row is.
type targetChunk [chunkWords]uint64

const (
	chunkWords  = 1 << 12
	entryHead   = 3
	rowSizeBits = numberBits
)

// A targetsKey names a list of links: what its keys begin with (see appendLinkList). Which version of a target is shown follows from
// that as well, since links are kept apart by plane wherever a target has more than one.
type targetsKey [2]uint64

func keyOfTargets(list []byte) targetsKey { return targetsKey{be.Uint64(list), be.Uint64(list[8:])} }

func newTargetTable(cells int) *targetTable {
	t := &targetTable{cells: make([]atomic.Uint64, cells), chunks: make([]atomic.Pointer[targetChunk], 1+4*cells/chunkWords)}
	t.used = 1 // no entry begins at 0
	return t
}

// find returns the places of the rows that a list shows, as far as they are known; whole says that these are all.
func (t *targetTable) find(key targetsKey) (places []uint64, whole bool) {
	first, hash := cellsOf(len(t.cells), key[0], key[1])
	for i := first; i < first+cellsTogether; i++ {
		c := t.cells[i].Load()
		if c == 0 || c&(1<<hashBits-1) != hash {
			continue
		}
		if entry := t.entry(c); targetsKey(entry[:2]) == key {
			return entry[entryHead : entryHead+entry[2]>>1], entry[2]&1 == 1
		}
	}
	return nil, false
}

// entry is that which a cell tells of, with what lies behind it in its chunk.
func (t *targetTable) entry(cell uint64) []uint64 {
	at := int(cell >> hashBits)
	return t.chunks[at/chunkWords].Load()[at%chunkWords:]
}

// keep makes find find the places of a list; whole says that these are all.
func (t *targetTable) keep(key targetsKey, places []uint64, whole bool) {
	t.adding.Lock()
	defer t.adding.Unlock()
	size := entryHead + len(places)
	at := t.used
	if at%chunkWords+size > chunkWords {
		at = (at/chunkWords + 1) * chunkWords
	}
	if size > chunkWords {
		return
	}
	if at/chunkWords == len(t.chunks) {
		t.full.Store(true)
		return
	}
	chunk := t.chunks[at/chunkWords].Load()
	if chunk == nil {
		chunk = &targetChunk{}
		t.chunks[at/chunkWords].Store(chunk)
	}
	t.used = at + size
	entry := chunk[at%chunkWords:]
	entry[0], entry[1], entry[2] = key[0], key[1], uint64(len(places))<<1
	if whole {
		entry[2] |= 1
	}
	copy(entry[entryHead:], places)

	first, hash := cellsOf(len(t.cells), key[0], key[1])
	put := first + at%cellsTogether
	for i := first; i < first+cellsTogether; i++ {
		if c := t.cells[i].Load(); c == 0 || targetsKey(t.entry(c)[:2]) == key {
			put = i
			break
		}
	}
	t.cells[put].Store(uint64(at)<<hashBits | hash)
}

// placeOf returns the place of a row; 0 when it has none, as one that is not in the mapped file or is too long.
func (p *places) placeOf(r Record) uint64 {
	var buf [rowKeyLen]byte
	key := appendRowKey(buf[:0], r.table.bound.number, r.slot, r.doc)
	at := address(r.data) - address(p.file) - rowKeyLen
	if at >= uintptr(len(p.file)) || len(r.data) >= 1<<rowSizeBits || !bytes.HasPrefix(p.file[at:], key) {
		return 0
	}
	return uint64(at)<<rowSizeBits | uint64(len(r.data))
}

// rowIn returns the row at a place.
func (s *Snapshot) rowIn(place uint64) Record {
	at, n := place>>rowSizeBits, place&(1<<rowSizeBits-1)
	row := s.places.file[at:][: rowKeyLen+n : rowKeyLen+n]
	return s.record(slot(be.Uint16(row[2:])), be.Uint64(row[4:]), row[rowKeyLen:])
}

// gatherKnown lists what the rows show where all of it is known; otherwise it does nothing and returns false.
func (s *Snapshot) gatherKnown(of []Record, a *contenttypes.Attribute, status Status, most int, into *Related) bool {
	if s.places == nil {
		return false
	}
	var buf [linkListLen]byte
	list := s.appendShownList(buf[:0], a, status, ref{})
	for _, r := range of {
		if r.Exists() {
			setLinkOwner(list, r.ref())
			places, whole := s.places.targets.find(keyOfTargets(list))
			if !whole && (most < 0 || len(places) < most) {
				into.places, into.Starts = into.places[:0], into.Starts[:1]
				return false
			}
			if most >= 0 && most < len(places) {
				places = places[:most]
			}
			into.places = append(into.places, places...)
			if into.over(len(into.places)) {
				return true
			}
		}
		into.Starts = append(into.Starts, int32(len(into.places)))
	}
	s.readPlaces(into)
	return true
}

// readPlaces reads the row that each item stands for, once.
func (s *Snapshot) readPlaces(into *Related) {
	n := len(into.places)
	into.Items = slices.Grow(into.Items, n)[:n]
	size := into.clearSeen(n)
	for i, place := range into.places {
		if !s.step() {
			into.reset()
			return
		}
		s.stats.links++
		at := int(mix(place, 0)>>hashBits) & (size - 1)
		for into.seen[at] > 0 && into.places[into.seen[at]-1] != place {
			at = (at + 1) & (size - 1)
		}
		if known := into.seen[at]; known > 0 {
			into.Items[i] = into.Items[known-1]
			continue
		}
		into.seen[at] = int32(i + 1)
		into.Items[i] = int32(len(into.Rows))
		into.Rows = append(into.Rows, s.rowIn(place))
	}
}

// keepAllTargets is keepTargets for the lists of many rows, of which the first most were listed, or all where most is negative.
func (s *Snapshot) keepAllTargets(of []Record, a *contenttypes.Attribute, status Status, most int, into *Related) {
	if !s.keepsTargets() {
		return
	}
	list := s.appendShownList(nil, a, status, ref{})
	var places []uint64
	for i, r := range of {
		if !r.Exists() {
			continue
		}
		shown := into.Of(i)
		places = places[:0]
		for _, row := range shown {
			places = s.appendPlace(places, into.Rows[row])
		}
		setLinkOwner(list, r.ref())
		s.keepTargets(list, places, most < 0 || len(shown) < most)
	}
}

// keepsTargets reports whether more lists are to be remembered.
func (s *Snapshot) keepsTargets() bool { return s.places != nil && !s.places.targets.full.Load() }

// appendPlace appends the place of a row, as far as that is to be remembered.
func (s *Snapshot) appendPlace(places []uint64, r Record) []uint64 {
	if !s.keepsTargets() {
		return places
	}
	return append(places, s.places.placeOf(r))
}

// keepTargets remembers the places of the rows that a list shows: of all of them, or of the first. It does nothing where as many
// are known.
func (s *Snapshot) keepTargets(list []byte, places []uint64, whole bool) {
	if !s.keepsTargets() || s.failed != nil || slices.Contains(places, 0) {
		return
	}
	key := keyOfTargets(list)
	if known, all := s.places.targets.find(key); !all && (whole || len(places) > len(known)) {
		s.places.targets.keep(key, places, whole)
	}
}

// knownTargets returns the places of the rows that a list shows, as far as they are known; whole says that these are all.
func (s *Snapshot) knownTargets(list []byte) (places []uint64, whole bool) {
	if s.places == nil {
		return nil, false
	}
	return s.places.targets.find(keyOfTargets(list))
}
