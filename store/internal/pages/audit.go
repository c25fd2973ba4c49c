package pages

import (
	"bytes"
	"context"
	"hash/fnv"
)

// A Meta is the content of a meta page, one of the first two pages of a file. Each describes one state of the file.
type Meta struct {
	PageSize int
	Root     uint64 // of the tree of buckets
	Freelist uint64
	Pages    uint64 // the number of pages
	Tx       uint64 // the transaction that committed this state
}

// MetaLen is the number of bytes that ReadMeta needs.
const MetaLen = headerLen + 64

// Offsets in a meta page, behind the header of the page.
const (
	metaTx  = 48
	metaSum = 56 // the checksum, which covers everything before it
)

func metaChecksum(b []byte) uint64 {
	h := fnv.New64a()
	h.Write(b[:metaSum])
	return h.Sum64()
}

// ReadMeta reads a meta page from its first bytes. valid is false if it is damaged or no meta page; then only Tx may be
// right.
func ReadMeta(p []byte) (m Meta, valid bool) {
	if len(p) < MetaLen {
		return Meta{}, false
	}
	b := p[headerLen:]
	m = Meta{
		PageSize: int(order.Uint32(b[8:])), Root: order.Uint64(b[16:]), Freelist: order.Uint64(b[32:]),
		Pages: order.Uint64(b[40:]), Tx: order.Uint64(b[metaTx:]),
	}
	const magic, version = 0xED0CDAED, 2
	return m, order.Uint32(b) == magic && order.Uint32(b[4:]) == version && order.Uint64(b[metaSum:]) == metaChecksum(b)
}

// Meta returns the meta page of the state that a transaction committed. valid is false if it is damaged or overwritten.
func (f *File) Meta(tx uint64) (m Meta, valid bool) {
	at := int(tx%2) * f.pageSize
	if len(f.data) < at+f.pageSize {
		return Meta{}, false
	}
	p := f.data[at:]
	m, valid = ReadMeta(p)
	return m, valid && m.Tx == tx && Page(p).id() == tx%2 && Page(p).flags() == 0x04
}

// A Use is the result of an Audit: what each page is used for, by its number. It is 0 for pages that were not reached.
type Use []byte

const (
	unused byte = iota
	InTree
	Free
)

func (u Use) claim(id, n uint64, as byte) *Error {
	for i := id; i < id+n; i++ {
		if u[i] != unused {
			return damaged(i, "is used twice")
		}
		u[i] = as
	}
	return nil
}

// Audit checks all pages of a state. It calls visit with each undamaged leaf and report with the error of each damaged
// page, both with the name of the bucket. Below a damaged page it does not go further. check returns the Tree.Check of
// a bucket.
//
// A Meta without Freelist leaves the free pages unchecked. If ctx ends, Audit returns its error, and has not checked
// all pages.
func (f *File) Audit(ctx context.Context, m Meta, check func(bucket []byte) func(Page) error,
	visit func(bucket []byte, p Page), report func(bucket []byte, err error)) (Use, error) {
	use := make(Use, f.Len())
	undamaged, tell := true, report
	report = func(bucket []byte, err error) {
		undamaged = false
		tell(bucket, err)
	}
	fresh := NewFile(f.data, f.pageSize, nil)
	root := fresh.Root(m.Root)
	a := audit{ctx: ctx, use: use}
	a.walk(root, func(p Page) {
		for i := range p.Len() {
			name, v := p.Key(i), p.Value(i)
			if !p.isBucket(i) || len(v) < bucketHeaderLen {
				report(name, damaged(p.id(), "%q is no bucket", name))
				continue
			}
			t := &Tree{file: fresh, root: order.Uint64(v), Check: check(name)}
			within := audit{ctx: ctx, use: use}
			if t.root == 0 {
				t.inline = Page(v[bucketHeaderLen:])
				c := t.Cursor()
				err := t.checkInline(p.id())
				if bad := c.begin(); err == nil && bad != nil {
					err = bad
				}
				if err != nil {
					report(name, err)
					continue
				}
				visit(name, t.inline)
				continue
			}
			within.walk(t, func(p Page) { visit(name, p) }, func(err error) { report(name, err) })
		}
	}, func(err error) { report(nil, err) })
	if err := ctx.Err(); err != nil {
		return use, err
	}
	f.auditFree(m, use, undamaged, func(err error) { report(nil, err) })
	return use, nil
}

// auditFree checks that no free page is in use. If the trees are undamaged it also checks that every page is either
// free or in use.
func (f *File) auditFree(m Meta, use Use, undamaged bool, report func(error)) {
	if m.Freelist == 0 {
		return
	}
	ids, own, err := f.freelist(m.Freelist)
	if err != nil {
		report(err)
		return
	}
	if err := use.claim(m.Freelist, own, InTree); err != nil {
		report(err)
	}
	for _, id := range ids {
		if err := use.claim(id, 1, Free); err != nil {
			report(damaged(id, "is listed as free, and is in use"))
		}
	}
	for id := uint64(2); id < f.Len(); id++ {
		if undamaged && use[id] == unused {
			report(damaged(id, "is neither in use nor free"))
		}
	}
}

