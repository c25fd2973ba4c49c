package rest

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"lectern/contenttypes"
	"lectern/documents"
	"lectern/documents/apierror"
	"lectern/internal/etag"
	"lectern/internal/spelling"
	"lectern/jsontree"
	"lectern/store"
)

// A BatchCall is a Call of several operations in one request.
type BatchCall struct {
	Call
	// Most is how many operations there may be.
	Most int
	// Permit returns an error unless the caller may use a route that does one of the operations.
	Permit func(*Route) error
	// AppendError appends an error of an operation as the member "error" of an object, and returns its status.
	AppendError func(dst []byte, err error) (text []byte, status int)
}

// POST /_batch: creates, updates, deletes and publishes documents of any types, in one transaction. It answers with the
// result of each operation, in order.
func (a *API) Batch(w http.ResponseWriter, r *http.Request, c BatchCall) error {
	body, err := c.ReadBody(w, r)
	if err != nil {
		return err
	}
	b := &batch{api: a, call: &c}
	if err := b.read(body); err != nil {
		return err
	}
	b.printer = (&Route{api: a}).printer(r, c.Call, store.Draft, nil)
	if err := a.documents.WriteAllOnce(r.Context(), b.kept(), b.writes, b.atomic, b.show); err != nil {
		b.printer.memory.Release()
		return withIndex(err) // the printer does not go back to the pool, as in Route.carryOut
	}
	b.end()
	b.printer.send(w, http.StatusOK)
	b.printer.release()
	return nil
}

// withIndex returns the error of an operation with its index in the details.
func withIndex(err error) error {
	var one *documents.OperationError
	var known *apierror.Error
	if !errors.As(err, &one) || !errors.As(one.Err, &known) {
		return err
	}
	shown := *known
	details := jsontree.NewObject()
	if o, ok := known.Details.(*jsontree.Object); ok {
		for _, key := range o.Keys {
			details.Set(key, o.Value(key))
		}
	}
	details.Set("operation", jsontree.Number(strconv.Itoa(one.Index)))
	shown.Details, shown.NoDetails = details, false
	return &shown
}

// A batch is a request of several operations on its way.
type batch struct {
	api     *API
	call    *BatchCall
	atomic  bool
	writes  []documents.Operation
	shows   []shownOperation
	printer *printer
	failed  int // how many operations have failed
}

// A shownOperation says how the result of an operation is printed.
type shownOperation struct {
	status    int // of the answer
	selection *documents.Selection
	version   store.Status // the status of the version that is shown
	timed     bool         // the schedules of the document are shown too
}

// read reads the body of the request.
func (b *batch) read(body any) error {
	o, ok := body.(*jsontree.Object)
	if !ok {
		return apierror.Validation(
			`the body must be JSON such as {"operations": [{"op": "create", "type": "articles", "data": {}}]}`)
	}
	b.atomic = true
	for _, key := range o.Keys {
		switch key {
		case "atomic":
			if b.atomic, ok = o.Value(key).(bool); !ok {
				return apierror.Validation("atomic must be true or false")
			}
		case "operations":
		default:
			return apierror.UnknownKey(key, "", "body", "")
		}
	}
	list, ok := o.Value("operations").([]any)
	switch {
	case !ok:
		return apierror.Validation("operations must be a list of operations")
	case len(list) > b.call.Most:
		return &apierror.Error{Status: http.StatusRequestEntityTooLarge, Name: "PayloadTooLargeError",
			Reason: apierror.Operations,
			Message: fmt.Sprintf("The batch has %d operations, and limits.operations allows %d", len(list),
				b.call.Most)}
	}
	for i, v := range list {
		reader := operationReader{batch: b}
		if err := reader.read(v); err != nil && b.atomic {
			return withIndex(&documents.OperationError{Index: i, Err: err})
		} else if err != nil {
			reader.write = documents.Operation{Name: reader.write.Name, Refused: err}
		}
		b.writes, b.shows = append(b.writes, reader.write), append(b.shows, reader.shown)
	}
	return nil
}

// show prints the result of an operation.
func (b *batch) show(i int, s *store.Snapshot, r store.Record, failed error) error {
	p, o := b.printer, &b.shows[i]
	if i == 0 {
		p.begin(s)
		p.buf = append(p.buf, '[')
		b.failed = 0
	} else {
		p.buf = append(p.buf, ',')
	}
	if p.reserveBytes(len(`{"status":200,"data":null}`)); p.err != nil {
		return p.err
	}
	if failed != nil {
		b.failed++
		return b.showError(failed)
	}
	p.buf = append(p.buf, `{"status":`...)
	p.buf = append(strconv.AppendInt(p.buf, int64(o.status), 10), `,"data":`...)
	switch {
	case !r.Exists():
		p.null()
	case o.timed:
		p.status = o.version
		p.scheduled(r, o.selection)
		return p.err
	default:
		p.status, p.one[0] = o.version, r
		p.document(p.load(p.one[:], shape{Selection: o.selection}), 0)
	}
	p.buf = append(p.buf, '}')
	return p.err
}

