package gateway

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"lectern/auth"
	"lectern/documents/apierror"
	"lectern/shadowcrud/graphql/schema"
	"lectern/store"
)

// A guard is a RouteConfig made ready: what stands between a request and what answers it.
type guard struct {
	handlers *handlers
	open     bool
	scopes   []string // all of these are needed; none: anybody may
	count    counter  // nil: nobody counts
	policies []PolicyUse
	wrap     []Middleware
	streams  bool // as in a Route
	whole    bool // likewise; heeded where nothing of a program's is between
	answer   answer
	handler  http.Handler // the middlewares around answer; nil where there are none
}

// An answer answers a request that has passed.
type answer func(w http.ResponseWriter, r *http.Request, m *found, who auth.Principal) error

// A counter counts what an address may not do often, and refuses what comes too often.
type counter func(w http.ResponseWriter, r *http.Request) error

// allow counts what an address may not do often, by name, and refuses what comes too often.
func allow(limiter *auth.Limiter, proxies []netip.Prefix, w http.ResponseWriter, r *http.Request, name string) error {
	if ok, retry := limiter.Allow(clientAddr(r, proxies), name); !ok {
		w.Header()["Retry-After"] = []string{strconv.Itoa(int(retry/time.Second) + 1)}
		return auth.ErrRate
	}
	return nil
}

// ready makes a guard of a configuration: names become what was registered under them.
func (x *Extensions) ready(c *RouteConfig) (*guard, error) {
	g := &guard{open: c.Open, scopes: c.Scopes}
	var errs []error
	for _, use := range c.Policies {
		if use.Func == nil {
			use.Func = x.graphql.Policies()[use.Name]
		}
		if use.Func == nil {
			errs = append(errs, fmt.Errorf("there is no policy %q%s", use.Name, among(x.graphql.Policies())))
		}
		g.policies = append(g.policies, use)
	}
	for _, use := range c.Middlewares {
		made, err := x.middleware(use)
		if err != nil {
			errs = append(errs, err)
		}
		g.wrap = append(g.wrap, made)
	}
	return g, errors.Join(errs...)
}

func (x *Extensions) middleware(use MiddlewareUse) (Middleware, error) {
	if use.Func != nil {
		return use.Func, nil
	}
	maker := x.middlewares[use.Name]
	if maker == nil {
		return nil, fmt.Errorf("there is no middleware %q%s", use.Name, among(x.middlewares))
	}
	made, err := maker(use.Options)
	if err == nil && made == nil {
		err = errors.New("its maker returned none")
	}
	if err != nil {
		return nil, fmt.Errorf("middleware %s: %w", use.Name, err)
	}
	return made, nil
}

// among lists what is registered, for a message about what is not.
func among[T any](registered map[string]T) string {
	if len(registered) == 0 {
		return "; none are registered"
	}
	names := make([]string, 0, len(registered))
	for name := range registered {
		names = append(names, name)
	}
	slices.Sort(names)
	return "; there are " + strings.Join(names, ", ")
}

// A passage is a request on its way through middlewares. Its context knows it.
type passage struct {
	found  *found
	who    auth.Principal
	writer http.ResponseWriter // the server's own
	err    error               // that the request is to be answered again for
}

type passageKey struct{}

// passageOf is how a request comes through middlewares; nil where there are none.
func passageOf(r *http.Request) *passage {
	p, _ := r.Context().Value(passageKey{}).(*passage)
	return p
}

// connection reaches the connection of a request, also where a middleware has put a writer of its own in front of it.
func connection(w http.ResponseWriter, r *http.Request) *http.ResponseController {
	return controlOf(r.Context(), w)
}

// controlOf is connection, by the context of a request.
func controlOf(ctx context.Context, w http.ResponseWriter) *http.ResponseController {
	if p, _ := ctx.Value(passageKey{}).(*passage); p != nil {
		w = p.writer
	}
	return http.NewResponseController(w)
}

