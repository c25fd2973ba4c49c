package gateway

import (
	"context"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"sync"
	"time"

	"lectern/auth"
	"lectern/auth/providers"
	"lectern/documents"
	"lectern/gateway/admin"
	"lectern/gateway/config"
	"lectern/gateway/internal/feed"
	"lectern/gateway/internal/forward"
	"lectern/gateway/internal/graphqlhttp"
	"lectern/gateway/internal/idempotency"
	"lectern/gateway/internal/routes"
	"lectern/gateway/internal/server"
	"lectern/media"
	"lectern/shadowcrud/params"
	"lectern/shadowcrud/rest"
	"lectern/store"
)

// A generation is everything that is built from one state of the project's files: the definition, the store under its
// Model, and the services on top of it. When the files change, a new generation replaces it as a whole. Values of two
// generations must not be mixed.
type generation struct {
	*Definition
	project  *Project
	store    *store.Store
	docs     *documents.Service
	tokens   *auth.Tokens
	users    *auth.Users           // nil if users are switched off
	logins   *providers.Providers  // by which users log in; nil if users are switched off
	media    *media.Library        // nil if upload is switched off
	payloads func() *rest.Payloads // of webhooks; made when one is sent
	keys     *idempotency.Keys
	answers  *rest.AnswerLimits // shared by all generations
	replaced chan struct{}      // closed when the next generation serves
	copied   bool               // the store is a new copy of the origin's, in a file of its own

	// Set when the runtime is built:
	owners    *auth.Owners
	quotas    *server.Quotas // nil if there are none
	positions *feed.Positions
	feed      *feed.Feed
	graphql   *graphqlhttp.Handler // nil if GraphQL is switched off
	forward   *forward.Forwarder   // nil unless the project is a replica that forwards writes
}

func (p *Project) newGeneration(d *Definition) *generation {
	return &generation{Definition: d, project: p, answers: p.answers, replaced: make(chan struct{})}
}

// shared holds the services that a generation passes to the next one, unless their settings change.
type shared struct {
	limiter   *auth.Limiter  // of logins
	refreshes *auth.Limiter  // of sessions
	often     auth.RateLimit // the rate of limiter
	quotas    *server.Quotas // nil if there are no limits
	persisted *graphqlhttp.Persisted
	library   *media.Library // of the last generation that had one; nil until upload is switched on
	users     *auth.Users    // of the last generation; nil while users are switched off
	closing   sync.WaitGroup // of users that were switched off, and may still have mail to send
	uses      *auth.LastUses // when each API token was last used
	keys      idempotency.AtWork
	owners    *auth.Owners // who log in at the desk by a link
}

func (s *shared) ownersAt(now func() time.Time) *auth.Owners {
	if s.owners == nil {
		s.owners = auth.NewOwners(now)
	}
	return s.owners
}

func (s *shared) lastUses() *auth.LastUses {
	if s.uses == nil {
		s.uses = auth.NewLastUses()
	}
	return s.uses
}

// quotasOf returns the quotas for these limits. Counters go on as long as the limits stay the same.
func (s *shared) quotasOf(limits config.RateLimits, proxies []netip.Prefix, now func() time.Time) *server.Quotas {
	if s.quotas == nil || s.quotas.Limits() != limits {
		s.quotas = server.NewQuotas(limits, proxies, now)
	}
	return s.quotas
}

// refreshesPerLogin is how many times as often as it may log in an address may refresh sessions. Clients do that by
// themselves, each time that a JWT expires, and many of them may have one address.
const refreshesPerLogin = 20

// limiterOf returns the Limiter of logins with this rate, and sets that of refreshes.
func (s *shared) limiterOf(often auth.RateLimit) *auth.Limiter {
	if s.limiter == nil || s.often != often {
		s.limiter, s.often = auth.NewLimiter(often, nil), often
		often.Max = min(often.Max, math.MaxInt/refreshesPerLogin) * refreshesPerLogin
		s.refreshes = auth.NewLimiter(often, nil)
	}
	return s.limiter
}

// open builds the services of a generation. Its store must be open.
func (g *generation) open() (err error) {
	g.docs = documents.NewService(g.store, g.Model, g.Settings.I18n.DefaultLocale)
	limits := g.Settings.Server.Limits.WithDefaults()
	g.docs.Limits = documents.WriteLimits{Links: limits.Links, Components: limits.Components}
	g.docs.Passwords = g.project.passwords
	g.docs.Failed = func(err error) { g.project.log.Error(err.Error()) }
	g.docs.Now, g.docs.Scheduled = g.project.clock.Now, g.project.scheduler.wake
	if err := g.extensions.hook(g.docs); err != nil {
		return err
	}
	if err := g.locales().Make(); err != nil {
		return fmt.Errorf("make the locales: %w", err)
	}
	g.tokens, err = auth.OpenTokens(auth.TokenOptions{
		Store: g.store, Documents: g.docs, Model: g.Model, Actions: g.Actions, Declared: g.Settings.Tokens,
		Conditions: g.Conditions(), Drafts: g.Settings.REST.Drafts,
		Uses:   g.project.shared.lastUses(),
		Now:    g.project.clock.Now,
		Failed: func(err error) { g.project.log.Error(err.Error()) },
	})
	if err != nil {
		return err
	}
	if err := g.openMedia(); err != nil {
		return err
	}
	g.payloads = sync.OnceValue(g.newPayloads)
	g.keys = idempotency.New(idempotency.Options{
		Model: g.Model, Store: g.store, Settings: g.Settings.Server.Idempotency, Limits: g.limits(),
		Now: g.project.clock.Now, AtWork: &g.project.shared.keys,
	})
	return g.openUsers()
}

