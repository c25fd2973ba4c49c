package store

import (
	"bytes"
	"cmp"
	"errors"
	"slices"

	"lectern/store/internal/format"
)

// The index keeps counts, so that the number of entries before a key, and the k-th entry, are found without walking
// over the entries. The entries of each space (see appendSpace) are stored in blocks. A group counts the entries of
// neighbouring blocks, and a span those of neighbouring groups. The key of a block, group or span is the lower bound of
// its entries; the first one of a space has the bare space as its key.

// counts lists the buckets that hold counts, lowest level first.
var counts = [...]format.Bucket{format.Groups, format.Spans}

// maxCounted is how many blocks a group may have, and how many groups a span may have. A larger one is split in halves.
// Only tests change it.
var maxCounted = 48

// An indexer updates the index and its counts in one write transaction. It collects changes, and applies them in order
// of key before the index is read and before the commit. Neighbouring changes then cost one update of their block, and
// a large transaction does not insert at random positions into pages that bbolt splits only at the commit.
type indexer struct {
	blocks  *tree
	young   *tree
	counts  [len(counts)]*tree
	pending []indexChange
	asked   map[string]map[string]bool // the values of the pending changes in each space that lacks was asked about

	old, merged []format.BlockEntry // entries of the current block, before and after its changes
}

func newIndexer(s *Snapshot) *indexer {
	x := &indexer{blocks: s.bucket(format.Index), young: s.bucket(format.Young)}
	for i, n := range counts {
		x.counts[i] = s.bucket(n)
	}
	return x
}

// An indexChange adds an entry (delta 1) or removes one (delta -1).
type indexChange struct {
	key   []byte
	doc   uint64
	delta int32
	order int32 // index among the pending changes
}

func (x *indexer) add(key []byte, doc uint64) { x.pend(key, doc, +1) }
func (x *indexer) remove(key []byte)          { x.pend(key, 0, -1) }

func (x *indexer) pend(key []byte, doc uint64, delta int32) {
	x.pending = append(x.pending, indexChange{key, doc, delta, int32(len(x.pending))})
	if values := x.asked[string(key[:format.SpaceLen])]; values != nil {
		values[string(key[:len(key)-8])] = true
	}
}

// lacks reports whether no entry has a key that is prefix and an id, as far as that can be said without applying the
// pending changes. A new value of a unique attribute has none. The writes that share a transaction would otherwise each
// apply the changes of the one before, and change the same blocks and counts again.
func (x *indexer) lacks(prefix []byte) bool {
	if len(x.pending) == 0 {
		return false
	}
	space := string(prefix[:format.SpaceLen])
	values := x.asked[space]
	if values == nil {
		values = map[string]bool{}
		for _, ch := range x.pending {
			if string(ch.key[:format.SpaceLen]) == space {
				values[string(ch.key[:len(ch.key)-8])] = true
			}
		}
		if x.asked == nil {
			x.asked = map[string]map[string]bool{}
		}
		x.asked[space] = values
	}
	if values[string(prefix)] {
		return false
	}
	c := indexCursor{c: x.blocks.lookup()}
	k, _ := c.Seek(prefix)
	return !bytes.HasPrefix(k, prefix)
}

func (x *indexer) flush() error {
	if len(x.pending) == 0 {
		return nil
	}
	slices.SortFunc(x.pending, func(a, b indexChange) int { // in place of a stable sort, which takes twice as long
		return cmp.Or(bytes.Compare(a.key, b.key), cmp.Compare(a.order, b.order))
	})
	for i := 0; i < len(x.pending); {
		n, err := x.settleBlock(x.pending[i:])
		if err != nil {
			return err
		}
		i += n
	}
	x.pending, x.asked = x.pending[:0], nil
	return nil
}

