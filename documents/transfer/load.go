package transfer

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"

	"golang.org/x/sync/semaphore"

	"lectern/contenttypes"
	"lectern/internal/extsort"
)

// A transaction of an import ends after so many bytes of lines, or so many links, or so many bytes of rows that it
// replaces, or a larger document. That bounds how long readers and other writers wait for it, and how much is in memory
// until the commit: the log keeps the rows that were replaced. Only tests change these limits.
var (
	importChunkText  = 512 << 10
	importChunkLinks = 8000
	importReplaced   = 8 << 20
)

// loadedAhead is how many bytes of lines are in memory at a time: a transaction that is stored, and one that is read
// meanwhile.
const loadedAhead = 1 << 20

// An importDocument is a document to be stored: its valid lines.
type importDocument struct {
	typ   *contenttypes.ContentType
	id    string // documentId
	lines []*importLine
	refs  []extsort.Record // records of the lines in importer.order
	size  int              // length of the lines
	links int
	added bool // whether its versions are stored already, by this import, without some of the links

	doc   uint64 // number of the document
	isNew bool   // whether there was no such document before the transaction
}

// has reports whether the document has a version in a locale.
func (d *importDocument) has(locale string) bool {
	for _, l := range d.lines {
		if l.locale == locale {
			return true
		}
	}
	return false
}

// A chunk is a list of documents to store in one transaction, or in several if they replace much.
type chunk struct {
	documents          []*importDocument
	size, links, lines int
}

// A loader reads documents from the file and hands them over in chunks.
type loader struct {
	im     *importer
	ctx    context.Context
	chunks chan *chunk
	loaded *semaphore.Weighted // bytes of lines that are in memory
	next   *chunk
}

// eachChunk calls do with the documents in a Sorter like importer.order, in chunks. The next chunk is read while do
// stores one.
func (im *importer) eachChunk(from *extsort.Sorter, do func(*chunk) error) error {
	ctx, cancel := context.WithCancel(im.ctx)
	l := &loader{im: im, ctx: ctx, chunks: make(chan *chunk), loaded: semaphore.NewWeighted(loadedAhead),
		next: &chunk{}}
	ended := make(chan error, 1)
	go func() {
		ended <- l.load(from)
		close(l.chunks)
	}()
	var failed error
	for c := range l.chunks {
		if failed == nil {
			if failed = do(c); failed != nil {
				cancel()
			}
		}
		l.loaded.Release(weight(c.size))
	}
	err := <-ended
	cancel()
	if failed != nil {
		return failed
	}
	return err
}

func weight(size int) int64 { return min(int64(size), loadedAhead) }

// load reads all documents.
func (l *loader) load(from *extsort.Sorter) error {
	var refs []extsort.Record // of one document
	err := from.Each(func(r extsort.Record) error {
		if len(refs) > 0 && refs[0][lineDoc] != r[lineDoc] {
			if err := l.document(refs); err != nil {
				return err
			}
			refs = nil
		}
		refs = append(refs, r)
		return nil
	})
	if err == nil && len(refs) > 0 {
		err = l.document(refs)
	}
	if err != nil {
		return err
	}
	return l.send()
}

// document reads a document, after there is room for it, and adds it to the next chunk.
func (l *loader) document(refs []extsort.Record) error {
	d := &importDocument{refs: refs, added: refs[0][lineFresh]&addedDocument != 0}
	for _, r := range refs {
		d.size += lineAt(r[lineNumber], r[lineExtent]).length
	}
	if l.next.size+d.size > importChunkText {
		if err := l.send(); err != nil {
			return err
		}
	}
	if err := l.loaded.Acquire(l.ctx, weight(d.size)); err != nil {
		return err
	}
	l.next.size += d.size
	for _, r := range refs {
		if err := l.line(d, r); err != nil {
			return err
		}
	}
	l.next.documents = append(l.next.documents, d)
	l.next.lines += len(d.lines)
	if l.next.links += d.links; l.next.links >= importChunkLinks {
		return l.send()
	}
	return nil
}

// line reads a line of a document.
func (l *loader) line(d *importDocument, r extsort.Record) error {
	line, err := l.im.readAgain(lineAt(r[lineNumber], r[lineExtent]))
	if err != nil {
		return err
	}
	line.number = int(r[lineNumber])
	fresh := r[lineFresh] & freshMask
	for _, v := range line.versions {
		if line.id == 0 {
			v.fresh = fresh
			fresh++
		}
		d.links += len(v.edges)
	}
	d.typ, d.id, d.lines = line.typ, line.documentID, append(d.lines, line)
	return l.im.readPositions(line, r[lineFirstLink])
}

// readPositions sets the positions of the links in a line; first is the index of its first link in ranks.
func (im *importer) readPositions(line *importLine, first uint64) error {
	var ordered []*edge
	for _, e := range line.edges() {
		if ordersTargets(e.attr) {
			ordered = append(ordered, e)
		}
	}
	if len(ordered) == 0 {
		return nil
	}
	b := make([]byte, 8*len(ordered))
	if _, err := im.positions.ReadAt(b, int64(8*first)); err != nil && err != io.EOF {
		return fmt.Errorf("read the positions of links: %w", err)
	}
	for i, e := range ordered {
		e.position = binary.LittleEndian.Uint64(b[8*i:])
	}
	return nil
}

// send hands the next chunk over, unless it is empty.
func (l *loader) send() error {
	if len(l.next.documents) == 0 {
		return nil
	}
	select {
	case l.chunks <- l.next:
		l.next = &chunk{}
		return nil
	case <-l.ctx.Done():
		return l.ctx.Err()
	}
}
