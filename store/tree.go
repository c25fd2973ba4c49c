package store

import (
	"bytes"
	"encoding/binary"
	"slices"
	"sort"

	bolt "go.etcd.io/bbolt"

	"lectern/store/internal/format"
	"lectern/store/internal/pages"
)

var be = binary.BigEndian

// A tree is a bucket with checksums: Put adds one to each value, and reads check each page before they use it (see checksum.go). When a
// page is damaged, the snapshot fails (see Snapshot.fail).
//
// Read transactions read through package pages. A write transaction reads through bbolt, which alone knows the changes that are in
// memory; the tree checks the pages in the file before bbolt reads them.
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

// A checkedRange is a range of keys whose pages were checked: from low on and below high. If high is nil the range has no end.
type checkedRange struct{ low, high []byte }

func (r checkedRange) has(key []byte) bool {
	return bytes.Compare(r.low, key) <= 0 && (r.high == nil || bytes.Compare(key, r.high) < 0)
}

// maxChecked bounds how many checked ranges a transaction remembers. When there are more it forgets them all.
const maxChecked = 1024

// mapped returns the pages that a transaction sees, in the memory that bbolt maps. They stay valid until a read transaction ends, or a
// write transaction commits.
func mapped(tx *bolt.Tx, sound *pages.Marks) *pages.File {
	info := tx.DB().Info()
	return pages.NewFile(pages.Mapped(info.Data, int(tx.Size())), info.PageSize, sound)
}

// marksOf returns the marks of the pages that a transaction sees, or nil if it reads a file that another one has replaced: the same number
// may be that of another page there.
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
	}
	return t
}

// checkAround checks the pages that bbolt reads to find or change a key: the leaf of the key, the leaves beside it, and the pages above
// them. It checks them once in a transaction.
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

// A freshValue is a value to store, in memory that is used nowhere else: Put writes the checksum into that memory. A value that was read
// from the store must be copied first (copied). Its memory is mapped read-only, so that writing to it faults, or bbolt still needs it.
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
		if k, v = c.pages.Seek(key); k == nil {
			c.ended()
		}
		return k, v
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
		if k, v = c.pages.First(); k == nil {
			c.ended()
		}
		return k, v
	}
	c.tree.checkAround(nil)
	return c.landed(c.bolt.First())
}

// Last moves to the last key.
func (c *treeCursor) Last() (k, v []byte) {
	if c.bolt == nil {
		if k, v = c.pages.Last(); k == nil {
			c.ended()
		}
		return k, v
	}
	c.tree.checkAround(afterAll)
	return c.landed(c.bolt.Last())
}

// afterAll is greater than every key in use.
var afterAll = bytes.Repeat([]byte{0xFF}, 32)

// Next moves to the key after the present one.
func (c *treeCursor) Next() (k, v []byte) {
	if c.bolt == nil {
		if k, v = c.pages.Next(); k == nil {
			c.ended()
		}
		return k, v
	}
	return c.landed(c.bolt.Next())
}

// Prev moves to the key before the present one.
func (c *treeCursor) Prev() (k, v []byte) {
	if c.bolt == nil {
		if k, v = c.pages.Prev(); k == nil {
			c.ended()
		}
		return k, v
	}
	// Pages that the transaction has emptied stay in the tree until it commits. bbolt's Next steps over them, but its Prev returns nil there,
	// as it does before the first key.
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
