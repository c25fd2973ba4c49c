package execution

import (
	"lectern/contenttypes"
	"lectern/documents"
	"lectern/documents/permission"
	"lectern/shadowcrud/graphql/binding"
	"lectern/shadowcrud/graphql/plan"
	"lectern/shadowcrud/graphql/schema"
	"lectern/shadowcrud/params"
	"lectern/store"
)

// query reads the result of a field of Query or Subscription and all rows related to it. It returns, as the kind of the
// field requires, true, a *schema.Row, a []*schema.Row, a *schema.Page or a map for a change; it returns nil for a
// null.
func (r *customRun) query(f *plan.Field, b *binding.Binding) (any, error) {
	if f.As == plan.AsOK {
		return true, nil
	}
	if b.Err != nil {
		return nil, b.Err
	}
	switch f.As {
	case plan.AsMe:
		return r.caller(f)
	case plan.AsChange:
		return r.changeMap(f, b), r.Failed
	}
	page, err := r.find(f, b)
	if err != nil {
		return nil, err
	}
	r.loader.Status = b.Query.Status
	to := r.read(f.Subs, page.Rows)
	if r.Failed != nil {
		return nil, r.Failed
	}
	rows := r.rowsOf(to, to.Items)
	switch {
	case f.As == plan.AsRootList:
		return rows, nil
	case f.As == plan.AsRootConnection:
		return pageOf(&b.Page, rows, page.Total), nil
	case len(rows) > 0:
		return rows[0], nil
	}
	return nil, nil
}

// pageOf returns a page of documents as middlewares see it.
func pageOf(p *binding.Paging, rows []*schema.Row, total int) *schema.Page {
	return &schema.Page{
		Nodes: rows, Total: total, Page: p.Number(total), PageSize: p.Size(total), PageCount: p.Count(total),
	}
}

// caller reads the calling user.
func (r *customRun) caller(f *plan.Field) (any, error) {
	if r.user.ID == 0 || r.engine.users == nil {
		return nil, binding.ErrForbidden
	}
	row := r.engine.users.Row(r.loader.Snapshot, r.user.ID)
	if !row.Exists() {
		return nil, nil
	}
	r.loader.Status = store.Published
	to := r.read(f.Subs, []store.Record{row})
	for _, l := range to.Levels {
		r.hooksOf(l).isCaller = true
	}
	return r.rowOf(to, 0), r.Failed
}

// read makes levels of rows, reads all rows related to them, and detaches all of them from the snapshot.
func (r *customRun) read(subs []*plan.Selection, rows []store.Record) *loaded {
	to, begin := &loaded{}, len(r.loader.Used())
	to.Set(rows)
	if !r.found(len(rows)) {
		return to
	}
	r.topLevels(subs, to)
	r.Reserve(to.Detach())
	for _, l := range r.loader.Used()[begin:] {
		for i := range l.To {
			if r.Failed == nil {
				r.Reserve(l.To[i].Detach())
			}
		}
	}
	return to
}

// rowOf returns the schema.Row of a row that was read for a field. It returns the same pointer each time.
func (r *customRun) rowOf(to *loaded, row int32) *schema.Row {
	at := rowPosition{to, row}
	if known := r.rows[at]; known != nil {
		return known
	}
	made := documents.RowOf(to.Rows[row])
	r.rows[at], r.positions[made] = made, at
	return made
}

func (r *customRun) rowsOf(to *loaded, items []int32) []*schema.Row {
	rows := make([]*schema.Row, len(items))
	for i, row := range items {
		rows[i] = r.rowOf(to, row)
	}
	return rows
}

// A referenceGroup holds references to documents of one type that are read with one selection, locale and status.
type referenceGroup struct {
	sel    *plan.Selection
	typ    *contenttypes.ContentType
	locale string
	status store.Status
	refs   []reference
}

// A reference is a result of a resolver that is not read yet: a documentId, or a component that was read for another
// field.
type reference struct {
	call      call
	id        string
	component store.Record // the referenced component; id is empty then
	to        *value
}

// refer adds a reference to the group in which it is read.
func (r *customRun) refer(sel *plan.Selection, locale string, status store.Status, ref reference) {
	for _, g := range r.groups {
		if g.sel == sel && g.locale == locale && g.status == status {
			g.refs = append(g.refs, ref)
			return
		}
	}
	group := &referenceGroup{sel: sel, typ: sel.Object.Type, locale: locale, status: status, refs: []reference{ref}}
	r.groups = append(r.groups, group)
}

// readReferences reads the documents and components of the groups, all in one snapshot.
func (r *customRun) readReferences(groups []*referenceGroup) {
	err := r.view(func() error {
		for _, g := range groups {
			if err := r.readGroup(g); err != nil {
				return err
			}
		}
		return r.Failed
	})
	if err != nil {
		r.Fail(err)
	}
}

// readGroup reads the documents or components of a group, and sets the values of its references.
func (r *customRun) readGroup(g *referenceGroup) error {
	rows, positions, err := r.findReferenced(g)
	if err != nil {
		for _, ref := range g.refs {
			r.setError(&ref.call, ref.to, err)
		}
		return r.Failed
	}
	r.loader.Status = g.status
	to := r.read([]*plan.Selection{g.sel}, rows)
	if r.Failed != nil {
		return r.Failed
	}
	for i, ref := range g.refs {
		if positions[i] < 0 {
			ref.to.kind, ref.to.gone = valueNull, true
			continue
		}
		ref.to.isRow(to.Levels[0], positions[i])
		r.show(to.Levels[0], positions[i], ref.call.path)
	}
	return nil
}

// findReferenced finds the rows of a group, each document once. positions holds the index in rows for each reference,
// -1 if the document does not exist.
func (r *customRun) findReferenced(g *referenceGroup) (rows []store.Record, positions []int32, err error) {
	positions = make([]int32, len(g.refs))
	if g.typ == nil {
		for i, ref := range g.refs {
			rows, positions[i] = append(rows, ref.component), int32(i)
		}
		return rows, positions, nil
	}
	var locale any
	if g.typ.Localized && g.locale != "" {
		locale = g.locale
	}
	q, err := r.engine.params.Rows(g.typ, params.Rows{Locale: locale, Status: g.status}, permission.FullAccess)
	if err != nil {
		return nil, nil, err
	}
	known := map[string]int32{}
	for i, ref := range g.refs {
		position, isKnown := known[ref.id]
		if !isKnown {
			position = -1
			if doc, ok := r.loader.Snapshot.Document(g.typ, ref.id); ok {
				if row := r.loader.Snapshot.FindVersion(doc, &q); row.Exists() {
					position = int32(len(rows))
					rows = append(rows, row)
				}
			}
			known[ref.id] = position
		}
		positions[i] = position
	}
	return rows, positions, nil
}
