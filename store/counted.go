package store

import (
	"bytes"
	"slices"

	bolt "go.etcd.io/bbolt"
)

// The index is counted: how many entries lie below a key, and which is the k-th, is found without walking over them. The
// entries of each space (see appendSpace) stand in blocks, and above the blocks stand groups of blocks with their numbers. A
// block's key is the lower bound of what it holds; the first block and group of a space have the bare space as key.

// maxGroup is how many blocks a group may have; a larger one is split in halves.
const maxGroup = 256

// spaceEnd is what the key after all entries of a space ends with.
var spaceEnd = bytes.Repeat([]byte{0xFF}, 12)

// An indexer keeps the index and its counts in step with the rows of one write transaction. Changes are gathered and worked off
// in order of key when something reads the index, or before the commit: what a transaction adds beside each other then costs
// one update of its block, and a large transaction does not insert at random into pages that bbolt splits only when it commits.
type indexer struct {
	blocks, groups *bolt.Bucket
	pending        []indexChange
}

// An indexChange adds an entry (delta 1) or removes one (delta -1).
type indexChange struct {
	key   []byte
	doc   uint64
	delta int
}

func (x *indexer) add(key []byte, doc uint64) {
	x.pending = append(x.pending, indexChange{key, doc, +1})
}
func (x *indexer) remove(key []byte) { x.pending = append(x.pending, indexChange{key: key, delta: -1}) }

func (x *indexer) flush() error {
	if len(x.pending) == 0 {
		return nil
	}
	slices.SortStableFunc(x.pending, func(a, b indexChange) int { return bytes.Compare(a.key, b.key) })
	for i := 0; i < len(x.pending); {
		n, err := x.settleBlock(x.pending[i:])
		if err != nil {
			return err
		}
		i += n
	}
	x.pending = x.pending[:0]
	return nil
}

// settleBlock applies the changes that fall into the first one's block and returns how many these were.
func (x *indexer) settleBlock(changes []indexChange) (int, error) {
	space := changes[0].key[:spaceLen]
	cur := x.blocks.Cursor()
	low, old := floor(cur, changes[0].key)
	isNew := !bytes.HasPrefix(low, space)
	if isNew {
		low, old = space, nil
	}
	low = bytes.Clone(low)
	var next []byte // the lower bound of the block after this one
	if k, _ := cur.Seek(append(bytes.Clone(low), 0)); bytes.HasPrefix(k, space) {
		next = bytes.Clone(k)
	}
	n := 0
	for n < len(changes) && bytes.HasPrefix(changes[n].key, space) && (next == nil || bytes.Compare(changes[n].key, next) < 0) {
		n++
	}
	entries := merge(block(old).entries(), changes[:n])

	g := x.groupOf(space, low)
	g.entries += len(entries) - block(old).len()
	if isNew {
		g.blocks++
	}
	// The block that a group begins with stays, though empty, as long as the group does: so no key of a group is ever held by
	// a block of the one before.
	anchor := bytes.Equal(low, g.key)
	if len(entries) == 0 && (!anchor || g.blocks == 1 && len(low) > spaceLen) {
		g.blocks--
		if err := x.blocks.Delete(low); err != nil {
			return 0, err
		}
		return n, x.saveGroup(g)
	}
	for i, list := range splitEntries(entries) {
		if i > 0 {
			low = list[0].key
			g.blocks++
		}
		if err := x.blocks.Put(low, newBlock(list)); err != nil {
			return 0, err
		}
	}
	return n, x.saveGroup(g)
}

// merge returns entries with changes made to them; both are in order of key. Of several changes of one key the last counts.
func merge(entries []indexEntry, changes []indexChange) []indexEntry {
	merged := make([]indexEntry, 0, len(entries)+len(changes))
	for i, ch := range changes {
		if i+1 < len(changes) && bytes.Equal(changes[i+1].key, ch.key) {
			continue
		}
		for len(entries) > 0 && bytes.Compare(entries[0].key, ch.key) < 0 {
			merged, entries = append(merged, entries[0]), entries[1:]
		}
		if len(entries) > 0 && bytes.Equal(entries[0].key, ch.key) {
			entries = entries[1:]
		}
		if ch.delta > 0 {
			merged = append(merged, indexEntry{ch.key, ch.doc})
		}
	}
	return append(merged, entries...)
}

