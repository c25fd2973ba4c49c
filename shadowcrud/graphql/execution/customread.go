package execution

import (
	"lectern/contenttypes"
	"lectern/documents"
	"lectern/documents/permission"
	"lectern/shadowcrud/graphql/schema"
	"lectern/store"
)

// query reads what a field of Query asks for, and what all of it leads to: true, a *schema.Row, a []*schema.Row, a *schema.Page, or
// nil.
func (r *customRun) query(f *field, b *bound) (any, error) {
	if f.as == asOK {
		return true, nil
	}
	if b.err != nil {
		return nil, b.err
	}
	if f.as == asMe {
		return r.caller(f)
	}
	page, err := r.find(f, b)
	if err != nil {
		return nil, err
	}
	r.loader.Status = b.query.Status
	to := r.read(f.subs, page.Rows)
	if r.failed != nil {
		return nil, r.failed
	}
	rows := r.handles(to, to.Items)
	switch {
	case f.as == asRootList:
		return rows, nil
	case f.as == asRootConnection:
		return b.page.page(rows, page.Total), nil
	case len(rows) > 0:
		return rows[0], nil
	}
	return nil, nil
}

// page is a page of documents as middlewares see it.
func (p *paging) page(rows []*schema.Row, total int) *schema.Page {
	return &schema.Page{Nodes: rows, Total: total, Page: p.number(total), PageSize: p.size(total), PageCount: p.count(total)}
}

// caller reads the user who asks.
func (r *customRun) caller(f *field) (any, error) {
	if r.user.ID == 0 || r.engine.users == nil {
		return nil, errForbidden
	}
	row := r.engine.users.Row(r.loader.Snapshot, r.user.ID)
	if !row.Exists() {
		return nil, nil
	}
	r.loader.Status = store.Published
	to := r.read(f.subs, []store.Record{row})
	for _, l := range to.Levels {
		r.hooksOf(l).isCaller = true
	}
	return r.handle(to, 0), r.failed
}

// read makes levels of rows, reads what they lead to, and detaches all of it from the snapshot.
func (r *customRun) read(subs []*selection, rows []store.Record) *loaded {
	to, begin := &loaded{}, len(r.loader.Used())
	to.Set(rows)
	if !r.found(len(rows)) {
		return to
	}
	r.topLevels(subs, to)
	r.reserve(to.Detach())
	for _, l := range r.loader.Used()[begin:] {
		for i := range l.To {
			if r.failed == nil {
				r.reserve(l.To[i].Detach())
			}
		}
	}
	return to
}

// handle is what resolvers know a row by that was read for a field.
func (r *customRun) handle(to *loaded, row int32) *schema.Row {
	at := place{to, row}
	if known := r.known[at]; known != nil {
		return known
	}
	h := documents.RowOf(to.Rows[row])
	r.known[at], r.places[h] = h, at
	return h
}

func (r *customRun) handles(to *loaded, items []int32) []*schema.Row {
	rows := make([]*schema.Row, len(items))
	for i, row := range items {
		rows[i] = r.handle(to, row)
	}
	return rows
}

// A referenceGroup holds the documents that were named for one selection, of one type and in one version.
type referenceGroup struct {
	sel    *selection
	typ    *contenttypes.ContentType
	locale string
	status store.Status
	named  []namedDocument
}

// A namedDocument is a document that was named by its documentId, or a component that was read for another field.
type namedDocument struct {
	call call
	id   string
	item store.Record // a component, which has no documentId
	to   *value
}

// refer puts off the value of a document that a program named until it is read together with others.
func (r *customRun) refer(sel *selection, locale string, status store.Status, n namedDocument) {
	for _, g := range r.groups {
		if g.sel == sel && g.locale == locale && g.status == status {
			g.named = append(g.named, n)
			return
		}
	}
	r.groups = append(r.groups, &referenceGroup{sel: sel, typ: sel.object.Type, locale: locale, status: status, named: []namedDocument{n}})
}

// follow reads the documents that were named.
func (r *customRun) follow(groups []*referenceGroup) {
	err := r.view(func() error {
		for _, g := range groups {
			if err := r.followGroup(g); err != nil {
				return err
			}
		}
		return r.failed
	})
	if err != nil {
		r.fail(err)
	}
}

func (r *customRun) followGroup(g *referenceGroup) error {
	rows, places, err := r.named(g)
	if err != nil {
		for _, n := range g.named {
			r.fails(&n.call, n.to, err)
		}
		return r.failed
	}
	r.loader.Status = g.status
	to := r.read([]*selection{g.sel}, rows)
	if r.failed != nil {
		return r.failed
	}
	for i, n := range g.named {
		if places[i] < 0 {
			n.to.kind, n.to.gone = valueNull, true
			continue
		}
		n.to.isRow(to.Levels[0], places[i])
		r.show(to.Levels[0], places[i], n.call.path)
	}
	return nil
}

// named finds the rows of a group, each document once, and the place of each that was named among them; -1: there is none.
func (r *customRun) named(g *referenceGroup) (rows []store.Record, places []int32, err error) {
	places = make([]int32, len(g.named))
	if g.typ == nil {
		for i, n := range g.named {
			rows, places[i] = append(rows, n.item), int32(i)
		}
		return rows, places, nil
	}
	var locale any
	if g.typ.Localized && g.locale != "" {
		locale = g.locale
	}
	q, err := r.engine.params.Rows(g.typ, nil, nil, locale, nil, permission.FullAccess)
	if err != nil {
		return nil, nil, err
	}
	q.Status = g.status
	known := map[string]int32{}
	for i, n := range g.named {
		place, again := known[n.id]
		if !again {
			place = -1
			if doc, ok := r.loader.Snapshot.Document(g.typ, n.id); ok {
				if row := r.loader.Snapshot.FindVersion(doc, &q); row.Exists() {
					place = int32(len(rows))
					rows = append(rows, row)
				}
			}
			known[n.id] = place
		}
		places[i] = place
	}
	return rows, places, nil
}
