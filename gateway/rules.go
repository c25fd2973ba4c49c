package gateway

import (
	"net/http"
	"slices"

	"lectern/auth"
	"lectern/contenttypes"
	"lectern/documents/apierror"
	"lectern/shadowcrud/rest"
)

// A routeRule says who may do what a route does without a request to that route: by an operation of a batch, by a
// link of an upload, by reading a document in the change feed. Callers need the same permissions as for the route. If
// the route has policies or middlewares, or the program answers it itself, nobody may: they see requests to the route
// alone, and would be bypassed.
type routeRule struct {
	does   string // the action of the route and its type, for messages
	at     string // method and path of the route
	scopes []string
	open   bool // the route is open to all
	judged bool // it has policies or middlewares, or the program answers it
}

// ruleOf returns the rule of a route of a content-type.
func (g *generation) ruleOf(route *rest.Route) routeRule {
	path := g.Settings.REST.Prefix + route.Path
	return g.rule(route.Type, route.Action, route.Method, path, nameOfGenerated(g.Settings.REST.Prefix, route))
}

// ruleOfUsers returns the rule of the route that changes a user.
func (g *generation) ruleOfUsers(t *contenttypes.ContentType) routeRule {
	route := Route{Method: http.MethodPut, Path: g.Settings.REST.Prefix + "/users/{id}", Action: contenttypes.UserUID +
		".update"}
	return g.rule(t, "update", route.Method, route.Path, route.name())
}

func (g *generation) rule(t *contenttypes.ContentType, action, method, path string, name routeName) routeRule {
	config, _ := g.extensions.configured(name)
	replaced := slices.ContainsFunc(g.extensions.routes, func(own Route) bool { return own.name().place == name.place })
	rule := routeRule{
		does: action + " of " + t.UID, at: method + " " + path, scopes: config.Scopes, open: config.Open,
		judged: replaced || len(config.Policies)+len(config.Middlewares) > 0,
	}
	if len(rule.scopes) == 0 {
		rule.scopes = []string{t.UID + "." + action}
	}
	return rule
}

// rules returns the rules of the routes with an action, by the type of the route. If the generation is not open, api is
// nil and there are none.
func (g *generation) rules(api *rest.API, action string) map[*contenttypes.ContentType]routeRule {
	rules := map[*contenttypes.ContentType]routeRule{}
	if api == nil {
		return rules
	}
	for _, route := range api.Routes() {
		if route.Action == action {
			rules[route.Type] = g.ruleOf(route)
		}
	}
	return rules
}

// permit returns an error unless a caller may do by another request what the route does. Messages end with the advice
// what to do instead.
func (r *routeRule) permit(who auth.Principal, advice string) error {
	for _, scope := range r.scopes {
		if !who.Access.AllowsAction(scope) {
			return apierror.Forbidden()
		}
	}
	if r.judged {
		return r.refusal(advice)
	}
	return nil
}

// refusal is the answer to a request that would do what the route does.
func (r *routeRule) refusal(advice string) error {
	return &apierror.Error{Status: http.StatusForbidden, Name: "ForbiddenError", Reason: apierror.Policy,
		Message: r.does + " has rules of its own on this server; " + advice + " " + r.at}
}
