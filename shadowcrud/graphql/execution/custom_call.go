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
	"lectern/shadowcrud/graphql/answer"
	"lectern/shadowcrud/graphql/binding"
	"lectern/shadowcrud/graphql/govalues"
	"lectern/shadowcrud/graphql/plan"
	"lectern/shadowcrud/graphql/schema"
	"lectern/store"
)

// A call resolves one field of one object.
type call struct {
	field  *plan.Field
	parent any
	level  *level // of the parent, nil if the parent is no row of the answer
	row    int    // of the parent, in level
	path   *graphql.ResponsePath

	params *graphql.ResolveParams // made when first needed
	stored any                    // value of the attribute that next returned to a middleware
	over   bool                   // the resolver and the middlewares have returned
	args   plan.Arguments
}

func (r *customRun) rootCall(f *plan.Field) call {
	return call{field: f, path: &graphql.ResponsePath{Key: f.Name}}
}

// isRoot reports whether the field is one of Query or Mutation.
func (c *call) isRoot() bool { return c.path.Prev == nil }

// paramsOf returns the parameters for the policies, middlewares and resolver of the field.
func (r *customRun) paramsOf(c *call) (p *graphql.ResolveParams, err error) {
	defer recovered(&err)
	if c.params != nil {
		return c.params, nil
	}
	f := c.field
	given, err := f.Arguments(r.engine.language, r.vars)
	if err != nil {
		return nil, err
	}
	args, err := r.engine.values.GoArguments(f, given)
	if err != nil {
		return nil, err
	}
	info := r.info
	info.FieldName, info.Path = f.Spec.Name, c.path
	info.ReturnType, info.ParentType = f.Spec.Output(), f.Spec.Of.GraphQL()
	info.FieldASTs = f.Syntax
	c.args = given
	c.params = &graphql.ResolveParams{Source: c.parent, Args: args, Info: info, Context: r.Ctx}
	return c.params, nil
}

// errPolicy is the error of a field that a policy refuses to the caller.
var errPolicy = apierror.PolicyFailed()

