package gateway

import (
	"context"
	"net"
	"net/http"

	"lectern/auth"
	"lectern/contenttypes"
	"lectern/gateway/internal/feed"
	"lectern/internal/admission"
	"lectern/shadowcrud/rest"
)

// changesPath is the path of the change feed below the prefix of the API.
const changesPath = "/_changes"

// newFeed returns the change feed of an open generation.
func (g *generation) newFeed(api *rest.API, authenticate func(*http.Request) (auth.Principal, error)) *feed.Feed {
	limits := requestLimits(g.Settings.Server.Limits.WithDefaults())
	reads := g.rules(api, "find")
	return feed.New(feed.Options{
		Model: g.Model, Store: g.store, REST: api, Answers: g.answers, NoLog: g.Settings.Server.Log.Limits().Off,
		Positions: g.positions, Subscribers: g.project.subscribers, Authenticate: authenticate, Memory: g.project.memory, Replaced: g.replaced,
		AnswerRate: limits.AnswerRate, SendJSON: limits.sendJSON,
		ShowDocuments: func(t *contenttypes.ContentType, who auth.Principal) error {
			if rule, listed := reads[t]; listed {
				return rule.permit(who, "follow it without include=document, and read its documents with")
			}
			return nil
		},
	})
}

// feedRoute returns the route of the change feed. If the generation is not open, serve is nil.
func (g *generation) feedRoute(serve userHandler) Route {
	return Route{Method: http.MethodGet, Path: g.Settings.REST.Prefix + changesPath, Streams: true, user: serve}
}

// newSubscribers returns the clients of a project that will wait for changes.
func (p *Project) newSubscribers(limits requestLimits) *feed.Subscribers {
	return feed.NewSubscribers(p.log, feedServer{p}, p.memory,
		admission.Limits{Places: limits.Listeners, Share: limits.ListenersPerAddress},
		admission.Limits{Places: limits.SubscriptionConditions, Share: limits.SubscriptionConditionsPerAddress})
}

// A feedServer is the server that subscribers of the feed wait at.
type feedServer struct{ project *Project }

// Feed implements feed.Server.
func (s feedServer) Feed() *feed.Feed { return s.project.serving().feed }

// Stopping implements feed.Server.
func (s feedServer) Stopping() <-chan struct{} { return s.project.stopping() }

// Hijack implements feed.Server.
func (s feedServer) Hijack(w http.ResponseWriter, r *http.Request) (net.Conn, error) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return nil, err
	}
	if c := connOf(r); c != nil {
		c.delays = false
	}
	if o := observationOf(w); o != nil {
		o.hijacked, o.status = false, http.StatusOK
	}
	return conn, nil
}

// HungUp implements feed.Server.
func (s feedServer) HungUp(conn net.Conn) bool { return hungUp(socketOf(conn)) }

// LetOthersWork implements feed.Server.
func (s feedServer) LetOthersWork(r *http.Request) (back func(context.Context) error) {
	if c := connOf(r); c != nil && c.waitForClient() {
		return c.workAgain
	}
	return nil
}

// Controller implements feed.Server.
func (s feedServer) Controller(w http.ResponseWriter, r *http.Request) *http.ResponseController {
	return controlOf(r.Context(), w)
}

// ForgetBody implements feed.Server.
func (s feedServer) ForgetBody(r *http.Request) {
	if body := replayableBodyOf(r.Body); body != nil {
		body.forget()
	}
}

// serving returns the generation whose routes answer requests.
func (p *Project) serving() *generation {
	if g := p.routed.Load(); g != nil {
		return g
	}
	return p.generation.Load() // its routes have just begun to answer the first requests
}
