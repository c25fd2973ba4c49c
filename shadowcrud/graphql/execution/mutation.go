package execution

import (
	"context"
	"errors"
	"net/http"

	"github.com/vektah/gqlparser/v2/ast"

	"lectern/contenttypes"
	"lectern/documents"
	"lectern/documents/apierror"
	"lectern/documents/permission"
	"lectern/internal/budget"
	"lectern/jsontree"
	"lectern/shadowcrud/graphql/answer"
	"lectern/shadowcrud/graphql/binding"
	"lectern/shadowcrud/graphql/limits"
	"lectern/shadowcrud/graphql/plan"
	"lectern/shadowcrud/graphql/schema"
	"lectern/shadowcrud/params"
	"lectern/store"
)

// mutations runs the fields of Mutation in order. It locks the schema for all of them: if the definitions changed
// between two fields, the request would have to run again, but the first field could not be undone.
func (x *execution) mutations() error {
	if x.limit > 0 {
		ctx, cancel := context.WithTimeout(x.Ctx, x.limit)
		defer cancel()
		x.Ctx = ctx
	}
	locked, release, err := x.engine.store.LockSchema(x.Ctx)
	if err != nil {
		return err
	}
	defer release()
	x.Ctx = store.WithPrincipal(locked, x.by)
	x.data(x.mutationField)
	if errors.Is(x.Failed, budget.ErrExhausted) { // not an error that is retried: fields have been written
		return errNoMemory
	}
	return x.Failed
}

func (x *execution) mutationField(f *plan.Field) bool {
	switch f.As {
	case plan.AsTypename:
		x.Text(x.plan.Root.Type.Name)
		return true
	case plan.AsUnsupported:
		return x.unsupported(f)
	}
	if f.HasCustom {
		return x.customMutation(f)
	}
	begin := len(x.Buf)
	b := &x.bindings[f.Slot]
	if b.Err != nil {
		x.AddError(f.Name, b.Err)
		return x.orNull(f, begin)
	}
	m := &mutation{execution: x, field: f, args: b.Args, begin: begin, errors: len(x.Errors)}
	if err := m.run(); err != nil {
		m.takeBack()
		if wrong := x.Ctx.Err(); wrong != nil && errors.Is(err, wrong) {
			x.Fail(err)
			return false
		}
		if errors.Is(err, budget.ErrExhausted) { // this field was not written, but fields before it may have been
			x.Failed, err = nil, errNoMemory
		}
		x.AddError(f.Name, err)
		return x.orNull(f, begin)
	}
	return m.printed || x.orNull(f, begin)
}

// A mutation is the state of running one field of Mutation.
type mutation struct {
	*execution
	field    *plan.Field
	args     plan.Arguments
	begin    int // where the field begins in buf
	errors   int // how many errors there were before the field
	printed  bool
	captured *capturedResult // gets the result of a custom field, which is not printed here; nil otherwise
}

// A capturedResult is the result of a mutation that a middleware gets from next: a *schema.Row, a map, or nil.
type capturedResult struct{ value any }

// takeBack removes everything that the mutation has printed. It is called when the transaction failed or runs again.
func (m *mutation) takeBack() {
	if m.captured != nil {
		m.captured.value = nil
		return
	}
	m.loader.Reset()
	if m.custom != nil {
		m.custom.forgetLevels()
	}
	m.Writer.TakeBack(m.begin, m.errors)
	m.objects = 0
	m.printed = false
}

// run carries out the mutation. Its answer is read within its transaction, so it may hold only a tenth as many objects
// as other answers.
func (m *mutation) run() error {
	most, before := m.loader.Most, 0
	if m.captured != nil {
		before = m.loader.Read
	}
	m.loader.Most, m.writing = min(most, before+limits.Share(ast.Mutation, m.engine.limits.Rows)), true
	defer func() { m.loader.Most, m.writing = most, false }()
	return m.carryOut()
}

func (m *mutation) carryOut() error {
	docs := m.engine.documents
	single := m.field.Spec.Type.Kind == contenttypes.SingleType
	switch m.field.Spec.Kind {
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
	case schema.CancelSchedule:
		return m.cancelSchedule()
	case schema.UpdateFile, schema.DeleteFile:
		return m.file()
	}
	if m.engine.users != nil {
		return m.account()
	}
	return answer.Unrepresentable("This field cannot be answered yet")
}

