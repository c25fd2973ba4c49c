package pages

import "bytes"

// A Tree is the keys and values of one bucket.
type Tree struct {
	file   *File
	root   uint64
	inline Page // the only page of a small bucket, which is stored inside the page of its parent; nil if the bucket has pages
	// Check, if set, returns an error if a key or value in a leaf is damaged. It is called once for each page that is
	// not marked.
	Check func(Page) error
	// buckets says whether values may be buckets.
	buckets bool
}

// Root returns the tree of all buckets. id is the page that a Meta names as its root.
func (f *File) Root(id uint64) *Tree { return &Tree{file: f, root: id, buckets: true} }

// Bucket returns the tree of a bucket in t, nil if there is none.
func (t *Tree) Bucket(name []byte) (*Tree, error) {
	c := t.Cursor()
	k, v := c.Seek(name)
	if c.err != nil || !bytes.Equal(k, name) {
		return nil, c.Err()
	}
	f := c.at()
	if !f.page.isBucket(f.i) || len(v) < bucketHeaderLen {
		return nil, damaged(f.page.id(), "%q is no bucket", name)
	}
	b := &Tree{file: t.file, root: order.Uint64(v)}
	if b.root != 0 {
		return b, nil
	}
	b.inline = Page(v[bucketHeaderLen:])
	return b, b.checkInline(f.page.id())
}

// checkInline checks the inline page of a bucket. id is the page that contains it.
func (t *Tree) checkInline(id uint64) error {
	p := t.inline
	if len(p) < headerLen || p.id() != 0 || !p.leaf() || order.Uint32(p[12:]) != 0 {
		return damaged(id, "a bucket in it is malformed")
	}
	used, err := p.checkElements(id, false)
	if err != nil {
		return err
	}
	if used != len(p) {
		return damaged(id, "a bucket in it is not as long as it says")
	}
	return nil
}

// page returns a page of the tree. It returns an error if the page fails the check, or if its first key is not first; a
// nil first allows any.
func (t *Tree) page(id uint64, first []byte) (Page, *Error) {
	p, err := t.file.take(id)
	if err != nil {
		return nil, err
	}
	if !t.file.sound.has(id) {
		if err := t.check(p, id); err != nil {
			return nil, err
		}
		t.file.sound.add(id)
	}
	if first != nil && (p.Len() == 0 || !bytes.Equal(p.Key(0), first)) {
		return nil, damaged(id, "begins with another key than the page says that leads to it")
	}
	return p, nil
}

func (t *Tree) check(p Page, id uint64) *Error {
	if err := t.file.check(p, id, t.buckets); err != nil {
		return err
	}
	if t.Check != nil && p.leaf() {
		if err := t.Check(p); err != nil {
			return damaged(id, "%v", err)
		}
	}
	return nil
}

// Cursor returns a new cursor over the tree.
func (t *Tree) Cursor() *Cursor { return &Cursor{tree: t} }

// A Cursor walks over the keys of a tree, as bbolt's does. At a damaged page it returns nil, as it does at the end; Err
// then returns the error, until Seek, First or Last move the cursor.
type Cursor struct {
	tree  *Tree
	stack []frame // from the root to a leaf
	spare []frame // for Around
	err   *Error
}

// A frame is a page on the way of a cursor from the root, and the index of the element in it.
type frame struct {
	page Page
	i, n int
}

func (c *Cursor) at() *frame { return &c.stack[len(c.stack)-1] }

// Err returns the error because of which the cursor returned nil, or nil at the end of the tree.
func (c *Cursor) Err() error {
	if c.err == nil {
		return nil
	}
	return c.err
}

func (c *Cursor) fail(err *Error) (k, v []byte) {
	c.err = err
	return nil, nil
}

// push appends a page to the stack.
func (c *Cursor) push(id uint64, first []byte) *Error {
	if len(c.stack) == maxDepth {
		return damaged(id, "lies in a circle of pages")
	}
	p, err := c.tree.page(id, first)
	if err != nil {
		return err
	}
	c.stack = append(c.stack, frame{page: p, n: p.Len()})
	return nil
}

// begin moves the cursor to the root.
func (c *Cursor) begin() *Error {
	c.err, c.stack = nil, c.stack[:0]
	if c.tree.inline != nil {
		c.stack = append(c.stack, frame{page: c.tree.inline, n: c.tree.inline.Len()})
		return c.checkInline()
	}
	return c.push(c.tree.root, nil)
}

// checkInline checks the keys and values of an inline page. It does so each time, since they are few.
func (c *Cursor) checkInline() *Error {
	if c.tree.Check == nil {
		return nil
	}
	if err := c.tree.Check(c.tree.inline); err != nil {
		return damaged(c.tree.root, "%v", err)
	}
	return nil
}

// down moves from the current element to a leaf: to the first element of each page, or to the last.
func (c *Cursor) down(last bool) *Error {
	for f := c.at(); !f.page.leaf(); f = c.at() {
		if err := c.push(f.page.child(f.i), f.page.Key(f.i)); err != nil {
			return err
		}
		if f = c.at(); last {
			f.i = f.n - 1
		}
	}
	return nil
}

