package gateway

import (
	"errors"
	"log/slog"
	"net/http"

	"lectern/auth"
	"lectern/documents/apierror"
	"lectern/gateway/internal/server"
	"lectern/shadowcrud/rest"
	"lectern/store"
)

// batchPath is the path of batches below the prefix of the API.
const batchPath = "/_batch"

// A batchRoute carries out several operations in one request, in one generation. Each needs what the route needs that does it alone.
type batchRoute struct {
	generation *generation
	rest       *rest.API
	limits     server.Limits
	most       int // operations of a request
	rules      map[*rest.Route]routeRule
}

// batchRoutes returns the route of batches. If the generation is not open, it has a name but cannot answer.
func (g *generation) batchRoutes(api *rest.API) []server.Route {
	limits := g.Settings.Server.Limits.WithDefaults()
	b := &batchRoute{generation: g, rest: api, limits: server.Limits(limits), most: limits.Operations, rules: map[*rest.Route]routeRule{}}
	if api != nil {
		for _, route := range api.Routes() {
			b.rules[route] = g.ruleOf(route)
		}
	}
	return []server.Route{{Method: http.MethodPost, Path: g.Settings.REST.Prefix + batchPath, Whole: true, Handle: b.serve, Keyed: true}}
}

// POST /api/_batch: several creates, updates, deletes and publications at once.
func (b *batchRoute) serve(w http.ResponseWriter, r *http.Request, who auth.Principal) error {
	if r.Header[server.IdempotencyKey] == nil {
		return b.carryOut(w, r, who, nil)
	}
	return b.generation.idempotency().serve(w, r, who, func(once *store.Once) error { return b.carryOut(w, r, who, once) })
}

// carryOut carries out a batch. once is nil for a request without an idempotency key.
func (b *batchRoute) carryOut(w http.ResponseWriter, r *http.Request, who auth.Principal, once *store.Once) error {
	return b.rest.Batch(w, r, rest.BatchCall{
		Call:   rest.Call{Access: who.Access, By: server.RecordedAs(who), ReadBody: b.limits.ReadBody, Limits: b.generation.answers, Once: once},
		Most:   b.most,
		Permit: func(route *rest.Route) error { return b.permit(route, who) },
		AppendError: func(dst []byte, err error) ([]byte, int) {
			told := b.told(w, r, err)
			return server.AppendErrorMember(dst, told), told.Status
		},
	})
}

// permit returns an error unless a caller may use a route in a batch. A route that the program has opened is not part of batches either.
func (b *batchRoute) permit(route *rest.Route, who auth.Principal) error {
	const advice = "send it to"
	rule := b.rules[route]
	err := rule.permit(who, advice)
	if err == nil && rule.open {
		err = rule.refusal(advice)
	}
	return err
}

// told returns what the client is told of the error of an operation that has failed by itself, and logs an error that is not meant for clients.
func (b *batchRoute) told(w http.ResponseWriter, r *http.Request, err error) (told *apierror.Error) {
	if errors.As(err, &told) {
		return told
	}
	b.generation.project.log.LogAttrs(r.Context(), slog.LevelError, "an operation of a batch failed", server.LogAttrs(w, r, slog.Any("error", err))...)
	return server.ErrInternal
}