// revokeUndeclared revokes the tokens that permissions.yaml no longer declares. It revokes none if the file is missing
// or empty, which may be so for a moment only. Call it when nothing else can fail: a revoked token does not come back
// with the former file.
func (g *generation) revokeUndeclared() error {
	if !g.project.role.HasOwnContent() {
		return nil
	}
	if !g.HasPermissions {
		for _, tok := range g.tokens.List() {
			if tok.Removed() {
				g.project.log.Warn("an API token that permissions.yaml declared is kept, "+
					"since the file is missing or empty", "token", tok.Name)
			}
		}
		return nil
	}
	revoked, err := g.tokens.FollowFile(context.Background())
	if err != nil {
		return fmt.Errorf("revoke the tokens that permissions.yaml no longer declares: %w", err)
	}
	for _, tok := range revoked {
		g.project.log.Warn("an API token was revoked, since permissions.yaml no longer declares it", "token", tok.Name)
	}
	return nil
}

// content returns the content of the generation for administration.
func (g *generation) content() admin.Content {
	return admin.Content{Definition: g.Definition.Definition, Store: g.store, Documents: g.docs, Tokens: g.tokens,
		Users: g.users, Media: g.media, Replaced: g.replaced}
}

// retire closes the services that the generation does not share.
func (g *generation) retire() {
	if g.tokens != nil {
		g.tokens.Close()
	}
	if g.forward != nil {
		g.forward.Close()
	}
}

// closeUsers closes the users in the background, since they may have mail to send.
func (s *shared) closeUsers() {
	if s.users != nil {
		s.closing.Go(s.users.Close)
		s.users = nil
	}
}

// close closes the shared services. The store must still be open.
func (s *shared) close() error {
	s.closeUsers()
	s.closing.Wait()
	if s.library != nil {
		return s.library.Close()
	}
	return nil
}

// serveBy has a server answer requests by the generation.
func (g *generation) serveBy(s *server.Server) error {
	rt, err := g.runtime()
	if err != nil {
		return err
	}
	api, err := rt.api()
	if err != nil {
		return err
	}
	if err := s.Swap(api); err != nil {
		return err
	}
	g.project.routed.Store(g)
	return nil
}

// runtime builds the Runtime of the generation.
func (g *generation) runtime() (Runtime, error) {
	s := g.Settings.REST
	g.owners = g.project.shared.ownersAt(g.project.clock.Now)
	authenticator := &auth.Authenticator{Owners: g.owners, Users: g.users, Roles: g.CompileRoles(), Tokens: g.tokens,
		Now: g.project.clock.Now}
	parser := params.New(g.Model, g.Settings.I18n.DefaultLocale, params.ListSettings{
		DefaultLimit: s.DefaultLimit, MaxLimit: s.MaxLimit, WithCount: s.WithCount,
	}).WithDefaults(g.Populate)
	api := rest.New(g.Model, g.store, g.docs, parser)
	api.SetVersion(g.version())
	if s.HistoryNames {
		api.ShowHistoryNames()
	}
	limiter := g.project.shared.limiterOf(g.Settings.Users.RateLimit)
	secret, err := g.jwtSecret()
	if err != nil {
		return Runtime{}, err
	}
	g.positions = feed.NewPositions(secret)
	authenticator.Previews = auth.NewPreviews(auth.PreviewOptions{
		Model: g.Model, Secret: secret, Lifespan: s.PreviewLifespan, Now: g.project.clock.Now,
	})
	if g.forward, err = g.newForwarder(); err != nil {
		return Runtime{}, err
	}
	g.quotas = g.project.shared.quotasOf(s.RateLimits, g.Settings.Server.TrustedProxies, g.project.clock.Now)
	graphql, err := g.graphqlRoutes(authenticator, parser, limiter)
	if err != nil {
		return Runtime{}, err
	}
	g.feed = g.newFeed(api, authenticator.Authenticate)
	served := append(g.routes(api, parser, limiter), g.feedRoute(g.feed.Serve))
	served = append(served, g.accessRoute())
	served = append(served, routes.OpenAPI(g.openAPI(api, served), authenticator.Authenticate, g.limits()))
	return Runtime{
		Prefix:       s.Prefix,
		REST:         api,
		Cache:        g.Cache,
		Authenticate: authenticator.Authenticate,
		previews:     authenticator,
		Extensions:   g.extensions,
		Host:         host{g},
		probes:       g.project.probes(g),
		steps:        g.project.steps(g),
		routes: slices.Concat(idempotency.Refuse(append(served, g.mcpRoutes(api)...)), g.docsRoutes(), g.deskRoutes(),
			graphql, g.homeRoutes()),
		quotas: g.quotas,
	}, nil
}
