package store

import (
	"bytes"
	"encoding/binary"
	"slices"
	"sort"

	"github.com/tidwall/btree"
	bolt "go.etcd.io/bbolt"

	"lectern/store/internal/format"
	"lectern/store/internal/pages"
)

var be = binary.BigEndian

// A tree is a bucket with checksums: Put adds one to each value, and reads check each page before they use it (see
// internal/format/checksum.go). When a page is damaged, the snapshot fails (see Snapshot.fail).
//
// Read transactions read through package pages. A write transaction reads through bbolt, which alone knows the changes
// that are in memory; the tree checks the pages in the file before bbolt reads them.
type tree struct {
	snap  *Snapshot
	n     format.Bucket
	pages *pages.Tree  // the bucket when the transaction began; nil if there was none
	bolt  *bolt.Bucket // in a write transaction; otherwise nil
	seeks *treeCursor  // see lookup

	// For checkAround, in a write transaction:
	base    *pages.Cursor  // reads the pages as they were when the transaction began
	checked []checkedRange // in order of key, without overlaps
	latest  checkedRange   // the range that was used last
}

// A checkedRange is a range of keys whose pages were checked: from low on and below high. If high is nil the range has
// no end.
type checkedRange struct{ low, high []byte }

func (r checkedRange) has(key []byte) bool {
	return bytes.Compare(r.low, key) <= 0 && (r.high == nil || bytes.Compare(key, r.high) < 0)
}

// maxChecked bounds how many checked ranges a transaction remembers. When there are more it forgets them all.
const maxChecked = 1024

// mapped returns the pages that a transaction sees, in the memory that bbolt maps. They stay valid until a read
// transaction ends, or a write transaction commits.
func mapped(tx *bolt.Tx, sound *pages.Marks) *pages.File {
	info := tx.DB().Info()
	return pages.NewFile(pages.Mapped(info.Data, int(tx.Size())), info.PageSize, sound)
}

// marksOf returns the marks of the pages that a transaction sees, or nil if it reads a file that another one has
// replaced: the same number may be that of another page there.
func (f *file) marksOf(tx *bolt.Tx) *pages.Marks {
	if db := f.db(); db.DB == tx.DB() {
		return &db.sound
	}
	return nil
}

// rootTree returns the tree of all buckets, as it was when the transaction began.
func rootTree(tx *bolt.Tx, f *pages.File) *pages.Tree {
	return f.Root(uint64(tx.Cursor().Bucket().RootPage()))
}

func (s *Snapshot) bucket(n format.Bucket) *tree {
	if s.trees[n] == nil {
		s.trees[n] = s.newTree(n)
	}
	return s.trees[n]
}

func (s *Snapshot) newTree(n format.Bucket) *tree {
	t := &tree{snap: s, n: n}
	if s.root == nil {
		s.file = mapped(s.tx, s.store.marksOf(s.tx))
		s.root = rootTree(s.tx, s.file)
	}
	var err error
	if t.pages, err = s.root.Bucket(n.Name()); err != nil {
		s.fail(n, err)
	}
	if t.pages != nil {
		t.pages.Check = format.CheckPage(n)
		t.base = t.pages.Cursor()
	}
	if s.tx.Writable() {
		t.bolt = s.tx.Bucket(n.Name())
		if t.bolt == nil && n == format.Texts { // the store is from before there were text indexes
			if t.bolt, err = s.tx.CreateBucket(n.Name()); err != nil {
				s.fail(n, err)
			}
		}
	}
	return t
}

// checkAround checks the pages that bbolt reads to find or change a key: the leaf of the key, the leaves beside it, and
// the pages above them. It checks them once in a transaction.
func (t *tree) checkAround(key []byte) {
	if t.base == nil || len(t.checked) > 0 && t.latest.has(key) {
		return
	}
	i := sort.Search(len(t.checked), func(i int) bool { return bytes.Compare(t.checked[i].low, key) > 0 })
	if i > 0 && t.checked[i-1].has(key) {
		t.latest = t.checked[i-1]
		return
	}
	t.base.Seek(key)
	low, high, err := t.base.Around()
	if err != nil {
		t.snap.fail(t.n, err)
	}
	if len(t.checked) == maxChecked {
		t.checked, i = t.checked[:0], 0
	}
	t.latest = checkedRange{low, high}
	t.checked = slices.Insert(t.checked, i, t.latest)
}

// A freshValue is a value to store, in memory that is used nowhere else: Put writes the checksum into that memory. A
// value that was read from the store must be copied first (copied). Its memory is mapped read-only, so that writing to
// it faults, or bbolt still needs it.
type freshValue struct{ data []byte }

// copied makes a freshValue of a value that is used elsewhere too.
func copied(value []byte) freshValue { return freshValue{bytes.Clone(value)} }

// Put stores a value with its checksum. It must be called in a write transaction.
func (t *tree) Put(key []byte, value freshValue) error {
	t.checkAround(key)
	return t.bolt.Put(key, format.WithChecksum(t.n, key, value.data))
}

