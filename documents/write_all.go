package documents

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"lectern/contenttypes"
	"lectern/documents/apierror"
	"lectern/store"
)

// An Operation is one of several writes that WriteAll carries out together.
type Operation struct {
	Write
	Action Action // for a single type, UpdateAction also creates its document
	// Name is the name by which later operations refer to the document that this one creates; it may be "".
	Name string
	// Of is the name of the earlier operation that creates the document; "": Write.DocumentID says which it is.
	Of string
	// Locales are the localizations that a delete removes, in place of Write.Locale.
	Locales []string
	// Refused is why the operation cannot be carried out, if that is known already. Then only Name counts beside it.
	Refused error
}

// An OperationError is the error of one operation, because of which none was carried out.
type OperationError struct {
	Index int
	Err   error
}

func (e *OperationError) Error() string { return fmt.Sprintf("operation %d: %s", e.Index, e.Err) }

func (e *OperationError) Unwrap() error { return e.Err }

// A Show is called in the transaction of WriteAll, once for each operation, in order. r is the version that the
// operation has written, the zero Record if it has deleted one; failed is why the operation was left out. It may be
// called again, and must then begin with the first one anew. An error from it ends the transaction.
type Show func(index int, s *store.Snapshot, r store.Record, failed error) error

// WriteAll carries out operations in order, in one durable transaction with one entry of the log. Each sees what those
// before it have written, and is checked like the write that it would be alone. Its relations, and its Of, may refer to
// documents that earlier operations create (see Reference).
//
// If atomic is set and an operation fails, none is carried out, and the error is an OperationError. Otherwise
// operations that fail are left out, with those that refer to the documents they should have created, and the error
// concerns all operations. The limits of one write hold for all operations together. It compares the preconditions of
// all operations with the content before the first one, and ignores After.
func (s *Service) WriteAll(ctx context.Context, list []Operation, atomic bool, show Show) error {
	return s.WriteAllOnce(ctx, nil, list, atomic, show)
}

// WriteAllOnce is WriteAll for operations that must not be carried out twice, as store.WriteOnce is for one write. once
// may be nil.
func (s *Service) WriteAllOnce(ctx context.Context, once *store.Once, list []Operation, atomic bool, show Show) error {
	if err := s.Limits.checkAll(list); err != nil {
		return err
	}
	ctx, release, err := s.lockAllHooked(ctx, list)
	if err != nil {
		return err
	}
	defer release()
	t := &together{service: s, atomic: atomic, show: show, list: make([]preparedOperation, len(list)),
		named: map[string]int{}}
	for i := range list {
		if err := t.prepare(ctx, i, list[i]); err != nil {
			return err
		}
	}
	for {
		err = s.store.WriteOnce(ctx, once, func(tx *store.Tx) error {
			return tx.Together(func() error { return t.run(ctx, tx) })
		})
		var unmet *OperationError
		if atomic || !errors.As(err, &unmet) || !errors.Is(err, errUnmet) {
			break
		}
		t.list[unmet.Index].unready = errUnmet // the others are carried out without it
	}
	if err != nil {
		return togetherError(err)
	}
	timed := false
	for i := range t.list {
		if t.list[i].failed == nil {
			timed = timed || list[i].Timing != nil
			_ = s.afterAll(ctx, t.list[i].prepared, nil) // it only returns the error that it is given
		}
	}
	if timed {
		return s.scheduled(nil)
	}
	return nil
}

// togetherError returns the error for the client of a transaction that has failed.
func togetherError(err error) error {
	var operation *OperationError
	if errors.As(err, &operation) && errors.Is(err, store.ErrTooManyLocales) {
		return &OperationError{operation.Index, apierror.Validation("There are too many locales")}
	}
	if errors.Is(err, store.ErrTooLarge) {
		return &apierror.Error{Status: http.StatusRequestEntityTooLarge, Name: "PayloadTooLargeError",
			Reason:  apierror.Operations,
			Message: "The operations change too much for one transaction; send fewer at once"}
	}
	return err
}

