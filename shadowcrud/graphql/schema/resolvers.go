package schema

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/graphql-go/graphql"

	"lectern/auth"
	"lectern/documents"
	"lectern/documents/permission"
	"lectern/store"
)

// Resolvers are functions that answer fields, by type and field. A resolver of a generated field replaces the generated
// behaviour.
//
//	schema.Resolvers{"Query": {"hello": func(p graphql.ResolveParams) (any, error) { return "hello", nil }}}
//
// A resolver runs with the time limit of the request in its Context, and while no snapshot of the store is held. It may
// return plain values, maps and structs, whose fields are read as graphql-go reads them, and lists of these. For a
// generated type it may also return a Document, a *Row, or a list of them, whose fields the engine reads from the
// store.
type Resolvers map[string]map[string]graphql.FieldResolveFn

// A FieldConfig says which callers may use a field, and which middlewares run around its resolution. Auth is checked
// first, then Policies; then Middlewares run around the resolver. ResolversConfig is keyed by type and field:
// "Query.articles", "Article.title".
type FieldConfig struct {
	Auth        Auth
	Policies    []PolicyUse
	Middlewares []MiddlewareUse
}

// Auth says which permissions the caller of a field needs. The zero Auth is the default: a generated field needs its
// own permission; a field of Query or Mutation that an extension added needs a caller that is a user or an API token
// with full access.
type Auth struct {
	off    bool
	scopes []string
}

// NoAuth allows everybody.
var NoAuth = Auth{off: true}

// Scopes allows callers that may carry out all of these actions, as "api::article.article.find".
func Scopes(actions ...string) Auth { return Auth{scopes: append([]string{}, actions...)} }

// Off reports whether everybody is allowed. Scopes returns the actions for which a caller otherwise needs permission.
func (a Auth) Off() bool        { return a.off }
func (a Auth) Scopes() []string { return a.scopes }

// IsSet reports whether a differs from the zero Auth.
func (a Auth) IsSet() bool { return a.off || a.scopes != nil }

// A Policy decides whether a caller may use a field. If it returns false, the client gets an error Forbidden. An error
// that it returns is reported like the error of a resolver.
type Policy func(c *PolicyContext, s Server) (bool, error)

// A PolicyContext is the input of a Policy.
type PolicyContext struct {
	Context context.Context // carries the caller; see CallerOf
	Parent  any             // of a nested field: the *Row, or other value, that it belongs to
	Args    map[string]any
	Info    graphql.ResolveInfo
	Config  any // of the PolicyUse
}

// A PolicyUse is a Policy of a field: a registered name with a config, or a function.
type PolicyUse struct {
	Name   string
	Config any
	Func   Policy
}

// A Middleware runs around the resolution of a field. It may call next, also with changed arguments, and returns the
// value of next, another value, or an error. p.Source is the object that the field belongs to.
type Middleware func(next graphql.FieldResolveFn, p graphql.ResolveParams) (any, error)

// A MiddlewareMaker makes a Middleware from the options of a MiddlewareUse. It is called when the schema is built; if
// it returns an error, Build fails.
type MiddlewareMaker func(options any) (Middleware, error)

// A MiddlewareUse is a Middleware of a field: a registered name with options, or a function.
type MiddlewareUse struct {
	Name    string
	Options any
	Func    Middleware
}

// A Server is the part of the server that policies, middlewares and resolvers may use.
type Server interface {
	Store() *store.Store
	Documents() *documents.Service
	Log() *slog.Logger
}

// A Caller is the user, API token or anonymous visitor that a request comes from, with its permissions.
type Caller struct {
	Access *permission.Access
	User   auth.User     // with its ID, Username and Role; zero if the caller is an API token or anonymous
	HTTP   *http.Request // nil if the operation did not come by HTTP
	Server Server
}

type callerKey struct{}

// WithCaller returns a context that carries the caller.
func WithCaller(ctx context.Context, a *Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, a)
}

// CallerOf returns the caller from the context of a resolver, policy or middleware. It is never nil.
func CallerOf(ctx context.Context) *Caller {
	if a, ok := ctx.Value(callerKey{}).(*Caller); ok {
		return a
	}
	return &Caller{Access: permission.NewAccess(nil)}
}

// Policy registers a policy under a name for PolicyUse.Name.
func (e *Extensions) Policy(name string, p Policy) {
	if e.policies == nil {
		e.policies = map[string]Policy{}
	}
	e.policies[name] = p
}

// Policies returns the registered policies by name. The map must not be changed.
func (e *Extensions) Policies() map[string]Policy { return e.policies }

// Middleware registers a middleware under a name for MiddlewareUse.Name.
func (e *Extensions) Middleware(name string, m MiddlewareMaker) {
	if e.middlewares == nil {
		e.middlewares = map[string]MiddlewareMaker{}
	}
	e.middlewares[name] = m
}
