package rest

import (
	"sync"

	"lectern/contenttypes"
	"lectern/documents"
	"lectern/shadowcrud/levels"
	"lectern/store"
)

// A shape says how documents or components are printed.
type shape struct {
	*documents.Selection
	typed bool // print the type as __type: for targets of a morph relation and for documents that use a file
	used  bool // print the documents that use the file: for files
}

type (
	level  = levels.Level[shape]
	loader = levels.Loader[shape]
)

var loaders = sync.Pool{New: func() any { return new(loader) }}

func (p *printer) releaseLoader() {
	if p.loader != nil {
		p.loader.Reset()
		p.loader.Settings = levels.Settings[shape]{}
		loaders.Put(p.loader)
		p.loader = nil
	}
}

// leastObject is the least length of a document or component in an answer.
const leastObject = len(`{"id":1},`)

// load returns a level of rows, and reads everything below it.
func (p *printer) load(rows []store.Record, s shape) *level {
	if p.Loads(s) == 0 {
		p.flat = level{Selection: s, Rows: rows}
		return &p.flat
	}
	if p.loader == nil {
		p.loader = loaders.Get().(*loader)
	} else {
		p.loader.Reset()
	}
	p.beside = 0
	ld := p.loader
	ld.Settings = levels.Settings[shape]{Source: p, Snapshot: p.snapshot, Status: p.status, Access: p.access,
		FileUses: p.api.fileUses,
		Most:     p.bound.limits.bytes() / leastObject}
	top := ld.Level(s)
	top.Rows = rows
	err := ld.Found(len(rows))
	if err == nil {
		err = ld.Load(top)
	}
	if err == nil {
		err = ld.Weigh(0)
	}
	if err != nil {
		p.fail(err)
	}
	return top
}

// A printer is the levels.Source of its loader.
var _ levels.Source[shape] = (*printer)(nil)

// Loads returns the number of attributes that s populates, plus one if the documents that use a file are printed.
func (p *printer) Loads(s shape) int {
	n := len(s.Populate)
	if s.used {
		n++
	}
	return n
}

// Load returns the load of a populate.
func (p *printer) Load(s shape, n int) levels.Load {
	if n == len(s.Populate) {
		return levels.Load{Kind: levels.Uses, Query: p.inState(nil), Union: true, Levels: len(p.api.fileUsers)}
	}
	shown := &s.Populate[n]
	load := levels.Load{Kind: levels.Targets, Attr: shown.Attr, Query: shown.Query, Levels: 1}
	if shown.Attr.IsRelation() {
		load.Query = p.inState(shown.Query)
	}
	switch {
	case shown.Count:
		load.Kind, load.Levels = levels.Counts, 0
	case shown.Of == nil:
		load.Union, load.Levels = true, len(shown.On)
	}
	return load
}

// inState returns a query that is limited to the publication state of the request.
func (p *printer) inState(q *store.Query) *store.Query {
	if p.state == nil {
		return q
	}
	state := p.access.InState(*p.state)
	if q == nil {
		return &store.Query{Filter: state, Limit: -1}
	}
	narrowed := *q
	narrowed.Filter = store.And{q.Filter, state}
	return &narrowed
}

// Below returns the shape of the targets of a populate.
func (p *printer) Below(s shape, n, k int) shape {
	if n == len(s.Populate) {
		return shape{Selection: p.api.fileUsers[k].shown, typed: true}
	}
	shown := &s.Populate[n]
	if shown.Of == nil {
		return shape{Selection: shown.On[k].Of, typed: shown.Attr.IsRelation()}
	}
	return shape{Selection: shown.Of, used: shown.Related}
}

// Member returns the variant of a populate that a row belongs to; it is negative for a row that is not printed.
func (p *printer) Member(s shape, n int, r store.Record, status store.Status) int {
	if n == len(s.Populate) {
		for k := range p.api.fileUsers {
			if p.api.fileUsers[k].typ == r.Type() {
				return k
			}
		}
		return -1
	}
	for k := range s.Populate[n].On {
		if v := &s.Populate[n].On[k]; v.Schema == r.Schema() {
			if v.Filter != nil && !p.snapshot.Matches(r, v.Filter, status) {
				return -1
			}
			return k
		}
	}
	return -1
}

// Hold reserves memory for rows.
func (p *printer) Hold(bytes int64) error {
	p.beside += bytes
	return p.bound.memory.Hold(p.beside)
}

// A fileUser is a type whose documents use files.
type fileUser struct {
	typ   *contenttypes.ContentType
	shown *documents.Selection // the fields to print of a document that uses a file
}

// fileUsers returns the types that have these media attributes.
func fileUsers(uses []*contenttypes.Attribute) (users []fileUser) {
	for i, a := range uses {
		typ, _ := a.OwnerType()
		if i == 0 || users[len(users)-1].typ != typ {
			users = append(users, fileUser{typ, documents.Scalars(&typ.Schema)})
		}
	}
	return users
}
