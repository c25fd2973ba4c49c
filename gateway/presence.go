package gateway

import (
	"lectern/auth"
	"lectern/contenttypes"
	"lectern/gateway/internal/routes"
	"lectern/gateway/internal/server"
	"lectern/shadowcrud/rest"
)

// presenceRoute returns the route at which callers see who else has a document open. If the generation is not open, api
// is nil.
func (g *generation) presenceRoute(api *rest.API) server.Route {
	o := routes.PresenceOptions{Prefix: g.Settings.REST.Prefix, Model: g.Model, REST: api, Limits: g.limits(),
		HistoryNames: g.Settings.REST.HistoryNames}
	if g.project != nil {
		o.Board = g.project.presence
	}
	collections, singles := g.permits(api, "findOne"), g.permits(api, "find")
	o.Permit = func(t *contenttypes.ContentType, who auth.Principal) error {
		permit, ok := collections[t]
		if !ok {
			permit = singles[t]
		}
		return permit.check(who, "nobody sees who has its documents open, which are read by")
	}
	return routes.Presence(o)
}
