package execution

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"regexp"
	"time"

	"github.com/vektah/gqlparser/v2/ast"

	"lectern/auth"
	"lectern/contenttypes"
	"lectern/documents"
	"lectern/documents/apierror"
	"lectern/documents/permission"
	"lectern/internal/budget"
	"lectern/internal/lru"
	"lectern/internal/span"
	"lectern/jsontree"
	"lectern/media"
	"lectern/shadowcrud/graphql/answer"
	"lectern/shadowcrud/graphql/binding"
	"lectern/shadowcrud/graphql/govalues"
	"lectern/shadowcrud/graphql/language"
	"lectern/shadowcrud/graphql/limits"
	"lectern/shadowcrud/graphql/schema"
	"lectern/shadowcrud/levels"
	"lectern/shadowcrud/params"
	"lectern/store"
)

// Options configure an Engine.
type Options struct {
	Schema    *schema.Schema
	Store     *store.Store
	Documents *documents.Service
	Params    *params.Parser
	Users     *auth.Users    // nil where there are none
	Media     *media.Library // nil where there are no files
	Limits    limits.Operation
	Memory    *budget.Budget // shared by all requests; nil is unlimited
	// TooLong is the error of an answer longer than Limits.Bytes. If it is nil, the error names the GraphQL setting.
	TooLong error
	// NoSuggestions leaves suggestions of similar names out of the errors of operations that are not valid.
	NoSuggestions bool
	Log           *slog.Logger  // nil: slog.Default
	Server        schema.Server // passed to policies and resolvers of extensions; nil if there are none
}

// An Engine runs operations. Any number of goroutines may use it.
type Engine struct {
	schema        *schema.Schema
	language      *language.Schema
	store         *store.Store
	documents     *documents.Service
	params        *params.Parser
	users         *auth.Users
	media         *media.Library
	uses          []*contenttypes.Attribute // the media attributes of content-types
	limits        limits.Operation
	binder        *binding.Binder
	values        *govalues.Converter
	answers       answer.Settings
	memory        *budget.Budget
	server        schema.Server
	noSuggestions bool
	prepared      *lru.Cache[planKey, *prepared]
}

// New makes an Engine.
func New(o Options) *Engine {
	e := &Engine{schema: o.Schema, language: language.New(o.Schema), store: o.Store, documents: o.Documents,
		params: o.Params, users: o.Users, media: o.Media, uses: levels.FileUses(o.Schema.Model),
		limits: o.Limits.OrDefaults(), memory: o.Memory, server: o.Server, noSuggestions: o.NoSuggestions}
	e.binder = binding.New(e.schema, e.language, e.params, &e.limits)
	e.values = &govalues.Converter{Schema: e.schema, Language: e.language}
	e.answers = answer.Settings{TooLong: o.TooLong, Log: o.Log}
	if e.answers.Log == nil {
		e.answers.Log = slog.Default()
	}
	if e.answers.TooLong == nil {
		e.answers.TooLong = e.limits.TooManyBytes()
	}
	e.prepared = lru.New[planKey, *prepared](e.limits.Plans, e.limits.PlanBytes)
	return e
}

// A Request is an operation to run.
type Request struct {
	Query     string
	Operation *string // its name; nil: Query holds only one
	Variables *jsontree.Object
	Access    *permission.Access
	User      auth.User       // zero if the caller is no user
	By        store.Principal // who sent the request, for schedules
	HTTP      *http.Request   // passed to policies and resolvers; nil if the operation did not come by HTTP
	ID        string          // identifies the request in the log
	// CountCall counts a call of a rate-limited mutation by its name, and returns an error when there were too many;
	// nil is no limit.
	CountCall func(name string) error
	// QueriesOnly refuses mutations, for HTTP methods that must not change anything.
	QueriesOnly bool
	Time        time.Duration // how long it may take; 0 is unlimited
	// Once keeps the answer to a mutation, so that it is not carried out twice; nil for a request without an
	// idempotency key. An operation whose answer cannot be kept is refused.
	Once        *store.Once
	Conditional *Conditional // nil: the answer has no ETag
}

// A Response is the answer to a Request.
type Response struct {
	Status int
	Body   []byte // JSON, with a line feed at its end
	// NotByGet says that QueriesOnly refused the operation.
	NotByGet bool
	// Tag is the ETag of the answer; "" if it has none. With the status 304 there is no Body.
	Tag string
	// Operation is the type of the operation; "" if the document is not valid.
	Operation ast.Operation
	Errors    []*language.Error // those in Body; valid until Release

	from *execution
}

// CachedPlans returns the counters of the cache of operations with their plans.
func (e *Engine) CachedPlans() lru.Stats { return e.prepared.Stats() }

// Release frees the memory of Body, which must not be used afterwards.
func (r *Response) Release() {
	if r.from != nil {
		r.from.release()
		r.from, r.Body = nil, nil
	}
}

// Execute runs an operation. Errors that a client may see are part of the Response. If it returns an error, which is
// for the log, there is no Response.
func (e *Engine) Execute(ctx context.Context, r *Request) (*Response, error) {
	var x *execution
	var refusal *Response
	_ = span.Timed(ctx, "plan", func() error { // the client's errors are in refusal
		x, refusal = e.begin(ctx, r)
		return nil
	})
	if refusal != nil {
		return refusal, nil
	}
	return x.respond()
}

// IsMutation reports whether a Request with this query and name would run a mutation.
func (e *Engine) IsMutation(query string, name *string) (bool, error) {
	p, errs, err := e.prepare(query, name)
	return errs == nil && err == nil && p.op.Operation == ast.Mutation, err
}