// FreePages returns how many pages of a state are free.
func (f *File) FreePages(m Meta) (uint64, error) {
	_, list, err := f.freelistPage(m.Freelist)
	return uint64(len(list) / 8), err
}

// freelistPage returns the page with the list of free pages, and the list in it.
func (f *File) freelistPage(id uint64) (p Page, list []byte, err error) {
	p, bad := f.take(id)
	if bad != nil {
		return nil, nil, bad
	}
	if p.id() != id || p.flags() != flagFreelist {
		return nil, nil, damaged(id, "is not the list of free pages")
	}
	n := uint64(p.Len())
	list = p[headerLen:]
	if n == 0xFFFF { // the number does not fit into the header, and is stored before the list
		n, list = order.Uint64(list), list[8:]
	}
	if n > uint64(len(list))/8 {
		return nil, nil, damaged(id, "the list of free pages is longer than its page")
	}
	return p, list[:8*n], nil
}

// freelist reads the list of free pages, and returns how many pages the list itself takes.
func (f *File) freelist(id uint64) (ids []uint64, pages uint64, err error) {
	p, list, err := f.freelistPage(id)
	if err != nil {
		return nil, 0, err
	}
	before := uint64(1)
	for i := range len(list) / 8 {
		free := order.Uint64(list[8*i:])
		if free <= before || free >= f.Len() {
			return nil, 0, damaged(id, "the list of free pages is out of order")
		}
		ids, before = append(ids, free), free
	}
	return ids, uint64(len(p) / f.pageSize), nil
}

// Free returns how many pages of a state are free.
func (f *File) Free(m Meta) (int, error) {
	ids, _, err := f.freelist(m.Freelist)
	return len(ids), err
}

// WithTx returns a copy of a meta page with another transaction number. The copy must be written to page tx%2 of the
// file.
func WithTx(meta []byte, tx uint64) []byte {
	p := bytes.Clone(meta)
	order.PutUint64(p, tx%2)
	b := p[headerLen:]
	order.PutUint64(b[metaTx:], tx)
	order.PutUint64(b[metaSum:], metaChecksum(b))
	return p
}

// An audit checks the pages of one tree.
type audit struct {
	ctx  context.Context // the audit goes no further when it ends
	use  Use
	last []byte // the greatest key so far
}

func (a *audit) walk(t *Tree, visit func(Page), report func(error)) {
	a.page(t, t.root, nil, 0, visit, report)
}

func (a *audit) page(t *Tree, id uint64, first []byte, depth int, visit func(Page), report func(error)) {
	if a.ctx.Err() != nil {
		return
	}
	p, err := t.file.take(id)
	if err == nil {
		err = t.check(p, id)
	}
	if err == nil && (depth == maxDepth || depth > 0 && p.Len() == 0) {
		err = damaged(id, "is out of place")
	}
	if err == nil && first != nil && !bytes.Equal(p.Key(0), first) {
		err = damaged(id, "begins with another key than the page says that leads to it")
	}
	if err == nil && p.Len() > 0 && a.last != nil && bytes.Compare(p.Key(0), a.last) <= 0 {
		err = damaged(id, "begins before the page before it ends")
	}
	if err == nil {
		err = a.use.claim(id, uint64(len(p)/t.file.pageSize), InTree)
	}
	if err != nil {
		report(err)
		return
	}
	if p.leaf() {
		if n := p.Len(); n > 0 {
			a.last = p.Key(n - 1)
		}
		visit(p)
		return
	}
	for i := range p.Len() {
		a.page(t, p.child(i), p.Key(i), depth+1, visit, report)
	}
}

// Pieces calls visit with everything that may be a key and a value in the pages that an Audit did not reach: damaged
// leaves, leaves below a damaged page and, if the list of free pages is damaged, leaves of earlier states. visit has to
// find out which are real.
func (f *File) Pieces(use Use, visit func(k, v []byte)) {
	for id := uint64(2); id < f.Len(); id++ {
		if use[id] != unused {
			continue
		}
		p, err := f.take(id)
		if err != nil { // its length may be damaged: take one page
			at := id * uint64(f.pageSize)
			p = Page(f.data[at : at+uint64(f.pageSize)])
		}
		p.pieces(visit)
	}
}

// pieces reads a page as a leaf, and ignores the number of elements in its header, which may be damaged.
func (p Page) pieces(visit func(k, v []byte)) {
	for element := uint64(headerLen); element+elementLen <= uint64(len(p)); element += elementLen {
		e := p[element:][:elementLen]
		at := element + uint64(order.Uint32(e[4:]))
		value := at + uint64(order.Uint32(e[8:]))
		end := value + uint64(order.Uint32(e[12:]))
		if at >= element+elementLen && at < value && value < end && end <= uint64(len(p)) {
			visit(p[at:value:value], p[value:end:end])
		}
	}
}
