package rest

import (
	"errors"
	"strconv"
	"sync"

	"lectern/contenttypes"
	"lectern/documents"
	"lectern/documents/permission"
	"lectern/internal/budget"
	"lectern/shadowcrud/levels"
	"lectern/store"
)

// A printer prints records as the JSON of an answer, from stored bytes within one snapshot. Printers come from a pool
// and go back to it when the answer has been sent.
type printer struct {
	buf      []byte
	snapshot *store.Snapshot
	status   store.Status            // the status of the related documents to print
	state    *store.PublicationState // the publication state of the related documents to print; nil: any
	v4       bool                    // print documents in the form of the previous major version of the API
	access   *permission.Access
	api      *API
	loader   *loader // reads what documents populate; nil: nothing was read
	flat     level   // the level of documents that populate nothing
	one      [1]store.Record
	bound    bound
	beside   int64         // memory that is reserved besides buf
	memory   budget.Answer // the memory of bound, unless the caller provides it
	tagger   tagger
	err      error // the reason why the answer has ended; nothing more is printed then
}

// maxPooled keeps the buffers of a few very large answers from staying in memory.
const maxPooled = 1 << 20

var printers = sync.Pool{New: func() any { return &printer{buf: make([]byte, 0, 8<<10)} }}

// release puts the printer back into the pool.
func (p *printer) release() {
	p.memory.Release()
	p.releaseLoader()
	if cap(p.buf) > maxPooled {
		return
	}
	clear(p.tagger.depends.types)
	*p = printer{buf: p.buf[:0], tagger: tagger{text: p.tagger.text[:0], tag: p.tagger.tag[:0],
		depends: dependencies{types: p.tagger.depends.types[:0]}}}
	printers.Put(p)
}

// fail ends the answer: nothing more is printed. The first error counts.
func (p *printer) fail(err error) {
	if p.err != nil {
		return
	}
	switch {
	case errors.Is(err, budget.ErrExhausted):
		p.buf, p.loader = nil, nil // free their memory for other answers
	case errors.Is(err, budget.ErrTooLong), errors.Is(err, levels.ErrTooMany):
		err = p.bound.limits.tooLong()
	}
	p.err = err
}

// list prints the rows of a page.
func (p *printer) list(rows []store.Record, s *documents.Selection) {
	top := p.load(rows, shape{Selection: s})
	p.buf = append(p.buf, '[')
	for i := range rows {
		if p.err != nil {
			return
		}
		if i > 0 {
			p.buf = append(p.buf, ',')
		}
		p.document(top, i)
	}
	p.buf = append(p.buf, ']')
}

// bytesAtATime is how many bytes of a row are printed in a step of work.
const bytesAtATime = 256

// document prints row i of a level, a version of a document: scalars in the order of the schema, then populated
// attributes.
func (p *printer) document(l *level, i int) {
	if p.err == nil {
		if err := p.bound.check(); err != nil {
			p.fail(err)
		}
	}
	r, s := &l.Rows[i], &l.Selection
	if p.err == nil && !p.snapshot.Steps(r.Size()/bytesAtATime) {
		p.fail(p.snapshot.Err())
	}
	if p.err == nil {
		p.reserve(r, s.Selection)
	}
	if p.err != nil {
		return
	}
	p.buf = append(p.buf, '{')
	begin := len(p.buf)
	if p.v4 {
		ids := countIDs(s.Fields)
		p.buf = r.AppendFields(p.buf, s.Fields[:ids], true)
		begin = p.wrap(begin)
		p.buf = r.AppendFields(p.buf, s.Fields[ids:], true)
	} else {
		p.buf = r.AppendFields(p.buf, s.Fields, true)
	}
	if s.typed {
		p.key(begin, "__type")
		p.text(r.Type().UID)
	}
	p.populate(begin, l, i)
	if s.used {
		p.key(begin, "related")
		p.targets(&l.To[len(s.Populate)], i, printed{relation: true, many: true})
	}
	if p.v4 {
		p.buf = append(p.buf, '}')
	}
	p.buf = append(p.buf, '}')
}

// wrap opens the object of a v4 document that holds all but its ids, and returns where it begins.
func (p *printer) wrap(begin int) int {
	p.key(begin, "attributes")
	p.buf = append(p.buf, '{')
	return len(p.buf)
}

