package gateway

import (
	"fmt"
	"slices"
	"sync"

	"lectern/auth"
	"lectern/documents"
	"lectern/gateway/admin"
	"lectern/media"
	"lectern/shadowcrud/params"
	"lectern/shadowcrud/rest"
	"lectern/store"
)

// A generation is everything that is built from one state of the project's files: the definition, the store under its Model, and
// the services on top of it. When the files change, a new generation replaces it as a whole. Values of two generations must not
// be mixed.
type generation struct {
	*Definition
	project  *Project
	store    *store.Store
	docs     *documents.Service
	tokens   *auth.Tokens
	users    *auth.Users    // nil if users are switched off
	media    *media.Library // nil if upload is switched off
	teller   func() *teller // made when a webhook is sent
	answers  *rest.Limits   // shared by all generations
	replaced chan struct{}  // closed when the next generation serves
	copied   bool           // the store is a new copy of the origin's, in a file of its own

	// Set when the runtime is built:
	quotas         *quotas // nil if there are none
	positions      *positions
	graphqlHandler *graphqlHandler // nil if GraphQL is switched off
	forward        *forwarder      // nil unless the project is a replica that forwards writes
}

func (p *Project) newGeneration(d *Definition) *generation {
	return &generation{Definition: d, project: p, answers: p.answers, replaced: make(chan struct{})}
}

// shared holds the services that a generation passes to the next one, unless their settings change.
type shared struct {
	limiter   *auth.Limiter  // of logins
	often     auth.RateLimit // the rate of limiter
	quotas    *quotas        // nil if there are no limits
	persisted *persistedQueries
	library   *media.Library // of the last generation that had one; nil until upload is switched on
	users     *auth.Users    // of the last generation; nil while users are switched off
	uses      *auth.LastUses // when each API token was last used
	keys      *keysAtWork
}

func (l *shared) lastUses() *auth.LastUses {
	if l.uses == nil {
		l.uses = auth.NewLastUses()
	}
	return l.uses
}

func (l *shared) keysAtWork() *keysAtWork {
	if l.keys == nil {
		l.keys = newKeysAtWork()
	}
	return l.keys
}

func (l *shared) limiterOf(often auth.RateLimit) *auth.Limiter {
	if l.limiter == nil || l.often != often {
		l.limiter, l.often = auth.NewLimiter(often, nil), often
	}
	return l.limiter
}

func (l *shared) persistedOf(most int) *persistedQueries {
	if made := newPersistedQueries(most); l.persisted == nil || l.persisted.most != made.most {
		l.persisted = made
	}
	return l.persisted
}

// open builds the services of a generation. Its store must be open.
func (e *generation) open() (err error) {
	e.docs = documents.NewService(e.store, e.Model, e.Settings.I18n.DefaultLocale)
	limits := e.Settings.Server.Limits.WithDefaults()
	e.docs.Limits = documents.Limits{Links: limits.Links, Components: limits.Components}
	e.docs.Failed = func(err error) { e.project.log.Error(err.Error()) }
	e.docs.Now, e.docs.Scheduled = e.project.clock.Now, e.project.scheduler.wake
	if err := e.extensions.hook(e.docs); err != nil {
		return err
	}
	if err := e.makeLocales(); err != nil {
		return fmt.Errorf("make the locales: %w", err)
	}
	e.tokens, err = auth.OpenTokens(auth.TokenOptions{
		Store: e.store, Documents: e.docs, Model: e.Model, Actions: e.Actions, Declared: e.Settings.Tokens,
		Uses:   e.project.shared.lastUses(),
		Now:    e.project.clock.Now,
		Failed: func(err error) { e.project.log.Error(err.Error()) },
	})
	if err != nil {
		return err
	}
	if err := e.openMedia(); err != nil {
		return err
	}
	e.teller = sync.OnceValue(e.newTeller)
	return e.openUsers()
}

// content returns the content of the generation for administration.
func (e *generation) content() admin.Content {
	return admin.Content{Definition: e.Definition.Definition, Store: e.store, Documents: e.docs, Tokens: e.tokens, Media: e.media, Replaced: e.replaced}
}

// idempotency returns what carries out requests with an Idempotency-Key.
func (e *generation) idempotency() *idempotency {
	s := &e.Settings.Server
	return &idempotency{
		store: e.store, settings: s.Idempotency, limits: requestLimits(s.Limits.WithDefaults()), now: e.project.clock.Now, atWork: e.project.shared.keysAtWork(),
	}
}

// retire closes the services that the generation does not share.
func (e *generation) retire() {
	if e.tokens != nil {
		e.tokens.Close()
	}
	if e.forward != nil {
		e.forward.close()
	}
}

// close closes the shared services.
func (l *shared) close() error {
	if l.users != nil {
		l.users.Close()
	}
	if l.library != nil {
		return l.library.Close()
	}
	return nil
}

// runtime builds the Runtime of the generation.
func (e *generation) runtime() (Runtime, error) {
	s := e.Settings.REST
	authenticator := &auth.Authenticator{Users: e.users, Roles: auth.CompileRoles(e.Settings.Roles), Tokens: e.tokens}
	parser := params.New(e.Model, e.Settings.I18n.DefaultLocale, params.Limits{
		DefaultLimit: s.DefaultLimit, MaxLimit: s.MaxLimit, WithCount: s.WithCount,
	}).WithDefaults(e.Populate)
	api := rest.New(e.Model, e.store, e.docs, parser)
	api.SetVersion(e.version())
	limiter := e.project.shared.limiterOf(e.Settings.Users.RateLimit)
	var err error
	if e.positions, err = e.newPositions(); err != nil {
		return Runtime{}, err
	}
	if e.forward, err = e.newForwarder(); err != nil {
		return Runtime{}, err
	}
	e.quotas = e.project.shared.quotasOf(s.RateLimits, e.Settings.Server.TrustedProxies, e.project.clock.Now)
	graphql, err := e.graphqlRoutes(authenticator, parser, limiter)
	if err != nil {
		return Runtime{}, err
	}
	feed := e.newChangeFeed(api, authenticator.Identify)
	routes := append(e.routes(api, parser, limiter), feed.route())
	routes = append(routes, e.openAPIRoute(e.openAPI(api, routes), authenticator.Identify))
	return Runtime{
		Prefix:       s.Prefix,
		REST:         api,
		Cache:        e.Cache,
		Authenticate: authenticator.Identify,
		Extensions:   e.extensions,
		Host:         host{e},
		health:       e.health,
		ready:        e.project.readiness,
		Routes:       slices.Concat(withoutKeys(append(routes, e.mcpRoutes(api)...)), e.docsRoutes(), graphql),
		feed:         feed,
		forward:      e.forward,
		idempotency:  e.idempotency(),
		graphql:      e.Settings.GraphQL.Endpoint,
		quotas:       e.quotas,
	}, nil
}

// routes returns the routes of batches, locales, schedules, files and users. If the generation is not open, they have names but cannot answer.
func (e *generation) routes(api *rest.API, parser *params.Parser, limiter *auth.Limiter) []Route {
	return slices.Concat(e.batchRoutes(api), e.localeRoutes(), e.scheduleRoutes(api), e.uploadRoutes(api, parser), e.userRoutes(api, parser, limiter), e.replicationRoutes())
}