// A writeFunc is a method of documents.Service that writes a document.
type writeFunc func(context.Context, documents.Write) error

// write creates or updates a document, and prints the written version.
func (m *mutation) write(do writeFunc) error {
	w := m.target(m.writtenStatus())
	w.Access, w.Rules = permission.FullAccess, m.access // data that the caller may not write is left out
	w.Data = documents.WithoutHiddenLinks(&w.Type.Schema, inputTree(m.field.Spec.Input, m.args.Object("data")),
		m.access)
	return do(m.Ctx, w)
}

// act publishes, unpublishes or discards a draft, and prints the version in the resulting status. If the action is
// scheduled, that is the draft.
func (m *mutation) act(do writeFunc, shows store.Status) error {
	timing, err := documents.TimingOf(m.args.Value)
	if err != nil {
		return err
	}
	if timing != nil && !timing.PublishAt.IsZero() {
		shows = store.Draft
	}
	w := m.target(shows)
	if timing != nil {
		timing.By = m.by
		w.Timing = timing
	}
	return do(m.Ctx, w)
}

// cancelSchedule cancels a schedule, and prints its documentId.
func (m *mutation) cancelSchedule() error {
	id := m.args.Text("documentId")
	if err := m.engine.documents.CancelSchedule(m.Ctx, m.keptBy(func() { m.deleted(id) }), id, m.access); err != nil {
		return err
	}
	m.deleted(id)
	return nil
}

// target returns a Write of the document in the arguments; its After prints the version in a status.
func (m *mutation) target(status store.Status) documents.Write {
	return documents.Write{
		Type: m.field.Spec.Type, DocumentID: m.args.Text("documentId"), Locale: m.args.Text("locale"),
		Status: status, Access: m.access, Once: m.keptBy(nil),
		After: func(s *store.Snapshot, row store.Record) error {
			m.takeBack()
			m.loader.Snapshot, m.loader.Status = s, status
			m.printed = m.row(row)
			return m.Failed
		},
	}
}

// writtenStatus returns the status that is written: published by default, draft for an explicit null.
func (m *mutation) writtenStatus() store.Status {
	v, given := m.args.Get("status")
	if given && v == nil {
		return store.Draft
	}
	return binding.Status(m.args)
}

// row prints the document that a mutation wrote.
func (m *mutation) row(row store.Record) bool {
	if m.captured != nil {
		m.captured.value = m.capture(row)
		return true
	}
	to := m.top(m.field, []store.Record{row})
	if m.Failed != nil {
		return false
	}
	m.Push(m.field.Name)
	defer m.Pop()
	return m.object(to.Levels[0], 0)
}

// capture reads all rows related to a row, and returns the schema.Row that resolvers and middlewares get.
func (m *mutation) capture(row store.Record) any {
	if to := m.custom.read(m.field.Subs, []store.Record{row}); m.Failed == nil {
		return m.custom.rowOf(to, 0)
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
	w.Once = m.keptBy(func() { m.deleted(w.DocumentID) })
	if err := m.engine.documents.Delete(m.Ctx, w); err != nil {
		return err
	}
	m.deleted(w.DocumentID)
	return nil
}

// deleted prints the payload of a deletion.
func (m *mutation) deleted(id string) {
	m.takeBack()
	if m.captured != nil {
		m.captured.value = map[string]any{"documentId": id}
		return
	}
	m.payload(func(f *plan.Field) bool {
		if f.As == plan.AsDeletedID {
			m.Buf = jsontree.AppendString(m.Buf, id)
			return true
		}
		return m.unsupported(f)
	})
}

// single returns the documentId of the document of a single type, in whatever locales it exists.
func (m *mutation) single() (id string, err error) {
	t := m.field.Spec.Type
	q, err := m.engine.params.Rows(t, params.Rows{Locale: "*"}, permission.FullAccess)
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
		id = page.Rows[0].DocumentID()
		return nil
	})
	return id, err
}

// payload prints an object that is not a document. print prints one field of it, and returns false if the field is null
// but must not be.
func (m *mutation) payload(print func(*plan.Field) bool) {
	m.printed = m.execution.payload(m.field.Parts, print)
}
