package gateway

import (
	"net/http"

	"lectern/auth"
	"lectern/contenttypes"
	"lectern/gateway/internal/feed"
	"lectern/gateway/internal/server"
	"lectern/internal/admission"
	"lectern/shadowcrud/rest"
)

// changesPath is the path of the change feed below the prefix of the API.
const changesPath = "/_changes"

// newFeed returns the change feed of an open generation.
func (g *generation) newFeed(api *rest.API, authenticate func(*http.Request) (auth.Principal, error)) *feed.Feed {
	reads := g.permits(api, "find")
	return feed.New(feed.Options{
		Model: g.Model, Store: g.store, REST: api, Answers: g.answers, NoLog: g.Settings.Server.Log.Limits().Off,
		Positions: g.positions, Subscribers: g.project.subscribers, Authenticate: authenticate,
		Memory: g.project.memory, Replaced: g.replaced,
		Limits: g.limits(),
		ShowDocuments: func(t *contenttypes.ContentType, who auth.Principal) error {
			if permit, listed := reads[t]; listed {
				return permit.check(who, "follow it without include=document, and read its documents with")
			}
			return nil
		},
	})
}

// feedRoute returns the route of the change feed. If the generation is not open, serve is nil.
func (g *generation) feedRoute(serve server.Handler) server.Route {
	return server.Route{Method: http.MethodGet, Path: g.Settings.REST.Prefix + changesPath, Streams: true,
		Handle: serve}
}

// newSubscribers returns the clients of a project that will wait for changes.
func (p *Project) newSubscribers(limits server.Limits) *feed.Subscribers {
	return feed.NewSubscribers(p.log, feedProject{p}, p.memory,
		admission.Limits{Places: limits.Listeners, Share: limits.ListenersPerAddress},
		admission.Limits{Places: limits.SubscriptionConditions, Share: limits.SubscriptionConditionsPerAddress})
}

// A feedProject is the project as subscribers see it.
type feedProject struct{ *Project }

// Feed implements feed.Project.
func (p feedProject) Feed() *feed.Feed { return p.serving().feed }

// Stopping implements feed.Project.
func (p feedProject) Stopping() <-chan struct{} { return p.stopping() }

// serving returns the generation whose routes answer requests.
func (p *Project) serving() *generation {
	if g := p.routed.Load(); g != nil {
		return g
	}
	return p.generation.Load() // its routes have just begun to answer the first requests
}
