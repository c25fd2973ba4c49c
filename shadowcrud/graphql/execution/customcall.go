package execution

import (
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"runtime/debug"
	"slices"

	"github.com/graphql-go/graphql"

	"lectern/documents/apierror"
	"lectern/shadowcrud/graphql/schema"
	"lectern/store"
)

// A call is the answering of a field of one object, as far as a program has a hand in it.
type call struct {
	field  *field
	parent any
	level  *level // of the parent, where it is a row of the answer
	row    int
	path   *graphql.ResponsePath

	params *graphql.ResolveParams // made when first needed
	stored any                    // what next returned to a middleware for an attribute of a row
	over   bool                   // the resolver and the middlewares have returned
	given  arguments
}

func (r *customRun) rootCall(f *field) call {
	return call{field: f, path: &graphql.ResponsePath{Key: f.name}}
}

// isRoot reports whether the field is one of Query or Mutation.
func (c *call) isRoot() bool { return c.path.Prev == nil }

// paramsOf are what policies, middlewares and resolvers are called with.
func (r *customRun) paramsOf(c *call) (p *graphql.ResolveParams, err error) {
	defer recovered(&err)
	if c.params != nil {
		return c.params, nil
	}
	f := c.field
	b := binder{engine: r.engine, vars: r.vars}
	given, wrong := b.arguments(f)
	if wrong != nil {
		return nil, wrong
	}
	args, err := r.plainArguments(f, given)
	if err != nil {
		return nil, err
	}
	info := r.info
	info.FieldName, info.Path = f.spec.Name, c.path
	info.ReturnType, info.ParentType = f.spec.Output(), f.spec.Of.GraphQL()
	info.FieldASTs = f.syntax
	c.given = given
	c.params = &graphql.ResolveParams{Source: c.parent, Args: args, Info: info, Context: r.ctx}
	return c.params, nil
}

// errPolicy is the answer to who asks for a field that a policy keeps from him.
var errPolicy = &apierror.Error{Status: http.StatusForbidden, Name: "PolicyError", Message: "Policy Failed"}

// admit finds out whether the caller may ask for the field: by what he is allowed, then by the field's policies.
func (r *customRun) admit(c *call) error {
	f, m := c.field, c.field.spec
	switch {
	case m.Auth.IsSet():
		if !allows(r.access, m.Auth) {
			return errForbidden
		}
	case c.isRoot() && m.Kind == schema.Custom:
		if r.user.ID == 0 && !r.access.AllowsAction(m.Of.Name+"."+m.Name) { // of those who are no users only full access allows that
			return errForbidden
		}
	case c.isRoot():
		if m.Scope != "" && !r.access.AllowsAction(m.Scope) {
			return errForbidden
		}
	case f.load >= 0 && c.level != nil:
		if err := r.bounds[f.slot].err; err == errForbidden {
			return err
		}
	}
	if len(m.Policies) == 0 {
		return nil
	}
	p, err := r.paramsOf(c)
	if err != nil {
		return err
	}
	for _, policy := range m.Policies {
		passes, err := r.guarded(func() (any, error) {
			return policy.Policy(&schema.PolicyContext{Context: r.ctx, Parent: p.Source, Args: p.Args, Info: p.Info, Config: policy.Config}, r.engine.server)
		})
		if err != nil {
			return err
		}
		if passes != true {
			return errPolicy
		}
	}
	return nil
}

// answer finds out what a field comes to.
func (r *customRun) answer(c *call, to *value) {
	if c.field.hooked {
		if err := r.admit(c); err != nil {
			r.fails(c, to, err)
			return
		}
	}
	r.resolve(c, to)
}

// resolve is answer for who may ask.
func (r *customRun) resolve(c *call, to *value) {
	v, err := r.run(c)
	if find := thunk(v); find != nil && err == nil {
		r.later = append(r.later, later{*c, to, find})
		return
	}
	r.finish(c, to, v, err)
}

// thunk is v where that is a function that finds the value.
func thunk(v any) func() (any, error) {
	switch v := v.(type) {
	case func() (any, error):
		return v
	case func() any:
		return func() (any, error) { return v(), nil }
	}
	return nil
}

// run runs the middlewares of a field around what answers it.
func (r *customRun) run(c *call) (any, error) {
	p, err := r.paramsOf(c)
	if err != nil {
		return nil, err
	}
	next := func(p graphql.ResolveParams) (any, error) { return r.innermost(c, p) }
	around := c.field.spec.Middlewares
	if len(around) > 0 {
		next = func(p graphql.ResolveParams) (any, error) {
			v, err := r.innermost(c, p)
			if find := thunk(v); find != nil && err == nil {
				return find()
			}
			return v, err
		}
	}
	for _, middleware := range slices.Backward(around) {
		inner := next
		next = func(p graphql.ResolveParams) (any, error) { return middleware(inner, p) }
	}
	v, err := r.guarded(func() (any, error) { return next(*p) })
	c.over = true
	return v, err
}

// errOver is what next returns to a middleware that calls it when it has returned already.
var errOver = errors.New("a middleware called next when it had returned")

