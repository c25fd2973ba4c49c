package execution

import (
	"lectern/shadowcrud/graphql/binding"
	"lectern/shadowcrud/graphql/introspection"
	"lectern/shadowcrud/graphql/plan"
	"lectern/store"
)

// rootField prints a field of Query or Subscription.
func (x *execution) rootField(f *plan.Field) bool {
	begin := len(x.Buf)
	switch f.As {
	case plan.AsTypename:
		x.Text(x.plan.Root.Type.Name)
		return true
	case plan.AsSchema, plan.AsType:
		return introspection.Print(&x.Writer, x.engine.language, x.bindings, f)
	case plan.AsUnsupported:
		return x.unsupported(f)
	case plan.AsOK:
		x.Boolean(true)
		return true
	}
	b := &x.bindings[f.Slot]
	if b.Err != nil {
		x.AddError(f.Name, b.Err)
		return x.orNull(f, begin)
	}
	switch f.As {
	case plan.AsMe:
		return x.me(f)
	case plan.AsChange:
		return x.printChange(f, b) || x.Failed == nil && x.orNull(f, begin)
	}
	page, err := x.find(f, b)
	if err != nil {
		x.Fail(err)
		return false
	}
	x.loader.Status = b.Query.Status
	to := x.top(f, page.Rows)
	if x.Failed != nil {
		return false
	}
	x.Push(f.Name)
	ok := false
	switch f.As {
	case plan.AsRootOne, plan.AsRootSingle:
		ok = len(page.Rows) > 0 && x.object(to.Levels[0], 0)
	case plan.AsRootList:
		ok = x.list(to, nil, f, to.Items)
	case plan.AsRootConnection:
		ok = x.connection(to, f, to.Items, &b.Page, page.Total)
	}
	x.Pop()
	return ok || x.Failed == nil && x.orNull(f, begin)
}

// find reads the documents of a root field.
func (x *execution) find(f *plan.Field, b *binding.Binding) (store.Page, error) {
	if err := x.loader.Snapshot.Covers(&b.Query); err != nil {
		return store.Page{}, err
	}
	if f.As != plan.AsRootOne {
		return x.loader.Snapshot.Find(&b.Query)
	}
	doc, ok := x.loader.Snapshot.Document(b.Query.Type, b.Args.Text("documentId"))
	if !ok {
		return store.Page{}, nil
	}
	if r := x.loader.Snapshot.FindVersion(doc, &b.Query); r.Exists() {
		return store.Page{Rows: []store.Record{r}}, nil
	}
	return store.Page{}, nil
}

// top makes the levels of a root field from rows, and reads all rows related to them.
func (x *execution) top(f *plan.Field, rows []store.Record) *loaded {
	x.root.Set(rows)
	x.root.Levels = x.root.Levels[:0]
	if !x.found(len(rows)) {
		return &x.root
	}
	x.topLevels(f.Subs, &x.root)
	return &x.root
}

// topLevels makes a level of the rows for each selection, and reads all rows related to them.
func (x *execution) topLevels(subs []*plan.Selection, to *loaded) {
	for _, s := range subs {
		l := x.loader.Level(s)
		l.Rows = to.Rows
		to.Levels = append(to.Levels, l)
		if len(s.Loads) > 0 {
			x.load(l)
		}
	}
}
