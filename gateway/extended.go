package gateway

import (
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

// generatedNames are the names by which a generated route can be configured.
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
	for _, name := range x.twice {
		wrong("", fmt.Errorf("%s is registered twice", name))
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
