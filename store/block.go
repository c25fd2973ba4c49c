package store

import "lectern/store/internal/format"

// An indexCursor iterates over the entries of all blocks of the index in order of key, as a bolt.Cursor does over keys. It does not stop
// at the end of a space.
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
	x.block = v
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
		if x.block, x.i = v, 0; x.block.Len() > 0 {
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
		if x.block, x.i = v, format.Block(v).Len()-1; x.i >= 0 {
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
	x.block, x.i = v, i
	return x.at()
}
