package gateway

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"lectern/auth"
	"lectern/contenttypes"
	"lectern/documents/permission"
	"lectern/gateway/config"
	"lectern/gateway/internal/server"
	"lectern/shadowcrud/rest"
	"lectern/store"
)

// A Runtime holds the routes and services of one Model, which a Server serves.
type Runtime struct {
	// Prefix of the content API; "" is /api.
	Prefix string
	// REST is the API generated from the Model.
	REST *rest.API
	// Cache holds, by type and role, the header Cache-Control of answers to reads over REST; nil: there is none.
	Cache map[*contenttypes.ContentType]config.CacheControl
	// Authenticate returns who sent a request and what they may do: the public if the request has no credential. An
	// invalid credential is an *apierror.Error of status 401. Open routes without a limit do not call it; a retry calls
	// it again.
	Authenticate func(*http.Request) (auth.Principal, error)
	// Extensions are those of the program; nil: none. Host is the server that they see.
	Extensions *Extensions
	Host       Host

	previews *auth.Authenticator // makes previews and takes their tokens; nil: there are none

	routes []server.Route // beside the generated ones
	probes []server.Probe
	steps  server.Steps
	quotas *server.Quotas
}

// api returns what a server answers requests with. If several routes have the same method and path, one of the program
// goes before the other routes of the Runtime, and these before generated ones.
func (rt *Runtime) api() (api server.API, err error) {
	x := rt.Extensions
	if x == nil {
		x = &Extensions{}
	}
	prefix := "/" + strings.Trim(rt.Prefix, "/")
	if rt.Prefix == "" {
		prefix = "/api"
	}
	api = server.API{Prefix: prefix, Authenticate: rt.Authenticate, Host: rt.Host, Quotas: rt.quotas, Probes: rt.probes,
		Steps: rt.steps}
	if rt.previews != nil {
		api.AuthenticateReader = rt.previews.AuthenticateReader
	}
	add := func(route server.Route, err error) error {
		api.Routes = append(api.Routes, route)
		return err
	}
	for i := range x.routes {
		if err := add(x.own(&x.routes[i])); err != nil {
			return api, err
		}
	}
	for _, route := range rt.routes {
		if err := add(x.configure(route)); err != nil {
			return api, err
		}
	}
	if rt.REST != nil {
		for _, route := range rt.REST.Routes() {
			if err := add(rt.generated(x, prefix, route)); err != nil {
				return api, err
			}
		}
	}
	for i := range x.mounts {
		mount, err := x.mounts[i].served(x)
		if err != nil {
			return api, fmt.Errorf("%s%w", x.mounts[i].where(), err)
		}
		api.Mounts = append(api.Mounts, mount)
	}
	return api, nil
}

// generated returns a route of a content-type.
func (rt *Runtime) generated(x *Extensions, prefix string, route *rest.Route) (server.Route, error) {
	config, configured := x.configured(nameOfGenerated(prefix, route))
	made := server.Route{
		Method: route.Method, Path: prefix + route.Path, Content: route.Type.PathName(), Action: route.Type.UID + "." +
			route.Action,
		Open: config.Open, Scopes: config.Scopes, Whole: true, Extended: configured || route.Writes() &&
			len(x.hooks) > 0,
	}
	made.Reads = route.Method == http.MethodGet && (route.Action == "find" || route.Action == "findOne")
	made.Streams = made.Method == http.MethodGet && !made.Extended // a read bounds its own time
	var err error
	if made.Policies, made.Middlewares, err = x.resolve(&config); err != nil {
		return made, err
	}
	cached, once := rt.Cache[route.Type], rt.steps.Once
	made.Document = func(w http.ResponseWriter, r *http.Request, who auth.Principal, call rest.Call) error {
		call.Untagged, call.CacheControl = made.Extended, cached[roleOf(who)]
		if route.Action == permission.PreviewAction && rt.previews != nil {
			call.Preview = rt.previews.PreviewsOf(r)
		}
		if once != nil && route.Writes() && r.Header[server.IdempotencyKey] != nil {
			return serveOnce(w, r, once, who, route, call)
		}
		return route.Serve(w, r, call)
	}
	return made, nil
}

// serveOnce answers a request with an Idempotency-Key to a route that writes.
func serveOnce(w http.ResponseWriter, r *http.Request, once server.Once, who auth.Principal, route *rest.Route,
	call rest.Call) error {
	return once(w, r, who, func(once *store.Once) error {
		call.Once = once
		return route.Serve(w, r, call)
	})
}

