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

// Resolvers are functions that answer fields, by type and field. Those of fields that are generated take the place of what would
// be generated.
//
//	schema.Resolvers{"Query": {"hello": func(p graphql.ResolveParams) (any, error) { return "hello", nil }}}
//
// A resolver runs with the time limit of the request in its Context, and while no snapshot of the store is held. What it returns
// may be plain values, maps and structs, from which fields are taken as graphql-go takes them; lists of these; and, where the
// schema has a generated type, a Document or a *Row, or a list of them, from which the engine goes on.
type Resolvers map[string]map[string]graphql.FieldResolveFn

// A FieldConfig says who may ask for a field, and what runs around its resolution: first Auth, then Policies, then Middlewares,
// then what answers the field. In ResolversConfig they are keyed by type and field: "Query.articles", "Article.title".
type FieldConfig struct {
	Auth        Auth
	Policies    []PolicyUse
	Middlewares []MiddlewareUse
}

// Auth says what the caller of a field must be allowed. The zero Auth is the default: for a generated field its own permission; for a field
// of Query or Mutation that an extension added, that the caller is a user or holds an API token with full access.
type Auth struct {
	off    bool
	scopes []string
}

// NoAuth allows everybody.
var NoAuth = Auth{off: true}

// Scopes allows callers that may carry out all of these actions, as "api::article.article.find".
func Scopes(actions ...string) Auth { return Auth{scopes: append([]string{}, actions...)} }

// Off reports whether everybody is allowed; Scopes returns the actions that a caller must be allowed otherwise.
func (a Auth) Off() bool        { return a.off }
func (a Auth) Scopes() []string { return a.scopes }

// IsSet reports whether a differs from the zero Auth.
func (a Auth) IsSet() bool { return a.off || a.scopes != nil }

// A Policy decides whether a caller may use a field: false is answered with an error Forbidden; an error is reported as that of a resolver
// is.
type Policy func(c *PolicyContext, s Server) (bool, error)

// A PolicyContext is the input of a Policy.
type PolicyContext struct {
	Context context.Context // From returns the caller of it
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

// A Middleware runs around the resolution of a field. It may call next, also with other arguments, and returns its value, another one, or
// an error. Source in p is the object that the field belongs to.
type Middleware func(next graphql.FieldResolveFn, p graphql.ResolveParams) (any, error)

// A MiddlewareMaker makes the Middleware that is registered under a name from the options of one use. It is called when the schema is
// built, which fails with its error.
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

// A Caller is the user, API token or public that a request comes from, with what it may do.
type Caller struct {
	Access *permission.Access
	User   auth.User     // with its ID, Username and Role; zero when the caller is no user but the public, or an API token
	HTTP   *http.Request // nil where the operation came by other ways
	Server Server
}

type callerKey struct{}

// WithCaller returns a context that carries the caller.
func WithCaller(ctx context.Context, a *Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, a)
}

// CallerOf returns the caller, in the context of a resolver, policy or middleware. It is never nil.
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