// showError prints the result of an operation that has failed.
func (b *batch) showError(failed error) error {
	p := b.printer
	text, status := b.call.AppendError(nil, failed)
	if p.reserveBytes(len(text)); p.err != nil {
		return p.err
	}
	p.buf = append(p.buf, `{"status":`...)
	p.buf = append(strconv.AppendInt(p.buf, int64(status), 10), ',')
	p.buf = append(append(p.buf, text...), '}')
	return nil
}

// kept has the answer kept, if the request has an idempotency key; otherwise it returns nil.
func (b *batch) kept() *store.Once {
	once := b.call.Once
	if once == nil {
		return nil
	}
	once.ContentType = typeJSON[0]
	once.Print = func() store.Answer {
		p := b.printer
		printed := len(p.buf)
		b.end()
		body := p.buf
		p.buf = p.buf[:printed]
		return store.Answer{Status: http.StatusOK, Body: body}
	}
	return once
}

// end prints the end of the answer.
func (b *batch) end() {
	p := b.printer
	if len(b.writes) == 0 {
		p.buf = append(p.buf[:0], `{"data":[`...)
	}
	p.buf = append(p.buf, `],"meta":{`...)
	if !b.atomic {
		p.buf = append(p.buf, `"failed":`...)
		p.buf = strconv.AppendInt(p.buf, int64(b.failed), 10)
	}
	p.buf = append(p.buf, "}}"...)
}

// operationActions are the values of "op".
var operationActions = map[string]documents.Action{
	"create": documents.CreateAction, "update": documents.UpdateAction, "delete": documents.DeleteAction,
	"publish": documents.PublishAction, "unpublish": documents.UnpublishAction,
	"discardDraft": documents.DiscardDraftAction,
}

// operationKeys are the keys that each operation may have beside "op" and "type".
var operationKeys = map[documents.Action][]string{
	documents.CreateAction:       {"as", "data", "locale", "status", "fields", "populate"},
	documents.UpdateAction:       {"documentId", "ifMatch", "data", "locale", "status", "fields", "populate"},
	documents.DeleteAction:       {"documentId", "ifMatch", "locale"},
	documents.PublishAction:      {"documentId", "ifMatch", "locale", "fields", "populate", "publishAt", "unpublishAt"},
	documents.UnpublishAction:    {"documentId", "ifMatch", "locale", "fields", "populate", "unpublishAt"},
	documents.DiscardDraftAction: {"documentId", "ifMatch", "locale", "fields", "populate"},
}

// An operationReader reads one operation of a batch.
type operationReader struct {
	*batch
	from  *jsontree.Object
	write documents.Operation
	shown shownOperation
}

// read reads an operation, after it has checked that the caller may use it.
func (r *operationReader) read(v any) error {
	var ok bool
	if r.from, ok = v.(*jsontree.Object); !ok {
		return apierror.Validation("an operation must be an object")
	}
	if name, given := r.from.Get("as"); given {
		if r.write.Name, ok = name.(string); !ok || r.write.Name == "" {
			return apierror.Validation("as must be a name")
		}
	}
	route, err := r.route()
	if err != nil {
		return err
	}
	if err := r.call.Permit(route); err != nil {
		return err
	}
	for _, key := range r.from.Keys {
		if key != "op" && key != "type" && !slices.Contains(operationKeys[r.write.Action], key) {
			return apierror.Validation(fmt.Sprintf("the operation %s has no key %q", r.from.Text("op"), key))
		}
	}
	r.write.Type, r.write.Access = route.Type, r.call.Access
	if err := r.document(); err != nil {
		return err
	}
	if err := r.precondition(); err != nil {
		return err
	}
	if r.write.Action == documents.DeleteAction {
		r.shown.status = http.StatusNoContent
		r.write.Locales, err = r.api.params.DeleteEach(route.Type, r.query())
		return err
	}
	return r.saved()
}

