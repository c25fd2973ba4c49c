package execution

import (
	"context"
	"errors"
	"net/http"

	"github.com/vektah/gqlparser/v2/ast"
	"lectern/documents/apierror"
	"lectern/documents/permission"
	"lectern/internal/budget"

	"lectern/contenttypes"
	"lectern/documents"
	"lectern/jsontree"
	"lectern/shadowcrud/graphql/schema"
	"lectern/store"
)

// mutation binds a field of Mutation.
func (b *binder) mutation(f *field, to *bound) {
	if !b.allowed(f.spec) {
		to.err = errForbidden
		return
	}
	to.given, to.err = b.arguments(f)
}

// mutations runs the fields of Mutation in order. The definitions must not change between them: a field that has been written could not be
// undone when a later one found that they did.
func (x *execution) mutations() error {
	if x.limit > 0 {
		ctx, cancel := context.WithTimeout(x.ctx, x.limit)
		defer cancel()
		x.ctx = ctx
	}
	held, release, err := x.engine.store.LockSchema(x.ctx)
	if err != nil {
		return err
	}
	defer release()
	x.ctx = held
	x.data(x.mutationField)
	if errors.Is(x.failed, budget.ErrExhausted) { // not an error that is retried: fields have been written
		return errNoMemory
	}
	return x.failed
}

func (x *execution) mutationField(f *field) bool {
	switch f.as {
	case asTypename:
		x.text(x.plan.root.typ.Name)
		return true
	case asUnsupported:
		return x.unsupported(f)
	}
	if f.deep {
		return x.customMutation(f)
	}
	begin := len(x.buf)
	b := &x.bounds[f.slot]
	if b.err != nil {
		x.fault(f.name, b.err)
		return x.orNull(f, begin)
	}
	m := &mutation{execution: x, field: f, given: b.given, begin: begin, errors: len(x.errors)}
	if err := m.run(); err != nil {
		m.takeBack()
		if wrong := x.ctx.Err(); wrong != nil && errors.Is(err, wrong) {
			x.fail(err)
			return false
		}
		if errors.Is(err, budget.ErrExhausted) { // it was not written; others may have been
			x.failed, err = nil, errNoMemory
		}
		x.fault(f.name, err)
		return x.orNull(f, begin)
	}
	return m.printed || x.orNull(f, begin)
}

// A mutation is the running of one field of Mutation.
type mutation struct {
	*execution
	field   *field
	given   arguments
	begin   int // of what is printed of it
	errors  int // that there were before it
	printed bool
	kept    *keptResult // where the result is not to be printed, but kept
}

// A keptResult is the result of a mutation for code of a program: a *schema.Row, a map, or nil.
type keptResult struct{ value any }

// takeBack removes what was printed of a mutation, which may run again.
func (m *mutation) takeBack() {
	if m.kept != nil {
		m.kept.value = nil
		return
	}
	m.loader.Reset()
	if m.custom != nil {
		m.custom.endLevels()
	}
	m.buf, m.execution.errors, m.path = m.buf[:m.begin], m.execution.errors[:m.errors], m.path[:0]
	m.objects = 0
	m.printed = false
}

// run carries out the mutation. Its answer is read within its transaction, and may hold a share of what other answers may.
func (m *mutation) run() error {
	whole, before := m.loader.Most, 0
	if m.kept != nil {
		before = m.loader.Read
	}
	m.loader.Most, m.writing = min(whole, before+shareOf(ast.Mutation, m.engine.limits.Rows)), true
	defer func() { m.loader.Most, m.writing = whole, false }()
	return m.carryOut()
}

func (m *mutation) carryOut() error {
	docs := m.engine.documents
	single := m.field.spec.Type.Kind == contenttypes.SingleType
	switch m.field.spec.Kind {
	case schema.Create:
		return m.write(docs.Create)
	case schema.Update:
		do := docs.Update
		if single {
			do = docs.SaveSingle
		}
		err := m.write(do)
		var missing *apierror.Error
		if errors.As(err, &missing) && missing.Status == http.StatusNotFound {
			m.takeBack()
			return nil
		}
		return err
	case schema.Delete:
		return m.delete(single)
	case schema.Publish:
		return m.act(docs.Publish, store.Published)
	case schema.Unpublish:
		return m.act(docs.Unpublish, store.Draft)
	case schema.DiscardDraft:
		return m.act(docs.DiscardDraft, store.Draft)
	case schema.UpdateFile, schema.DeleteFile:
		return m.file()
	}
	if m.engine.users != nil {
		return m.account()
	}
	return errOutput("This field cannot be answered yet")
}

