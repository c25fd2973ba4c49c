package graphqlhttp

import (
	"cmp"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"

	"lectern/auth"
	"lectern/gateway/internal/feed"
	"lectern/gateway/internal/forward"
	"lectern/gateway/internal/idempotency"
	"lectern/gateway/internal/server"
	"lectern/gateway/metrics"
	"lectern/internal/accept"
	"lectern/internal/budget"
	"lectern/internal/etag"
	"lectern/shadowcrud/graphql/execution"
	"lectern/shadowcrud/rest"
	"lectern/store"
)

// Methods are those of the endpoint. Requests with others than GET and POST are answered with a GraphQL error.
var Methods = []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
	http.MethodOptions}

// variableCopies is how many times variables are converted: to the types of the operation, to the data of a write, and
// to what that writes.
const variableCopies = 3

// Options are what a Handler is made of.
type Options struct {
	Engine *execution.Engine
	Store  *store.Store
	Log    *slog.Logger
	// Metrics count operations; nil: they are not counted.
	Metrics *metrics.Metrics
	// Memory is for what requests are parsed to. Limits are those of requests, and Answers those of the answers to
	// batches.
	Memory  *budget.Budget
	Limits  server.Limits
	Answers *rest.AnswerLimits

	// Authenticate returns who sent a request.
	Authenticate func(*http.Request) (auth.Principal, error)
	// AuthenticateReader is Authenticate, and takes the tokens of previews, too.
	AuthenticateReader func(*http.Request) (auth.Principal, error)
	// WithCaller returns a request whose context has the caller, if code of a program asks for it.
	WithCaller func(*http.Request, auth.Principal) *http.Request
	// Extended says that code of a program may see requests.
	Extended bool
	// Quotas are the rate limits; nil: there are none. Limiter limits logins, by addresses behind Proxies.
	Quotas  *server.Quotas
	Limiter *auth.Limiter
	Proxies []netip.Prefix
	// Forward sends mutations to the server that takes the writes; nil: they are executed here.
	Forward *forward.Forwarder
	// Keys carry out mutations with an Idempotency-Key.
	Keys *idempotency.Keys
	// Persisted are the queries that clients have persisted; nil: they can persist none.
	Persisted *Persisted

	// Positions are those of subscriptions; nil: there are no subscriptions, and operations are not answered as streams
	// of events.
	Positions   *feed.Positions
	Subscribers *feed.Subscribers
	// NoLog says that the store keeps no log, so that there is nothing to subscribe to.
	NoLog bool
	// Serving returns the handler that answers requests now; nil while GraphQL is switched off. Subscriptions go on
	// with it when definitions change.
	Serving func() *Handler

	// Page is what browsers see.
	Page http.Handler
	// AnyOrigin says that pages of all origins may read answers.
	AnyOrigin bool
	// PreflightHeaders are headers that only requests with a CORS preflight can have; nil: requests without a preflight
	// are executed too.
	PreflightHeaders []string
	// Version changes whenever answers to the same query of the same content may, for their ETags.
	Version string
	// MaxBatch is how many operations a request may have; 0: a request has one, and is no array.
	MaxBatch int
}

// A Handler answers the requests to the endpoint. It belongs to one Model.
type Handler struct{ Options }

// New returns a handler.
func New(o Options) *Handler { return &Handler{o} }

// Serve answers POST /graphql and GET /graphql: it executes an operation, or answers browsers with a page. It
// authenticates the request itself, since the order of its errors differs from that of other routes.
func (h *Handler) Serve(w http.ResponseWriter, r *http.Request, _ auth.Principal) error {
	if h.AnyOrigin && r.Header.Get("Origin") != "" {
		w.Header()["Access-Control-Allow-Origin"] = anyOrigin
	}
	who, err := h.AuthenticateReader(r)
	if err == nil {
		server.Identified(w, who)
	}
	if err := cmp.Or(h.Quotas.Take(w, r, who), err); err != nil {
		return err
	}
	if prefersHTML(r) {
		h.Page.ServeHTTP(w, r)
		return nil
	}
	return server.Explain(w, r, who, func(w http.ResponseWriter, r *http.Request) error { return h.answer(w, r, who) })
}