func (c *Cursor) here() (k, v []byte) {
	f := c.at()
	return f.page.leafElement(f.i)
}

// near reports whether key lies between the first and the last key of the current leaf, so that Seek need not begin at
// the root.
func (c *Cursor) near(key []byte) bool {
	if c.err != nil || len(c.stack) == 0 {
		return false
	}
	f := c.at()
	return f.n > 0 && bytes.Compare(f.page.Key(0), key) <= 0 && bytes.Compare(key, f.page.Key(f.n-1)) <= 0
}

// Seek moves to the first key that is not less than key.
func (c *Cursor) Seek(key []byte) (k, v []byte) {
	if c.near(key) {
		f := c.at()
		f.i, _ = f.page.search(key, f.n)
		return c.here()
	}
	if c.err != nil || len(c.stack) == 0 {
		if err := c.begin(); err != nil {
			return c.fail(err)
		}
	}
	for depth := 0; ; depth++ {
		f := &c.stack[depth]
		i, found := f.page.search(key, f.n)
		if f.page.leaf() {
			if f.i = i; i == f.n {
				return c.next()
			}
			return c.here()
		}
		if !found && i > 0 {
			i--
		}
		if i == f.i && depth+1 < len(c.stack) {
			continue // the stack leads there already
		}
		f.i, c.stack = i, c.stack[:depth+1]
		if err := c.push(f.page.child(i), f.page.Key(i)); err != nil {
			return c.fail(err)
		}
	}
}

// Step moves to key and returns its value, if key is the next key in the leaf or the first key of the next leaf.
// Otherwise it does not move, and ok is false. It reads no page in which key cannot be.
func (c *Cursor) Step(key []byte) (v []byte, ok bool) {
	if c.err != nil || len(c.stack) == 0 {
		return nil, false
	}
	f := c.at()
	last := f.i+1 >= f.n
	if last && len(c.stack) > 1 {
		f = &c.stack[len(c.stack)-2]
	}
	if f.i+1 >= f.n || !bytes.Equal(f.page.Key(f.i+1), key) {
		return nil, false
	}
	k, v := c.Next()
	return v, k != nil
}

// First moves to the first key.
func (c *Cursor) First() (k, v []byte) {
	if err := c.begin(); err != nil {
		return c.fail(err)
	}
	if err := c.down(false); err != nil {
		return c.fail(err)
	}
	if c.at().n == 0 {
		return nil, nil
	}
	return c.here()
}

// Last moves to the last key.
func (c *Cursor) Last() (k, v []byte) {
	if err := c.begin(); err != nil {
		return c.fail(err)
	}
	c.at().i = c.at().n - 1
	if err := c.down(true); err != nil {
		return c.fail(err)
	}
	if c.at().n == 0 {
		c.at().i = 0
		return nil, nil
	}
	return c.here()
}

// Next moves to the next key. At the last key it returns nil and does not move.
func (c *Cursor) Next() (k, v []byte) {
	if c.err != nil || len(c.stack) == 0 {
		return nil, nil
	}
	if f := c.at(); f.i+1 < f.n {
		f.i++
		return c.here()
	}
	return c.next()
}

// next moves to the first key of the next leaf.
func (c *Cursor) next() (k, v []byte) {
	return c.turn(func(f *frame) bool { return f.i+1 < f.n }, +1)
}

// Prev moves to the previous key. At the first key it returns nil and does not move.
func (c *Cursor) Prev() (k, v []byte) {
	if c.err != nil || len(c.stack) == 0 {
		return nil, nil
	}
	if f := c.at(); f.i > 0 && f.n > 0 {
		f.i--
		return c.here()
	}
	return c.turn(func(f *frame) bool { return f.i > 0 }, -1)
}

// turn moves by one element in the nearest branch page above that has a next element in that direction (more), and from
// there down to a leaf.
func (c *Cursor) turn(more func(*frame) bool, by int) (k, v []byte) {
	for depth := len(c.stack) - 2; depth >= 0; depth-- {
		if f := &c.stack[depth]; more(f) {
			c.stack = c.stack[:depth+1]
			f.i += by
			if err := c.down(by < 0); err != nil {
				return c.fail(err)
			}
			return c.here()
		}
	}
	return nil, nil
}

// Around checks the leaves before and after the current one. It returns the range of keys whose leaves have now been
// checked: from low on and below high, where nil means no limit. To change a key in that range, bbolt touches no other
// leaves.
func (c *Cursor) Around() (low, high []byte, err error) {
	if c.err != nil {
		return nil, nil, c.err
	}
	for _, by := range [...]int{-1, +1} {
		side := Cursor{tree: c.tree, stack: append(c.spare[:0], c.stack...)}
		var k []byte
		if by < 0 {
			if k, _ = side.turn(func(f *frame) bool { return f.i > 0 }, -1); k != nil {
				low = c.at().page.Key(0)
			}
		} else {
			k, _ = side.next()
			high = k
		}
		if c.spare = side.stack; side.err != nil {
			return nil, nil, side.err
		}
	}
	return low, high, nil
}
