package gateway

import (
	"strings"

	"lectern/gateway/internal/server"
	"lectern/shadowcrud/rest"
)

// A routeName has the two names by which a route can be configured: its action, and its method and path.
type routeName struct{ action, place string }

func nameOfGenerated(prefix string, route *rest.Route) routeName {
	return routeName{route.Type.UID + "." + route.Action, methodPath(route.Method, prefix+route.Path)}
}

func (r *Route) name() routeName { return routeName{r.Action, methodPath(r.Method, r.Path)} }

func nameOf(r *server.Route) routeName { return routeName{r.Action, methodPath(r.Method, r.Path)} }

// methodPath returns the name of a route by its method and path, without the names of variables.
func methodPath(method, path string) string {
	if name, err := server.PathName(path); err == nil {
		path = name
	}
	return strings.ToUpper(method) + " " + path
}

// configured returns the sum of all configurations of a route. It is not ok if there are none.
func (x *Extensions) configured(name routeName) (c RouteConfig, ok bool) {
	for _, said := range x.configs {
		if !said.names(name) {
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

// names reports whether a configuration is for the route with this name.
func (n *namedConfig) names(name routeName) bool {
	if method, path, ok := strings.Cut(n.name, " "); ok {
		return methodPath(method, path) == name.place
	}
	return n.name == name.action && n.name != ""
}
