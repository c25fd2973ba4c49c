package store

import (
	"bytes"
	"math/bits"
	"slices"
	"sync/atomic"

	"lectern/contenttypes"
	"lectern/store/internal/format"
	"lectern/store/internal/relcache"
)

// A stateCache is shared by all snapshots of one committed state of the file. It gets a relation cache when these
// snapshots have done enough searches for the cache to pay. Each state has its own, since a commit moves rows and
// reuses pages.
type stateCache struct {
	tx        int // the transaction that committed the state
	seeks     atomic.Uint64
	relations atomic.Pointer[relcache.Cache]
}

// cacheAfter is how many searches the snapshots of one state do before it gets a relation cache. If there are fewer
// searches between two writes, filling a cache costs more than it saves.
var cacheAfter uint64 = 2000

// cacheOf returns the stateCache of the state that a transaction committed, or nil if there is a later state.
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

// searched adds the searches of an ended snapshot to those of its state. At cacheAfter searches, it creates the
// relation cache.
func (c *stateCache) searched(s *Snapshot) {
	if c == nil || s.relations != nil || c.seeks.Add(s.stats.seeks) < cacheAfter {
		return
	}
	const least, most = 1 << 11, 1 << 16
	c.relations.CompareAndSwap(nil, relcache.New(int(min(max(s.tx.Size()/1024, least), most))))
}

// rowSizeBits is the number of low bits of a location that hold the length of the row's value. The bits above them hold
// the offset of the row's key in the file. The relation cache stores such locations.
const rowSizeBits = 20

// relationKey returns the key of a list of links in the relation cache: the common prefix of the keys of the links (see
// appendLinkList). The prefix also decides which version of a target is shown, since it contains the link set if a
// target can have more than one version.
func relationKey(list []byte) relcache.Key { return relcache.Key{be.Uint64(list), be.Uint64(list[8:])} }

// locationOf returns the location of a row, or 0 if it has none, for example because it is too long.
func (s *Snapshot) locationOf(r Record) uint64 {
	var buf [format.RowKeyLen]byte
	key := format.AppendRowKey(buf[:0], r.table.bound.number, r.slot, r.doc)
	at, ok := s.file.Offset(r.data)
	if at -= format.RowKeyLen; !ok || at <= 0 || len(r.data) >= 1<<rowSizeBits || bits.Len(uint(at)) > 64-rowSizeBits ||
		!bytes.HasPrefix(s.file.At(at), key) {
		return 0
	}
	return uint64(at)<<rowSizeBits | uint64(len(r.data))
}

// rowAt returns the row at a location.
func (s *Snapshot) rowAt(location uint64) Record {
	at, n := location>>rowSizeBits, location&(1<<rowSizeBits-1)
	row := s.file.At(int(at))[: format.RowKeyLen+n : format.RowKeyLen+n]
	return s.record(format.Slot(be.Uint16(row[2:])), be.Uint64(row[4:]), row[format.RowKeyLen:])
}

// gatherCached lists the targets of the rows from the relation cache. If the cache does not have all of them, it does
// nothing and returns false.
func (s *Snapshot) gatherCached(of []Record, a *contenttypes.Attribute, status Status, most int, into *Related) bool {
	if s.relations == nil {
		return false
	}
	var buf [format.LinkListLen]byte
	list := s.appendShownList(buf[:0], a, status, format.End{})
	for _, r := range of {
		if r.Exists() {
			format.SetLinkOwner(list, r.ref())
			locations, whole := s.relations.Get(relationKey(list))
			if !whole && (most < 0 || len(locations) < most) {
				s.stats.relationMisses++
				into.locations, into.Starts = into.locations[:0], into.Starts[:1]
				return false
			}
			if most >= 0 && most < len(locations) {
				locations = locations[:most]
			}
			into.locations = append(into.locations, locations...)
			if into.over(len(into.locations)) {
				return true
			}
		}
		into.Starts = append(into.Starts, int32(len(into.locations)))
	}
	s.stats.relationHits++
	s.readLocations(into)
	return true
}

// readLocations reads the row at the location of each item; equal locations are read once.
func (s *Snapshot) readLocations(into *Related) {
	n := len(into.locations)
	into.Items = slices.Grow(into.Items, n)[:n]
	size := into.clearSeen(n)
	for i, location := range into.locations {
		if !s.step() {
			into.reset()
			return
		}
		s.stats.links++
		at := int(relcache.Hash(relcache.Key{location})>>8) & (size - 1)
		for into.seen[at] > 0 && into.locations[into.seen[at]-1] != location {
			at = (at + 1) & (size - 1)
		}
		if known := into.seen[at]; known > 0 {
			into.Items[i] = into.Items[known-1]
			continue
		}
		into.seen[at] = int32(i + 1)
		into.Items[i] = int32(len(into.Rows))
		into.Rows = append(into.Rows, s.rowAt(location))
	}
}

// cacheAll puts the targets of many rows into the relation cache. most is how many targets were listed for each row at
// most; if it is negative, all were listed.
func (s *Snapshot) cacheAll(of []Record, a *contenttypes.Attribute, status Status, most int, into *Related) {
	if !s.caches() {
		return
	}
	list := s.appendShownList(nil, a, status, format.End{})
	var locations []uint64
	for i, r := range of {
		if !r.Exists() {
			continue
		}
		shown := into.Of(i)
		locations = locations[:0]
		for _, row := range shown {
			locations = s.appendLocation(locations, into.Rows[row])
		}
		format.SetLinkOwner(list, r.ref())
		s.cacheLocations(list, locations, most < 0 || len(shown) < most)
	}
}

// caches reports whether there is a relation cache with room for more lists.
func (s *Snapshot) caches() bool { return s.relations != nil && !s.relations.Full() }

// appendLocation appends the location of a row, unless the relation cache is full or missing.
func (s *Snapshot) appendLocation(locations []uint64, r Record) []uint64 {
	if !s.caches() {
		return locations
	}
	return append(locations, s.locationOf(r))
}

// cacheLocations puts the locations of a list's targets into the relation cache; whole says that locations has all of
// them, not only the first.
func (s *Snapshot) cacheLocations(list []byte, locations []uint64, whole bool) {
	if s.caches() && s.failed == nil && !slices.Contains(locations, 0) {
		s.relations.Put(relationKey(list), locations, whole)
	}
}

// cachedLocations returns where the rows of a list's targets are, as far as the relation cache knows. If whole is true
// these are all targets; otherwise the list may have more behind them, which must be read from the file.
func (s *Snapshot) cachedLocations(list []byte) (locations []uint64, whole bool) {
	if s.relations == nil {
		return nil, false
	}
	if locations, whole = s.relations.Get(relationKey(list)); whole {
		s.stats.relationHits++
	} else {
		s.stats.relationMisses++
	}
	return locations, whole
}
