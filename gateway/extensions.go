package gateway

import (
	"context"
	"net/http"

	"lectern/documents"
	"lectern/documents/permission"
	"lectern/shadowcrud/graphql/schema"
)

// Extensions are the code that a program adds to a server: routes, policies and middlewares, hooks around writes, and
// changes of the GraphQL schema. The zero value adds nothing.
//
//	x := &gateway.Extensions{}
//	x.Handle(gateway.Route{Method: "GET", Path: "/api/articles/count", Action: "api::article.article.count", Handle: count})
//	x.Policy("is-author", isAuthor)
//	x.Route("api::article.article.update", gateway.RouteConfig{Policies: []gateway.PolicyUse{{Name: "is-author"}}})
//	x.Hooks(documents.Hooks{BeforeCreate: slugify}, "api::article.article")
//	x.GraphQL().Use(schema.Extension{
//		TypeDefs:  `extend type Query { hello: String }`,
//		Resolvers: schema.Resolvers{"Query": {"hello": func(graphql.ResolveParams) (any, error) { return "hello", nil }}},
//	})
//	p, err := gateway.Open("blog", gateway.Options{Extensions: x})
//
// Extensions are complete before a project is opened, and must not be changed after that. In development, definitions
// change while a server runs: routes, hooks and fields are then built again for the new Model, so code of extensions
// must not keep a ContentType or anything else of a Model.
type Extensions struct {
	graphql     schema.Extensions
	routes      []Route
	mounts      []mount
	actions     []string
	configs     []namedConfig
	middlewares map[string]MiddlewareMaker
	hooks       []hooksOf
	twice       []string // names that were registered twice
	landingPage LandingPage
}

type namedConfig struct {
	name   string
	config RouteConfig
}

type hooksOf struct {
	uids  []string
	hooks documents.Hooks
}

// GraphQL returns the changes of the GraphQL schema.
func (x *Extensions) GraphQL() *schema.Extensions { return &x.graphql }

// Handle adds routes that are served beside the generated ones, and before them where both match.
func (x *Extensions) Handle(routes ...Route) {
	x.routes = append(x.routes, routes...)
}

// Action adds permissions that belong to no route, such as "api::article.article.promote": config/permissions.yaml,
// roles and tokens can grant them, and Scopes and Access.AllowsAction ask for them. The Action of a route is added with
// the route.
func (x *Extensions) Action(permissions ...string) { x.actions = append(x.actions, permissions...) }

// Route configures a route that the server has: that of an action ("api::article.article.find"), or of a method and a
// path ("GET /api/articles/{documentId}"). The configurations of several calls for one route add up. Generated routes
// take all of a RouteConfig; those of users, files and locales ("plugin::users-permissions.auth.register", "POST
// /api/upload", "GET /uploads/{path:.*}") take policies and middlewares, and keep their permissions. Use GraphQL to
// configure fields of GraphQL.
func (x *Extensions) Route(name string, c RouteConfig) {
	x.configs = append(x.configs, namedConfig{name, c})
}

// Hooks registers functions that are called around the writes of documents of these types; without any uid, of all
// types that the project defines. Functions are called in the order in which they were added.
func (x *Extensions) Hooks(h documents.Hooks, uids ...string) {
	x.hooks = append(x.hooks, hooksOf{uids, h})
}

// Policy registers a policy by name, for routes and for fields of GraphQL.
func (x *Extensions) Policy(name string, p Policy) {
	if x.graphql.Policies()[name] != nil {
		x.twice = append(x.twice, "policy "+name)
	}
	x.graphql.Policy(name, p)
}

// Middleware registers a middleware of routes by name; GraphQL().Middleware registers those of fields.
func (x *Extensions) Middleware(name string, m MiddlewareMaker) {
	if x.middlewares == nil {
		x.middlewares = map[string]MiddlewareMaker{}
	}
	if x.middlewares[name] != nil {
		x.twice = append(x.twice, "middleware "+name)
	}
	x.middlewares[name] = m
}

// A Route is one operation beside the generated API.
type Route struct {
	Method string // GET answers HEAD as well
	// Path begins with a slash and includes the prefix. Variables are written as for mux:
	// /api/articles/{documentId}/feature, and /files/{path:.*} for the rest of a path. mux.Vars gives their values,
	// decoded. Letter case and a slash at the end do not matter.
	Path string
	// Handle answers a request. If it returns an error and has written nothing, the error becomes the answer; one that
	// is no *apierror.Error is logged and answered with 500 without its text. access holds the permissions of the
	// caller, in an open route those of the public.
	Handle func(w http.ResponseWriter, r *http.Request, access *permission.Access) error

	// Action is the permission that the caller needs, such as "api::article.article.feature", unless there are Scopes.
	// config/permissions.yaml can grant it like those of generated routes. A route without Action, Scopes and Open
	// accepts every caller without a credential or with a valid one; Handle decides by access.
	Action string
	// Open, Scopes, Policies and Middlewares are as in RouteConfig.
	Open        bool
	Scopes      []string
	Policies    []PolicyUse
	Middlewares []MiddlewareUse

	// Streams is set for routes that limit their time themselves: they work as long as bytes flow.
	Streams bool
	// Whole is set for routes that write their answer at once and never flush it, so that it can be sent by one system
	// call.
	Whole bool
}

// A RouteConfig says who may use a route and what runs before its handler. The order for a request is: authentication,
// permissions, the limit on logins if the route has one, the policies in their order, and then the middlewares, the
// first one outermost.
type RouteConfig struct {
	// Open routes need no permission and ignore credentials.
	Open bool
	// Scopes are the permissions that the caller needs, all of them, in place of the one that the route has.
	Scopes      []string
	Policies    []PolicyUse
	Middlewares []MiddlewareUse
}

// Policies are the same for routes and for fields of GraphQL. CallerOf returns the caller. Parent, Args and Info are
// those of a field, and empty for a route.
type (
	Policy        = schema.Policy
	PolicyContext = schema.PolicyContext
	PolicyUse     = schema.PolicyUse
)

// A Host is the server as policies and handlers see it: Caller.Server.
type Host = schema.Server

// A Caller is the user, API token or public that sent a request, with its permissions.
type Caller = schema.Caller

// CallerOf returns the caller, in the context of a policy, a middleware, a hook or a handler of an extension. It is
// never nil: outside of a request, the caller has no permission.
func CallerOf(ctx context.Context) *Caller { return schema.CallerOf(ctx) }

// A MiddlewareUse is a middleware of a route: by a registered name, with options for it, or a function.
type MiddlewareUse struct {
	Name    string
	Options any
	Func    Middleware
}

// A Middleware wraps a handler: it may answer itself, change the request, or read the answer.
type Middleware = func(next http.Handler) http.Handler

// A MiddlewareMaker makes a middleware from the options of one use of its name. It is called when routes are made; an
// error keeps the server from starting.
type MiddlewareMaker func(options any) (Middleware, error)