// authorize returns an error if the caller may not read the field. It checks the permissions of the caller, then the
// policies of the field.
func (r *customRun) authorize(c *call) error {
	f, m := c.field, c.field.Spec
	switch {
	case c.isRoot():
		if !r.engine.binder.MayUse(m, r.access, r.user.ID != 0) {
			return binding.ErrForbidden
		}
	case m.Auth.IsSet():
		if !binding.Allows(r.access, m.Auth) {
			return binding.ErrForbidden
		}
	case f.Load >= 0 && c.level != nil:
		if err := r.bindings[f.Slot].Err; err == binding.ErrForbidden {
			return err
		}
	case f.Generated() == plan.AsUser && !r.access.Sees(f.Attr), r.limited && f.Load < 0 && r.isLimited(f):
		return binding.ErrForbidden
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
			of := &schema.PolicyContext{Context: r.Ctx, Parent: p.Source, Args: p.Args, Info: p.Info,
				Config: policy.Config}
			return policy.Policy(of, r.engine.server)
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

// answer stores the value of a field in *to, or an error if the caller may not read the field.
func (r *customRun) answer(c *call, to *value) {
	if c.field.Custom {
		if err := r.authorize(c); err != nil {
			r.setError(c, to, err)
			return
		}
	}
	r.resolve(c, to)
}

// resolve stores the value of a field in *to. It does not check permissions.
func (r *customRun) resolve(c *call, to *value) {
	v, err := r.run(c)
	if find := asThunk(v); find != nil && err == nil {
		r.thunks = append(r.thunks, thunk{*c, to, find})
		return
	}
	r.finish(c, to, v, err)
}

// asThunk returns v if it is a function that a resolver returned in place of a value, otherwise nil.
func asThunk(v any) func() (any, error) {
	switch v := v.(type) {
	case func() (any, error):
		return v
	case func() any:
		return func() (any, error) { return v(), nil }
	}
	return nil
}

// run calls the middlewares of a field, the innermost of which calls resolveField.
func (r *customRun) run(c *call) (any, error) {
	p, err := r.paramsOf(c)
	if err != nil {
		return nil, err
	}
	next := func(p graphql.ResolveParams) (any, error) { return r.resolveField(c, p) }
	middlewares := c.field.Spec.Middlewares
	if len(middlewares) > 0 {
		next = func(p graphql.ResolveParams) (any, error) {
			v, err := r.resolveField(c, p)
			if find := asThunk(v); find != nil && err == nil {
				return find()
			}
			return v, err
		}
	}
	for _, middleware := range slices.Backward(middlewares) {
		inner := next
		next = func(p graphql.ResolveParams) (any, error) { return middleware(inner, p) }
	}
	v, err := r.guarded(func() (any, error) { return next(*p) })
	c.over = true
	return v, err
}

// errOver is the error that next returns when a middleware calls it after it has returned.
var errOver = errors.New("a middleware called next when it had returned")

// locked runs code of the engine while mu is locked, since a middleware may call next from any goroutine. It fails when
// the call is over.
func (r *customRun) locked(c *call, do func() (any, error)) (any, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c.over {
		return nil, errOver
	}
	return do()
}

var errNoResolver = &apierror.Error{
	Status: http.StatusInternalServerError, Name: "InternalServerError", Message: "No resolver answers this field",
}

// resolveField returns the value of a field without its middlewares: from its resolver, from the store, or from a field
// of its parent.
func (r *customRun) resolveField(c *call, p graphql.ResolveParams) (any, error) {
	m := c.field.Spec
	switch {
	case m.Resolve != nil:
		return m.Resolve(p)
	case m.Kind == schema.Custom && (c.isRoot() || c.level != nil):
		return nil, errNoResolver
	case c.isRoot():
		return r.locked(c, func() (any, error) { return r.generatedField(c, p.Args) })
	case c.level != nil:
		return r.locked(c, func() (any, error) { return r.storedField(c) })
	case p.Source == nil:
		return nil, nil
	}
	if row, ok := p.Source.(*schema.Row); ok {
		return row.Get(p.Info.FieldName), nil
	}
	return graphql.DefaultResolveFn(p)
}

// generatedField returns the value of a generated field of Query or Mutation for the arguments that middlewares passed
// on.
func (r *customRun) generatedField(c *call, args map[string]any) (v any, err error) {
	b, err := r.rebind(c, args)
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
	if b.Err != nil {
		return nil, b.Err
	}
	m := &mutation{execution: r.execution, field: c.field, args: b.Args, begin: len(r.Buf), errors: len(r.Errors),
		captured: &capturedResult{}}
	if err := m.run(); err != nil {
		return nil, err
	}
	return m.captured.value, nil
}

// rebind returns the binding of a root field for the arguments that middlewares passed on. If they changed them, it
// binds the field again and checks the cost again.
func (r *customRun) rebind(c *call, args map[string]any) (*binding.Binding, error) {
	f := c.field
	if len(f.Args) == 0 {
		return r.binding(f), nil
	}
	before, err := r.engine.values.GoArguments(f, c.args)
	if err != nil {
		return nil, err
	}
	if reflect.DeepEqual(before, args) {
		return r.binding(f), nil
	}
	if f.As == plan.AsChange {
		return nil, fmt.Errorf(
			"a middleware of %s.%s changed arguments, which decide about the events of a subscription",
			f.Spec.Of.Name, f.Spec.Name)
	}
	given, err := r.engine.values.ChangedArguments(f, args, before, c.args)
	if err != nil {
		return nil, fmt.Errorf("arguments that a middleware of %s.%s changed: %w", f.Spec.Of.Name, f.Spec.Name, err)
	}
	bindings, err := r.engine.binder.Rebind(r.plan, f, given, r.vars, r.access, r.bindings)
	if err != nil {
		return nil, err
	}
	r.bindings = bindings
	return r.binding(f), nil
}

// storedField returns the value of a generated field of a row: the value of an attribute, or related rows.
func (r *customRun) storedField(c *call) (any, error) {
	f := c.field
	if f.Load < 0 {
		if f.Attr == nil {
			return nil, nil
		}
		c.stored = c.parent.(*schema.Row).Get(f.Attr.Name)
		return c.stored, nil
	}
	if err := r.bindings[f.Slot].Err; err != nil {
		return nil, err
	}
	rows := r.rowsOf(&c.level.To[f.Load], r.relatedRows(c.level, c.row, f))
	switch f.Generated() {
	case plan.AsConnection:
		return &schema.Page{Nodes: rows}, nil
	case plan.AsOne, plan.AsUnion:
		if len(rows) == 0 {
			return nil, nil
		}
		return rows[0], nil
	}
	return rows, nil
}

// A panicError is the error for a panic in a function of a program.
type panicError struct {
	value any
	stack []byte
}

func (p *panicError) Error() string { return fmt.Sprintf("panic: %v\n%s", p.value, p.stack) }

// guarded calls a function of a program while mu is unlocked, unless the context of the operation is done. A panic
// becomes an error.
func (r *customRun) guarded(do func() (any, error)) (v any, err error) {
	if err := r.Ctx.Err(); err != nil {
		r.Fail(err)
		return nil, err
	}
	r.mu.Unlock()
	defer r.mu.Lock()
	defer recovered(&err)
	return do()
}

// recovered converts a panic to an error. It must be deferred.
func recovered(err *error) {
	if p := recover(); p != nil {
		*err = &panicError{p, debug.Stack()}
	}
}

// setError makes an error the value of a field. It logs the error if the client does not see its message.
func (r *customRun) setError(c *call, to *value, err error) {
	if over := r.Ctx.Err(); over != nil && errors.Is(err, over) || errors.Is(err, store.ErrRedefined) {
		r.Fail(err)
	}
	if r.Failed != nil {
		return
	}
	var misfit govalues.CoercionError
	if errors.As(err, &misfit) {
		to.kind, to.text = valueInvalid, []byte(misfit)
		r.LogError("path", c.path.AsArray(), err)
		return
	}
	e, known := answer.ClientError(err)
	if !known {
		r.LogError("path", c.path.AsArray(), err)
	}
	to.kind, to.err = valueError, e
}
