package gateway

import (
	"cmp"
	"net/http"
	"net/netip"
	"net/url"

	"lectern/auth"
	"lectern/gateway/config"
	"lectern/gateway/internal/accept"
	"lectern/gateway/internal/feed"
	"lectern/gateway/internal/forward"
	"lectern/gateway/internal/server"
	"lectern/gateway/metrics"
	"lectern/internal/budget"
	"lectern/internal/etag"
	"lectern/shadowcrud/graphql/execution"
	"lectern/shadowcrud/graphql/language"
	"lectern/shadowcrud/graphql/limits"
	"lectern/shadowcrud/params"
	"lectern/shadowcrud/rest"
	"lectern/store"
)

// variableCopies is how many times variables are converted: to the types of the operation, to the data of a write, and to what that writes.
const variableCopies = 3

// graphqlMethods are the methods of the GraphQL endpoint. Those other than GET and POST are answered with a GraphQL error.
var graphqlMethods = []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions}

// graphqlRoutes returns the routes of the GraphQL endpoint; none if GraphQL is switched off.
func (g *generation) graphqlRoutes(a *auth.Authenticator, parser *params.Parser, limiter *auth.Limiter) ([]server.Route, error) {
	settings := g.Settings.GraphQL
	if !settings.Enabled {
		g.project.observed.engine.Store(nil)
		g.project.observed.persisted.Store(nil)
		return nil, nil
	}
	for _, warning := range settings.Warnings {
		g.project.log.Warn(warning)
	}
	built, err := g.GraphQLSchema()
	if err != nil {
		return nil, err
	}
	limits := executionLimits(&settings)
	limits.Document.Introspection = !g.project.options.Production
	if settings.Introspection != nil {
		limits.Document.Introspection = *settings.Introspection
	}
	var tooLong error
	if limits.Bytes == 0 { // limits.answer applies
		limits.Bytes, tooLong = g.answers.Bytes, g.answers.TooLong
	}
	engine := execution.New(execution.Options{
		Schema: built, Store: g.store, Documents: g.docs, Params: parser, Users: g.users, Media: g.media,
		Limits: limits, Memory: g.project.memory, TooLong: tooLong, Log: g.project.log, Server: host{g},
		NoSuggestions: settings.HideSchemaDetails,
	})
	persisted := g.project.shared.persistedOf(settings.Limits.Persisted)
	g.project.observed.engine.Store(engine)
	g.project.observed.persisted.Store(persisted)
	page, pageRoutes := g.landing(limits.Document.Introspection)
	h := &graphqlHandler{
		project: g.project, store: g.store, noLog: g.Settings.Server.Log.Limits().Off,
		engine: engine, page: page, auth: a, limiter: limiter, quotas: g.quotas, proxies: g.Settings.Server.TrustedProxies,
		limits: server.Limits(g.Settings.Server.Limits.WithDefaults()), persisted: persisted, metrics: g.project.observed.metrics, withCaller: g.withCaller, serving: g.project.servingGraphQL,
		extended:         g.project.options.Extensions != nil,
		forward:          g.forward,
		idempotency:      g.idempotency(),
		anyOrigin:        g.Settings.Server.CORS.AnyOrigin(),
		preflightHeaders: settings.PreflightHeaders,
		version:          g.version(),
	}
	if settings.Batches {
		h.maxBatch = cmp.Or(settings.Limits.Batch, batchOperations)
	}
	if settings.WithoutPersisted {
		h.persisted = nil
	}
	if settings.Subscriptions {
		h.positions = g.positions
	}
	g.graphqlHandler = h
	routes := pageRoutes
	for _, method := range graphqlMethods {
		routes = append(routes, server.Route{Method: method, Path: settings.Endpoint, Handle: h.serve, Open: true, Streams: true, Whole: true})
	}
	return routes, nil
}

// executionLimits returns the limits of an engine.
func executionLimits(g *config.GraphQL) limits.Operation {
	l := g.Limits
	return limits.Operation{
		Document: language.DocumentLimits{
			Tokens: l.Tokens, Nesting: l.Nesting, Depth: g.DepthLimit, Selections: l.Selections, RootFields: l.RootFields,
			Aliases: l.Aliases, Directives: l.Directives, IntrospectionDepth: l.IntrospectionDepth,
		},
		DefaultLimit: g.DefaultLimit, MaxLimit: g.MaxLimit, AmountLimit: g.AmountLimit,
		Cost: l.Cost, Rows: l.Rows, Bytes: l.Bytes, Introspections: l.Introspections, Conditions: l.Conditions, SortKeys: l.SortKeys, Plans: l.Plans,
	}
}

