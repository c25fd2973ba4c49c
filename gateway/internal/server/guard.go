package server

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"time"

	"lectern/auth"
	"lectern/documents/apierror"
	"lectern/documents/permission"
	"lectern/internal/budget"
	"lectern/internal/etag"
	"lectern/shadowcrud/graphql/schema"
	"lectern/store"
)

// A guard lets a request pass to its handler after authentication, permissions, a rate limit, policies and middlewares.
type guard struct {
	handlers *handlers
	open     bool
	scopes   []string // the permissions that the caller needs; none: the route is for everybody
	limit    RateLimit
	policies []schema.PolicyUse
	wrap     []Middleware // the first one outermost
	answer   answer
	handler  http.Handler // the middlewares around answer, or the router of a mount; nil if there is neither

	absent    bool  // as in Route
	metered   bool  // the rate limits of config/api.yaml apply
	keyless   error // as in Route
	writes    bool  // the route writes, and does not look at If-None-Match, nor at If-Match unless it matches
	matches   bool  // as in Route
	streams   bool  // as in Route
	whole     bool  // as in Route, unless extended
	generated bool  // the route is one of a content-type
	reads     bool  // as in Route
	extended  bool  // code of a program is called: the context of the request has the Caller
}

// errNoConditions refuses a write that would be made whether its conditions hold or not, on which its client relies
// (RFC 9110, section 13.1).
var errNoConditions = BadRequest("BadRequestError",
	"this route writes without conditions: send the request without If-Match and If-None-Match")

// A Middleware wraps a handler: it may answer itself, change the request, or read the answer.
type Middleware = func(next http.Handler) http.Handler

// An answer answers a request that has passed a guard. documentID comes from the path of a content-type.
type answer func(w http.ResponseWriter, r *http.Request, who auth.Principal, documentID string) error

// A RateLimit counts the requests of an address, and returns an error if there are too many; nil means no limit.
type RateLimit func(w http.ResponseWriter, r *http.Request) error

// Allow counts a request of an address under a name, and returns auth.ErrRate if there are too many of that name.
func Allow(limiter *auth.Limiter, proxies []netip.Prefix, w http.ResponseWriter, r *http.Request, name string) error {
	if ok, retry := limiter.Allow(clientAddr(r, proxies), name); !ok {
		w.Header()["Retry-After"] = []string{strconv.Itoa(int(retry/time.Second) + 1)}
		return auth.ErrRate
	}
	return nil
}

// guard returns the guard of a route.
func (h *handlers) guard(route *Route) *guard {
	generated := route.Document != nil
	g := &guard{
		handlers: h, open: route.Open, scopes: route.Requires(), limit: route.Limit,
		policies: route.Policies, wrap: route.Middlewares,
		absent: route.Absent, metered: !route.Open && !route.Unmetered, keyless: route.Keyless,
		streams: route.Streams, whole: route.Whole, generated: generated, reads: route.Reads,
		extended: route.Extended || len(route.Policies)+len(route.Middlewares) > 0,
		matches:  route.Matches,
		writes:   !generated && !route.Program && route.Method != http.MethodGet && route.Method != http.MethodHead,
	}
	g.answer = route.answers(g)
	g.wrapAnswer()
	return g
}

// A requestState holds what the server knows about a request that code of a program handles. It is in the context of
// the request.
type requestState struct {
	server     *Server
	who        auth.Principal
	documentID string
	writer     http.ResponseWriter // the writer of the server, which middlewares may have wrapped
	err        error               // store.ErrRedefined if the request is to be retried

	kept    *replayableBody    // the body of the request, which middlewares may have replaced; nil if there is none
	another budget.Reservation // of the text of a body that replaces it
}

type requestStateKey struct{}

// stateOf returns the state of a request; nil if no code of a program handles it.
func stateOf(ctx context.Context) *requestState {
	state, _ := ctx.Value(requestStateKey{}).(*requestState)
	return state
}

// settle answers an error before the middlewares return, so that they see the answer. The guard handles a retry.
func (s *requestState) settle(w http.ResponseWriter, r *http.Request, err error) {
	switch {
	case errors.Is(err, store.ErrRedefined):
		s.err = err
	case err != nil:
		s.server.fail(w, r, err)
	}
}

// Control returns the controller of the connection of a request, even if a middleware has wrapped the writer.
func Control(ctx context.Context, w http.ResponseWriter) *http.ResponseController {
	if state := stateOf(ctx); state != nil {
		w = state.writer
	}
	return http.NewResponseController(w)
}

// identify authenticates a request. Without an authenticator, the caller has no permissions.
func (g *guard) identify(r *http.Request) (auth.Principal, error) {
	if read := g.handlers.api.AuthenticateReader; g.reads && read != nil {
		return g.identifyBy(read, r)
	}
	return g.identifyBy(g.handlers.api.Authenticate, r)
}

// identifyBy is identify with another authenticator, such as that of the API that is served now.
func (g *guard) identifyBy(
	authenticate func(*http.Request) (auth.Principal, error), r *http.Request,
) (auth.Principal, error) {
	if authenticate == nil {
		return auth.Principal{Access: permission.NewAccess(nil)}, nil
	}
	if g.open {
		r = WithoutCredential
	}
	return authenticate(r)
}

// WithoutCredential is a request without a credential: its caller is the public.
var WithoutCredential = &http.Request{Header: http.Header{}}

// notStored is the header Cache-Control of answers that nobody may keep.
var notStored = []string{"no-store"}