// settleBlock applies all changes in the block of the first change, and returns their number.
func (x *indexer) settleBlock(changes []indexChange) (int, error) {
	space := changes[0].key[:format.SpaceLen]
	cur := x.blocks.lookup()
	var next []byte // the lower bound of the next block, nil if the space has none
	low, old := cur.Seek(changes[0].key)
	if !bytes.Equal(low, changes[0].key) {
		if bytes.HasPrefix(low, space) {
			next = bytes.Clone(low)
		}
		if low == nil {
			low, old = cur.Last()
		} else {
			low, old = cur.Prev()
		}
	} else if k, _ := cur.Next(); bytes.HasPrefix(k, space) {
		next = bytes.Clone(k)
	}
	isNew := !bytes.HasPrefix(low, space)
	if isNew {
		low, old = space, nil
	}
	low = bytes.Clone(low)
	n := 0
	for n < len(changes) && bytes.HasPrefix(changes[n].key, space) &&
		(next == nil || bytes.Compare(changes[n].key, next) < 0) {
		n++
	}
	block := format.Block(old)
	counted, isYoung := block.Len(), block.IsYoung()
	if isYoung {
		block = x.young.Get(low)
	}
	x.old = block.AppendEntries(x.old[:0])
	x.merged = appendMerged(x.merged[:0], x.old, changes[:n])
	if len(x.merged) == 0 && !isNew && x.removable(0, low) {
		if err := errors.Join(x.blocks.Delete(low), x.young.Delete(low)); err != nil {
			return 0, err
		}
		return n, x.count(0, low, -counted, -1)
	}
	lists, young := x.split(x.merged, changes[:n], isYoung)
	grown, added := -counted, len(lists)
	if !isNew {
		added--
	}
	for i, list := range lists {
		bound := low
		if i > 0 {
			bound = list[0].Key
		}
		if i != young {
			grown += len(list)
		}
		if err := x.putBlock(bound, list, i == young, isYoung && i == 0); err != nil {
			return 0, err
		}
	}
	if err := x.count(0, low, grown, added); err != nil {
		return 0, err
	}
	if young > 0 || young == 0 && !isYoung {
		return n, x.limitYoung(space)
	}
	return n, nil
}

// appendMerged appends entries to merged after applying changes to them. Both are in order of key. If a key has several
// changes, the last one counts.
func appendMerged(merged, entries []format.BlockEntry, changes []indexChange) []format.BlockEntry {
	for i, ch := range changes {
		if i+1 < len(changes) && bytes.Equal(changes[i+1].key, ch.key) {
			continue
		}
		for len(entries) > 0 && bytes.Compare(entries[0].Key, ch.key) < 0 {
			merged, entries = append(merged, entries[0]), entries[1:]
		}
		if len(entries) > 0 && bytes.Equal(entries[0].Key, ch.key) {
			entries = entries[1:]
		}
		if ch.delta > 0 {
			merged = append(merged, format.BlockEntry{Key: ch.key, Doc: ch.doc})
		}
	}
	return append(merged, entries...)
}

// A tally counts the entries of a group or span, and the blocks or groups that hold them.
type tally struct {
	key            []byte
	entries, parts int
}

// tally returns the group (level 0) or span (level 1) that low belongs to. If there is none yet, it returns an empty
// one.
func (x *indexer) tally(level int, low []byte) tally {
	key, v := floor(x.counts[level].lookup(), low)
	if space := low[:format.SpaceLen]; !bytes.HasPrefix(key, space) {
		return tally{key: space}
	}
	return tally{bytes.Clone(key), format.TallyEntries(v), format.TallyParts(v)}
}

// removable reports whether an empty block (level 0) or group (level 1) with the key low may be removed. The first
// block of a group is removed only together with the group, when it is the last block in it; so is the first group of a
// span. The key of each group or span therefore always exists in the level below. The first one of a space is never
// removed.
func (x *indexer) removable(level int, low []byte) bool {
	if len(low) == format.SpaceLen {
		return false
	}
	if level == len(x.counts) {
		return true
	}
	t := x.tally(level, low)
	return !bytes.Equal(low, t.key) || t.parts == 1 && x.removable(level+1, low)
}