// route returns the route that does the operation alone.
func (r *operationReader) route() (*Route, error) {
	op, name := r.from.Text("op"), r.from.Text("type")
	action, ok := operationActions[op]
	if !ok {
		return nil, apierror.Validation("op must be create, update, delete, publish, unpublish or discardDraft")
	}
	t := r.api.typesByName[strings.ToLower(name)]
	if t == nil {
		known := make([]string, 0, len(r.api.typesByName))
		for name, t := range r.api.typesByName {
			if r.mayWrite(t) { // the others are not for the caller to know
				known = append(known, name)
			}
		}
		slices.Sort(known)
		return nil, apierror.Validation(
			strings.TrimSpace(fmt.Sprintf("there is no content-type %q; %s", name, spelling.Suggest(name, known))))
	}
	r.write.Action = action
	if route := r.api.writes[typeAction{t, op}]; route != nil {
		return route, nil
	}
	if action == documents.CreateAction {
		return nil, apierror.Validation(t.Singular + " is a single type; update creates its document")
	}
	return nil, apierror.NotFound() // as the route of a type without drafts
}

// mayWrite reports whether the caller may use any operation on a type.
func (r *operationReader) mayWrite(t *contenttypes.ContentType) bool {
	for key, route := range r.api.writes {
		if key.typ == t && r.call.Permit(route) == nil {
			return true
		}
	}
	return false
}

// document reads which document the operation is about.
func (r *operationReader) document() error {
	v, given := r.from.Get("documentId")
	id, isText := v.(string)
	reference, isReference := documents.Reference(v)
	single := r.write.Type.Kind == contenttypes.SingleType
	switch {
	case r.write.Action == documents.CreateAction || single && !given:
		return nil
	case single:
		return apierror.Validation(r.write.Type.Singular + " is a single type; leave documentId out")
	case isReference && reference != "":
		r.write.Of = reference
	case isText && id != "":
		r.write.DocumentID = id
	default:
		return apierror.Validation(`documentId must be one, or a reference such as {"$ref": "name"}`)
	}
	return nil
}

// maxIfMatch is how many bytes the ETags in ifMatch may have together. The transaction compares each.
const maxIfMatch = 4 << 10

// precondition reads the ETag that the document must have before the batch.
func (r *operationReader) precondition() error {
	v, given := r.from.Get("ifMatch")
	tag, isText := v.(string)
	switch {
	case !given:
		return nil
	case !isText:
		return apierror.Validation("ifMatch must be the ETag of a document, or *")
	case len(tag) > maxIfMatch:
		return apierror.Validation(fmt.Sprintf("ifMatch may have %d bytes at most", maxIfMatch))
	case r.write.Of != "":
		return apierror.Validation(
			"ifMatch compares what was there before the batch, and the batch creates this document")
	}
	r.write.If = precondition(http.Header{"If-Match": {etag.Plain(tag, etag.Suffixes)}})
	return nil
}

// saved reads what an operation other than a delete writes and shows.
func (r *operationReader) saved() error {
	query := r.query()
	written, err := r.api.params.Write(r.write.Type, query, r.call.Access)
	if err != nil {
		return err
	}
	r.shown = shownOperation{status: http.StatusOK, selection: written.Selection, version: written.Status}
	r.write.Status, r.write.Locale = written.Status, written.Locale
	switch r.write.Action {
	case documents.CreateAction, documents.UpdateAction:
		if r.write.Action == documents.CreateAction {
			r.shown.status = http.StatusCreated
		}
		data, wrong := documents.ReadData(r.from)
		if wrong != nil {
			return wrong
		}
		r.write.Data = data
	case documents.PublishAction:
		r.shown.version = store.Published
	default:
		r.shown.version = store.Draft
	}
	return r.timing()
}

// timing reads when an operation is to be carried out.
func (r *operationReader) timing() error {
	t, err := documents.TimingOf(r.from.Value)
	if t == nil || err != nil {
		return err
	}
	t.By = r.call.By
	r.write.Timing, r.shown.timed = t, true
	if r.write.Action == documents.UnpublishAction || !t.PublishAt.IsZero() {
		r.shown.status, r.shown.version = http.StatusAccepted, store.Draft
	}
	return nil
}

// query returns the keys of the operation that a single write has as parameters of its query string.
func (r *operationReader) query() *jsontree.Object {
	query := jsontree.NewObject()
	for _, key := range []string{"locale", "status", "fields", "populate"} {
		if v, given := r.from.Get(key); given {
			query.Set(key, jsontree.Clone(v, asParameter))
		}
	}
	return query
}

// asParameter returns a number or a boolean as a query string would have it: as a text.
func asParameter(v any) any {
	switch v := v.(type) {
	case jsontree.Number:
		return string(v)
	case bool:
		return strconv.FormatBool(v)
	}
	return v
}
