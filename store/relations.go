package store

import (
	"bytes"
	"math/bits"
	"slices"
	"sync/atomic"

	"lectern/contenttypes"
	"lectern/store/internal/relcache"
)

// A stateCache is what the snapshots of one committed state share: a relation cache, once they have searched so often that it pays.
// A commit moves rows and uses pages again, so each state has its own.
type stateCache struct {
	tx        int // the transaction that committed the state
	seeks     atomic.Uint64
	relations atomic.Pointer[relcache.Cache]
}

// cacheAfter is how many searches the snapshots of one state do before it has a relation cache: where there are fewer between two
// writes, filling one costs more than it saves.
var cacheAfter uint64 = 2000

// cacheOf returns the stateCache of the state that a transaction committed; nil where there is a later state.
func (f *file) cacheOf(tx int) *stateCache {
	for {
		c := f.cache.Load()
		if c != nil && c.tx == tx {
			return c
		}
		if c != nil && c.tx > tx {
			return nil
		}
		if fresh := (&stateCache{tx: tx}); f.cache.CompareAndSwap(c, fresh) {
			return fresh
		}
	}
}

// searched counts the searches of a snapshot that has ended, and makes the relation cache when there were enough.
func (c *stateCache) searched(s *Snapshot) {
	if c == nil || s.relations != nil || c.seeks.Add(s.stats.seeks) < cacheAfter {
		return
	}
	const least, most = 1 << 11, 1 << 16
	c.relations.CompareAndSwap(nil, relcache.New(int(min(max(s.tx.Size()/1024, least), most))))
}

// In the relation cache the place of a row is the offset of its key in the file and, in the lowest bits, how long its value is.
const rowSizeBits = 20

// relationKey names a list of links: by what their keys begin with (see appendLinkList). Which version of a target is shown follows
// from that as well, since links are kept apart by link set wherever a target has more than one.
func relationKey(list []byte) relcache.Key { return relcache.Key{be.Uint64(list), be.Uint64(list[8:])} }

// placeOf returns the place of a row; 0 where it has none, as one that is too long.
func (s *Snapshot) placeOf(r Record) uint64 {
	var buf [rowKeyLen]byte
	key := appendRowKey(buf[:0], r.table.bound.number, r.slot, r.doc)
	at, ok := s.file.Offset(r.data)
	if at -= rowKeyLen; !ok || at <= 0 || len(r.data) >= 1<<rowSizeBits || bits.Len(uint(at)) > 64-rowSizeBits || !bytes.HasPrefix(s.file.At(at), key) {
		return 0
	}
	return uint64(at)<<rowSizeBits | uint64(len(r.data))
}

// rowIn returns the row at a place.
func (s *Snapshot) rowIn(place uint64) Record {
	at, n := place>>rowSizeBits, place&(1<<rowSizeBits-1)
	row := s.file.At(int(at))[: rowKeyLen+n : rowKeyLen+n]
	return s.record(slot(be.Uint16(row[2:])), be.Uint64(row[4:]), row[rowKeyLen:])
}

// gatherKnown lists what the rows show where the relation cache has all of it; otherwise it does nothing and returns false.
func (s *Snapshot) gatherKnown(of []Record, a *contenttypes.Attribute, status Status, most int, into *Related) bool {
	if s.relations == nil {
		return false
	}
	var buf [linkListLen]byte
	list := s.appendShownList(buf[:0], a, status, ref{})
	for _, r := range of {
		if r.Exists() {
			setLinkOwner(list, r.ref())
			places, whole := s.relations.Get(relationKey(list))
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

// readPlaces reads the row at the place of each item, once.
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
		at := int(relcache.Hash(relcache.Key{place})>>8) & (size - 1)
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

// cacheAll puts into the relation cache what many rows show, of which the first most were listed, or all where most is negative.
func (s *Snapshot) cacheAll(of []Record, a *contenttypes.Attribute, status Status, most int, into *Related) {
	if !s.caches() {
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
		s.cachePlaces(list, places, most < 0 || len(shown) < most)
	}
}

// caches reports whether the relation cache takes more lists.
func (s *Snapshot) caches() bool { return s.relations != nil && !s.relations.Full() }

// appendPlace appends the place of a row, if it is to be cached.
func (s *Snapshot) appendPlace(places []uint64, r Record) []uint64 {
	if !s.caches() {
		return places
	}
	return append(places, s.placeOf(r))
}

// cachePlaces puts the places of the rows that a list shows into the relation cache: those of all of them, or of the first.
func (s *Snapshot) cachePlaces(list []byte, places []uint64, whole bool) {
	if s.caches() && s.failed == nil && !slices.Contains(places, 0) {
		s.relations.Put(relationKey(list), places, whole)
	}
}

// cachedPlaces returns the places of the rows that a list shows, as far as the relation cache has them; whole says that there are no others.
func (s *Snapshot) cachedPlaces(list []byte) (places []uint64, whole bool) {
	if s.relations == nil {
		return nil, false
	}
	return s.relations.Get(relationKey(list))
}
