package rest

import (
	"strconv"
	"sync"

	"lectern/contenttypes"
	"lectern/documents"
	"lectern/documents/permission"
	"lectern/internal/budget"
	"lectern/store"
)

// A printer writes records as the JSON of an answer, straight from the bytes they are stored as. It lives within one
// snapshot; its buffer comes from a pool and goes back when the answer was sent.
type printer struct {
	buf      []byte
	snapshot *store.Snapshot
	status   store.Status            // the request's: which versions of related documents are shown
	state    *store.PublicationState // that related documents must be in; nil: any
	v4       bool                    // wrap documents as the previous major version of the API did
	access   *permission.Access
	api      *API
	bound    bound
	memory   budget.Answer // of bound, where it is not somebody else's
	err      error         // why the answer cannot be finished; nothing more is printed then
}

// A shape says what a document is printed as, beside its selection.
type shape struct {
	typed bool // with its type, __type: an item of a morph relation
	used  bool // a file: with the entries that use it
}

// maxPooled keeps the buffers of a few very large answers from staying in memory.
const maxPooled = 1 << 20

var printers = sync.Pool{New: func() any { return &printer{buf: make([]byte, 0, 8<<10)} }}

func (p *printer) release() {
	p.memory.Release()
	if cap(p.buf) > maxPooled {
		return
	}
	*p = printer{buf: p.buf[:0]}
	printers.Put(p)
}

// list prints the rows of a page.
func (p *printer) list(rows []store.Record, s *documents.Selection) {
	p.buf = append(p.buf, '[')
	for i := range rows {
		if p.err != nil {
			return
		}
		if i > 0 {
			p.buf = append(p.buf, ',')
		}
		p.document(rows[i], s, shape{})
	}
	p.buf = append(p.buf, ']')
}

