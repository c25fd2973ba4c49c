package routes

import (
	"errors"
	"log/slog"
	"net/http"

	"lectern/auth"
	"lectern/documents/apierror"
	"lectern/gateway/internal/idempotency"
	"lectern/gateway/internal/server"
	"lectern/shadowcrud/rest"
	"lectern/store"
)

// BatchOptions are what the route of batches needs.
type BatchOptions struct {
	Prefix  string // of the content API
	REST    *rest.API
	Most    int // operations of a request
	Limits  server.Limits
	Answers *rest.AnswerLimits
	Keys    *idempotency.Keys
	Log     *slog.Logger
	// Permit returns an error unless a caller may do in a batch what a route does.
	Permit func(*rest.Route, auth.Principal) error
}

// batches carry out several operations in one request.
type batches struct{ BatchOptions }

// Batches returns the route of batches. Without a REST API, it has a name but cannot answer.
func Batches(o BatchOptions) []server.Route {
	b := &batches{o}
	return []server.Route{{Method: http.MethodPost, Path: o.Prefix + "/_batch", Whole: true, Handle: b.serve,
		Keyed: true}}
}

// POST /api/_batch: several creates, updates, deletes and publications at once.
func (b *batches) serve(w http.ResponseWriter, r *http.Request, who auth.Principal) error {
	if r.Header[server.IdempotencyKey] == nil {
		return b.carryOut(w, r, who, nil)
	}
	return b.Keys.Serve(w, r, who, func(once *store.Once) error { return b.carryOut(w, r, who, once) })
}

// carryOut carries out a batch. once is nil for a request without an idempotency key.
func (b *batches) carryOut(w http.ResponseWriter, r *http.Request, who auth.Principal, once *store.Once) error {
	return b.REST.Batch(w, r, rest.BatchCall{
		Call: rest.Call{Access: who.Access, By: server.RecordedAs(who), ReadBody: b.Limits.ReadBody,
			Limits: b.Answers, Once: once},
		Most:   b.Most,
		Permit: func(route *rest.Route) error { return b.Permit(route, who) },
		AppendError: func(dst []byte, err error) ([]byte, int) {
			answer := b.answerTo(w, r, err)
			return server.AppendErrorMember(dst, answer), answer.Status
		},
	})
}

// answerTo returns what the client is sent for the error of an operation that has failed by itself, and logs an error
// that is not meant for clients.
func (b *batches) answerTo(w http.ResponseWriter, r *http.Request, err error) (answer *apierror.Error) {
	if errors.As(err, &answer) {
		return answer
	}
	b.Log.LogAttrs(r.Context(), slog.LevelError, "an operation of a batch failed",
		server.LogAttrs(w, r, slog.Any("error", err))...)
	return server.ErrInternal
}
