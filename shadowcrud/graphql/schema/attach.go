package schema

import (
	"errors"
	"fmt"
	"strings"

	"github.com/graphql-go/graphql"
)

// attachExtensions attaches the resolvers and configs of extensions to their fields. It runs after all types and fields
// are declared.
func (b *builder) attachExtensions() {
	if len(b.added) == 0 {
		return
	}
	resolved := map[*FieldSpec]bool{}
	for _, x := range b.added {
		for _, typ := range sortedKeys(x.Resolvers) {
			for _, field := range sortedKeys(x.Resolvers[typ]) {
				b.resolve(typ, field, x.Resolvers[typ][field], resolved)
			}
		}
	}
	for _, x := range b.added {
		for _, key := range sortedKeys(x.ResolversConfig) {
			b.configure(key, x.ResolversConfig[key])
		}
	}
	b.checkAnswered()
	b.checkSubscription()
	for _, t := range b.types {
		if e := t.enum; e != nil { // graphql-go makes the tables of an enum's values when they are first used, without a lock
			e.GraphQL.Serialize("")
			e.GraphQL.ParseValue("")
		}
	}
}

// checkAnswered reports fields that extensions added without a resolver to Query, Mutation or the type of a document or
// component. Fields of other types need no resolver, since they are read from the values that resolvers return.
func (b *builder) checkAnswered() {
	for _, r := range b.declared {
		o := r.object
		if o == nil || o.Schema == nil && o != b.Query && o != b.Mutation {
			continue
		}
		for _, m := range o.Fields {
			if m.Kind == Custom && m.Resolve == nil && len(m.Middlewares) == 0 {
				b.errorf("%s.%s: nothing answers this field; "+
					"the Resolvers of an extension need one for it: %q: {%q: …}", o.Name, m.Name, o.Name, m.Name)
			}
		}
	}
}

// specOf returns the field that a resolver or config is for. If there is no such field, it adds an error and returns
// nil.
func (b *builder) specOf(what, typ, field string) *FieldSpec {
	o := b.Object(typ)
	if o == nil {
		b.errorf("%s: there is no type %s with fields to resolve", what, typ)
		return nil
	}
	m := o.byName[field]
	if m == nil {
		b.errorf("%s: %s has no field %s", what, typ, field)
	}
	return m
}

func (b *builder) resolve(typ, field string, resolve graphql.FieldResolveFn, resolved map[*FieldSpec]bool) {
	what := "resolver of " + typ + "." + field
	m := b.specOf(what, typ, field)
	switch {
	case m == nil:
	case resolve == nil:
		b.errorf("%s: it is nil", what)
	case resolved[m]:
		b.errorf("%s: two extensions have one; let one of them be a middleware", what)
	default:
		m.Resolve, resolved[m] = resolve, true
	}
}

// configure applies a FieldConfig. Policies and middlewares of several extensions run in the order of the extensions;
// the last Auth applies.
func (b *builder) configure(key string, c FieldConfig) {
	what := "resolversConfig of " + key
	typ, field, ok := strings.Cut(key, ".")
	if !ok {
		b.errorf(`%s: the key must be a type and a field of it, as "Query.articles"`, what)
		return
	}
	m := b.specOf(what, typ, field)
	if m == nil {
		return
	}
	if c.Auth.IsSet() {
		m.Auth = c.Auth
		for _, scope := range c.Auth.scopes {
			b.checkScope(what, scope)
		}
	}
	for _, use := range c.Policies {
		if p, err := b.policy(use); err != nil {
			b.errorf("%s: %w", what, err)
		} else {
			m.Policies = append(m.Policies, p)
		}
	}
	for _, use := range c.Middlewares {
		if run, err := b.middleware(use); err != nil {
			b.errorf("%s: %w", what, err)
		} else {
			m.Middlewares = append(m.Middlewares, run)
		}
	}
}

// checkScope adds an error if the action scope cannot be granted to anybody.
func (b *builder) checkScope(what, scope string) {
	if check := b.options.CheckScope; check != nil {
		if err := check(scope); err != nil {
			b.errorf("%s: %w", what, err)
		}
		return
	}
	dot := strings.LastIndexByte(scope, '.')
	if dot < 0 {
		b.errorf(`%s: %q is no action; say for example "api::article.article.find"`, what, scope)
		return
	}
	if uid := scope[:dot]; strings.HasPrefix(uid, "api::") && b.Model.Type(uid) == nil {
		b.errorf("%s: there is no content-type %s", what, uid)
	}
}

var errBothOrNone = errors.New("it must have either a name or a function")

func (b *builder) policy(use PolicyUse) (BoundPolicy, error) {
	if (use.Name == "") == (use.Func == nil) {
		return BoundPolicy{}, fmt.Errorf("a policy: %w", errBothOrNone)
	}
	run := use.Func
	if run == nil {
		run = b.options.Extensions.policies[use.Name]
	}
	if run == nil {
		return BoundPolicy{}, fmt.Errorf("there is no policy %q", use.Name)
	}
	return BoundPolicy{Name: use.Name, Config: use.Config, Policy: run}, nil
}

func (b *builder) middleware(use MiddlewareUse) (Middleware, error) {
	if (use.Name == "") == (use.Func == nil) {
		return nil, fmt.Errorf("a middleware: %w", errBothOrNone)
	}
	if use.Func != nil {
		return use.Func, nil
	}
	newMiddleware := b.options.Extensions.middlewares[use.Name]
	if newMiddleware == nil {
		return nil, fmt.Errorf("there is no middleware %q", use.Name)
	}
	run, err := newMiddleware(use.Options)
	if err == nil && run == nil {
		err = errors.New("it is nil")
	}
	if err != nil {
		return nil, fmt.Errorf("middleware %q: %w", use.Name, err)
	}
	return run, nil
}