// groupCount is what the file says of a group of blocks.
type groupCount struct {
	key             []byte
	entries, blocks int
}

// groupOf returns the group that the block at low belongs to, or will.
func (x *indexer) groupOf(space, low []byte) groupCount {
	key, v := floor(x.groups.Cursor(), low)
	if !bytes.HasPrefix(key, space) {
		return groupCount{key: space}
	}
	return groupCount{bytes.Clone(key), int(be.Uint64(v)), int(be.Uint32(v[8:]))}
}

func (x *indexer) saveGroup(g groupCount) error {
	switch {
	case g.blocks == 0:
		return x.groups.Delete(g.key)
	case g.blocks > maxGroup:
		return x.splitGroup(g)
	}
	return x.groups.Put(g.key, groupValue(g.entries, g.blocks))
}

func (x *indexer) splitGroup(g groupCount) error {
	cur := x.blocks.Cursor()
	k, v := cur.Seek(g.key)
	bound := g.key
	for left := g.blocks; left > 0; {
		n, entries := maxGroup/2, 0
		if left <= maxGroup {
			n = left
		}
		for range n {
			entries += block(v).len()
			k, v = cur.Next()
		}
		if err := x.groups.Put(bound, groupValue(entries, n)); err != nil {
			return err
		}
		left -= n
		bound = bytes.Clone(k)
	}
	return nil
}

func groupValue(entries, blocks int) []byte {
	return be.AppendUint32(be.AppendUint64(make([]byte, 0, 12), uint64(entries)), uint32(blocks))
}

// floor moves a cursor to the greatest key that is not greater than key.
func floor(c *bolt.Cursor, key []byte) (k, v []byte) {
	if k, v = c.Seek(key); k == nil {
		return c.Last()
	}
	if bytes.Equal(k, key) {
		return k, v
	}
	return c.Prev()
}

// settle makes what a write transaction has applied show in the index. A failure fails the transaction.
func (s *Snapshot) settle() {
	if s.indexer == nil || s.failed != nil {
		return
	}
	s.failed = s.indexer.flush()
}

// rank returns how many entries of key's space lie before key.
func (s *Snapshot) rank(key []byte) int {
	space := key[:spaceLen]
	if bytes.Equal(key[spaceLen:], spaceEnd) {
		return s.size(space)
	}
	total, last := 0, 0
	group := space
	c := s.cursor(groups)
	for k, v := c.Seek(space); bytes.HasPrefix(k, space) && bytes.Compare(k, key) <= 0; k, v = c.Next() {
		group = k
		last = int(be.Uint64(v))
		total += last
	}
	total, last = total-last, 0 // all but the group that holds key
	var holds block
	c = s.cursor(index)
	for k, v := c.Seek(group); bytes.HasPrefix(k, space) && bytes.Compare(k, key) <= 0; k, v = c.Next() {
		holds = v
		last = holds.len()
		total += last
	}
	return total - last + holds.search(key)
}

// size returns how many entries a space has.
func (s *Snapshot) size(space []byte) int {
	total := 0
	c := s.cursor(groups)
	for k, v := c.Seek(space); bytes.HasPrefix(k, space); k, v = c.Next() {
		total += int(be.Uint64(v))
	}
	return total
}

// kth moves a cursor of the index to the k-th entry (from 0) of a space and returns its key and value, nil beyond the end.
func (s *Snapshot) kth(c *indexCursor, space []byte, k int) (key, value []byte) {
	group, k := skip(s.cursor(groups), space, space, k, func(v []byte) int { return int(be.Uint64(v)) })
	if group == nil {
		return nil, nil
	}
	bound, k := skip(s.cursor(index), space, group, k, func(v []byte) int { return block(v).len() })
	if bound == nil {
		return nil, nil
	}
	return c.move(bound, k)
}

// skip walks from low over blocks or groups that hold k entries or fewer and returns the one that holds the k-th, and which
// of its entries that is.
func skip(c *bolt.Cursor, space, low []byte, k int, count func([]byte) int) (key []byte, rest int) {
	for key, v := c.Seek(low); bytes.HasPrefix(key, space); key, v = c.Next() {
		n := count(v)
		if k < n {
			return key, k
		}
		k -= n
	}
	return nil, 0
}
