package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"

	"lectern/auth"
	"lectern/contenttypes"
	"lectern/documents"
	"lectern/shadowcrud/graphql/schema"
	"lectern/shadowcrud/rest"
	"lectern/store"
)

// A guard is a RouteConfig made ready: what stands between a request and what answers it.
type guard struct {
	handlers *handlers
	open     bool
	scopes   []string // all of these are needed; none: anybody may
	policies []PolicyUse
	wrap     []Middleware
	streams  bool
	answer   answer
	handler  http.Handler // the middlewares around answer; nil where there are none
}

// An answer answers a request that has passed.
type answer func(w http.ResponseWriter, r *http.Request, m *found, access *documents.Access) error

// ready makes a guard of a configuration: names become what was registered under them.
func (x *Extensions) ready(c *RouteConfig) (*guard, error) {
	g := &guard{open: c.Open, scopes: c.Scopes}
	var errs []error
	for _, use := range c.Policies {
		if use.Func == nil {
			use.Func = x.policies[use.Name]
		}
		if use.Func == nil {
			errs = append(errs, fmt.Errorf("there is no policy %q%s", use.Name, among(x.policies)))
		}
		g.policies = append(g.policies, use)
	}
	for _, use := range c.Middlewares {
		made, err := x.middleware(use)
		if err != nil {
			errs = append(errs, err)
		}
		g.wrap = append(g.wrap, made)
	}
	return g, errors.Join(errs...)
}

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

// among lists what is registered, for a message about what is not.
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

// A passage is a request on its way through middlewares. Its context knows it.
type passage struct {
	found  *found
	access *documents.Access
	err    error // that the request is to be answered again for
}

type passageKey struct{}

// serve answers a request, if it may pass.
func (g *guard) serve(w http.ResponseWriter, r *http.Request, m *found) error {
	h := g.handlers
	who, err := h.identify(r, g.open)
	if err != nil {
		return err
	}
	if !g.open {
		for _, scope := range g.scopes {
			if !who.Access.AllowsAction(scope) {
				return documents.Forbidden()
			}
		}
	}
	ctx := r.Context()
	if !g.streams {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, h.server.limits.Handle)
		defer cancel()
	}
	asker := &Asker{Access: who.Access, User: who.User, Server: h.rt.Host}
	ctx = schema.WithAsker(ctx, asker)
	p := &passage{found: m, access: who.Access}
	if g.handler != nil {
		ctx = context.WithValue(ctx, passageKey{}, p)
	}
	r = r.WithContext(ctx)
	asker.HTTP = r
	for i, name := range m.node.names {
		r.SetPathValue(name, m.params[i])
	}
	for _, use := range g.policies {
		passes, err := use.Func(&PolicyContext{Context: ctx, Config: use.Config}, h.rt.Host)
		if err != nil {
			return err
		}
		if !passes {
			return documents.PolicyFailed()
		}
	}
	if g.handler == nil {
		return g.answer(w, r, m, who.Access)
	}
	seen := &loggedWriter{ResponseWriter: w}
	if g.handler.ServeHTTP(seen, r); seen.status == 0 {
		return p.err
	}
	return nil
}

// finish puts the middlewares around what answers.
func (g *guard) finish(h *handlers, a answer) handlerFunc {
	g.handlers, g.answer = h, a
	if len(g.wrap) > 0 {
		g.handler = http.HandlerFunc(g.innermost)
		for _, wrap := range slices.Backward(g.wrap) {
			g.handler = wrap(g.handler)
		}
	}
	return g.serve
}

// innermost answers what came through the middlewares. Its errors are answered here, so that they see the answer; only a request
// that has to be answered again, by other handlers, is not.
func (g *guard) innermost(w http.ResponseWriter, r *http.Request) {
	p, ok := r.Context().Value(passageKey{}).(*passage)
	if !ok {
		g.handlers.server.fail(w, r, errors.New("a middleware has handed on a request with another context"))
		return
	}
	switch err := g.answer(w, r, p.found, p.access); {
	case errors.Is(err, store.ErrRedefined):
		p.err = err
	case err != nil:
		g.handlers.server.fail(w, r, err)
	}
}

// generatedName are the names by which a generated route can be configured.
func generatedNames(prefix string, route *rest.Route) [2]string {
	return [2]string{route.Type.UID + "." + route.Action, methodPath(route.Method, prefix+route.Path)}
}

