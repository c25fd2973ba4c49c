package gateway

import (
	"cmp"

	"lectern/auth"
	"lectern/gateway/config"
	"lectern/gateway/internal/graphqlhttp"
	"lectern/gateway/internal/server"
	"lectern/shadowcrud/graphql/execution"
	"lectern/shadowcrud/graphql/language"
	"lectern/shadowcrud/graphql/limits"
	"lectern/shadowcrud/params"
)

// graphqlRoutes returns the routes of the GraphQL endpoint; none if GraphQL is switched off.
func (g *generation) graphqlRoutes(a *auth.Authenticator, parser *params.Parser,
	limiter *auth.Limiter) ([]server.Route, error) {
	settings := g.Settings.GraphQL
	if !settings.Enabled {
		g.project.observed.engine.Store(nil)
		g.project.observed.persisted.Store(nil)
		return nil, nil
	}
	for _, warning := range settings.Warnings {
		g.project.log.Warn(warning)
	}
	built, err := g.GraphQLSchema()
	if err != nil {
		return nil, err
	}
	most := executionLimits(&settings)
	most.Document.Introspection = !g.project.options.Production
	if settings.Introspection != nil {
		most.Document.Introspection = *settings.Introspection
	}
	var tooLong error
	if most.Bytes == 0 { // limits.answer applies
		most.Bytes, tooLong = g.answers.Bytes, g.answers.TooLong
	}
	engine := execution.New(execution.Options{
		Schema: built, Store: g.store, Documents: g.docs, Params: parser, Users: g.users, Media: g.media,
		Limits: most, Memory: g.project.memory, TooLong: tooLong, Log: g.project.log, Server: host{g},
		NoSuggestions: settings.HideSchemaDetails,
	})
	g.project.shared.persisted = g.project.shared.persisted.WithLimit(settings.Limits.Persisted)
	g.project.observed.engine.Store(engine)
	g.project.observed.persisted.Store(g.project.shared.persisted)
	page, routes := g.landing(most.Document.Introspection)
	o := graphqlhttp.Options{
		Engine: engine, Store: g.store, Log: g.project.log, Metrics: g.project.observed.metrics,
		Memory: g.project.memory, Limits: g.limits(), Answers: g.answers,
		Authenticate: a.Authenticate, AuthenticateReader: a.AuthenticateReader, WithCaller: g.withCaller, Extended: g.project.options.Extensions != nil,
		Forward: g.forward, Quotas: g.quotas, Limiter: limiter, Proxies: g.Settings.Server.TrustedProxies, Keys: g.keys,
		Subscribers: g.project.subscribers, NoLog: g.Settings.Server.Log.Limits().Off,
		Serving: g.project.servingGraphQL,
		Page:    page, AnyOrigin: g.Settings.Server.CORS.AnyOrigin(), PreflightHeaders: settings.PreflightHeaders,
		Version: g.version(),
	}
	if settings.Batches {
		o.MaxBatch = cmp.Or(settings.Limits.Batch, graphqlhttp.DefaultBatch)
	}
	if !settings.WithoutPersisted {
		o.Persisted = g.project.shared.persisted
	}
	if settings.Subscriptions {
		o.Positions = g.positions
	}
	g.graphql = graphqlhttp.New(o)
	for _, method := range graphqlhttp.Methods {
		routes = append(routes, server.Route{Method: method, Path: settings.Endpoint, Handle: g.graphql.Serve,
			Open: true, Streams: true, Whole: true})
	}
	return routes, nil
}

// executionLimits returns the limits of an engine.
func executionLimits(g *config.GraphQL) limits.Operation {
	l := g.Limits
	return limits.Operation{
		Document: language.DocumentLimits{
			Tokens: l.Tokens, Nesting: l.Nesting, Depth: g.DepthLimit, Selections: l.Selections,
			RootFields: l.RootFields,
			Aliases:    l.Aliases, Directives: l.Directives, IntrospectionDepth: l.IntrospectionDepth,
		},
		DefaultLimit: g.DefaultLimit, MaxLimit: g.MaxLimit, AmountLimit: g.AmountLimit,
		Cost: l.Cost, Rows: l.Rows, Bytes: l.Bytes, Introspections: l.Introspections, Conditions: l.Conditions,
		SortKeys: l.SortKeys, Plans: l.Plans,
	}
}

// servingGraphQL returns the handler whose routes answer requests now; nil if GraphQL is switched off.
func (p *Project) servingGraphQL() *graphqlhttp.Handler { return p.serving().graphql }
