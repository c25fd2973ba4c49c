package gateway

import (
	"net/http"
	"slices"

	"lectern/auth"
	"lectern/contenttypes"
	"lectern/documents/apierror"
	"lectern/shadowcrud/rest"
)

// A routePermit says who may do what a route does without a request to that route: by an operation of a batch, by a
// link of an upload, by reading a document in the change feed. Callers need the same permissions as for the route. If
// the route has policies or middlewares, or the program answers it itself, nobody may: they see requests to the route
// alone, and would be bypassed.
type routePermit struct {
	does   string // the action of the route and its type, for messages
	at     string // method and path of the route
	scopes []string
	open   bool // the route is open to all
	judged bool // it has policies or middlewares, or the program answers it
}

// permitOf returns the permit of a route of a content-type.
func (g *generation) permitOf(route *rest.Route) routePermit {
	path := g.Settings.REST.Prefix + route.Path
	return g.routePermit(route.Type, route.Action, route.Method, path, nameOfGenerated(g.Settings.REST.Prefix, route))
}

// permitOfUsers returns the permit of the route that changes a user.
func (g *generation) permitOfUsers(t *contenttypes.ContentType) routePermit {
	route := Route{Method: http.MethodPut, Path: g.Settings.REST.Prefix + "/users/{id}", Action: contenttypes.UserUID +
		".update"}
	return g.routePermit(t, "update", route.Method, route.Path, route.name())
}

func (g *generation) routePermit(t *contenttypes.ContentType, action, method, path string, name routeName) routePermit {
	config, _ := g.extensions.configured(name)
	replaced := slices.ContainsFunc(g.extensions.routes, func(own Route) bool { return own.name().place == name.place })
	p := routePermit{
		does: action + " of " + t.UID, at: method + " " + path, scopes: config.Scopes, open: config.Open,
		judged: replaced || len(config.Policies)+len(config.Middlewares) > 0,
	}
	if len(p.scopes) == 0 {
		p.scopes = []string{t.UID + "." + action}
	}
	return p
}

// permits returns the permits of the routes with an action, by the type of the route. If the generation is not open,
// api is nil and there are none.
func (g *generation) permits(api *rest.API, action string) map[*contenttypes.ContentType]routePermit {
	permits := map[*contenttypes.ContentType]routePermit{}
	if api == nil {
		return permits
	}
	for _, route := range api.Routes() {
		if route.Action == action {
			permits[route.Type] = g.permitOf(route)
		}
	}
	return permits
}

// check returns an error unless a caller may do by another request what the route does. Messages end with the advice
// what to do instead.
func (p *routePermit) check(who auth.Principal, advice string) error {
	for _, scope := range p.scopes {
		if !who.Access.AllowsAction(scope) {
			return apierror.Forbidden()
		}
	}
	if p.judged {
		return p.refusal(advice)
	}
	return nil
}

// refusal is the answer to a request that would do what the route does.
func (p *routePermit) refusal(advice string) error {
	return &apierror.Error{Status: http.StatusForbidden, Name: "ForbiddenError", Reason: apierror.Policy,
		Message: p.does + " has rules of its own on this server; " + advice + " " + p.at}
}
