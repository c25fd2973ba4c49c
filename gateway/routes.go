package gateway

import (
	"log/slog"
	"net/http"
	"slices"

	"lectern/auth"
	"lectern/contenttypes"
	"lectern/gateway/internal/accounts"
	"lectern/gateway/internal/forward"
	"lectern/gateway/internal/mcp"
	"lectern/gateway/internal/routes"
	"lectern/gateway/internal/server"
	"lectern/gateway/internal/uploads"
	"lectern/shadowcrud/params"
	"lectern/shadowcrud/rest"
)

// routes returns the routes of batches, definitions, locales, schedules, webhooks, the status, API tokens, the audit,
// files, presence and users. If the generation is not open, they have names but cannot answer.
func (g *generation) routes(api *rest.API, parser *params.Parser, limiter *auth.Limiter) []server.Route {
	prefix := g.Settings.REST.Prefix
	all := slices.Concat(g.batchRoutes(api), routes.Definitions(prefix, g.Model), g.locales().Routes(prefix),
		g.scheduleRoutes(api), g.webhookRoutes(), []server.Route{g.statusRoute()},
		routes.Tokens(routes.TokenOptions{Prefix: prefix, Tokens: g.tokens, Limits: g.limits()}),
		routes.Audit(routes.AuditOptions{Prefix: prefix, Store: g.store, Limits: g.limits()}))
	if g.Settings.Upload.Enabled {
		all = append(all, g.uploadRoutes(api, parser)...)
	}
	if g.Settings.Users.Enabled {
		all = append(all, g.presenceRoute(api))
	}
	return slices.Concat(all, g.accountRoutes(api, parser, limiter), g.replicationRoutes())
}

// limits returns the limits of requests.
func (g *generation) limits() server.Limits {
	return server.Limits(g.Settings.Server.Limits.WithDefaults())
}

// log returns the log of the project; nil if the generation belongs to none.
func (g *generation) log() *slog.Logger {
	if g.project == nil {
		return nil
	}
	return g.project.log
}

// batchRoutes returns the route of batches. A route that the program has opened is not part of them.
func (g *generation) batchRoutes(api *rest.API) []server.Route {
	permits := map[*rest.Route]routePermit{}
	if api != nil {
		for _, route := range api.Routes() {
			permits[route] = g.permitOf(route)
		}
	}
	return routes.Batches(routes.BatchOptions{
		Prefix: g.Settings.REST.Prefix, REST: api, Most: g.limits().Operations, Limits: g.limits(), Answers: g.answers,
		Keys: g.keys, Log: g.log(),
		Permit: func(route *rest.Route, who auth.Principal) error {
			const advice = "send it to"
			permit := permits[route]
			err := permit.check(who, advice)
			if err == nil && permit.open {
				err = permit.refusal(advice)
			}
			return err
		},
	})
}

// locales returns the locales.
func (g *generation) locales() *routes.Locales {
	return &routes.Locales{Settings: g.Settings.I18n, Model: g.Model, Store: g.store, Documents: g.docs}
}

// scheduleRoutes returns the routes of schedules.
func (g *generation) scheduleRoutes(api *rest.API) []server.Route {
	return routes.Schedules(routes.ScheduleOptions{
		Prefix: g.Settings.REST.Prefix, Model: g.Model, Documents: g.docs, REST: api, Answers: g.answers, Keys: g.keys,
		Untagged: func(list *server.Route) bool {
			_, configured := g.extensions.configured(nameOf(list))
			return configured
		},
	})
}

// uploadRoutes returns the routes of files.
func (g *generation) uploadRoutes(api *rest.API, parser *params.Parser) []server.Route {
	updates := g.permits(api, "update")
	if t := g.Model.Type(contenttypes.UserUID); t != nil {
		updates[t] = g.permitOfUsers(t)
	}
	o := uploads.Options{
		Prefix: g.Settings.REST.Prefix, Model: g.Model, Library: g.media, REST: api, Params: parser, Limits: g.limits(),
		Answers: g.answers, Keys: g.keys,
		PermitLink: func(t *contenttypes.ContentType, who auth.Principal) error {
			if permit, ok := updates[t]; ok {
				return permit.check(who, "upload the files without ref, and link them with")
			}
			return nil
		},
	}
	if g.project != nil {
		if source := g.project.role.MissingFiles(); source != nil {
			o.Missing = source.Missing
		}
	}
	return uploads.Routes(o)
}

// accountRoutes returns the routes of users, roles and permissions; none if users are switched off.
func (g *generation) accountRoutes(api *rest.API, parser *params.Parser, limiter *auth.Limiter) []server.Route {
	o := accounts.Options{
		Prefix: g.Settings.REST.Prefix, Model: g.Model, Users: g.users, Store: g.store, REST: api, Params: parser,
		Limiter: limiter, Cookie: g.sessionCookie(),
		Proxies: g.Settings.Server.TrustedProxies, Limits: g.limits(), Answers: g.answers, Keys: g.keys,
		Providers: g.logins, Base: g.base, Desk: g.deskSessions(),
	}
	if g.project != nil {
		o.Refreshes = g.project.shared.refreshes
	}
	return accounts.Routes(o)
}

// mcpRoutes returns the routes of the Model Context Protocol; none if it is switched off.
func (g *generation) mcpRoutes(api *rest.API) []server.Route {
	if !g.Settings.MCP {
		return nil
	}
	return mcp.Routes(mcp.EndpointOptions{
		Version: g.project.options.Version, Prefix: g.Settings.REST.Prefix, REST: api, Memory: g.project.memory,
		Limits: g.limits(),
		URL:    g.Settings.Server.URL, Origins: g.Settings.Server.CORS.Origins, Overhead: forward.MaxOverhead,
		Call: func(w http.ResponseWriter, r *http.Request) (complete bool) {
			return g.project.server.Load().AnswerInside(w, r)
		},
	})
}
