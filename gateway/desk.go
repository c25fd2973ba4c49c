package gateway

import (
	"errors"
	"slices"

	"lectern/auth"
	"lectern/desk"
	"lectern/gateway/internal/accounts"
	"lectern/gateway/internal/routes"
	"lectern/gateway/internal/server"
)

// deskRoutes returns the routes of the desk; none if it is switched off, or nobody can log in.
func (g *generation) deskRoutes() []server.Route {
	settings := &g.Settings.Server.Desk
	if !settings.Enabled || !g.Settings.Users.Enabled {
		return nil
	}
	page := desk.New(desk.Options{Path: settings.Path, API: g.Settings.REST.Prefix, Frames: g.previewOrigins()})
	return []server.Route{openRoute(settings.Path, page), openRoute(settings.Path+"/{path:.*}", page)}
}

// previewOrigins returns the origins of the websites that show drafts.
func (g *generation) previewOrigins() (origins []string) {
	for _, t := range g.Model.Types {
		if t.Preview != nil && !slices.Contains(origins, t.Preview.Origin()) {
			origins = append(origins, t.Preview.Origin())
		}
	}
	return origins
}

// deskSessions returns how the desk logs in; zero if it is switched off.
func (g *generation) deskSessions() accounts.Desk {
	settings := &g.Settings.Server.Desk
	if g.project == nil || !settings.Enabled {
		return accounts.Desk{}
	}
	return accounts.Desk{Path: settings.Path, Owners: g.owners, Secure: g.project.options.Production}
}

// deskLink returns a link that logs a browser in at the desk, once, within ten minutes: the user of a name, address or
// id, or an owner if user is "". It does not check whether there is such a user.
func (p *Project) deskLink(user string) (string, error) {
	g := p.generation.Load()
	if !g.Settings.Server.Desk.Enabled || !g.Settings.Users.Enabled {
		return "", errNoDesk
	}
	if !p.role.HasOwnContent() {
		return "", errors.New("this server is a replica, which begins no sessions: ask its origin for the link")
	}
	return g.base() + g.Settings.Server.Desk.Path + "/#link=" + g.owners.Link(user), nil
}

var errNoDesk = errors.New("the project has no desk: config/server.yaml says desk: {enabled: false}, or " +
	"config/plugins.yaml users-permissions: {enabled: false}")

// accessRoute returns the route at which callers read what they may do.
func (g *generation) accessRoute() server.Route {
	var locales []string
	if g.Settings.I18n.Enabled {
		locales = g.Settings.I18n.DefaultFirst()
	}
	return routes.Access(routes.AccessOptions{
		Prefix: g.Settings.REST.Prefix, Model: g.Model, Actions: g.Actions, Locales: locales,
		GraphQL:       g.Settings.GraphQL.Endpoint,
		DraftsGranted: g.Settings.REST.Drafts == auth.GrantedDrafts, Version: g.project.options.Version,
		Limits: g.limits(),
	})
}