// roleOf returns the role of a caller: public for requests without a credential, and none for API tokens and previews.
func roleOf(who auth.Principal) string {
	switch {
	case who.User.ID != 0:
		return who.User.Role
	case who.Token != "" || who.Access.IsPreview():
		return ""
	}
	return auth.PublicRole
}

// config returns the configuration that the route has of itself.
func (r *Route) config() RouteConfig {
	c := RouteConfig{Open: r.Open, Scopes: r.Scopes, Policies: r.Policies, Middlewares: r.Middlewares}
	if len(c.Scopes) == 0 && r.Action != "" && !r.Open {
		c.Scopes = []string{r.Action}
	}
	return c
}

// own returns a route of the program as a server takes it.
func (x *Extensions) own(r *Route) (route server.Route, err error) {
	c, handle := r.config(), r.Handle
	route = server.Route{
		Method: r.Method, Path: r.Path, Action: r.Action, Open: c.Open, Scopes: c.Scopes, Streams: r.Streams,
		Whole: r.Whole, Program: true, Extended: true,
		Handle: func(w http.ResponseWriter, r *http.Request, who auth.Principal) error {
			return handle(w, r, who.Access)
		},
	}
	route.Policies, route.Middlewares, err = x.resolve(&c)
	return route, err
}

// configure returns a route that is not generated with the policies and middlewares that the program has added.
func (x *Extensions) configure(route server.Route) (server.Route, error) {
	added, said := x.configured(nameOf(&route))
	if err := added.fitsServer(); err != nil {
		return route, fmt.Errorf("route %s %s: %w", route.Method, route.Path, err)
	}
	policies, middlewares, err := x.resolve(&added)
	if err != nil {
		return route, err
	}
	route.Extended = said || len(route.Policies)+len(route.Middlewares) > 0 || len(x.hooks) > 0 && !route.Open
	route.Policies, route.Middlewares = slices.Concat(route.Policies, policies),
		slices.Concat(route.Middlewares, middlewares)
	if len(policies) > 0 && route.Open { // so that policies see the caller
		route.Open, route.Action = false, ""
	}
	return route, nil
}

// served returns the mount as a server takes it.
func (m *mount) served(x *Extensions) (served server.Mount, err error) {
	served = server.Mount{Path: m.path, Open: m.config.Open, Scopes: m.config.Scopes}
	if served.Router, err = m.router(); err == nil {
		served.Policies, served.Middlewares, err = x.resolve(&m.config)
	}
	return served, err
}

// resolve returns the policies and middlewares of a configuration, by their names or as they are given.
func (x *Extensions) resolve(c *RouteConfig) (policies []PolicyUse, middlewares []Middleware, err error) {
	var errs []error
	for _, use := range c.Policies {
		if use.Func == nil {
			use.Func = x.graphql.Policies()[use.Name]
		}
		if use.Func == nil {
			errs = append(errs, fmt.Errorf("there is no policy %q%s", use.Name, among(x.graphql.Policies())))
		}
		policies = append(policies, use)
	}
	for _, use := range c.Middlewares {
		made, err := x.middleware(use)
		if err != nil {
			errs = append(errs, err)
		}
		middlewares = append(middlewares, made)
	}
	return policies, middlewares, errors.Join(errs...)
}

// middleware returns the middleware of a MiddlewareUse: its function, or one of the registered name.
func (x *Extensions) middleware(use MiddlewareUse) (Middleware, error) {
	if use.Func != nil {
		return use.Func, nil
	}
	maker := x.middlewares[use.Name]
	if maker == nil {
		return nil, fmt.Errorf("there is no middleware %q%s", use.Name, among(x.middlewares))
	}
	made, err := maker(use.Options)
	if err == nil && made == nil {
		err = errors.New("its maker returned none")
	}
	if err != nil {
		return nil, fmt.Errorf("middleware %s: %w", use.Name, err)
	}
	return made, nil
}

// among returns the end of an error message about a name that is not registered: the registered names.
func among[T any](registered map[string]T) string {
	if len(registered) == 0 {
		return "; none are registered"
	}
	names := make([]string, 0, len(registered))
	for name := range registered {
		names = append(names, name)
	}
	slices.Sort(names)
	return "; there are " + strings.Join(names, ", ")
}
