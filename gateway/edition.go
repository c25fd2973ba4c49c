package gateway

import (
	"fmt"
	"slices"

	"lectern/auth"
	"lectern/documents"
	"lectern/media"
	"lectern/shadowcrud/params"
	"lectern/shadowcrud/rest"
	"lectern/store"
)

// An edition is a project as its files said at one time: all that hangs on one Model. It is made as a whole, and replaced as
// a whole when the files say something else. What it is made of must not meet what another is made of.
type edition struct {
	*Definition
	project  *Project
	store    *store.Store
	docs     *documents.Service
	tokens   *auth.Tokens
	users    *auth.Users    // nil where they are switched off
	media    *media.Library // nil where upload is switched off
	answers  *rest.Limits   // of all editions
	replaced chan struct{}  // closed when another is there
}

func (p *Project) newEdition(d *Definition) *edition {
	return &edition{Definition: d, project: p, answers: p.answers, replaced: make(chan struct{})}
}

// lasting is what outlives editions, unless its settings change.
type lasting struct {
	limiter   *auth.Limiter // of those who come in
	often     auth.RateLimit
	persisted *persisted
	library   *media.Library // under some Model; nil until upload is switched on
	users     *auth.Users    // the last there were; nil while they are switched off
	uses      *auth.LastUses // of API tokens
}

func (l *lasting) lastUses() *auth.LastUses {
	if l.uses == nil {
		l.uses = auth.NewLastUses()
	}
	return l.uses
}

func (l *lasting) limiterOf(often auth.RateLimit) *auth.Limiter {
	if l.limiter == nil || l.often != often {
		l.limiter, l.often = auth.NewLimiter(often, nil), often
	}
	return l.limiter
}

func (l *lasting) persistedOf(most int) *persisted {
	if made := newPersisted(most); l.persisted == nil || l.persisted.most != made.most {
		l.persisted = made
	}
	return l.persisted
}

// open makes what an edition with a store consists of.
func (e *edition) open() (err error) {
	e.docs = documents.NewService(e.store, e.Model, e.Settings.I18n.DefaultLocale)
	limits := e.Settings.Server.Limits.orDefaults()
	e.docs.Limits = documents.Limits{Links: limits.Links, Components: limits.Components}
	e.docs.Failed = func(err error) { e.project.log.Error(err.Error()) }
	if err := e.extensions.hook(e.docs); err != nil {
		return err
	}
	if err := e.makeLocales(); err != nil {
		return fmt.Errorf("make the locales: %w", err)
	}
	e.tokens, err = auth.OpenTokens(auth.TokenOptions{
		Store: e.store, Documents: e.docs, Model: e.Model, Actions: e.Actions, Declared: e.Settings.Tokens,
		Uses:   e.project.lasting.lastUses(),
		Failed: func(err error) { e.project.log.Error(err.Error()) },
	})
	if err != nil {
		return err
	}
	if err := e.openMedia(); err != nil {
		return err
	}
	return e.openUsers()
}

// retire ends what belongs to an edition alone.
func (e *edition) retire() {
	if e.tokens != nil {
		e.tokens.Close()
	}
}

// close ends what outlives editions.
func (l *lasting) close() error {
	if l.users != nil {
		l.users.Close()
	}
	if l.library != nil {
		return l.library.Close()
	}
	return nil
}

// runtime builds what the server answers with.
func (e *edition) runtime() (Runtime, error) {
	s := e.Settings.REST
	authenticator := &auth.Authenticator{Users: e.users, Roles: auth.CompileRoles(e.Settings.Roles), Tokens: e.tokens}
	parser := params.New(e.Model, e.Settings.I18n.DefaultLocale, params.Limits{
		DefaultLimit: s.DefaultLimit, MaxLimit: s.MaxLimit, WithCount: s.WithCount,
	}).WithDefaults(e.populate)
	api := rest.New(e.Model, e.store, e.docs, parser)
	limiter := e.project.lasting.limiterOf(e.Settings.Users.RateLimit)
	graphql, err := e.graphqlRoutes(authenticator, parser, limiter)
	if err != nil {
		return Runtime{}, err
	}
	return Runtime{
		Prefix:       s.Prefix,
		REST:         api,
		Authenticate: authenticator.Identify,
		Extensions:   e.extensions,
		Host:         host{e},
		health:       e.health,
		Routes:       slices.Concat(e.routes(api, parser, limiter), graphql),
	}, nil
}

// routes are those of locales, files and users. Of an edition that was not opened they have names and answer nothing.
func (e *edition) routes(api *rest.API, parser *params.Parser, limiter *auth.Limiter) []Route {
	return slices.Concat(e.localesRoute(), e.uploadRoutes(api, parser), e.userRoutes(api, parser, limiter))
}
