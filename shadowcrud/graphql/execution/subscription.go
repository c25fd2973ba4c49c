package execution

import (
	"context"
	"net/http"
	"time"

	"github.com/vektah/gqlparser/v2/ast"

	"lectern/contenttypes"
	"lectern/documents/changes"
	"lectern/documents/permission"
	"lectern/jsontree"
	"lectern/shadowcrud/graphql/binding"
	"lectern/shadowcrud/graphql/language"
	"lectern/shadowcrud/graphql/plan"
	"lectern/shadowcrud/graphql/schema"
	"lectern/store"
)

// A Subscription is a subscription operation, checked for its caller. It holds no snapshot and may be dropped at any
// time. After a change of the caller's permissions or of the definitions, the operation must be subscribed to again.
type Subscription struct {
	// Filter and Access say which changes the operation asks for, and which of them its caller may see; see Concerns,
	// too.
	Filter changes.Filter
	Access *permission.Access
	// Conditions is how many conditions the filters of the operation have, as Limits.Conditions counts them.
	Conditions int

	only      any // the documentId that the operation asks for; nil if it asks for all documents
	engine    *Engine
	request   *Request
	plan      *binding.Plan
	vars      language.Variables
	deletions bool // each change is reported as a deletion
}

// A Change is a change that a Subscription reports.
type Change struct {
	changes.Change
	Seq string // the text of its position
}

// Subscribe checks a subscription for the caller of a request, as Execute does with other operations. The Response is
// the answer if the operation cannot run. Both results are nil if the operation is a query or mutation.
//
// Both results are set if the operation cannot run because the caller may not find the documents. The Subscription then
// reports the deletions that tell a caller which documents it has lost, if it had the permission before.
func (e *Engine) Subscribe(ctx context.Context, r *Request) (*Subscription, *Response) {
	p, errs, err := e.prepare(r.Query, r.Operation)
	switch {
	case err != nil:
		return nil, refuseMemory(err)
	case errs != nil:
		return nil, e.refuse(errs)
	case p.op.Operation != ast.Subscription:
		return nil, nil
	}
	x, refusal := e.bound(ctx, r, p)
	if refusal != nil {
		refusal.Operation = ast.Subscription
		return nil, refusal
	}
	defer x.release()
	if wrong := x.authorizeSubscription(); wrong != nil {
		refusal := refuse([]*language.Error{wrong})
		refusal.Operation = ast.Subscription
		return e.deletions(ctx, r, x.plan.Root.Fields[0]), refusal
	}
	f := x.plan.Root.Fields[0]
	b := &x.bindings[f.Slot]
	s := &Subscription{
		Filter:     changes.Filter{Types: []*contenttypes.ContentType{f.Spec.Type}, Status: b.Query.Status},
		Access:     r.Access,
		Conditions: x.conditions,
		only:       b.Args.Value("documentId"), engine: e, request: r, plan: x.plan, vars: x.vars,
	}
	if !b.Query.Locales.All {
		s.Filter.Locales = b.Query.Locales.Codes
	}
	if f.Spec.Auth.IsSet() { // the extension decides who may see the changes
		s.Access = permission.FullAccess
	}
	return s, nil
}

// deletions returns a Subscription to a field that reports deletions alone, which show nothing of the documents. It
// returns nil if the caller may find the documents, or if an extension decides who may see their changes.
func (e *Engine) deletions(ctx context.Context, r *Request, f *plan.Field) *Subscription {
	if f.Custom || f.Spec.Auth.IsSet() || r.Access.Allows(f.Spec.Type, "find") {
		return nil
	}
	permitted := *r
	permitted.Access = permission.FullAccess
	s, _ := e.Subscribe(ctx, &permitted)
	if s != nil {
		s.Access, s.deletions = r.Access, true
	}
	return s
}

// Declared returns those of the variables of a request that the operation declares. variables may be nil.
func (s *Subscription) Declared(variables *jsontree.Object) *jsontree.Object {
	declared := jsontree.NewObject()
	if variables == nil {
		return declared
	}
	for _, def := range s.plan.Op.VariableDefinitions {
		if v, given := variables.Get(def.Variable); given {
			declared.Set(def.Variable, v)
		}
	}
	return declared
}

// Concerns reports whether the operation asks for the changes of a document.
func (s *Subscription) Concerns(documentID string) bool { return s.only == nil || s.only == documentID }