// methodPath names a route by its method and path, whatever its open parts are called.
func methodPath(method, path string) string {
	parts := strings.Split(strings.ToLower(strings.TrimSuffix(path, "/")), "/")
	for i, part := range parts {
		if strings.HasPrefix(part, ":") {
			parts[i] = ":"
		}
	}
	return strings.ToUpper(method) + " " + strings.Join(parts, "/")
}

// configured is what was said of a generated route, all of it together; ok is false where nothing was.
func (x *Extensions) configured(prefix string, route *rest.Route) (c RouteConfig, ok bool) {
	names := generatedNames(prefix, route)
	for _, said := range x.configs {
		if !said.names(names) {
			continue
		}
		ok = true
		c.Open = c.Open || said.config.Open
		c.Scopes = append(c.Scopes, said.config.Scopes...)
		c.Policies = append(c.Policies, said.config.Policies...)
		c.Middlewares = append(c.Middlewares, said.config.Middlewares...)
	}
	return c, ok
}

// names reports whether a configuration is that of a route with these names.
func (n *namedConfig) names(names [2]string) bool {
	if method, path, ok := strings.Cut(n.name, " "); ok {
		return methodPath(method, path) == names[1]
	}
	return n.name == names[0]
}

// check reports what of the extensions does not fit a Model, or is wrong by itself, and adds what their routes can be granted by to
// actions.
func (x *Extensions) check(model *contenttypes.Model, actions *auth.Actions, s *Settings) (problems contenttypes.Problems) {
	wrong := func(where string, err error) {
		if err == nil {
			return
		}
		for line := range strings.SplitSeq(err.Error(), "\n") {
			problems = append(problems, contenttypes.Problem{File: "extensions", Message: where + line})
		}
	}
	for _, route := range x.routes {
		if route.Action != "" {
			wrong(route.where(), actions.Add(route.Action))
		}
	}
	for _, route := range x.routes {
		wrong(route.where(), x.checkRoute(&route, actions))
	}
	generated := rest.New(model, nil, nil, nil).Routes()
	for _, said := range x.configs {
		where := "route " + said.name + ": "
		if !slices.ContainsFunc(generated, func(r *rest.Route) bool { return said.names(generatedNames(s.REST.Prefix, r)) }) {
			wrong(where, errors.New("there is no generated route of that name; name it as api::article.article.find, or as GET /api/articles"))
		}
		wrong(where, x.checkConfig(&said.config, actions))
	}
	service := documents.NewService(nil, model, s.I18n.DefaultLocale)
	for _, h := range x.hooks {
		wrong("", service.Hook(h.hooks, h.uids...))
	}
	return problems
}

func (r *Route) where() string { return "route " + r.Method + " " + r.Path + ": " }

var routeMethods = []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}

func (x *Extensions) checkRoute(route *Route, actions *auth.Actions) error {
	switch {
	case !slices.Contains(routeMethods, route.Method):
		return fmt.Errorf("a route's method is one of %s", strings.Join(routeMethods, ", "))
	case route.Handle == nil:
		return errors.New("the route has no Handle")
	}
	c := route.config()
	return errors.Join((&table{}).add(route.Method, route.Path, nil), x.checkConfig(&c, actions))
}

func (x *Extensions) checkConfig(c *RouteConfig, actions *auth.Actions) error {
	var errs []error
	if c.Open && len(c.Scopes) > 0 {
		errs = append(errs, errors.New("an open route looks at nobody's permissions; leave out Scopes or Open"))
	}
	for _, scope := range c.Scopes {
		errs = append(errs, actions.CheckPermission(scope))
	}
	_, err := x.ready(c)
	return errors.Join(append(errs, err)...)
}

// A host is what extensions see of the server: the edition that a request is answered by.
type host struct{ edition *edition }

var _ schema.Server = host{}

func (h host) Store() *store.Store           { return h.edition.store }
func (h host) Documents() *documents.Service { return h.edition.docs }
func (h host) Log() *slog.Logger             { return h.edition.project.log }

// asked returns a request whose context knows who asks, for hooks around what it writes.
func (e *edition) asked(r *http.Request, who auth.Principal) *http.Request {
	if len(e.extensions.hooks) == 0 {
		return r
	}
	return r.WithContext(schema.WithAsker(r.Context(), &Asker{Access: who.Access, User: who.User, HTTP: r, Server: host{e}}))
}

// hook adds the hooks to a service.
func (x *Extensions) hook(s *documents.Service) error {
	for _, h := range x.hooks {
		if err := s.Hook(h.hooks, h.uids...); err != nil {
			return err
		}
	}
	return nil
}