// answer answers a request that is authenticated and has not exceeded a rate limit.
func (h *Handler) answer(w http.ResponseWriter, r *http.Request, who auth.Principal) (err error) {
	var body any
	memory := (*budget.Tally)(nil)
	switch {
	case r.Method == http.MethodPost || r.Method == http.MethodPut || r.Method == http.MethodPatch:
		if body, err = h.readBody(w, r); err != nil {
			return err
		}
		memory = server.BodyMemory(r)
	case len(r.URL.RawQuery) > server.UnreservedQuery:
		tally := h.Memory.Tally()
		defer tally.Release()
		memory = &tally
	}
	mediaType := h.mediaType(r.Header["Accept"])
	if list, isBatch := body.([]any); isBatch && r.Method == http.MethodPost && h.MaxBatch > 0 {
		if err = memory.Add(variableCopies * memory.Counted()); err != nil {
			return err
		}
		return h.serveBatch(w, r, mediaType, list, who)
	}
	op, wrong, err := h.operation(r, body, memory)
	if err != nil {
		return err
	}
	if wrong == nil && op.variables != nil {
		if err = memory.Add(variableCopies * memory.Counted()); err != nil {
			return err
		}
	}
	if wrong == nil && mediaType == "" {
		wrong = errNotAcceptable
	}
	if wrong == nil {
		wrong = h.Persisted.resolve(op)
	}
	if wrong != nil {
		h.refuse(w, mediaType, wrong)
		return nil
	}
	hasKey := r.Header[server.IdempotencyKey] != nil
	mutates := false
	if (hasKey || h.Forward != nil) && r.Method == http.MethodPost {
		if mutates, err = h.Engine.IsMutation(op.query, op.name); err != nil {
			return err
		}
	}
	if mutates && h.Forward != nil {
		end, at, err := h.Forward.To.Begin(r.Context())
		if err != nil {
			return err
		}
		defer end()
		if at != nil {
			return h.sendOn(w, r, op.appendBody(nil), at)
		}
	}
	keyed := hasKey && mutates
	switch {
	case keyed && mediaType == accept.Events:
		h.refuse(w, mediaType,
			badRequest("A mutation with an Idempotency-Key is not answered as a stream of events: "+
				"send Accept: application/json."))
		return nil
	case keyed:
		return h.executeOnce(w, r, mediaType, op, who)
	case mediaType == accept.Events:
		return h.stream(w, r, op, who)
	}
	return h.execute(w, r, mediaType, op, who, nil)
}

var anyOrigin = []string{"*"}

// execute executes an operation and answers with its result. once is nil for a request without an idempotency key.
func (h *Handler) execute(w http.ResponseWriter, r *http.Request, mediaType string, op *operation, who auth.Principal,
	once *store.Once) error {
	request := h.request(w, r, mediaType, op, who)
	request.Once = once
	answer, err := h.Engine.Execute(h.WithCaller(r, who).Context(), request)
	if err != nil {
		return err
	}
	defer answer.Release()
	h.done(op, answer)
	h.send(w, r, mediaType, answer)
	return nil
}

// sendOn sends a request whose body is this JSON to the server that takes the writes.
func (h *Handler) sendOn(w http.ResponseWriter, r *http.Request, body []byte, at *url.URL) error {
	forwarded := server.WithBody(r, body)
	forwarded.Header.Set("Content-Type", accept.JSON)
	return h.Forward.Send(w, forwarded, at)
}

// request returns the request of an operation to the engine. mediaType is that of the answer.
func (h *Handler) request(w http.ResponseWriter, r *http.Request, mediaType string, op *operation,
	who auth.Principal) *execution.Request {
	request := h.requestAs(w.Header().Get(server.RequestID), r, op, who)
	request.CountCall = func(name string) error { return h.allow(w, r, name) }
	if r.Method == http.MethodGet {
		request.Conditional = &execution.Conditional{Version: h.Version + " " + mediaType,
			Known: r.Header["If-None-Match"]}
	}
	return request
}

// requestAs returns the request of an operation to the engine, without rate limits: these are for mutations.
func (h *Handler) requestAs(id string, r *http.Request, op *operation, who auth.Principal) *execution.Request {
	return &execution.Request{
		Query: op.query, Operation: op.name, Variables: op.variables, Access: who.Access, User: who.User,
		By: server.RecordedAs(who), HTTP: r, ID: id,
		QueriesOnly: r.Method == http.MethodGet, Time: h.Limits.Handle,
	}
}

// done counts an operation, and persists its query if the client asked for that.
func (h *Handler) done(op *operation, answer *execution.Response) {
	h.countOperation(answer)
	if op.persist && answer.Status != http.StatusBadRequest {
		h.Persisted.Add(op.hash, op.query, len(op.query))
	}
}