// admit finds out who sent a request, and refuses it where he may not, or comes too often.
func (g *guard) admit(w http.ResponseWriter, r *http.Request) (who auth.Principal, err error) {
	if who, err = g.handlers.identify(r, g.open); err != nil {
		return who, err
	}
	if !g.open {
		for _, scope := range g.scopes {
			if !who.Access.AllowsAction(scope) {
				return who, apierror.Forbidden()
			}
		}
	}
	if g.count != nil && !isRetry(r.Context()) {
		err = g.count(w, r)
	}
	return who, err
}

// serve answers a request, if it may pass.
func (g *guard) serve(w http.ResponseWriter, r *http.Request, m *found) error {
	h := g.handlers
	who, err := g.admit(w, r)
	if err != nil {
		return err
	}
	ctx := r.Context()
	if !g.streams {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, h.server.limits.Handle)
		defer cancel()
	}
	ctx, done := withAnswer(ctx, h.server.answers)
	defer done()
	caller := &Caller{Access: who.Access, User: who.User, Server: h.rt.Host}
	ctx = schema.WithCaller(ctx, caller)
	p := &passage{found: m, who: who, writer: w}
	if g.handler != nil {
		ctx = context.WithValue(ctx, passageKey{}, p)
	}
	r = r.WithContext(ctx)
	caller.HTTP = r
	m.setPathValues(r)
	if err := g.ask(r); err != nil {
		return err
	}
	if g.handler == nil {
		return g.answer(w, r, m, who)
	}
	before, seen := maps.Clone(w.Header()), &loggedWriter{ResponseWriter: w}
	g.handler.ServeHTTP(seen, r)
	if p.err == nil || seen.status != 0 {
		return nil
	}
	clear(w.Header()) // of what the middlewares have said of the answer, since they say it again
	maps.Copy(w.Header(), before)
	return p.err
}

// ask has the policies decide. What one of them reads of the body is there again for those after it, and for what answers.
func (g *guard) ask(r *http.Request) error {
	for _, use := range g.policies {
		passes, err := use.Func(&PolicyContext{Context: r.Context(), Config: use.Config}, g.handlers.rt.Host)
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

// plain returns the short way to an answer, where nothing of a program's is on it.
func (g *guard) plain(h *handlers, a answer) handlerFunc {
	g.handlers = h
	return func(w http.ResponseWriter, r *http.Request, m *found) error {
		var who auth.Principal
		if !g.open || g.count != nil {
			var err error
			if who, err = g.admit(w, r); err != nil {
				return err
			}
		}
		ctx := r.Context()
		if !g.streams {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, h.server.limits.Handle)
			defer cancel()
		}
		if g.whole {
			defer gatherWrites(r).sendKept(w)
		} else {
			var done func()
			ctx, done = withAnswer(ctx, h.server.answers)
			defer done()
		}
		if ctx != r.Context() {
			r = r.WithContext(ctx)
		}
		m.setPathValues(r)
		return a(w, r, m, who)
	}
}

// finish puts the middlewares around what answers.
func (g *guard) finish(h *handlers, a answer) handlerFunc {
	g.handlers, g.answer = h, a
	if len(g.wrap) > 0 {
		g.handler = http.HandlerFunc(g.innermost)
		for _, wrap := range slices.Backward(g.wrap) {
			g.handler = wrap(g.handler)
		}
	}
	return g.serve
}

// innermost answers what came through the middlewares. Its errors are answered here, so that they see the answer; only a request
// that has to be answered again, by other handlers, is not.
func (g *guard) innermost(w http.ResponseWriter, r *http.Request) {
	p := passageOf(r)
	if p == nil {
		g.handlers.server.fail(w, r, errors.New("a middleware has handed on a request with another context"))
		return
	}
	switch err := g.answer(w, r, p.found, p.who); {
	case errors.Is(err, store.ErrRedefined):
		p.err = err
	case err != nil:
		g.handlers.server.fail(w, r, err)
	}
}