// respond runs the plan and releases the execution, unless the Response does.
func (x *execution) respond() (*Response, error) {
	err := x.run()
	if err == nil {
		err = x.identifyAnswer()
	}
	if err != nil {
		operation, tag := x.plan.Op.Operation, string(x.tag)
		x.release()
		if errors.Is(err, errNotModified) {
			return &Response{Status: http.StatusNotModified, Operation: operation, Tag: tag}, nil
		}
		if e, ok := answer.ClientError(err); ok {
			response := withoutData(answer.ErrorOf(e))
			response.Operation = operation
			return response, nil
		}
		return nil, err
	}
	response := &Response{Status: x.code, Body: x.Answer(), Operation: x.plan.Op.Operation, Errors: x.Errors, from: x}
	if len(x.Errors) == 0 && x.code == http.StatusOK { // the cause of an error may be another than the content
		response.Tag = string(x.tag)
	}
	return response, nil
}

// begin finds or makes the plan of an operation and binds it to the request. If the operation cannot run, refusal is
// the answer.
func (e *Engine) begin(ctx context.Context, r *Request) (x *execution, refusal *Response) {
	p, errs, err := e.prepare(r.Query, r.Operation)
	switch {
	case err != nil:
		return nil, refuseMemory(err)
	case errs != nil:
		return nil, e.refuse(errs)
	}
	if refusal = r.notByGet(p.op.Operation); refusal == nil {
		x, refusal = e.bound(ctx, r, p)
	}
	if refusal == nil && p.op.Operation == ast.Subscription {
		x.release()
		refusal = needsStream()
	}
	if refusal != nil {
		refusal.Operation = p.op.Operation
		return nil, refusal
	}
	return x, nil
}

// notByGet returns the refusal of an operation that QueriesOnly does not allow, or nil.
func (r *Request) notByGet(op ast.Operation) *Response {
	if !r.QueriesOnly || op == ast.Query {
		return nil
	}
	refusal := refuse([]*language.Error{{
		Message: "GET requests only support query operations, not " + string(op) + " operations", Code: "BAD_REQUEST",
	}})
	refusal.Status, refusal.NotByGet = http.StatusMethodNotAllowed, true
	return refusal
}

// bound binds a prepared operation to a request.
func (e *Engine) bound(ctx context.Context, r *Request, p *prepared) (x *execution, refusal *Response) {
	if e.language.Roots[p.op.Operation] == nil {
		return nil, withoutData(&language.Error{
			Message:   "Schema is not configured to execute " + string(p.op.Operation) + " operation.",
			Locations: []language.Location{p.doc.Location(p.op.Position)}, Code: language.Internal,
		})
	}
	vars, errs := e.language.Variables(p.doc, p.op, r.Variables)
	if errs != nil {
		return nil, e.refuse(errs)
	}
	pl, wrong := p.plan(e, vars)
	if wrong != nil {
		return nil, refuse([]*language.Error{wrong})
	}
	if r.Once != nil && p.op.Operation == ast.Mutation {
		if wrong := keptOnce(pl); wrong != nil {
			return nil, refuse([]*language.Error{wrong})
		}
	}
	x = newExecution(ctx, e, pl, r)
	if wrong := x.bind(vars); wrong != nil {
		x.release()
		return nil, refuse([]*language.Error{wrong})
	}
	return x, nil
}

// refuse returns the answer to an operation that is not run.
func refuse(errs []*language.Error) *Response {
	return &Response{Status: http.StatusBadRequest, Body: message(errs...), Errors: errs}
}

// suggestion matches the end of an error that suggests names of the schema.
var suggestion = regexp.MustCompile(` ?Did you mean .+\?$`)

// refuse returns the answer to an operation whose document or variables are not valid.
func (e *Engine) refuse(errs []*language.Error) *Response {
	if e.noSuggestions {
		for _, wrong := range errs {
			wrong.Message = suggestion.ReplaceAllString(wrong.Message, "")
		}
	}
	return refuse(errs)
}

// errNoMemory is the error of a field of Mutation when there is no free memory for its answer.
var errNoMemory = &apierror.Error{Status: http.StatusServiceUnavailable, Name: "ServiceUnavailableError",
	Message: "other requests use the memory that limits.memory gives to all of them", Reason: apierror.Memory}

// errNeverMemory is the error of a document that needs more memory than there is.
var errNeverMemory = &apierror.Error{Status: http.StatusRequestEntityTooLarge, Name: "PayloadTooLargeError",
	Message: "the document takes more memory when it is parsed than limits.memory allows", Reason: apierror.BodySize}

// refuseMemory returns the answer to an operation that is not run because there is no memory to parse it.
func refuseMemory(err error) *Response {
	e := errNoMemory
	if errors.Is(err, budget.ErrNever) {
		e = errNeverMemory
	}
	refusal := refuse([]*language.Error{{Message: e.Message, Code: answer.CodeOf(e.Name), Refusal: e.Reason}})
	refusal.Status = e.Status
	return refusal
}

// withoutData returns the answer to an operation that failed as a whole.
func withoutData(e *language.Error) *Response {
	errs := []*language.Error{e}
	body := append(language.AppendErrors([]byte("{"), errs), ",\"data\":null}\n"...)
	return &Response{Status: http.StatusOK, Body: body, Errors: errs}
}

// message prints an answer without data.
func message(errs ...*language.Error) []byte {
	return append(language.AppendErrors([]byte("{"), errs), '}', '\n')
}