// send answers with the result of an operation.
func (h *Handler) send(w http.ResponseWriter, r *http.Request, mediaType string, answer *execution.Response) {
	header := w.Header()
	header["Cache-Control"] = server.NoStore
	if answer.NotByGet {
		header["Allow"] = postAlone
	}
	if answer.Status == http.StatusServiceUnavailable {
		header["Retry-After"] = server.RetrySoon
	}
	if answer.Tag != "" && etag.Excludes(r.Header["If-Match"], []byte(answer.Tag)) {
		sendGraphQLError(w, mediaType, errOtherAnswer)
		return
	}
	if answer.Tag != "" {
		header["Etag"], header["Vary"] = []string{answer.Tag}, rest.VaryTagged
		if answer.Status == http.StatusNotModified || etag.IsAny(r.Header["If-None-Match"]) {
			header["Vary"] = rest.VaryTaggedEncoding // as the answer may have been compressed
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	server.WriteHead(w, typeOf(mediaType), answer.Status, answer.Body)
	_ = h.Limits.Send(r.Context(), w, answer.Body) // a failed write cannot be answered otherwise
}

// allow counts a request of an address under a name of a rate limit, together with its requests over REST.
func (h *Handler) allow(w http.ResponseWriter, r *http.Request, name string) error {
	if h.Limiter == nil || server.IsRetry(r.Context()) {
		return nil
	}
	return server.Allow(h.Limiter, h.Proxies, w, r, name)
}

var postAlone = []string{"POST"}

// refuse answers with an error of the transport.
func (h *Handler) refuse(w http.ResponseWriter, mediaType string, e *refusal) {
	header := w.Header()
	if e.allow != "" {
		header["Allow"] = []string{e.allow}
	}
	if e.cache != "" {
		header["Cache-Control"] = []string{e.cache}
	}
	h.countOperation(e.response())
	sendGraphQLError(w, mediaType, e)
}

// sendGraphQLError answers with an error in the form of GraphQL, in the media type that the client accepts.
func sendGraphQLError(w http.ResponseWriter, mediaType string, e *refusal) {
	server.VaryByAccept(w.Header())
	_ = server.SendBody(w, typeOf(mediaType), e.status, e.response().Body) // it fails only if the client is gone
}

// typeOf returns the header Content-Type of an answer with a media type.
func typeOf(mediaType string) []string {
	if mediaType == accept.GraphQL {
		return typeGraphQL
	}
	return server.JSON
}

var typeGraphQL = []string{accept.GraphQL + "; charset=utf-8"}

// mediaType returns the media type of the answer to a request with these headers Accept, "" if the client accepts none.
// If there are subscriptions, clients may ask for a stream of events too.
func (h *Handler) mediaType(headers []string) string {
	if h.Positions != nil {
		return accept.Choose(headers, accept.JSON, accept.GraphQL, accept.Events)
	}
	return accept.Choose(headers, accept.JSON, accept.GraphQL)
}

// prefersHTML reports whether the client prefers HTML to JSON, as browsers do.
func prefersHTML(r *http.Request) bool {
	headers := r.Header["Accept"]
	return r.Method == http.MethodGet && len(headers) > 0 &&
		accept.Choose(headers, accept.JSON, accept.GraphQL, "text/html") == "text/html"
}

// executeOnce executes a mutation with an Idempotency-Key. Requests are the same if their operation, its name and its
// variables are.
func (h *Handler) executeOnce(w http.ResponseWriter, r *http.Request, mediaType string, op *operation,
	who auth.Principal) error {
	w.Header()["Cache-Control"] = server.NoStore
	return h.Keys.CarryOut(w, r, who, op.appendBody(nil), func(once *store.Once) error {
		once.ContentType = typeOf(mediaType)[0]
		return h.execute(w, r, mediaType, op, who, once)
	})
}

// countOperation counts a GraphQL operation and the reasons for which it, or a field of it, was refused.
func (h *Handler) countOperation(answer *execution.Response) {
	if h.Metrics == nil {
		return
	}
	outcome := "ok"
	switch {
	case answer.Status >= http.StatusBadRequest:
		outcome = "refused"
	case len(answer.Errors) > 0:
		outcome = "errors"
	}
	h.Metrics.Operation(string(answer.Operation), outcome)
	for _, e := range answer.Errors {
		if e.Refusal != "" {
			h.Metrics.OperationRefused(string(e.Refusal))
		}
	}
}