// count adds entries and parts to the tally that low belongs to, and updates the levels above it.
func (x *indexer) count(level int, low []byte, entries, parts int) error {
	if level == len(x.counts) || entries == 0 && parts == 0 {
		return nil
	}
	t, above := x.tally(level, low), 0
	if t.parts == 0 {
		above++
	}
	t.entries += entries
	t.parts += parts
	if t.parts == 0 {
		if err := x.counts[level].Delete(t.key); err != nil {
			return err
		}
		return x.count(level+1, t.key, entries, above-1)
	}
	split, err := x.save(level, t)
	if err != nil {
		return err
	}
	return x.count(level+1, t.key, entries, above+split)
}

// save writes a tally. If the tally has too many parts, save splits it and returns how many tallies were added.
func (x *indexer) save(level int, t tally) (added int, err error) {
	if t.parts <= maxCounted {
		return 0, x.counts[level].Put(t.key, freshValue{format.NewTally(t.entries, t.parts)})
	}
	below, entries := x.blocks, func(v []byte) int { return format.Block(v).Len() }
	if level > 0 {
		below, entries = x.counts[level-1], format.TallyEntries
	}
	cur := below.Cursor()
	k, v := cur.Seek(t.key)
	for left := t.parts; left > 0; added++ {
		part := tally{key: bytes.Clone(k), parts: maxCounted / 2}
		if left <= maxCounted {
			part.parts = left
		}
		for range part.parts {
			part.entries += entries(v)
			k, v = cur.Next()
		}
		if err := x.counts[level].Put(part.key, freshValue{format.NewTally(part.entries, part.parts)}); err != nil {
			return 0, err
		}
		left -= part.parts
	}
	return added - 1, nil
}

// floor moves a cursor to the last key that is not greater than key.
func floor(c *treeCursor, key []byte) (k, v []byte) {
	if k, v = c.Seek(key); k == nil {
		return c.Last()
	}
	if bytes.Equal(k, key) {
		return k, v
	}
	return c.Prev()
}

// settle applies the pending index changes of a write transaction. An error ends the work of the snapshot.
func (s *Snapshot) settle() {
	if s.past != nil {
		s.failed = cmp.Or(s.failed, errIndexOfPast)
	}
	if s.indexer == nil || s.failed != nil {
		return
	}
	s.failed = s.indexer.flush()
}

// rank returns how many entries of the space of key come before key.
func (s *Snapshot) rank(key []byte) int {
	space := key[:format.SpaceLen]
	switch {
	case len(key) == format.SpaceLen:
		return 0
	case bytes.Equal(key[format.SpaceLen:], format.SpaceEnd):
		return s.size(space)
	}
	total, low := 0, space
	young := s.youngBlocks(space)
	for i := len(counts) - 1; i >= 0; i-- {
		n, last := 0, 0
		c := s.cursor(counts[i])
		for k, v := c.Seek(low); bytes.HasPrefix(k, space) && bytes.Compare(k, key) <= 0; k, v = c.Next() {
			low, last = k, format.TallyEntries(v)
			n += last
		}
		total += n - last // do not count the one that holds key
	}
	for _, y := range young {
		if bytes.Compare(y.bound, low) < 0 { // those behind it are met below
			total += y.entries
		}
	}
	var holds format.Block
	last := 0
	c := s.cursor(format.Index)
	for k, v := c.Seek(low); bytes.HasPrefix(k, space) && bytes.Compare(k, key) <= 0; k, v = c.Next() {
		holds = s.block(k, v)
		last = holds.Len()
		total += last
	}
	return total - last + holds.Search(key)
}

// size returns how many entries a space has.
func (s *Snapshot) size(space []byte) int {
	total := 0
	c := s.cursor(format.Spans)
	for k, v := c.Seek(space); bytes.HasPrefix(k, space); k, v = c.Next() {
		total += format.TallyEntries(v)
	}
	for _, y := range s.youngBlocks(space) {
		total += y.entries
	}
	return total
}