// authorizeSubscription returns an error if the caller may not use the field of the subscription with these arguments.
func (x *execution) authorizeSubscription() *language.Error {
	f := x.plan.Root.Fields[0]
	switch b := &x.bindings[f.Slot]; {
	case b.Err != nil:
		x.AddError(f.Name, b.Err)
	case f.Custom:
		defer x.beginCustom()()
		c := x.custom.rootCall(f)
		if err := x.custom.authorize(&c); err != nil {
			x.AddError(f.Name, err)
		}
	}
	if len(x.Errors) == 0 {
		return nil
	}
	return x.Errors[0]
}

// Answer makes the answer to one change: the result of the operation, in which the field of Subscription is the change.
// If the document is gone, or does not match the filters of the operation, the change is a deletion without a document.
// Errors are as those of Execute.
func (s *Subscription) Answer(ctx context.Context, change *Change) (*Response, error) {
	x := newExecution(ctx, s.engine, s.plan, s.request)
	x.change = change
	if s.deletions {
		lost := *change
		lost.Action = store.Deleted
		x.change = &lost
	}
	if wrong := x.bind(s.vars); wrong != nil {
		x.release()
		return refuse([]*language.Error{wrong}), nil
	}
	return x.respond()
}

// needsStream is the refusal of a subscription whose client does not accept a stream of events.
func needsStream() *Response {
	refusal := refuse([]*language.Error{{
		Message: "Subscriptions are answered as a stream of events: send the header accept: text/event-stream.",
		Code:    "BAD_REQUEST",
	}})
	refusal.Status = http.StatusNotAcceptable
	return refusal
}

// changedRow returns the version that the change is about, as it is now. If it is gone or does not match the filters,
// the result is the zero Record, and the action is a deletion.
func (x *execution) changedRow(b *binding.Binding) (row store.Record, action store.Action) {
	if x.change.Action != store.Deleted {
		q := b.Query
		q.Locales = store.LocaleSet{Codes: []string{x.change.Locale}}
		if doc, ok := x.loader.Snapshot.Document(q.Type, x.change.DocumentID); ok {
			row = x.loader.Snapshot.FindVersion(doc, &q)
		}
	}
	if !row.Exists() {
		return row, store.Deleted
	}
	return row, x.change.Action
}

// printChange prints a field of Subscription.
func (x *execution) printChange(f *plan.Field, b *binding.Binding) bool {
	row, action := x.changedRow(b)
	var to *loaded
	if row.Exists() {
		x.loader.Status = b.Query.Status
		if to = x.top(f, []store.Record{row}); x.Failed != nil {
			return false
		}
	}
	x.Push(f.Name)
	defer x.Pop()
	return x.payload(f.Parts, func(part *plan.Field) bool {
		switch part.As {
		case plan.AsPart:
			if to == nil {
				x.Null()
				return true
			}
			x.Push(part.Name)
			defer x.Pop()
			return x.object(to.Levels[part.Sub], 0)
		case plan.AsChangeKind:
			x.Text(schema.ChangeKindOf(action))
		case plan.AsChangeDocumentID:
			x.String(x.change.DocumentID)
		case plan.AsChangeLocale:
			if x.change.Locale == "" {
				x.Null()
			} else {
				x.String(x.change.Locale)
			}
		case plan.AsChangeSeq:
			x.String(x.change.Seq)
		case plan.AsChangeTime:
			x.Text(timeText(x.change.Time))
		default:
			return x.unsupported(part)
		}
		return true
	})
}

// timeText returns a time as DateTime values are stored.
func timeText(t time.Time) string { return t.UTC().Format(contenttypes.TimeFormat) }

// changeMap returns a change as middlewares see it, and reads all rows related to its document.
func (r *customRun) changeMap(f *plan.Field, b *binding.Binding) map[string]any {
	row, action := r.changedRow(b)
	m := map[string]any{"change": schema.ChangeKindOf(action), "documentId": r.change.DocumentID, "seq": r.change.Seq,
		"at": timeText(r.change.Time)}
	if r.change.Locale != "" {
		m["locale"] = r.change.Locale
	}
	if row.Exists() {
		r.loader.Status = b.Query.Status
		to := r.read(f.Subs, []store.Record{row})
		if len(to.Levels) > 0 {
			m["document"] = r.rowOf(to, 0)
		}
	}
	return m
}
