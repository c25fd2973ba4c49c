package execution

import "lectern/store"

// rootField prints a field of Query or Subscription.
func (x *execution) rootField(f *field) bool {
	begin := len(x.buf)
	switch f.as {
	case asTypename:
		x.text(x.plan.root.typ.Name)
		return true
	case asSchema, asType:
		return x.introspect(f)
	case asUnsupported:
		return x.unsupported(f)
	case asOK:
		x.boolean(true)
		return true
	}
	b := &x.bindings[f.slot]
	if b.err != nil {
		x.addError(f.name, b.err)
		return x.orNull(f, begin)
	}
	switch f.as {
	case asMe:
		return x.me(f)
	case asChange:
		return x.printChange(f, b) || x.failed == nil && x.orNull(f, begin)
	}
	page, err := x.find(f, b)
	if err != nil {
		x.fail(err)
		return false
	}
	x.loader.Status = b.query.Status
	to := x.top(f, page.Rows)
	if x.failed != nil {
		return false
	}
	x.push(f.name)
	ok := false
	switch f.as {
	case asRootOne, asRootSingle:
		ok = len(page.Rows) > 0 && x.object(to.Levels[0], 0)
	case asRootList:
		ok = x.list(to, nil, f, to.Items)
	case asRootConnection:
		ok = x.connection(to, f, to.Items, &b.page, page.Total)
	}
	x.pop()
	return ok || x.failed == nil && x.orNull(f, begin)
}

// find reads the documents of a root field.
func (x *execution) find(f *field, b *binding) (store.Page, error) {
	if err := x.loader.Snapshot.Covers(&b.query); err != nil {
		return store.Page{}, err
	}
	if f.as != asRootOne {
		return x.loader.Snapshot.Find(&b.query)
	}
	doc, ok := x.loader.Snapshot.Document(b.query.Type, b.args.text("documentId"))
	if !ok {
		return store.Page{}, nil
	}
	if r := x.loader.Snapshot.FindVersion(doc, &b.query); r.Exists() {
		return store.Page{Rows: []store.Record{r}}, nil
	}
	return store.Page{}, nil
}

// top makes the levels of a root field from rows, and reads all rows related to them.
func (x *execution) top(f *field, rows []store.Record) *loaded {
	x.root.Set(rows)
	x.root.Levels = x.root.Levels[:0]
	if !x.found(len(rows)) {
		return &x.root
	}
	x.topLevels(f.subs, &x.root)
	return &x.root
}

// topLevels makes a level of the rows for each selection, and reads all rows related to them.
func (x *execution) topLevels(subs []*selection, to *loaded) {
	for _, s := range subs {
		l := x.loader.Level(s)
		l.Rows = to.Rows
		to.Levels = append(to.Levels, l)
		if len(s.loads) > 0 {
			x.load(l)
		}
	}
}

// counts reports whether a root connection needs the total number of documents.
func (f *field) counts() bool {
	for _, part := range f.of.fields {
		if part.unhooked() == asPageInfo {
			return true
		}
	}
	return false
}