// kth moves a cursor to the k-th entry of a space, counted from 0, and returns its key and value, or nil if the space
// has fewer entries.
func (s *Snapshot) kth(c *indexCursor, space []byte, k int) (key, value []byte) {
	low := space
	young := s.youngBlocks(space)
	for i := len(counts) - 1; i >= 0; i-- {
		if low, k = skip(s.cursor(counts[i]), space, low, k, young); low == nil {
			return nil, nil
		}
	}
	blocks := s.cursor(format.Index)
	for bound, v := blocks.Seek(low); bytes.HasPrefix(bound, space); bound, v = blocks.Next() {
		n := s.block(bound, v).Len()
		if k < n {
			return c.move(bound, k)
		}
		k -= n
	}
	return nil, nil
}

// skip finds the group or span that holds the k-th entry. It counts entries from 0 and begins at the group or span
// whose key is low. young are the young blocks of the space, which no group counts. It returns the key of the one that
// it found, and the position of the entry in it. The key is nil if the space has fewer entries.
func skip(c *treeCursor, space, low []byte, k int, young []youngBlock) (key []byte, rest int) {
	for len(young) > 0 && bytes.Compare(young[0].bound, low) < 0 {
		young = young[1:]
	}
	key, v := c.Seek(low)
	for bytes.HasPrefix(key, space) {
		n := format.TallyEntries(v)
		var next []byte
		next, v = c.Next()
		inside := bytes.HasPrefix(next, space)
		for len(young) > 0 && (!inside || bytes.Compare(young[0].bound, next) < 0) {
			n, young = n+young[0].entries, young[1:]
		}
		if k < n {
			return key, k
		}
		k, key = k-n, next
	}
	return nil, 0
}

// An indexCursor iterates over the entries of all blocks of the index in order of key, as a bolt.Cursor does over keys.
// It does not stop at the end of a space.
type indexCursor struct {
	c     *treeCursor
	block format.Block
	i     int
}

func (x *indexCursor) at() (key, doc []byte) { return x.block.Entry(x.i) }

// Seek moves to the first entry whose key is at least key.
func (x *indexCursor) Seek(key []byte) (k, doc []byte) {
	bound, v := floor(x.c, key)
	if bound == nil {
		bound, v = x.c.First()
	}
	if bound == nil {
		return nil, nil
	}
	x.block = x.open(bound, v)
	if x.i = x.block.Search(key); x.i < x.block.Len() {
		return x.at()
	}
	return x.nextBlock()
}

// Next moves to the next entry.
func (x *indexCursor) Next() (k, doc []byte) {
	if x.i++; x.i < x.block.Len() {
		return x.at()
	}
	return x.nextBlock()
}

func (x *indexCursor) nextBlock() (k, doc []byte) {
	for bound, v := x.c.Next(); bound != nil; bound, v = x.c.Next() {
		if x.block, x.i = x.open(bound, v), 0; x.block.Len() > 0 {
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
		x.block = x.open(bound, v)
		if x.i = x.block.Len() - 1; x.i >= 0 {
			return x.at()
		}
	}
	return nil, nil
}

// Each calls yield with the first n entries whose keys are at least key, until yield returns false.
func (x *indexCursor) Each(key []byte, n int, yield func(key, doc []byte) bool) {
	for k, _ := x.Seek(key); k != nil && n > 0; k, _ = x.nextBlock() {
		more := true
		n -= x.block.Each(x.i, n, func(k, doc []byte) bool { more = yield(k, doc); return more })
		if !more {
			return
		}
	}
}

// move moves to the i-th entry of the block whose key is bound.
func (x *indexCursor) move(bound []byte, i int) (k, doc []byte) {
	_, v := x.c.Seek(bound)
	x.block, x.i = x.open(bound, v), i
	return x.at()
}
