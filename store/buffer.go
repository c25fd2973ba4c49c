package store

import (
	"bytes"

	"github.com/tidwall/btree"
)

// A buffer holds the changes that a write transaction makes to one bucket until it commits, in order of key.
//
// bbolt splits a page when its transaction commits. Until then a page grows with everything that is put into it, and each put
// moves all keys behind it. Puts in any order thus cost the square of their number, and so do several sorted runs one after
// the other. A buffer takes changes in any order at the cost of a search each, look-ups read through it (cursor, get), and
// flush walks over the bucket once.
type buffer struct {
	changes *btree.BTreeG[change]
	idle    []*mergeCursor // not in use
}

// A change puts a value under a key, or deletes the key where the value is nil.
type change struct{ key, value []byte } // the value is that of a freshValue

func newBuffer() *buffer {
	before := func(a, b change) bool { return bytes.Compare(a.key, b.key) < 0 }
	return &buffer{changes: btree.NewBTreeGOptions(before, btree.Options{NoLocks: true})}
}

// empty is true of no buffer, too.
func (b *buffer) empty() bool { return b == nil || b.changes.Len() == 0 }

// get returns the value that a key will have; known is false where the bucket decides.
func (b *buffer) get(key []byte) (value []byte, known bool) {
	if b.empty() {
		return nil, false
	}
	c, known := b.changes.Get(change{key: bytes.Clone(key)}) // so that callers without a buffer keep their keys off the heap
	return c.value, known
}

// flush makes the changes in the bucket and empties the buffer.
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
func (tx *Tx) put(n bucket, key []byte, value freshValue) {
	tx.buffers[n].changes.Set(change{key, value.data})
}

// delete removes a key from a bucket that has a buffer. The key must not be changed afterwards.
func (tx *Tx) delete(n bucket, key []byte) { tx.buffers[n].changes.Set(change{key: key}) }

// buffered is how many changes the buffers hold.
func (tx *Tx) buffered() (n int) {
	for _, b := range tx.buffers {
		if b != nil {
			n += b.changes.Len()
		}
	}
	return n
}

// flush brings the buffers into the file.
func (tx *Tx) flush() error {
	for n, b := range tx.buffers {
		if b.empty() {
			continue
		}
		tx.stats.flushes++
		if err := b.flush(tx.bucket(bucket(n))); err != nil {
			return err
		}
	}
	return nil
}

// A cursor walks up the keys of a bucket. In a write transaction it sees the bucket as its buffer will leave it.
type cursor struct {
	tree   *treeCursor
	merged *mergeCursor // nil where no changes are buffered
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

// A mergeCursor walks over a bucket and its buffer at once.
type mergeCursor struct {
	bucket     *treeCursor
	key, value []byte // at which the bucket's cursor stands, nil behind the last
	buffer     btree.IterG[change]
	change     change // at which the buffer's stands, zero behind the last
}

// takeCursor returns a cursor for a walk over a bucket that may have a buffer, during which nothing is put into it; giveCursor hands it back.
func (s *Snapshot) takeCursor(n bucket) cursor {
	c := cursor{tree: s.take(n)}
	if b := s.buffers[n]; !b.empty() {
		c.merged = b.take(c.tree)
	}
	return c
}

func (s *Snapshot) giveCursor(n bucket, c cursor) {
	s.give(n, c.tree)
	if c.merged != nil {
		s.buffers[n].idle = append(s.buffers[n].idle, c.merged)
	}
}

// take returns a cursor over a bucket and the buffer.
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
	m.stand(m.buffer.Seek(change{key: bytes.Clone(key)})) // see buffer.get
	return m.here()
}

func (m *mergeCursor) next() (k, v []byte) {
	m.step()
	return m.here()
}

// stand takes over where the buffer's cursor stands.
func (m *mergeCursor) stand(there bool) {
	m.change = change{}
	if there {
		m.change = m.buffer.Item()
	}
}

// order is negative where the bucket's key comes first, positive where the buffer's does, 0 where both are the same.
func (m *mergeCursor) order() int {
	switch {
	case m.change.key == nil:
		return -1
	case m.key == nil:
		return 1
	}
	return bytes.Compare(m.key, m.change.key)
}

// step moves on from the key that comes first.
func (m *mergeCursor) step() {
	order := m.order()
	if order <= 0 && m.key != nil {
		m.key, m.value = m.bucket.Next()
	}
	if order >= 0 {
		m.stand(m.buffer.Next())
	}
}

// here returns the key that comes first, of those that are not deleted.
func (m *mergeCursor) here() (k, v []byte) {
	for {
		if m.order() < 0 {
			return m.key, m.value
		}
		if m.change.value != nil {
			return m.change.key, m.change.value
		}
		m.step()
	}
}

// last returns the greatest key of a bucket that begins with prefix, and is longer by n bytes at most; nil where none does.
func (s *Snapshot) last(n bucket, prefix []byte, longer int) []byte {
	end := append(bytes.Clone(prefix), bytes.Repeat([]byte{0xFF}, longer)...)
	s.stats.seeks++
	c := s.take(n)
	defer s.give(n, c)
	key, _ := floor(c, end)
	if b := s.buffers[n]; !b.empty() {
		b.changes.Descend(change{key: end}, func(ch change) bool {
			order := bytes.Compare(ch.key, key)
			switch {
			case order < 0: // what follows is smaller still
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