// locked runs what is the engine's, not the program's, to which a middleware came by calling next. It fails when the call is over.
func (r *customRun) locked(c *call, do func() (any, error)) (any, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c.over {
		return nil, errOver
	}
	return do()
}

var errNoResolver = &apierror.Error{Status: http.StatusInternalServerError, Name: "InternalServerError", Message: "No resolver answers this field"}

// innermost answers a field.
func (r *customRun) innermost(c *call, p graphql.ResolveParams) (any, error) {
	m := c.field.spec
	switch {
	case m.Resolve != nil:
		return m.Resolve(p)
	case m.Kind == schema.Custom && (c.isRoot() || c.level != nil):
		return nil, errNoResolver
	case c.isRoot():
		return r.locked(c, func() (any, error) { return r.generated(c, p.Args) })
	case c.level != nil:
		return r.locked(c, func() (any, error) { return r.ofRow(c) })
	case p.Source == nil:
		return nil, nil
	}
	if row, ok := p.Source.(*schema.Row); ok {
		return row.Get(p.Info.FieldName), nil
	}
	return graphql.DefaultResolveFn(p)
}

// generated answers a field of Query or Mutation as if a program had no hand in it.
func (r *customRun) generated(c *call, args map[string]any) (v any, err error) {
	b, err := r.rebound(c, args)
	if err != nil {
		return nil, err
	}
	if !r.isMutation() {
		err = r.view(func() (err error) {
			v, err = r.query(c.field, b)
			return err
		})
		return v, err
	}
	if b.err != nil {
		return nil, b.err
	}
	m := &mutation{execution: r.execution, field: c.field, given: b.given, begin: len(r.buf), errors: len(r.errors), kept: &keptResult{}}
	if err := m.run(); err != nil {
		return nil, err
	}
	return m.kept.value, nil
}

// rebound is the binding of a root field for the arguments that a middleware left.
func (r *customRun) rebound(c *call, args map[string]any) (*bound, error) {
	f := c.field
	if len(f.args) == 0 {
		return r.bound(f), nil
	}
	before, err := r.plainArguments(f, c.given)
	if err != nil {
		return nil, err
	}
	if reflect.DeepEqual(before, args) {
		return r.bound(f), nil
	}
	given, err := r.givenArguments(f, args, before, c.given)
	if err != nil {
		return nil, fmt.Errorf("arguments that a middleware of %s.%s changed: %w", f.spec.Of.Name, f.spec.Name, err)
	}
	b := binder{engine: r.engine, vars: r.vars, access: r.access, bounds: slices.Clone(r.bounds), changed: f, instead: given,
		most: shareOf(r.plan.op.Operation, r.engine.limits.Cost)}
	b.field(f, scope{objects: 1})
	if b.tooExpensive() {
		return nil, apierror.Validation(tooExpensive(r.plan.op.Operation, r.engine.limits.Cost).Message)
	}
	r.bounds = b.bounds
	return r.bound(f), nil
}

// ofRow is what a generated field of a row of the answer would show: the value of an attribute, or the rows that it leads to.
func (r *customRun) ofRow(c *call) (any, error) {
	f := c.field
	if f.load < 0 {
		if f.attr == nil {
			return nil, nil
		}
		c.stored = c.parent.(*schema.Row).Get(f.attr.Name)
		return c.stored, nil
	}
	if err := r.bounds[f.slot].err; err != nil {
		return nil, err
	}
	rows := r.handles(&c.level.To[f.load], r.targets(c.level, c.row, f))
	switch f.generated {
	case asConnection:
		return &schema.Page{Nodes: rows}, nil
	case asOne, asUnion:
		if len(rows) == 0 {
			return nil, nil
		}
		return rows[0], nil
	}
	return rows, nil
}

// A panicError is a panic in what a program brought.
type panicError struct {
	value any
	stack []byte
}

func (p *panicError) Error() string { return fmt.Sprintf("panic: %v\n%s", p.value, p.stack) }

// guarded calls what a program brought, unless the operation's time is over. Its panics become errors.
func (r *customRun) guarded(do func() (any, error)) (v any, err error) {
	if err := r.ctx.Err(); err != nil {
		r.fail(err)
		return nil, err
	}
	r.mu.Unlock()
	defer r.mu.Lock()
	defer recovered(&err)
	return do()
}

// recovered makes an error of a panic; it is to be deferred.
func recovered(err *error) {
	if p := recover(); p != nil {
		*err = &panicError{p, debug.Stack()}
	}
}

// fails makes an error the value of a field, and logs it where the client is not told what it says.
func (r *customRun) fails(c *call, to *value, err error) {
	if over := r.ctx.Err(); over != nil && errors.Is(err, over) || errors.Is(err, store.ErrRedefined) {
		r.fail(err)
	}
	if r.failed != nil {
		return
	}
	var misfit misfitError
	if errors.As(err, &misfit) {
		to.kind, to.text = valueMisfit, []byte(misfit)
		r.logs(c, err)
		return
	}
	e, known := told(err)
	if !known {
		r.logs(c, err)
	}
	to.kind, to.err = valueError, e
}

func (r *customRun) logs(c *call, err error) {
	r.engine.log.ErrorContext(r.ctx, "a GraphQL field failed", "id", r.id, "path", c.path.AsArray(), "error", err)
}