// A graphqlHandler carries GraphQL requests over HTTP.
type graphqlHandler struct {
	project     *Project
	store       *store.Store
	noLog       bool            // the store keeps no log, so that there is nothing to subscribe to
	positions   *feed.Positions // nil if subscriptions are off, and operations are not answered as streams of events
	engine      *execution.Engine
	page        http.Handler // for browsers
	auth        *auth.Authenticator
	limiter     *auth.Limiter  // limits logins
	quotas      *server.Quotas // nil if there are none
	proxies     []netip.Prefix
	limits      server.Limits
	persisted   *persistedQueries
	serving     func() *graphqlHandler // the handler that answers requests now; nil while GraphQL is switched off
	withCaller  func(*http.Request, auth.Principal) *http.Request
	metrics     *metrics.Metrics   // nil if metrics are off
	forward     *forward.Forwarder // of mutations; nil: they are executed
	idempotency *idempotency
	extended    bool   // code of a program may see requests
	anyOrigin   bool   // pages of all origins may read answers
	version     string // of the answers to queries, for their ETags
	maxBatch    int    // operations of a request; 0: a request holds one that is no array
	// preflightHeaders are headers that only requests with a CORS preflight can have; nil: requests without a preflight are executed too.
	preflightHeaders []string
}

// A graphqlError is the answer to a request without an operation that can be executed.
type graphqlError struct {
	status  int
	message string
	code    string
	allow   string // header Allow
	cache   string // header Cache-Control
}

func badRequest(message string) *graphqlError {
	return &graphqlError{status: http.StatusBadRequest, message: message, code: "BAD_REQUEST"}
}

// response returns the error as the result of an operation.
func (e *graphqlError) response() *execution.Response {
	body := language.AppendErrors([]byte("{"), []*language.Error{{Message: e.message, Code: e.code}})
	return &execution.Response{Status: e.status, Body: append(body, '}', '\n')}
}

// noStore adds the header Cache-Control: no-store to an error.
func noStore(e *graphqlError) *graphqlError {
	e.cache = "no-store"
	return e
}

// errOtherAnswer answers a query by GET whose header If-Match names other answers.
var errOtherAnswer = &graphqlError{status: http.StatusPreconditionFailed, message: rest.ErrOtherAnswer.Message, code: "PRECONDITION_FAILED"}

var errNotAcceptable = &graphqlError{status: http.StatusNotAcceptable, code: "BAD_REQUEST",
	message: "The header accept allows neither application/json nor application/graphql-response+json."}

