package graphqlhttp

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"lectern/auth"
	"lectern/documents/apierror"
	"lectern/gateway/internal/server"
	"lectern/internal/accept"
	"lectern/internal/budget"
	"lectern/jsontree"
	"lectern/shadowcrud/graphql/execution"
	"lectern/shadowcrud/graphql/language"
)

// DefaultBatch is how many operations a request may have, unless the settings say otherwise.
const DefaultBatch = 10

// POST /graphql with a JSON array: executes its operations in order, if
// graphql.config.apolloServer.allowBatchedHttpRequests is set, and answers with the array of their results. Each
// operation has the limits of one, and counts as a request. Together they may take the time of one request, and their
// answer may be as long as one.
func (h *Handler) serveBatch(w http.ResponseWriter, r *http.Request, mediaType string, list []any,
	who auth.Principal) error {
	ops, wrong := h.operations(r, mediaType, list)
	if wrong != nil {
		h.refuse(w, mediaType, wrong)
		return nil
	}
	for range ops[1:] {
		if err := h.Quotas.Take(w, r, who); err != nil {
			return err
		}
	}
	b := batch{Handler: h, memory: h.Answers.Answer(), began: time.Now(), status: http.StatusOK}
	defer b.memory.Release()
	for _, op := range ops {
		if op.refused != nil {
			continue
		}
		mutates, err := h.Engine.IsMutation(op.query, op.name)
		if err != nil {
			return err
		}
		b.mutates = b.mutates || mutates
	}
	if b.mutates && r.Header[server.IdempotencyKey] != nil {
		h.refuse(w, mediaType,
			badRequest("An Idempotency-Key is for one mutation: send each mutation as a request of its own."))
		return nil
	}
	if b.mutates && h.Forward != nil {
		end, at, err := h.Forward.To.Begin(r.Context())
		if err != nil {
			return err
		}
		defer end()
		if at != nil {
			return h.sendOn(w, r, jsontree.Append(nil, list), at)
		}
	}
	if err := b.execute(w, r, ops, who); err != nil {
		return err
	}
	w.Header()["Cache-Control"] = server.NoStore
	server.WriteHead(w, typeOf(mediaType), b.status, b.text)
	_ = h.Limits.Send(r.Context(), w, b.text) // a failed write cannot be answered otherwise
	return nil
}

// operations reads the operations of a batch.
func (h *Handler) operations(r *http.Request, mediaType string, list []any) ([]*operation, *refusal) {
	switch {
	case !h.preflighted(r.Header):
		return nil, badRequest(csrfMessage)
	case mediaType == "":
		return nil, errNotAcceptable
	case mediaType == accept.Events:
		return nil, badRequest("A batch is not answered as a stream of events: send Accept: application/json.")
	case len(list) == 0:
		return nil, badRequest("No operations found in request.")
	case len(list) > h.MaxBatch:
		return nil, badRequest(fmt.Sprintf("Too many operations: at most %d are allowed (graphql.config.limits.batch).",
			h.MaxBatch))
	}
	ops := make([]*operation, len(list))
	for i, body := range list {
		op, wrong := fromObject(body)
		if wrong != nil {
			return nil, wrong
		}
		op.refused = h.Persisted.resolve(op)
		ops[i] = op
	}
	return ops, nil
}

// A batch executes several operations and collects their results.
type batch struct {
	*Handler
	mutates bool
	began   time.Time
	memory  budget.Answer // of text
	text    []byte
	status  int
}

// execute executes the operations. If one of them is a mutation, the definitions are locked for all of them: the batch
// could not begin anew after it has written something. For the same reason an operation that fails then is answered in
// its place in the array.
func (b *batch) execute(w http.ResponseWriter, r *http.Request, ops []*operation, who auth.Principal) error {
	ctx := b.WithCaller(r, who).Context()
	if b.mutates {
		locked, release, err := b.Store.LockSchema(ctx)
		if err != nil {
			return err
		}
		defer release()
		ctx = locked
	}
	for i, op := range ops {
		answer := &execution.Response{}
		if op.refused != nil {
			answer = op.refused.response()
		} else {
			request := b.request(w, r, "", op, who)
			if request.Time > 0 {
				request.Time = max(1, request.Time-time.Since(b.began))
			}
			var err error
			if answer, err = b.Engine.Execute(ctx, request); err != nil {
				if !b.mutates {
					return err
				}
				b.Log.Error("an operation of a batch failed", slog.Any("id", request.ID), slog.Any("error", err))
				answer = errFailed.response()
			}
		}
		b.done(op, answer)
		b.add(i, answer)
		answer.Release()
	}
	b.text = append(b.text, "]\n"...)
	return nil
}

// errFailed is the result of an operation that failed for a reason that is not for clients. Its status is that of
// errors of fields, since a client must not send the whole batch again.
var errFailed = &refusal{status: http.StatusOK, message: server.ErrInternal.Message, code: language.Internal}

// add appends the result of the operation with this number. If there is no room for it, it appends an error in its
// place: the client must still learn what became of the other operations.
func (b *batch) add(i int, answer *execution.Response) {
	separator := byte(',')
	if i == 0 {
		separator = '['
	}
	if answer.Status == http.StatusBadRequest || answer.Status != http.StatusOK && !b.mutates {
		b.status = answer.Status // other statuses would have clients send the batch again, with what it has written
	}
	body := answer.Body
	if !b.memory.Fits(len(b.text), len(body)) {
		text, err := b.memory.Grow(b.text, len(body))
		if b.text = text; err != nil {
			body = b.unprinted(err).response().Body
		}
	}
	b.text = append(append(b.text, separator), body...)
}

// unprinted returns the error of an operation whose result has no room in the answer.
func (b *batch) unprinted(err error) *refusal {
	if tooLong := new(apierror.Error); errors.Is(err, budget.ErrTooLong) && errors.As(b.Answers.TooLong, &tooLong) {
		return &refusal{message: tooLong.Message, code: language.BadUserInput}
	}
	return &refusal{message: server.ErrNoMemory(b.Memory).Message, code: "STRAPI_SERVICE_UNAVAILABLE_ERROR"}
}
