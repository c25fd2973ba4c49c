package store

import (
	"bytes"

	"github.com/tidwall/btree"

	"lectern/store/internal/format"
)

// A buffer holds the changes that a write transaction makes to one bucket, in order of key, until the transaction commits.
//
// bbolt splits a page only when its transaction commits. Until then the page grows with everything that is put into it, and each put
// moves all keys behind its own. The cost of puts in random order is therefore quadratic. A buffer takes changes in any order, each for a
// search in a B-tree. Reads in the transaction look into the buffer first (cursor, get). flush makes all changes in one walk over the
// bucket.
type buffer struct {
	changes *btree.BTreeG[change]
	idle    []*mergeCursor // cursors to use again
}

// A change puts a value, which is that of a freshValue, under a key. If the value is nil it deletes the key.
type change struct{ key, value []byte }

func newBuffer() *buffer {
	before := func(a, b change) bool { return bytes.Compare(a.key, b.key) < 0 }
	return &buffer{changes: btree.NewBTreeGOptions(before, btree.Options{NoLocks: true})}
}

// empty reports whether there are no changes; b may be nil.
func (b *buffer) empty() bool { return b == nil || b.changes.Len() == 0 }

// get returns the value that a key will have. known is false if the buffer has no change of the key, so that the bucket has to be read.
func (b *buffer) get(key []byte) (value []byte, known bool) {
	if b.empty() {
		return nil, false
	}
	c, known := b.changes.Get(change{key: bytes.Clone(key)}) // the clone keeps the keys of callers off the heap where there is no buffer
	return c.value, known
}

// flush makes the changes in the bucket, in order of key, and empties the buffer.
func (b *buffer) flush(into *tree) (err error) {
	b.changes.Scan(func(c change) bool {
		if c.value == nil {
			err = into.Delete(c.key)
		} else {
			err = into.Put(c.key, freshValue{c.value})
		}
		return err == nil
	})
	b.changes.Clear()
	return err
}

// put puts a value under a key of a bucket that has a buffer. The key must not be changed afterwards.
func (tx *Tx) put(n format.Bucket, key []byte, value freshValue) {
	tx.buffers[n].changes.Set(change{key, value.data})
}

// delete removes a key from a bucket that has a buffer. The key must not be changed afterwards.
func (tx *Tx) delete(n format.Bucket, key []byte) { tx.buffers[n].changes.Set(change{key: key}) }

// buffered returns how many changes the buffers hold.
func (tx *Tx) buffered() (n int) {
	for _, b := range tx.buffers {
		if b != nil {
			n += b.changes.Len()
		}
	}
	return n
}

// flush writes the buffers to their buckets.
func (tx *Tx) flush() error {
	for n, b := range tx.buffers {
		if b.empty() {
			continue
		}
		tx.stats.flushes++
		if err := b.flush(tx.bucket(format.Bucket(n))); err != nil {
			return err
		}
	}
	return nil
}

// A cursor walks over the keys of a bucket in ascending order. In a write transaction it sees the changes in the buffer as made.
type cursor struct {
	tree   *treeCursor
	merged *mergeCursor // nil if no changes are buffered
}

func (c cursor) Seek(key []byte) (k, v []byte) {
	if c.merged == nil {
		return c.tree.Seek(key)
	}
	return c.merged.seek(key)
}

func (c cursor) Next() (k, v []byte) {
	if c.merged == nil {
		return c.tree.Next()
	}
	return c.merged.next()
}

// A mergeCursor walks over a bucket and its buffer at the same time.
type mergeCursor struct {
	bucket     *treeCursor
	key, value []byte // at the bucket's cursor; nil behind the last key
	buffer     btree.IterG[change]
	change     change // at the buffer's cursor; zero behind the last change
}

// takeCursor returns a cursor over a bucket. Nothing may be put into the bucket until giveCursor takes the cursor back.
func (s *Snapshot) takeCursor(n format.Bucket) cursor {
	c := cursor{tree: s.take(n)}
	if b := s.buffers[n]; !b.empty() {
		c.merged = b.take(c.tree)
	}
	return c
}

func (s *Snapshot) giveCursor(n format.Bucket, c cursor) {
	s.give(n, c.tree)
	if c.merged != nil {
		s.buffers[n].idle = append(s.buffers[n].idle, c.merged)
	}
}

// take returns a cursor over a bucket and this buffer.
func (b *buffer) take(bucket *treeCursor) *mergeCursor {
	m := &mergeCursor{}
	if last := len(b.idle) - 1; last >= 0 {
		m, b.idle = b.idle[last], b.idle[:last]
	}
	m.bucket = bucket
	m.buffer.Init(b.changes, false)
	return m
}

func (m *mergeCursor) seek(key []byte) (k, v []byte) {
	m.key, m.value = m.bucket.Seek(key)
	m.setChange(m.buffer.Seek(change{key: bytes.Clone(key)})) // a clone, as in get
	return m.here()
}

func (m *mergeCursor) next() (k, v []byte) {
	m.advance()
	return m.here()
}

// setChange sets m.change to the change at the cursor of the buffer, or to none.
func (m *mergeCursor) setChange(there bool) {
	m.change = change{}
	if there {
		m.change = m.buffer.Item()
	}
}

// order is negative if the key of the bucket comes first, positive if that of the buffer does, and 0 if they are equal.
func (m *mergeCursor) order() int {
	switch {
	case m.change.key == nil:
		return -1
	case m.key == nil:
		return 1
	}
	return bytes.Compare(m.key, m.change.key)
}

// advance moves on from the key that comes first.
func (m *mergeCursor) advance() {
	order := m.order()
	if order <= 0 && m.key != nil {
		m.key, m.value = m.bucket.Next()
	}
	if order >= 0 {
		m.setChange(m.buffer.Next())
	}
}

// here returns the key that comes first. It steps over deleted keys.
func (m *mergeCursor) here() (k, v []byte) {
	for {
		if m.order() < 0 {
			return m.key, m.value
		}
		if m.change.value != nil {
			return m.change.key, m.change.value
		}
		m.advance()
	}
}

// last returns the greatest key of a bucket that begins with prefix and is longer than it by at most so many bytes, nil if
// there is none. If inBuffer is set, the bucket has no such key unless the buffer does.
func (s *Snapshot) last(n format.Bucket, prefix []byte, longer int, inBuffer bool) []byte {
	end := append(bytes.Clone(prefix), bytes.Repeat([]byte{0xFF}, longer)...)
	var c *treeCursor
	var key []byte
	if !inBuffer {
		s.stats.seeks++
		c = s.take(n)
		defer s.give(n, c)
		key, _ = floor(c, end)
	}
	if b := s.buffers[n]; !b.empty() {
		b.changes.Descend(change{key: end}, func(ch change) bool {
			order := bytes.Compare(ch.key, key)
			switch {
			case order < 0: // the changes that follow have smaller keys
				return false
			case ch.value != nil:
				key = ch.key
				return false
			case order == 0:
				key, _ = c.Prev()
			}
			return true
		})
	}
	if !bytes.HasPrefix(key, prefix) {
		return nil
	}
	return key
}