// POST /graphql, GET /graphql: executes an operation, or answers browsers with a page. It authenticates the request itself, since the order
// of its errors differs from that of other routes.
func (h *graphqlHandler) serve(w http.ResponseWriter, r *http.Request, _ auth.Principal) error {
	if h.anyOrigin && r.Header.Get("Origin") != "" {
		w.Header()["Access-Control-Allow-Origin"] = anyOrigin
	}
	who, err := h.auth.Authenticate(r)
	if err == nil {
		server.Identified(w, who)
	}
	if err := cmp.Or(h.quotas.Take(w, r, who), err); err != nil {
		return err
	}
	if prefersHTML(r) {
		h.page.ServeHTTP(w, r)
		return nil
	}
	var body any
	memory := (*budget.Tally)(nil)
	switch {
	case r.Method == http.MethodPost || r.Method == http.MethodPut || r.Method == http.MethodPatch:
		if body, err = h.readBody(w, r); err != nil {
			return err
		}
		memory = server.BodyMemory(r)
	case len(r.URL.RawQuery) > server.UnreservedQuery:
		tally := h.project.memory.Tally()
		defer tally.Release()
		memory = &tally
	}
	mediaType := h.mediaType(r.Header["Accept"])
	if list, isBatch := body.([]any); isBatch && r.Method == http.MethodPost && h.maxBatch > 0 {
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
		wrong = h.persisted.resolve(op)
	}
	if wrong != nil {
		h.refuse(w, mediaType, wrong)
		return nil
	}
	hasKey := r.Header[server.IdempotencyKey] != nil
	mutates := false
	if (hasKey || h.forward != nil) && r.Method == http.MethodPost {
		if mutates, err = h.engine.IsMutation(op.query, op.name); err != nil {
			return err
		}
	}
	if mutates && h.forward != nil {
		end, at, err := h.forward.To.Begin(r.Context())
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
		h.refuse(w, mediaType, badRequest("A mutation with an Idempotency-Key is not answered as a stream of events: send Accept: application/json."))
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
func (h *graphqlHandler) execute(w http.ResponseWriter, r *http.Request, mediaType string, op *operationRequest, who auth.Principal, once *store.Once) error {
	request := h.request(w, r, mediaType, op, who)
	request.Once = once
	answer, err := h.engine.Execute(h.withCaller(r, who).Context(), request)
	if err != nil {
		return err
	}
	defer answer.Release()
	h.done(op, answer)
	h.send(w, r, mediaType, answer)
	return nil
}

// sendOn sends a request whose body is this JSON to the server that takes the writes.
func (h *graphqlHandler) sendOn(w http.ResponseWriter, r *http.Request, body []byte, at *url.URL) error {
	forwarded := server.WithBody(r, body)
	forwarded.Header.Set("Content-Type", accept.JSON)
	return h.forward.Send(w, forwarded, at)
}

// request returns the request of an operation to the engine. mediaType is that of the answer.
func (h *graphqlHandler) request(w http.ResponseWriter, r *http.Request, mediaType string, op *operationRequest, who auth.Principal) *execution.Request {
	request := h.requestAs(w.Header().Get(server.RequestID), r, op, who)
	request.CountCall = func(name string) error { return h.allow(w, r, name) }
	if r.Method == http.MethodGet {
		request.Conditional = &execution.Conditional{Version: h.version + " " + mediaType, Known: r.Header["If-None-Match"]}
	}
	return request
}

// requestAs returns the request of an operation to the engine, without rate limits: these are for mutations.
func (h *graphqlHandler) requestAs(id string, r *http.Request, op *operationRequest, who auth.Principal) *execution.Request {
	return &execution.Request{
		Query: op.query, Operation: op.name, Variables: op.variables, Access: who.Access, User: who.User, By: server.RecordedAs(who), HTTP: r, ID: id,
		QueriesOnly: r.Method == http.MethodGet, Time: h.limits.Handle,
	}
}

// done counts an operation, and persists its query if the client asked for that.
func (h *graphqlHandler) done(op *operationRequest, answer *execution.Response) {
	h.countOperation(answer)
	if op.persist && answer.Status != http.StatusBadRequest {
		h.persisted.Add(op.hash, op.query, len(op.query))
	}
}

// send answers with the result of an operation.
func (h *graphqlHandler) send(w http.ResponseWriter, r *http.Request, mediaType string, answer *execution.Response) {
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
	_ = h.limits.Send(r.Context(), w, answer.Body) // a failed write cannot be answered otherwise
}

// allow counts a request of an address under a name of a rate limit, together with its requests over REST.
func (h *graphqlHandler) allow(w http.ResponseWriter, r *http.Request, name string) error {
	if h.limiter == nil || server.IsRetry(r.Context()) {
		return nil
	}
	return server.Allow(h.limiter, h.proxies, w, r, name)
}

var postAlone = []string{"POST"}

// refuse answers with an error of the transport.
func (h *graphqlHandler) refuse(w http.ResponseWriter, mediaType string, e *graphqlError) {
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
func sendGraphQLError(w http.ResponseWriter, mediaType string, e *graphqlError) {
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

// mediaType returns the media type of the answer to a request with these headers Accept, "" if the client accepts none. If there are
// subscriptions, clients may ask for a stream of events too.
func (h *graphqlHandler) mediaType(headers []string) string {
	if h.positions != nil {
		return accept.Choose(headers, accept.JSON, accept.GraphQL, accept.Events)
	}
	return accept.Choose(headers, accept.JSON, accept.GraphQL)
}

// prefersHTML reports whether the client prefers HTML to JSON, as browsers do.
func prefersHTML(r *http.Request) bool {
	headers := r.Header["Accept"]
	return r.Method == http.MethodGet && len(headers) > 0 && accept.Choose(headers, accept.JSON, accept.GraphQL, "text/html") == "text/html"
}

// servingGraphQL returns the handler whose routes answer requests now; nil if GraphQL is switched off.
func (p *Project) servingGraphQL() *graphqlHandler { return p.serving().graphqlHandler }