// document prints a version of a document: scalars in the order of the schema, then what is populated.
func (p *printer) document(r store.Record, s *documents.Selection, as shape) {
	if p.err == nil {
		p.err = p.bound.check()
	}
	if p.err == nil {
		p.reserve(r, s)
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
	if as.typed {
		p.key(begin, "__type")
		p.text(r.Type().UID)
	}
	p.populate(begin, r, s)
	if as.used {
		p.key(begin, "related")
		p.users(r)
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

// component prints a component. In a dynamic zone (zoned) it says which one it is.
func (p *printer) component(r store.Record, s *documents.Selection, zoned bool) {
	if p.reserve(r, s); p.err != nil {
		return
	}
	p.buf = append(p.buf, '{')
	begin := len(p.buf)
	if zoned {
		p.key(begin, "__component")
		p.text(r.Component().UID)
	}
	p.buf = r.AppendFields(p.buf, s.Fields, !zoned)
	p.populate(begin, r, s)
	p.buf = append(p.buf, '}')
}

// countIDs returns how many of a selection's fields, which begin with them, are id and documentId.
func countIDs(fields []*contenttypes.Attribute) int {
	n := 0
	for n < len(fields) && (fields[n].Type == contenttypes.ID || fields[n].Type == contenttypes.DocumentID) {
		n++
	}
	return n
}

// key prints the key of a member of the object whose first one stands, or will stand, at begin. Names of attributes are
// letters, digits and _: none needs escaping.
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

// populate prints the relations, media, components and zones of r that are asked for.
func (p *printer) populate(begin int, r store.Record, s *documents.Selection) {
	for i := range s.Populate {
		if p.err != nil {
			return
		}
		shown := &s.Populate[i]
		p.key(begin, shown.Attr.Name)
		switch {
		case shown.Count && shown.Attr.Type != contenttypes.Media:
			p.total(p.count(r, shown), shown.Attr.IsRelation())
		case shown.Related && shown.Attr.Type != contenttypes.Media:
			p.users(r)
		case shown.Attr.IsRelation():
			p.relation(r, shown)
		default:
			p.components(r, shown)
		}
	}
}

// components prints a component attribute or a dynamic zone.
func (p *printer) components(r store.Record, shown *documents.Populate) {
	zone := shown.Attr.Type == contenttypes.DynamicZone
	many := zone || shown.Attr.Repeatable
	begin := p.open(many)
	p.targets(r, shown, func(item store.Record) bool {
		s := shown.Of
		if zone {
			if s = p.variant(shown.On, item.Component().UID, item); s == nil {
				return true
			}
		}
		p.next(begin)
		p.component(item, s, zone)
		return many && p.err == nil
	})
	p.close(begin, many)
}

// relation prints what a relation or media attribute of r links to.
func (p *printer) relation(r store.Record, shown *documents.Populate) {
	if p.v4 {
		p.buf = append(p.buf, `{"data":`...)
	}
	morph := shown.Attr.Type == contenttypes.RelationType && shown.Attr.Target == nil
	many := shown.Attr.ToMany()
	begin := p.open(many)
	p.targets(r, shown, func(target store.Record) bool {
		s := shown.Of
		if morph {
			if s = p.variant(shown.On, target.Type().UID, target); s == nil {
				return true
			}
		}
		p.next(begin)
		p.document(target, s, shape{typed: morph, used: shown.Related})
		return many && p.err == nil
	})
	p.close(begin, many)
	if p.v4 {
		p.buf = append(p.buf, '}')
	}
}

// targets calls yield with the targets of a relation or the items of a component, as its populate filters, orders and cuts
// them.
func (p *printer) targets(r store.Record, shown *documents.Populate, yield func(store.Record) bool) {
	q, isRelation := shown.Query, shown.Attr.IsRelation()
	if isRelation && p.state != nil {
		q = p.inState(q)
	}
	switch {
	case q != nil:
		p.found(r, shown.Attr, q, yield)
	case isRelation:
		p.snapshot.Related(r, shown.Attr, p.status, yield)
	default:
		r.Each(shown.Attr, yield)
	}
}

func (p *printer) found(r store.Record, a *contenttypes.Attribute, q *store.Query, yield func(store.Record) bool) {
	page, err := p.snapshot.FindRelated(r, a, p.status, q)
	if err != nil {
		if p.err == nil {
			p.err = err
		}
		return
	}
	for _, target := range page.Rows {
		if !yield(target) {
			return
		}
	}
}

// inState is a query for those of q that are in the state of publication that is asked for.
func (p *printer) inState(q *store.Query) *store.Query {
	state := store.Publication{State: *p.state}
	if q == nil {
		return &store.Query{Filter: state, Limit: -1}
	}
	narrowed := *q
	narrowed.Filter = store.And{q.Filter, state}
	return &narrowed
}

// count returns how many targets or components populate would show.
func (p *printer) count(r store.Record, shown *documents.Populate) int {
	n := 0
	p.targets(r, shown, func(store.Record) bool { n++; return true })
	return n
}

// total prints a count in place of what was counted.
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

// open begins a list, or a place for one thing or nothing; next separates, close ends it.
func (p *printer) open(many bool) (begin int) {
	if many {
		p.buf = append(p.buf, '[')
	}
	return len(p.buf)
}

func (p *printer) next(begin int) {
	if len(p.buf) > begin {
		p.buf = append(p.buf, ',')
	}
}

func (p *printer) close(begin int, many bool) {
	if many {
		p.buf = append(p.buf, ']')
	} else if len(p.buf) == begin {
		p.null()
	}
}

// variant returns what is printed of a component or document where several types are possible, nil when it is left out.
func (p *printer) variant(of []documents.Variant, uid string, r store.Record) *documents.Selection {
	for i := range of {
		if of[i].Schema.UID != uid {
			continue
		}
		if of[i].Filter != nil && !p.snapshot.Matches(r, of[i].Filter, p.status) {
			return nil
		}
		return of[i].Of
	}
	return nil
}