// lockAllHooked is LockHooked for the types of several operations.
func (s *Service) lockAllHooked(ctx context.Context,
	list []Operation) (locked context.Context, release func(), err error) {
	for i := range list {
		if t := list[i].Type; t != nil && s.hooks[t.UID] != nil {
			return s.store.LockSchema(ctx)
		}
	}
	return ctx, func() {}, nil
}

// together is the state of WriteAll.
type together struct {
	service *Service
	atomic  bool
	show    Show
	list    []preparedOperation
	named   map[string]int // the operations with a name
}

// A preparedOperation is an Operation that WriteAll is about to carry out.
type preparedOperation struct {
	prepared []*Prepared // one for each locale of a delete, otherwise one
	demands  *Write      // what the precondition is about; nil if there is none
	creates  string      // the documentId of the document that it creates, "" for other actions and if it is refused
	needs    []int       // the operations that create the documents to which it refers
	unready  error       // why it could not be prepared
	failed   error       // why it was left out
}

// prepare resolves the references of an operation and prepares its writes. An error concerns all operations.
func (t *together) prepare(ctx context.Context, i int, o Operation) error {
	op := &t.list[i]
	if op.unready = o.Refused; op.unready == nil {
		op.unready = t.resolve(op, &o)
	}
	if op.unready == nil {
		op.unready = t.prepareWrites(ctx, op, &o)
	}
	if o.Name != "" {
		if first, taken := t.named[o.Name]; taken {
			op.unready = apierror.Validation(fmt.Sprintf("the name %q is taken by operation %d", o.Name, first))
		} else {
			t.named[o.Name] = i
		}
	}
	switch {
	case op.unready == nil:
		return nil
	case concernsAll(ctx, op.unready):
		return op.unready
	case t.atomic:
		return &OperationError{i, op.unready}
	}
	return nil
}

// concernsAll reports whether an error of one operation is one of all others too, and not only of its document.
func concernsAll(ctx context.Context, err error) bool {
	return ctx.Err() != nil || Unavailable(err) != nil || errors.Is(err, store.ErrRedefined) ||
		errors.Is(err, store.ErrClosed)
}

// resolve sets the documentId of an operation, and replaces its references by documentIds.
func (t *together) resolve(op *preparedOperation, o *Operation) error {
	r := resolver{find: func(name string) (string, error) { return t.refer(op, name) }}
	if o.Action == CreateAction {
		if o.DocumentID == "" {
			o.DocumentID = t.service.documentIDs.next()
		}
		op.creates = o.DocumentID
	}
	if o.Of != "" {
		o.DocumentID = r.documentID(o.Of)
		o.expected = r.err == nil
	}
	if o.Data != nil {
		r.object(&o.Type.Schema, o.Data)
	}
	return r.err
}

// refer returns the documentId to which a name refers.
func (t *together) refer(op *preparedOperation, name string) (string, error) {
	i, ok := t.named[name]
	if !ok {
		return "", apierror.Validation(fmt.Sprintf("no operation before this one creates a document as %q", name))
	}
	op.needs = append(op.needs, i)
	return t.list[i].creates, nil
}

// prepareWrites prepares the writes of an operation.
func (t *together) prepareWrites(ctx context.Context, op *preparedOperation, o *Operation) error {
	switch o.Action {
	case PublishAction:
		o.Status = store.Published
	case UnpublishAction, DiscardDraftAction:
		o.Status = store.Draft
	}
	locales := []string{o.Locale}
	if o.Action == DeleteAction && o.Locales != nil {
		locales = o.Locales
	}
	if o.If != nil {
		demands := o.Write
		op.demands, o.If = &demands, nil
	}
	for _, locale := range locales {
		o.Locale = locale
		p, err := t.prepareWrite(ctx, o)
		if err != nil {
			return err
		}
		op.prepared = append(op.prepared, p)
	}
	return nil
}

