// Package execution runs GraphQL operations on the store.
//
// An operation is parsed, validated and compiled once into a plan: the fields of its answer in order (prepare.go, compile.go).
// For each request, the engine binds the plan to the variables and the permissions of the caller (bind.go), and runs it. A query
// reads one snapshot, level by level: the related rows of all objects of a level are read together, each row once (load.go).
// A mutation runs field by field, each in its own transaction (mutation.go). The answer is appended to one buffer straight from
// stored bytes, in the order of the query (print.go). A subscription is run once for each change that it asks for (subscription.go).
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
	"lectern/documents/permission"
	"lectern/internal/budget"
	"lectern/internal/lru"
	"lectern/internal/span"
	"lectern/jsontree"
	"lectern/media"
	"lectern/shadowcrud/graphql/language"
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
	Limits    Limits
	Memory    *budget.Budget // shared by all requests; nil is unlimited
	// TooLong is the error of an answer longer than Limits.Bytes. If it is nil, the error names the GraphQL setting.
	TooLong error
	// NoSuggestions leaves suggestions of similar names out of the errors of operations that are not valid.
	NoSuggestions bool
	Log           *slog.Logger  // nil: slog.Default
	Server        schema.Server // passed to policies and resolvers of extensions; nil if there are none
}

// Limits restrict an operation. A zero field has its value of DefaultLimits.
type Limits struct {
	Document language.Limits

	DefaultLimit int // items of a list without pagination
	MaxLimit     int // items that a list may request; negative: any number
	AmountLimit  int // items that a list of documents may have, whatever the request says

	// Rows is how many objects an answer may hold, counted when they have been read. The answer to a mutation may hold a tenth, since
	// other writes wait for it. Bytes is how long an answer may be.
	Rows  int
	Bytes int
	// Cost limits an estimate of the objects in an answer, made before anything is read by multiplying the limits of nested lists. A mutation
	// may have a tenth. 0 disables the estimate.
	Cost int
	// Introspections is how many fields __schema an operation may have.
	Introspections int
	// Conditions is how many comparisons all filters of an operation may hold. Each value of a list counts.
	Conditions int
	SortKeys   int // of a list

	// Plans and PlanBytes limit the cache of plans by number and by estimated memory.
	Plans     int
	PlanBytes int
}

// DefaultLimits apply where a limit is zero.
var DefaultLimits = Limits{
	Document: language.DefaultLimits, DefaultLimit: 10, MaxLimit: -1, AmountLimit: 100,
	Rows: 200_000, Bytes: 16 << 20, Introspections: 10, Conditions: 4000, SortKeys: 100, Plans: 1000, PlanBytes: 32 << 20,
}

func (l Limits) orDefaults() Limits {
	d := DefaultLimits
	for _, pair := range []struct {
		value     *int
		otherwise int
	}{
		{&l.Document.Tokens, d.Document.Tokens}, {&l.Document.Nesting, d.Document.Nesting}, {&l.Document.Depth, d.Document.Depth},
		{&l.Document.Selections, d.Document.Selections}, {&l.Document.RootFields, d.Document.RootFields},
		{&l.Document.Aliases, d.Document.Aliases}, {&l.Document.Directives, d.Document.Directives},
		{&l.Document.IntrospectionDepth, d.Document.IntrospectionDepth},
		{&l.DefaultLimit, d.DefaultLimit}, {&l.MaxLimit, d.MaxLimit}, {&l.AmountLimit, d.AmountLimit},
		{&l.Rows, d.Rows}, {&l.Bytes, d.Bytes}, {&l.Introspections, d.Introspections}, {&l.Conditions, d.Conditions},
		{&l.SortKeys, d.SortKeys}, {&l.Plans, d.Plans}, {&l.PlanBytes, d.PlanBytes},
	} {
		if *pair.value == 0 {
			*pair.value = pair.otherwise
		}
	}
	return l
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
	limits        Limits
	memory        *budget.Budget
	tooLong       error
	log           *slog.Logger
	server        schema.Server
	noSuggestions bool
	prepared      *lru.Cache[planKey, *prepared]
}

// New makes an Engine.
func New(o Options) *Engine {
	e := &Engine{schema: o.Schema, language: language.New(o.Schema), store: o.Store, documents: o.Documents,
		users: o.Users, media: o.Media, uses: levels.FileUses(o.Schema.Model), limits: o.Limits.orDefaults(), memory: o.Memory,
		tooLong: o.TooLong, log: o.Log, server: o.Server, noSuggestions: o.NoSuggestions}
	e.params = o.Params.WithSortKeys(e.limits.SortKeys, settings+"sortKeys")
	if e.log == nil {
		e.log = slog.Default()
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
	// CountCall counts a call of a rate-limited mutation by its name, and returns an error when there were too many; nil is no limit.
	CountCall func(name string) error
	// QueriesOnly refuses mutations, for HTTP methods that must not change anything.
	QueriesOnly bool
	Time        time.Duration // how long it may take; 0 is unlimited
	// Once keeps the answer to a mutation, so that it is not carried out twice; nil for a request without an idempotency key. An operation
	// whose answer cannot be kept is refused.
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

// Execute runs an operation. Errors that a client may see are part of the Response. If it returns an error, which is for the log, there is
// no Response.
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
	if err := x.run(); err != nil {
		operation, tag := x.plan.op.Operation, string(x.tag)
		x.release()
		if errors.Is(err, errNotModified) {
			return &Response{Status: http.StatusNotModified, Operation: operation, Tag: tag}, nil
		}
		if e, ok := clientError(err); ok {
			response := withoutData(&language.Error{Message: e.Message, Code: codeOf(e.Name), Details: errorDetails(e), Refusal: e.Reason})
			response.Operation = operation
			return response, nil
		}
		return nil, err
	}
	response := &Response{Status: x.code, Body: x.answer(), Operation: x.plan.op.Operation, Errors: x.errors, from: x}
	if len(x.errors) == 0 && x.code == http.StatusOK { // the cause of an error may be another than the content
		response.Tag = string(x.tag)
	}
	return response, nil
}

// begin finds or makes the plan of an operation and binds it to the request. If the operation cannot run, refusal is the answer.
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
		if wrong := pl.keptOnce(); wrong != nil {
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

// refuseMemory returns the answer to an operation that is not run because there is no memory to parse it.
func refuseMemory(err error) *Response {
	e := errNoMemory
	if errors.Is(err, budget.ErrNever) {
		e = errNeverMemory
	}
	refusal := refuse([]*language.Error{{Message: e.Message, Code: codeOf(e.Name), Refusal: e.Reason}})
	refusal.Status = e.Status
	return refusal
}

// withoutData returns the answer to an operation that failed as a whole.
func withoutData(e *language.Error) *Response {
	errs := []*language.Error{e}
	return &Response{Status: http.StatusOK, Body: append(language.AppendErrors([]byte("{"), errs), ",\"data\":null}\n"...), Errors: errs}
}

// message prints an answer without data.
func message(errs ...*language.Error) []byte {
	return append(language.AppendErrors([]byte("{"), errs), '}', '\n')
}