// Delete removes a key; it is no error when there is none. It must be called in a write transaction.
func (t *tree) Delete(key []byte) error {
	t.checkAround(key)
	return t.bolt.Delete(key)
}

// Get returns the value of a key, nil if there is none.
func (t *tree) Get(key []byte) []byte {
	if k, v := t.lookup().Seek(key); bytes.Equal(k, key) {
		return v
	}
	return nil
}

// lookup returns a cursor that all single look-ups share.
func (t *tree) lookup() *treeCursor {
	if t.seeks == nil {
		t.seeks = t.Cursor()
	}
	return t.seeks
}

// Cursor returns a new cursor. It must be moved by Seek, First or Last before it is read.
func (t *tree) Cursor() *treeCursor {
	if t.bolt != nil {
		return &treeCursor{tree: t, bolt: t.bolt.Cursor()}
	}
	return &treeCursor{tree: t, pages: t.pages.Cursor()}
}

// A treeCursor walks over the keys of a tree, as bolt.Cursor does over those of a bucket.
type treeCursor struct {
	tree  *tree
	pages *pages.Cursor // in a read transaction
	bolt  *bolt.Cursor  // in a write transaction
	key   []byte        // the key at which bolt stands
}

// Seek moves to the first key that is not less than key.
func (c *treeCursor) Seek(key []byte) (k, v []byte) {
	if c.bolt == nil {
		return c.read(c.pages.Seek(key))
	}
	c.tree.checkAround(key)
	return c.landed(c.bolt.Seek(key))
}

// Step moves to key if that is the next one, and reports whether it did. In a write transaction it does nothing.
func (c *treeCursor) Step(key []byte) (v []byte, ok bool) {
	if c.bolt != nil {
		return nil, false
	}
	return c.pages.Step(key)
}

// First moves to the first key.
func (c *treeCursor) First() (k, v []byte) {
	if c.bolt == nil {
		return c.read(c.pages.First())
	}
	c.tree.checkAround(nil)
	return c.landed(c.bolt.First())
}

// Last moves to the last key.
func (c *treeCursor) Last() (k, v []byte) {
	if c.bolt == nil {
		return c.read(c.pages.Last())
	}
	c.tree.checkAround(afterAll)
	return c.landed(c.bolt.Last())
}

// afterAll is greater than every key in use.
var afterAll = bytes.Repeat([]byte{0xFF}, 32)

// Next moves to the key after the present one.
func (c *treeCursor) Next() (k, v []byte) {
	if c.bolt == nil {
		return c.read(c.pages.Next())
	}
	return c.landed(c.bolt.Next())
}

// Prev moves to the key before the present one.
func (c *treeCursor) Prev() (k, v []byte) {
	if c.bolt == nil {
		return c.read(c.pages.Prev())
	}
	// Pages that the transaction has emptied stay in the tree until it commits. bbolt's Next steps over them, but its
	// Prev returns nil there, as it does before the first key.
	from := c.key
	for k, v = c.bolt.Prev(); k == nil && c.tree.hasBefore(from); k, v = c.bolt.Prev() {
	}
	return c.landed(k, v)
}

// hasBefore reports whether the bucket has a key less than key. It must be called in a write transaction.
func (t *tree) hasBefore(key []byte) bool {
	first, _ := t.bolt.Cursor().First()
	return first != nil && bytes.Compare(first, key) < 0
}

// read returns the result of a move of the cursor over pages. It fails the snapshot if that ended at a damaged page.
func (c *treeCursor) read(k, v []byte) (key, value []byte) {
	if k == nil {
		c.ended()
	}
	return k, v
}

// ended fails the snapshot if the cursor returned nil because of a damaged page.
func (c *treeCursor) ended() {
	if err := c.pages.Err(); err != nil {
		c.tree.snap.fail(c.tree.n, err)
	}
}

// landed returns the result of a move of the bbolt cursor, after it has checked the pages around.
func (c *treeCursor) landed(k, v []byte) (key, value []byte) {
	if k != nil {
		c.tree.checkAround(k)
	}
	c.key = k
	return k, v
}

// A buffer holds the changes that a write transaction makes to one bucket, in order of key, until the transaction
// commits.
//
// bbolt splits a page only when its transaction commits. Until then the page grows with everything that is put into it,
// and each put moves all keys behind its own. The cost of puts in random order is therefore quadratic. A buffer takes
// changes in any order, each for a search in a B-tree. Reads in the transaction look into the buffer first (cursor,
// get). flush makes all changes in one walk over the bucket.
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

// get returns the value that a key will have. known is false if the buffer has no change of the key, so that the bucket
// has to be read.
func (b *buffer) get(key []byte) (value []byte, known bool) {
	if b.empty() {
		return nil, false
	}
	c, known := b.changes.Get(
		change{key: bytes.Clone(key)}) // the clone keeps the keys of callers off the heap where there is no buffer
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

// A cursor walks over the keys of a bucket in ascending order. In a write transaction it sees the changes in the buffer
// as made.
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

// last returns the greatest key of a bucket that begins with prefix and is longer than it by at most so many bytes, nil
// if there is none. If inBuffer is set, the bucket has no such key unless the buffer does.
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