// An operation is a method of documents.Service.
type operation func(context.Context, documents.Write) error

// write creates or updates, and prints what was written.
func (m *mutation) write(do operation) error {
	w := m.target(m.writtenStatus())
	w.Access = permission.FullAccess // data that the caller may not write is left out
	w.Data = documents.WithoutHiddenLinks(&w.Type.Schema, inputTree(m.field.spec.Input, m.given.object("data")), m.access)
	return do(m.ctx, w)
}

// act publishes, unpublishes or discards a draft, and prints the version in the resulting status.
func (m *mutation) act(do operation, shows store.Status) error { return do(m.ctx, m.target(shows)) }

// target returns a write of the document that the arguments name, which prints the written version.
func (m *mutation) target(status store.Status) documents.Write {
	return documents.Write{
		Type: m.field.spec.Type, DocumentID: m.given.text("documentId"), Locale: m.given.text("locale"),
		Status: status, Access: m.access,
		After: func(s *store.Snapshot, row store.Record) error {
			m.takeBack()
			m.loader.Snapshot, m.loader.Status = s, status
			m.printed = m.row(row)
			return m.failed
		},
	}
}

// writtenStatus returns the status that is written: published by default, draft for an explicit null.
func (m *mutation) writtenStatus() store.Status {
	v, given := m.given.get("status")
	if given && v == nil {
		return store.Draft
	}
	return status(m.given)
}

// row prints the document that a mutation wrote.
func (m *mutation) row(row store.Record) bool {
	if m.kept != nil {
		m.kept.value = m.keep(row)
		return true
	}
	to := m.top(m.field, []store.Record{row})
	if m.failed != nil {
		return false
	}
	m.push(m.field.name)
	defer m.pop()
	return m.object(to.Levels[0], 0)
}

// keep reads what a row leads to, and returns the Row for resolvers.
func (m *mutation) keep(row store.Record) any {
	if to := m.custom.read(m.field.subs, []store.Record{row}); m.failed == nil {
		return m.custom.handle(to, 0)
	}
	return nil
}

// delete removes a localization of a document, or all of them, and prints the id of the document.
func (m *mutation) delete(single bool) error {
	w := m.target(store.Published)
	w.After = nil
	if single {
		id, err := m.single()
		if err != nil {
			return err
		}
		w.DocumentID = id
	}
	if err := m.engine.documents.Delete(m.ctx, w); err != nil {
		return err
	}
	if m.kept != nil {
		m.kept.value = map[string]any{"documentId": w.DocumentID}
		return nil
	}
	m.payload(func(f *field) bool {
		if f.as == asDeletedID {
			m.buf = jsontree.AppendString(m.buf, w.DocumentID)
			return true
		}
		return m.unsupported(f)
	})
	return nil
}

// single returns the documentId of a single type, in whichever locales it exists.
func (m *mutation) single() (id string, err error) {
	t := m.field.spec.Type
	q, err := m.engine.params.Rows(t, nil, nil, "*", nil, permission.FullAccess)
	if err != nil {
		return "", err
	}
	if t.DraftAndPublish {
		q.Status = store.Draft
	}
	q.Limit = 1
	err = m.engine.store.View(func(s *store.Snapshot) error {
		page, err := s.Find(&q)
		if err != nil {
			return err
		}
		if len(page.Rows) == 0 {
			return &apierror.Error{Status: http.StatusNotFound, Name: "NotFoundError", Message: "Document not found"}
		}
		v, err := jsontree.Parse(page.Rows[0].JSON(t.Attribute("documentId")), 1)
		id, _ = v.(string)
		return err
	})
	return id, err
}

// payload prints an answer that is no document; print prints one part of it, and returns false when the part is null but must not be.
func (m *mutation) payload(print func(*field) bool) {
	m.buf = append(m.buf, '{')
	for i, f := range m.field.of.fields {
		if i > 0 {
			m.buf = append(m.buf, ',')
		}
		m.buf = append(m.buf, f.key...)
		begin, ok := len(m.buf), true
		switch f.as {
		case asTypename:
			m.text(m.field.of.typ.Name)
		case asOK:
			m.boolean(true)
		default:
			ok = print(f)
		}
		if !ok && !m.orNull(f, begin) {
			return
		}
	}
	m.buf = append(m.buf, '}')
	m.printed = true
}