// admit authenticates a request. It returns an error if the caller lacks a permission or has sent too many requests. A
// retry is not counted.
func (g *guard) admit(w http.ResponseWriter, r *http.Request) (who auth.Principal, err error) {
	if !g.open {
		w.Header()["Vary"] = varyByCaller
	}
	if who, err = g.identify(r); err == nil {
		observationOf(w).identified(who)
		if who.Access.IsPreview() {
			w.Header()["Cache-Control"] = notStored
		}
	}
	if g.metered {
		err = cmp.Or(g.handlers.api.Quotas.Take(w, r, who), err)
	}
	if err != nil {
		return who, err
	}
	if !g.open {
		for _, scope := range g.scopes {
			if !who.Access.AllowsAction(scope) {
				return who, apierror.Forbidden()
			}
		}
	}
	if g.limit != nil && !IsRetry(r.Context()) {
		err = g.limit(w, r)
	}
	return who, err
}

// serve answers a request if it passes the guard. Permissions are checked before anything else of the request is read,
// so that callers without permission learn nothing more.
func (g *guard) serve(w http.ResponseWriter, r *http.Request, documentID string) error {
	var who auth.Principal
	if !g.open || g.limit != nil || g.extended {
		var err error
		if who, err = g.admit(w, r); err != nil {
			return err
		}
		if asksToExplain(r) {
			return g.serveExplained(w, r, who, documentID)
		}
	}
	return g.serveAdmitted(w, r, who, documentID)
}

// serveExplained is serveAdmitted for a request that asks to be explained.
func (g *guard) serveExplained(w http.ResponseWriter, r *http.Request, who auth.Principal, documentID string) error {
	return Explain(w, r, who, func(w http.ResponseWriter, r *http.Request) error {
		return g.serveAdmitted(w, r, who, documentID)
	})
}

// serveAdmitted answers a request whose caller has the permissions.
func (g *guard) serveAdmitted(w http.ResponseWriter, r *http.Request, who auth.Principal, documentID string) error {
	if g.keyless != nil && r.Header[IdempotencyKey] != nil {
		return g.keyless
	}
	if g.writes && (!g.matches && r.Header["If-Match"] != nil || etag.IsAny(r.Header["If-None-Match"])) {
		return errNoConditions
	}
	s, ctx := g.handlers.server, r.Context()
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		ctx = store.WithPrincipal(ctx, RecordedAs(who))
	}
	if !g.streams && !(g.generated && prefersLines(r)) {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, s.limits.Handle)
		defer cancel()
	}
	if g.whole && !g.extended {
		defer delayWrites(r).sendDelayed(w)
	} else {
		var release func()
		ctx, release = withAnswer(ctx, s.answers)
		defer release()
	}
	if g.extended {
		return g.serveExtended(ctx, w, r, who, documentID)
	}
	if ctx != r.Context() {
		r = r.WithContext(ctx)
	}
	return g.answer(w, r, who, documentID)
}

// serveExtended checks the policies and then calls the middlewares and the handler.
func (g *guard) serveExtended(
	ctx context.Context, w http.ResponseWriter, r *http.Request, who auth.Principal, documentID string,
) error {
	state := &requestState{
		server: g.handlers.server, who: who, documentID: documentID, writer: w, kept: replayableBodyOf(r.Body),
		another: g.handlers.server.bodies.Reservation(),
	}
	defer state.another.Release()
	caller := &schema.Caller{Access: who.Access, User: who.User, Server: g.handlers.api.Host}
	r = r.WithContext(context.WithValue(schema.WithCaller(ctx, caller), requestStateKey{}, state))
	caller.HTTP = r
	if err := g.checkPolicies(r); err != nil {
		return err
	}
	if g.handler == nil {
		return g.answer(w, r, who, documentID)
	}
	before, seen := maps.Clone(w.Header()), &statusWriter{ResponseWriter: w}
	g.handler.ServeHTTP(seen, r)
	if state.err == nil || seen.status != 0 {
		return nil
	}
	clear(w.Header()) // the middlewares set their headers again in the retry
	maps.Copy(w.Header(), before)
	return state.err
}

// checkPolicies calls the policies in their order. Each of them, and the handler, can read the body from its beginning.
func (g *guard) checkPolicies(r *http.Request) error {
	for _, use := range g.policies {
		passes, err := use.Func(&schema.PolicyContext{Context: r.Context(), Config: use.Config}, g.handlers.api.Host)
		if err != nil {
			return err
		}
		if !passes {
			return apierror.PolicyFailed()
		}
		if kept, ok := r.Body.(*replayableBody); ok && !kept.rewind() {
			return errTooLarge
		}
	}
	return nil
}

// wrapAnswer puts the middlewares, if there are any, around the answer.
func (g *guard) wrapAnswer() {
	if len(g.wrap) > 0 {
		g.wrapAround(http.HandlerFunc(g.innermost))
	}
}

// wrapAround puts the middlewares around a handler.
func (g *guard) wrapAround(handler http.Handler) {
	for _, wrap := range slices.Backward(g.wrap) {
		handler = wrap(handler)
	}
	g.handler = handler
}

// innermost answers a request after all middlewares.
func (g *guard) innermost(w http.ResponseWriter, r *http.Request) {
	state := stateOf(r.Context())
	if state == nil {
		g.handlers.server.fail(w, r, errors.New("a middleware has handed on a request with another context"))
		return
	}
	state.settle(w, r, g.answer(w, r, state.who, state.documentID))
}
