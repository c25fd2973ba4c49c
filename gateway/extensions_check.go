package gateway

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"lectern/auth"
	"lectern/documents"
	"lectern/gateway/config"
	"lectern/gateway/internal/graphqlhttp"
	"lectern/gateway/internal/server"
	"lectern/shadowcrud/rest"
)

// check returns the problems of the extensions with a definition. It adds the actions of the extensions to those of the
// definition.
func (x *Extensions) check(d *Definition) (problems config.Problems) {
	wrong := func(where string, err error) {
		if err == nil {
			return
		}
		for line := range strings.SplitSeq(err.Error(), "\n") {
			problems = append(problems, config.Problem{File: "extensions", Message: where + line})
		}
	}
	for _, name := range x.twice {
		wrong("", fmt.Errorf("%s is registered twice", name))
	}
	problems = append(problems, x.checkActions(d.Actions)...)
	for _, route := range x.routes {
		wrong(route.where(), x.checkRoute(&route, d.Actions))
	}
	for _, m := range x.mounts {
		_, err := m.router()
		wrong(m.where(), errors.Join(err, x.checkConfig(&m.config, d.Actions)))
	}
	var server, generated []routeName
	if len(x.configs) > 0 {
		server, generated = d.routeNames()
	}
	for _, said := range x.configs {
		where := "route " + said.name + ": "
		wrong(where, x.checkName(&said, server, generated, &d.Settings.GraphQL))
		wrong(where, x.checkConfig(&said.config, d.Actions))
	}
	service := documents.NewService(nil, d.Model, d.Settings.I18n.DefaultLocale)
	for _, h := range x.hooks {
		wrong("", service.Hook(h.hooks, h.uids...))
	}
	return problems
}

// checkActions adds the actions of extensions to those that can be granted.
func (x *Extensions) checkActions(actions *auth.Actions) (problems config.Problems) {
	for _, action := range x.actions {
		if err := actions.Add(action); err != nil {
			problems = append(problems, config.Problem{File: "extensions", Message: "action: " + err.Error()})
		}
	}
	for _, route := range x.routes {
		if route.Action == "" {
			continue
		}
		if err := actions.Add(route.Action); err != nil {
			problems = append(problems, config.Problem{File: "extensions", Message: route.where() + err.Error()})
		}
	}
	return problems
}

// routeNames returns the names of the server's own routes and of the generated ones.
func (d *Definition) routeNames() (server, generated []routeName) {
	for _, route := range (&generation{Definition: d}).routes(nil, nil, nil) {
		server = append(server, nameOf(&route))
	}
	for _, route := range rest.New(d.Model, nil, nil, nil).Routes() {
		generated = append(generated, nameOfGenerated(d.Settings.REST.Prefix, route))
	}
	return server, generated
}

// checkName returns an error if a configuration names no route, or one that it cannot configure.
func (x *Extensions) checkName(said *namedConfig, server, generated []routeName, graphql *config.GraphQL) error {
	if slices.ContainsFunc(server, said.names) {
		if err := said.config.fitsServer(); err != nil {
			return err
		}
	}
	var found []string
	for _, name := range slices.Concat(server, generated) {
		if said.names(name) {
			found = append(found, name.place)
		}
	}
	switch {
	case slices.ContainsFunc(x.routes, func(own Route) bool { return slices.Contains(found, own.name().place) }):
		return errors.New("the program has put a route of its own in that place; say it there")
	case len(found) > 0:
		return nil
	case said.namesGraphQL(graphql):
		return errors.New("what is asked at the GraphQL endpoint is up to each operation: " +
			"give its fields policies and middlewares, by ResolversConfig of an extension of the schema")
	}
	return errors.New("there is no generated route of that name, and none of users, files or locales; " +
		"name it as api::article.article.find, or as GET /api/articles")
}

// namesGraphQL reports whether a configuration is for the GraphQL endpoint.
func (n *namedConfig) namesGraphQL(g *config.GraphQL) bool {
	return g.Enabled && slices.ContainsFunc(graphqlhttp.Methods, func(method string) bool {
		return n.names(routeName{place: methodPath(method, g.Endpoint)})
	})
}

func (r *Route) where() string { return "route " + r.Method + " " + r.Path + ": " }

func (x *Extensions) checkRoute(route *Route, actions *auth.Actions) error {
	switch {
	case !slices.Contains(server.RouteMethods, route.Method):
		return fmt.Errorf("a route's method is one of %s", strings.Join(server.RouteMethods, ", "))
	case route.Handle == nil:
		return errors.New("the route has no Handle")
	}
	c := route.config()
	_, err := server.PathName(route.Path)
	return errors.Join(err, x.checkConfig(&c, actions))
}

func (x *Extensions) checkConfig(c *RouteConfig, actions *auth.Actions) error {
	var errs []error
	if c.Open && len(c.Scopes) > 0 {
		errs = append(errs, errors.New("an open route looks at nobody's permissions; leave out Scopes or Open"))
	}
	for _, scope := range c.Scopes {
		errs = append(errs, checkScope(actions, scope))
	}
	_, _, err := x.resolve(c)
	return errors.Join(append(errs, err)...)
}

// fitsServer returns an error if a configuration would replace the permission of a route of the server. Callers with
// such a permission may change any account or file.
func (c *RouteConfig) fitsServer() error {
	if c.Open || len(c.Scopes) > 0 {
		return errors.New("a route of users, files or locales keeps the permission that it asks for, " +
			"which roles and tokens are granted; leave out Open and Scopes, and give it a policy where it should ask for more")
	}
	return nil
}