// component prints row i of a level, a component. In a dynamic zone (zoned) it begins with the type of the component.
func (p *printer) component(l *level, i int, zoned bool) {
	r, s := &l.Rows[i], &l.Selection
	if p.reserve(r, s.Selection); p.err != nil {
		return
	}
	p.buf = append(p.buf, '{')
	begin := len(p.buf)
	if zoned {
		p.key(begin, "__component")
		p.text(r.Component().UID)
	}
	p.buf = r.AppendFields(p.buf, s.Fields, !zoned)
	p.populate(begin, l, i)
	p.buf = append(p.buf, '}')
}

// countIDs returns how many of the fields, at their beginning, are id and documentId.
func countIDs(fields []*contenttypes.Attribute) int {
	n := 0
	for n < len(fields) && (fields[n].Type == contenttypes.ID || fields[n].Type == contenttypes.DocumentID) {
		n++
	}
	return n
}

// key prints the key of a member of an object whose first member is at begin. Names of attributes have only letters,
// digits and _, which need no escaping.
func (p *printer) key(begin int, name string) {
	if len(p.buf) > begin {
		p.buf = append(p.buf, ',')
	}
	p.buf = append(p.buf, '"')
	p.buf = append(p.buf, name...)
	p.buf = append(p.buf, '"', ':')
}

// text prints a string that needs no escaping.
func (p *printer) text(s string) {
	p.buf = append(p.buf, '"')
	p.buf = append(p.buf, s...)
	p.buf = append(p.buf, '"')
}

func (p *printer) null() { p.buf = append(p.buf, "null"...) }

// populate prints the populated relations, media, components and zones of row i of a level.
func (p *printer) populate(begin int, l *level, i int) {
	for n := range l.Selection.Populate {
		if p.err != nil {
			return
		}
		shown, to := &l.Selection.Populate[n], &l.To[n]
		a := shown.Attr
		p.key(begin, a.Name)
		if shown.Count {
			p.total(to.Counts[i], a.IsRelation())
			continue
		}
		zoned := a.Type == contenttypes.DynamicZone
		p.targets(to, i, printed{relation: a.IsRelation(), zoned: zoned, many: zoned || a.Repeatable ||
			a.IsRelation() && a.ToMany()})
	}
}

// printed says in which form targets are printed.
type printed struct {
	relation bool // the targets are documents
	zoned    bool // the targets are components of a zone
	many     bool // print a list
}

// targets prints the targets of row i of a level.
func (p *printer) targets(to *levels.Loaded[shape], i int, as printed) {
	wrap := p.v4 && as.relation
	if wrap {
		p.buf = append(p.buf, `{"data":`...)
	}
	begin := p.open(as.many)
	for _, row := range to.Of(i) {
		p.next(begin)
		l, at := to.Item(row)
		if as.relation {
			p.document(l, int(at))
		} else {
			p.component(l, int(at), as.zoned)
		}
		if !as.many || p.err != nil {
			break
		}
	}
	p.close(begin, as.many)
	if wrap {
		p.buf = append(p.buf, '}')
	}
}

// total prints the number of targets in place of the targets.
func (p *printer) total(n int, relation bool) {
	wrap := p.v4 && relation
	if wrap {
		p.buf = append(p.buf, `{"data":{"attributes":`...)
	}
	p.buf = append(p.buf, `{"count":`...)
	p.buf = append(strconv.AppendInt(p.buf, int64(n), 10), '}')
	if wrap {
		p.buf = append(p.buf, "}}"...)
	}
}

// open begins the value of an attribute: a list if many is set, and otherwise one value or null. Its result is an
// argument of next and close.
func (p *printer) open(many bool) (begin int) {
	if many {
		p.buf = append(p.buf, '[')
	}
	return len(p.buf)
}

// next prints a comma before each element of a list except the first.
func (p *printer) next(begin int) {
	if len(p.buf) > begin {
		p.buf = append(p.buf, ',')
	}
}

// close ends the value of an attribute.
func (p *printer) close(begin int, many bool) {
	if many {
		p.buf = append(p.buf, ']')
	} else if len(p.buf) == begin {
		p.null()
	}
}
