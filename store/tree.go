package store

import (
	"bytes"
	"slices"
	"sort"

	bolt "go.etcd.io/bbolt"

	"lectern/store/internal/pages"
)

// A tree is a bucket as the store reads and writes it: values have checksums (see checksum.go), and no page is believed before it was
// looked at. What is damaged ends what is done with the snapshot (see Snapshot.fail).
//
// Reads go through package pages. A write transaction sees changes that are in bbolt's memory alone, so there bbolt reads; but only
// where the pages that it will look at have been checked, as far as they come from the file.
type tree struct {
	snap  *Snapshot
	n     bucket
	pages *pages.Tree  // as the transaction began; nil: there was no such bucket
	bolt  *bolt.Bucket // of a write transaction
	seeks *treeCursor  // see lookup

	// Of what a write transaction began with:
	base    *pages.Cursor
	checked []checkedRange // whose pages were checked, in order of key; they do not overlap
	latest  checkedRange   // of checked, if there are any
}

// A checkedRange is the keys from low on and below high; nil is no bound.
type checkedRange struct{ low, high []byte }

func (r checkedRange) has(key []byte) bool {
	return bytes.Compare(r.low, key) <= 0 && (r.high == nil || bytes.Compare(key, r.high) < 0)
}

// maxChecked bounds how many ranges are remembered as checked. With more, a transaction begins to remember them anew.
const maxChecked = 1024

// mapped returns the pages that a transaction sees, as they lie in memory. They stay there until it ends, but for those of a
// write transaction, which stay until it commits.
func mapped(tx *bolt.Tx, sound *pages.Marks) *pages.File {
	info := tx.DB().Info()
	return pages.NewFile(pages.Mapped(info.Data, int(tx.Size())), info.PageSize, sound)
}

// rootTree is the tree of all buckets that a transaction began with.
func rootTree(tx *bolt.Tx, f *pages.File) *pages.Tree {
	return f.Root(uint64(tx.Cursor().Bucket().RootPage()))
}

func (s *Snapshot) bucket(n bucket) *tree {
	if s.trees[n] == nil {
		s.trees[n] = s.newTree(n)
	}
	return s.trees[n]
}

func (s *Snapshot) newTree(n bucket) *tree {
	t := &tree{snap: s, n: n}
	if s.root == nil {
		s.file = mapped(s.tx, &s.store.sound)
		s.root = rootTree(s.tx, s.file)
	}
	var err error
	if t.pages, err = s.root.Bucket(bucketNames[n]); err != nil {
		s.fail(n, err)
	}
	if t.pages != nil {
		t.pages.Check = s.checkPage(n)
		t.base = t.pages.Cursor()
	}
	if s.tx.Writable() {
		t.bolt = s.tx.Bucket(bucketNames[n])
	}
	return t
}

// checkAround checks, once in a transaction, the pages that bbolt reads to look up or change a key: the leaf where the key is or would
// be, the leaves beside that, and the pages above them.
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

// A freshValue is a value to store, in memory that nothing else refers to, since its checksum is written into that memory. A value that
// was read from the file lies in its mapping, where a write faults, or in memory that bbolt still has to write: copied makes a freshValue
// of it.
type freshValue struct{ data []byte }

// copied returns a copy of a value that is used elsewhere.
func copied(value []byte) freshValue { return freshValue{bytes.Clone(value)} }

// Put stores a value with its checksum. It must be called in a write transaction.
func (t *tree) Put(key []byte, value freshValue) error {
	t.checkAround(key)
	return t.bolt.Put(key, withChecksum(t.n, key, value.data))
}

// Delete removes a key; it is no error when there is none. It must be called in a write transaction.
func (t *tree) Delete(key []byte) error {
	t.checkAround(key)
	return t.bolt.Delete(key)
}

// Get returns what lies under a key, nil where nothing does.
func (t *tree) Get(key []byte) []byte {
	if k, v := t.lookup().Seek(key); bytes.Equal(k, key) {
		return v
	}
	return nil
}

// lookup returns the cursor that look-ups share which end before the next begins.
func (t *tree) lookup() *treeCursor {
	if t.seeks == nil {
		t.seeks = t.Cursor()
	}
	return t.seeks
}

// Cursor returns a cursor that stands nowhere yet.
func (t *tree) Cursor() *treeCursor {
	if t.bolt != nil {
		return &treeCursor{tree: t, bolt: t.bolt.Cursor()}
	}
	return &treeCursor{tree: t, pages: t.pages.Cursor()}
}

// A treeCursor goes through the keys of a tree as bolt.Cursor does.
type treeCursor struct {
	tree  *tree
	pages *pages.Cursor // of a snapshot that only reads
	bolt  *bolt.Cursor  // of a write transaction
	key   []byte        // at which bolt stands
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

// afterAll is greater than every key.
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
	// Pages that the transaction has emptied stay in the tree until it commits. bbolt's cursor steps over them on its way up, but
	// stops at them, as if it had come to the first key, on its way down.
	from := c.key
	for k, v = c.bolt.Prev(); k == nil && c.tree.hasBefore(from); k, v = c.bolt.Prev() {
	}
	return c.landed(k, v)
}

// hasBefore reports whether the bucket of a write transaction has a key that is less than key.
func (t *tree) hasBefore(key []byte) bool {
	first, _ := t.bolt.Cursor().First()
	return first != nil && bytes.Compare(first, key) < 0
}

// ended fails the snapshot where the cursor found nothing since it came to a damaged page.
func (c *treeCursor) ended() {
	if err := c.pages.Err(); err != nil {
		c.tree.snap.fail(c.tree.n, err)
	}
}

// landed returns where a move of bbolt ended, once the pages around that are checked.
func (c *treeCursor) landed(k, v []byte) (key, value []byte) {
	if k != nil {
		c.tree.checkAround(k)
	}
	c.key = k
	return k, v
}
