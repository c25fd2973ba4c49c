package execution

import (
	"lectern/contenttypes"
	"lectern/documents/apierror"
	"lectern/store"
)

// rootField prints a field of Query.
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
	b := &x.bounds[f.slot]
	if b.err != nil {
		x.fault(f.name, b.err)
		return x.orNull(f, begin)
	}
	if f.as == asMe {
		return x.me(f)
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

// find reads the documents that a root field asks for.
func (x *execution) find(f *field, b *bound) (store.Page, error) {
	if f.as != asRootOne {
		return x.loader.Snapshot.Find(&b.query)
	}
	doc, ok := x.loader.Snapshot.Document(b.query.Type, b.given.text("documentId"))
	if !ok {
		return store.Page{}, nil
	}
	if r := x.loader.Snapshot.FindVersion(doc, &b.query); r.Exists() {
		return store.Page{Rows: []store.Record{r}}, nil
	}
	return store.Page{}, nil
}

// top puts rows on the levels of a root field and reads what they lead to.
func (x *execution) top(f *field, rows []store.Record) *loaded {
	x.root.Set(rows)
	x.root.Levels = x.root.Levels[:0]
	if !x.found(len(rows)) {
		return &x.root
	}
	x.topLevels(f.subs, &x.root)
	return &x.root
}

// topLevels makes the levels of rows that no others lead to, and reads what they lead to.
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

// counts reports whether a root connection tells how many documents there are.
func (f *field) counts() bool {
	for _, part := range f.of.fields {
		if part.unhooked() == asPageInfo {
			return true
		}
	}
	return false
}

// errOutput is an error of a value that the schema has no place for.
func errOutput(message string) error {
	return &apierror.Error{Status: 500, Name: "InternalServerError", Message: message}
}

// targetSchema is the schema of what a relation, media or component leads to.
func targetSchema(a *contenttypes.Attribute) *contenttypes.Schema {
	if a.Target != nil {
		return &a.Target.Schema
	}
	if a.Component != nil {
		return &a.Component.Schema
	}
	return nil
}