func (t *together) prepareWrite(ctx context.Context, o *Operation) (*Prepared, error) {
	if o.Timing != nil {
		if err := o.Timing.check(&o.Write, t.service.Now()); err != nil {
			return nil, err
		}
	}
	if o.Timing.defers(o.Action) {
		return t.service.prepare(ctx, o.Write, o.Action, nil)
	}
	return t.service.PrepareHooked(ctx, o.Action, o.Write)
}

// run carries out the operations in a transaction.
func (t *together) run(ctx context.Context, tx *store.Tx) error {
	for i := range t.list {
		op := &t.list[i]
		if op.failed = op.unready; op.failed == nil && op.demands != nil {
			if err := t.compare(ctx, tx, op); err != nil {
				return &OperationError{i, err}
			}
		}
	}
	for i := range t.list {
		op := &t.list[i]
		if op.failed == nil {
			op.failed = t.missing(op)
		}
		var shown store.Record
		if op.failed == nil {
			var err error
			if shown, err = t.carryOut(ctx, tx, op); err != nil {
				return &OperationError{i, err}
			}
		}
		if op.failed != nil && t.atomic {
			return &OperationError{i, op.failed}
		}
		if err := t.show(i, tx.Snapshot, shown, op.failed); err != nil {
			return err
		}
	}
	return nil
}

// compare compares the precondition of an operation with the content. It sets op.failed if the precondition does not
// hold.
func (t *together) compare(ctx context.Context, tx *store.Tx, op *preparedOperation) error {
	locales := make([]string, len(op.prepared))
	for i, p := range op.prepared {
		locales[i] = p.locale
	}
	demands := t.service.demandOf(tx.Snapshot, op.demands, op.prepared...)
	missing, err := t.service.checkPrecondition(tx, demands, locales...)
	switch {
	case tx.Err() != nil:
		return tx.Err()
	case err != nil && concernsAll(ctx, err):
		return err
	case missing && op.demands.DocumentID != "" && op.prepared[0].action != DeleteAction:
		err = apierror.NotFound() // as for any request
	}
	op.failed = err
	return nil
}

// missing returns an error if an operation refers to a document whose creation has failed.
func (t *together) missing(op *preparedOperation) error {
	for _, i := range op.needs {
		if t.list[i].failed != nil {
			return &apierror.Error{Status: http.StatusFailedDependency, Name: "FailedDependencyError",
				Message: fmt.Sprintf(
					"operation %d, which should have created the document that this one refers to, has failed", i)}
		}
	}
	return nil
}

// carryOut carries out one operation and returns the version that it has written. It sets op.failed if the operation
// fails before it has changed anything; any other error is one of the whole transaction.
func (t *together) carryOut(ctx context.Context, tx *store.Tx, op *preparedOperation) (shown store.Record, err error) {
	for n, p := range op.prepared {
		p.write.After = func(_ *store.Snapshot, r store.Record) error { shown = r; return nil }
		wr, err := t.service.compute(tx, p, p.computation())
		switch {
		case tx.Err() != nil:
			return shown, tx.Err()
		case err != nil && (n > 0 || concernsAll(ctx, err)):
			return shown, err
		case err != nil:
			op.failed = err
			return shown, nil
		}
		if err := wr.apply(); err != nil {
			return shown, err
		}
	}
	return shown, nil
}

// computation returns what computes a prepared write.
func (p *Prepared) computation() func(*writing) error {
	switch p.action {
	case CreateAction:
		return (*writing).saveNew
	case UpdateAction:
		if p.write.Type.Kind == contenttypes.SingleType {
			return (*writing).saveSingle
		}
		return (*writing).saveFound
	case DeleteAction:
		return (*writing).removeFound
	case PublishAction, UnpublishAction:
		return inTransition(timing(p.action, p.write.Timing))
	}
	return inTransition((*writing).discardDraft)
}
