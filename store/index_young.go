package store

import (
	"bytes"
	"errors"

	"lectern/store/internal/format"
)

// Most spaces of the index grow at few places: ids, dates of creation and nulls at their end, a value that many rows
// have at the end of its run. A new document would write a page for the last block of each, and the counts above it.
// Such a block is young until it is full: it stands in the bucket young, where those of all spaces share few pages, an
// empty block marks its place in the bucket index, and no group or span counts its entries. Readers add those of the
// young blocks of a space, of which there are at most maxYoung.

// maxYoung is how many young blocks a space may have.
const maxYoung = 4

// recent is by how much the id of an added entry may exceed that of the entry before it in a place where a space grows.
const recent = 64

// split divides the entries of a block, of which changes were made, into lists for one block each. young is the index
// of the list whose block is young, -1 if there is none.
func (x *indexer) split(entries []format.BlockEntry, changes []indexChange,
	isYoung bool) (lists [][]format.BlockEntry, young int) {
	young = -1
	if format.Fits(entries) {
		if isYoung {
			young = 0
		}
		return [][]format.BlockEntry{entries}, young
	}
	end := grownTo(entries, changes)
	if end == 0 {
		return format.SplitEntries(entries), young
	}
	lists = format.PackEntries(entries[:end])
	young = len(lists) - 1
	if end < len(entries) {
		lists = append(lists, entries[end:])
	}
	return lists, young
}

// grownTo returns the position behind the added entries if changes have only added entries, all at one place, and the
// entry before them was added shortly before. Otherwise it returns 0.
func grownTo(entries []format.BlockEntry, changes []indexChange) int {
	first := format.BlockEntry{Key: changes[0].key}
	at := 0
	for at < len(entries) && !bytes.Equal(entries[at].Key, first.Key) {
		at++
	}
	if at == 0 || at+len(changes) > len(entries) || first.ID()-entries[at-1].ID() > recent {
		return 0
	}
	for i, ch := range changes {
		if ch.delta < 0 || !bytes.Equal(entries[at+i].Key, ch.key) {
			return 0
		}
	}
	return at + len(changes)
}

// putBlock stores a block, and counts nothing. wasYoung says that there is a young block under its bound.
func (x *indexer) putBlock(bound []byte, entries []format.BlockEntry, young, wasYoung bool) (err error) {
	block := freshValue{format.NewBlock(entries)}
	if !young {
		if wasYoung {
			err = x.young.Delete(bound)
		}
		return errors.Join(err, x.blocks.Put(bound, block))
	}
	if !wasYoung {
		err = x.blocks.Put(bound, freshValue{format.YoungBlock()})
	}
	return errors.Join(err, x.young.Put(bound, block))
}

// limitYoung makes the young block of a space that was added to least recently an ordinary one, if there are too many.
func (x *indexer) limitYoung(space []byte) error {
	var bound []byte
	var oldest []format.BlockEntry
	n, c := 0, x.young.Cursor()
	for k, v := c.Seek(space); bytes.HasPrefix(k, space); k, v = c.Next() {
		entries := format.Block(v).AppendEntries(nil)
		if n++; len(entries) > 0 && (oldest == nil || entries[len(entries)-1].ID() < oldest[len(oldest)-1].ID()) {
			bound, oldest = bytes.Clone(k), entries
		}
	}
	if n <= maxYoung || oldest == nil {
		return nil
	}
	if err := x.putBlock(bound, oldest, false, true); err != nil {
		return err
	}
	return x.count(0, bound, len(oldest), 0)
}

// A youngBlock is the number of entries of a young block, which no group or span counts.
type youngBlock struct {
	bound   []byte
	entries int
}

// youngBlocks returns the young blocks of a space in order. The list is valid until the next call.
func (s *Snapshot) youngBlocks(space []byte) []youngBlock {
	s.young = s.young[:0]
	c := s.cursor(format.Young)
	for k, v := c.Seek(space); bytes.HasPrefix(k, space); k, v = c.Next() {
		s.young = append(s.young, youngBlock{k, format.Block(v).Len()})
	}
	return s.young
}

// block returns the block under a bound, given what stands in the bucket index.
func (s *Snapshot) block(bound []byte, v format.Block) format.Block {
	if v.IsYoung() {
		return s.bucket(format.Young).Get(bound)
	}
	return v
}

// open is Snapshot.block for the snapshot of the cursor.
func (x *indexCursor) open(bound []byte, v format.Block) format.Block {
	if v.IsYoung() {
		return x.c.tree.snap.block(bound, v)
	}
	return v
}
