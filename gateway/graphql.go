package gateway

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	hexadecimal "encoding/hex"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"lectern/auth"
	"lectern/documents/permission"
	"lectern/gateway/config"
	"lectern/gateway/metrics"
	"lectern/internal/etag"
	"lectern/jsontree"
	"lectern/shadowcrud/graphql/execution"
	"lectern/shadowcrud/graphql/language"
	"lectern/shadowcrud/params"
	"lectern/shadowcrud/rest"
	"lectern/store"
)

// graphqlMethods are the methods of the GraphQL endpoint. Those other than GET and POST are answered with a GraphQL error.
var graphqlMethods = []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions}

// graphqlRoutes returns the routes of the GraphQL endpoint; none if GraphQL is switched off.
func (g *generation) graphqlRoutes(a *auth.Authenticator, parser *params.Parser, limiter *auth.Limiter) ([]Route, error) {
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
	})
	persisted := g.project.shared.persistedOf(settings.Limits.Persisted)
	g.project.observed.engine.Store(engine)
	g.project.observed.persisted.Store(persisted)
	page, pageRoutes := g.landing(limits.Document.Introspection)
	h := &graphqlHandler{
		project: g.project, store: g.store, noLog: g.Settings.Server.Log.Limits().Off,
		engine: engine, page: page, auth: a, limiter: limiter, quotas: g.quotas, proxies: g.Settings.Server.TrustedProxies,
		limits: requestLimits(g.Settings.Server.Limits.WithDefaults()), persisted: persisted, metrics: g.project.observed.metrics, withCaller: g.withCaller,
		forward:     g.forward,
		idempotency: g.idempotency(),
		anyOrigin:   g.Settings.Server.CORS.AnyOrigin(),
		version:     g.version(),
	}
	if settings.Subscriptions {
		h.positions = g.positions
	}
	g.graphqlHandler = h
	routes := pageRoutes
	for _, method := range graphqlMethods {
		routes = append(routes, Route{Method: method, Path: settings.Endpoint, Handle: h.serve, Open: true, Streams: true, Whole: true})
	}
	return routes, nil
}

// executionLimits returns the limits of an engine.
func executionLimits(g *config.GraphQL) execution.Limits {
	l := g.Limits
	return execution.Limits{
		Document: language.Limits{
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
	noLog       bool       // the store keeps no log, so that there is nothing to subscribe to
	positions   *positions // nil if subscriptions are off, and operations are not answered as streams of events
	engine      *execution.Engine
	page        http.Handler // for browsers
	auth        *auth.Authenticator
	limiter     *auth.Limiter // limits logins
	quotas      *quotas       // nil if there are none
	proxies     []netip.Prefix
	limits      requestLimits
	persisted   *persistedQueries
	withCaller  func(*http.Request, auth.Principal) *http.Request
	metrics     *metrics.Metrics // nil if metrics are off
	forward     *forwarder       // of mutations; nil: they are executed
	idempotency *idempotency
	anyOrigin   bool   // pages of all origins may read answers
	version     string // of the answers to queries, for their ETags
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

// noStore adds the header Cache-Control: no-store to an error.
func noStore(e *graphqlError) *graphqlError {
	e.cache = "no-store"
	return e
}

const (
	csrfMessage = "This operation was blocked as a possible cross-site request forgery. Send a content-type that browsers ask " +
		"leave for, such as application/json, or a value in one of the headers apollo-require-preflight and x-apollo-operation-name.\n"
	acceptMessage = "The header accept allows neither application/json nor application/graphql-response+json."
	emptyMessage  = "GraphQL operations must contain a non-empty `query` or a `persistedQuery` extension."
	noBodyMessage = "POST body missing, invalid Content-Type, or JSON object has no keys."
)

// POST /graphql, GET /graphql: executes an operation, or answers browsers with a page. It authenticates the request itself, since the order
// of its errors differs from that of other routes.
func (h *graphqlHandler) serve(w http.ResponseWriter, r *http.Request, _ *permission.Access) error {
	if h.anyOrigin && r.Header.Get("Origin") != "" {
		w.Header()["Access-Control-Allow-Origin"] = anyOrigin
	}
	who, err := h.auth.Identify(r)
	if err == nil {
		observationOf(w).identified(who)
	}
	if err := cmp.Or(h.quotas.take(w, r, who), err); err != nil {
		return err
	}
	if prefersHTML(r) {
		h.page.ServeHTTP(w, r)
		return nil
	}
	var body any
	if r.Method == http.MethodPost || r.Method == http.MethodPut || r.Method == http.MethodPatch {
		if body, err = h.readBody(w, r); err != nil {
			return err
		}
	}
	answers := h.mediaType(r.Header["Accept"])
	op, wrong := h.operation(r, body)
	if wrong == nil && answers == "" {
		wrong = &graphqlError{status: http.StatusNotAcceptable, message: acceptMessage, code: "BAD_REQUEST"}
	}
	if wrong == nil {
		wrong = h.persisted.resolve(op)
	}
	if wrong != nil {
		h.refuse(w, answers, wrong)
		return nil
	}
	if h.forward.active() && r.Method == http.MethodPost && h.engine.IsMutation(op.query, op.name) {
		return h.sendOn(w, r, op)
	}
	keyed := r.Header[idempotencyKeyHeader] != nil && r.Method == http.MethodPost && h.engine.IsMutation(op.query, op.name)
	switch {
	case keyed && answers == eventStreamType:
		h.refuse(w, answers, badRequest("A mutation with an Idempotency-Key is not answered as a stream of events: send Accept: application/json."))
		return nil
	case keyed:
		return h.executeOnce(w, r, answers, op, who)
	case answers == eventStreamType:
		return h.stream(w, r, op, who)
	}
	return h.execute(w, r, answers, op, who, nil)
}

var anyOrigin = []string{"*"}

// execute executes an operation and answers with its result. once is nil for a request without an idempotency key.
func (h *graphqlHandler) execute(w http.ResponseWriter, r *http.Request, answers string, op *operationRequest, who auth.Principal, once *store.Once) error {
	request := h.request(w, r, answers, op, who)
	request.Once = once
	answer, err := h.engine.Execute(h.withCaller(r, who).Context(), request)
	if err != nil {
		return err
	}
	defer answer.Release()
	h.done(op, answer)
	h.send(w, r, answers, answer)
	return nil
}

// sendOn sends a mutation to the origin of the replica.
func (h *graphqlHandler) sendOn(w http.ResponseWriter, r *http.Request, op *operationRequest) error {
	text := op.appendBody(nil)
	forwarded := r.Clone(r.Context())
	forwarded.Header.Set("Content-Type", jsonType)
	forwarded.Header.Del("Content-Encoding")
	forwarded.Body, forwarded.ContentLength, forwarded.TransferEncoding = io.NopCloser(bytes.NewReader(text)), int64(len(text)), nil
	return h.forward.serve(w, forwarded)
}

// appendBody appends a JSON body that asks for the operation.
func (op *operationRequest) appendBody(b []byte) []byte {
	body := jsontree.ObjectOf("query", op.query)
	if op.name != nil {
		body.Set("operationName", *op.name)
	}
	if op.variables != nil {
		body.Set("variables", op.variables)
	}
	return jsontree.Append(b, body)
}

// request returns the request of an operation to the engine. answers is the media type of the answer.
func (h *graphqlHandler) request(w http.ResponseWriter, r *http.Request, answers string, op *operationRequest, who auth.Principal) *execution.Request {
	request := h.requestAs(w.Header().Get(requestIDHeader), r, op, who)
	request.Limit = func(name string) error { return h.allow(w, r, name) }
	if r.Method == http.MethodGet {
		request.Conditional = &execution.Conditional{Version: h.version + " " + answers, Known: r.Header["If-None-Match"]}
	}
	return request
}

// requestAs returns the request of an operation to the engine, without rate limits: these are for mutations.
func (h *graphqlHandler) requestAs(id string, r *http.Request, op *operationRequest, who auth.Principal) *execution.Request {
	return &execution.Request{
		Query: op.query, Operation: op.name, Variables: op.variables, Access: who.Access, User: who.User, By: recordedAs(who), HTTP: r, ID: id,
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
func (h *graphqlHandler) send(w http.ResponseWriter, r *http.Request, answers string, answer *execution.Response) {
	header := w.Header()
	header["Cache-Control"] = noStoreValue
	if answer.NotByGet {
		header["Allow"] = postAlone
	}
	if answer.Tag != "" {
		header["Etag"], header["Vary"] = []string{answer.Tag}, rest.VaryTagged
		if answer.Status == http.StatusNotModified || etag.IsAny(r.Header["If-None-Match"]) {
			header["Vary"] = rest.VaryTaggedEncoding // as the answer may have been compressed
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	writeHead(w, typeOf(answers), answer.Status, answer.Body)
	_ = h.limits.send(r.Context(), w, answer.Body) // a failed write cannot be answered otherwise
}

// allow counts a request of an address under a name of a rate limit, together with its requests over REST.
func (h *graphqlHandler) allow(w http.ResponseWriter, r *http.Request, name string) error {
	if h.limiter == nil || isRetry(r.Context()) {
		return nil
	}
	return allow(h.limiter, h.proxies, w, r, name)
}

var (
	noStoreValue = []string{"no-store"}
	postAlone    = []string{"POST"}
)

// refuse answers with an error of the transport.
func (h *graphqlHandler) refuse(w http.ResponseWriter, answers string, e *graphqlError) {
	header := w.Header()
	if e.allow != "" {
		header["Allow"] = []string{e.allow}
	}
	if e.cache != "" {
		header["Cache-Control"] = []string{e.cache}
	}
	h.countOperation(&execution.Response{Status: e.status})
	body := language.AppendErrors([]byte("{"), []*language.Error{{Message: e.message, Code: e.code}})
	_ = sendBody(w, typeOf(answers), e.status, append(body, '}', '\n')) // it fails only if the client is gone
}

// typeOf returns the header Content-Type of an answer with a media type.
func typeOf(mediaType string) []string {
	if mediaType == graphqlType {
		return typeGraphQL
	}
	return typeJSON
}

const (
	jsonType    = "application/json"
	graphqlType = "application/graphql-response+json"
)

var typeGraphQL = []string{graphqlType + "; charset=utf-8"}

// readBody reads the body of a request: JSON of any content type, or a form. It returns nil for other bodies.
func (h *graphqlHandler) readBody(w http.ResponseWriter, r *http.Request) (any, error) {
	kind, _, err := contentType(r.Header)
	if err == nil && strings.HasSuffix(kind, "+json") && r.Body != nil && r.Body != http.NoBody {
		text, err := h.limits.readAll(r, h.limits.JSONBytes)
		if err != nil {
			return nil, err
		}
		return parseJSON(text)
	}
	if kind == "multipart/form-data" {
		return nil, nil // GraphQL takes no files
	}
	return h.limits.readBody(w, r)
}

// An operationRequest is the operation in a request.
type operationRequest struct {
	query      string
	hasQuery   bool
	name       *string
	variables  *jsontree.Object
	extensions *jsontree.Object

	hash    string // SHA-256 of a persisted query
	persist bool   // persist the query under the hash
}

// operation reads the operation of a request.
func (h *graphqlHandler) operation(r *http.Request, body any) (*operationRequest, *graphqlError) {
	if !preflighted(r.Header) {
		return nil, badRequest(csrfMessage)
	}
	switch r.Method {
	case http.MethodPost:
		return fromBody(body)
	case http.MethodGet:
		return fromQuery(r.URL)
	}
	return nil, &graphqlError{status: http.StatusMethodNotAllowed, message: "Apollo Server supports only GET/POST requests.", code: "BAD_REQUEST", allow: "GET, POST"}
}

// preflighted reports whether a browser sends a CORS preflight before a cross-origin request with these headers.
func preflighted(h http.Header) bool {
	for _, name := range []string{"X-Apollo-Operation-Name", "Apollo-Require-Preflight"} {
		if h.Get(name) != "" {
			return true
		}
	}
	if h.Get("Content-Type") == "" {
		return false
	}
	kind, _, err := contentType(h)
	if err != nil && kind == "" {
		return true // only three valid types need no preflight
	}
	switch kind {
	case "text/plain", "application/x-www-form-urlencoded", "multipart/form-data":
		return false
	}
	return true
}

func fromBody(body any) (*operationRequest, *graphqlError) {
	if _, batch := body.([]any); batch {
		return nil, badRequest("Operation batching disabled.")
	}
	o, ok := body.(*jsontree.Object)
	if !ok || len(o.Keys) == 0 {
		return nil, badRequest(noBodyMessage)
	}
	op := &operationRequest{}
	switch query := o.Value("query").(type) {
	case nil:
	case string:
		op.query, op.hasQuery = query, query != ""
	case *jsontree.Object:
		return nil, noStore(badRequest("GraphQL queries must be strings. It looks like you're sending the internal graphql-js representation of a parsed query in your request instead of a request in the GraphQL query language."))
	default:
		return nil, noStore(badRequest("GraphQL queries must be strings."))
	}
	var wrong *graphqlError
	if op.variables, wrong = objectIn(o, "variables"); wrong != nil {
		return nil, wrong
	}
	if op.extensions, wrong = objectIn(o, "extensions"); wrong != nil {
		return nil, wrong
	}
	switch name := o.Value("operationName").(type) {
	case nil:
	case string:
		op.name = &name
	default:
		return nil, noStore(badRequest("`operationName` in a POST body must be a string if provided."))
	}
	return op, nil
}

func objectIn(o *jsontree.Object, key string) (*jsontree.Object, *graphqlError) {
	v := o.Value(key)
	if _, text := v.(string); text {
		return nil, noStore(badRequest("`" + key + "` in a POST body should be provided as an object, not a recursively JSON-encoded string."))
	}
	return objectOrNil(v, "`"+key+"` in a POST body must be an object if provided.")
}

// objectOrNil returns v if it is an object or nil, and otherwise an error with the message wrong.
func objectOrNil(v any, wrong string) (*jsontree.Object, *graphqlError) {
	o, ok := v.(*jsontree.Object)
	if !ok && v != nil {
		return nil, noStore(badRequest(wrong))
	}
	return o, nil
}

// fromQuery reads an operation from a query string.
func fromQuery(u *url.URL) (*operationRequest, *graphqlError) {
	given, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return nil, noStore(badRequest("The query string cannot be decoded."))
	}
	op := &operationRequest{}
	query, wrong := once(given, "query")
	if wrong != nil {
		return nil, wrong
	}
	if query != nil {
		op.query, op.hasQuery = *query, *query != ""
	}
	if op.name, wrong = once(given, "operationName"); wrong != nil {
		return nil, wrong
	}
	if op.variables, wrong = objectOnce(given, "variables"); wrong != nil {
		return nil, wrong
	}
	op.extensions, wrong = objectOnce(given, "extensions")
	return op, wrong
}

func once(given url.Values, key string) (*string, *graphqlError) {
	switch values := given[key]; len(values) {
	case 0:
		return nil, nil
	case 1:
		return &values[0], nil
	}
	return nil, noStore(badRequest("The '" + key + "' search parameter may only be specified once."))
}

func objectOnce(given url.Values, key string) (*jsontree.Object, *graphqlError) {
	text, wrong := once(given, key)
	if text == nil {
		return nil, wrong
	}
	v, err := jsontree.Parse([]byte(*text), maxJSONDepth)
	if err != nil {
		return nil, noStore(badRequest("The " + key + " search parameter contains invalid JSON."))
	}
	return objectOrNil(v, "The "+key+" search parameter should contain a JSON-encoded object.")
}

// resolve finds the persisted query of an operation that has only its hash.
func (p *persistedQueries) resolve(op *operationRequest) *graphqlError {
	var asked *jsontree.Object
	if op.extensions != nil {
		asked, _ = op.extensions.Value("persistedQuery").(*jsontree.Object)
	}
	if asked == nil {
		if !op.hasQuery {
			return noStore(badRequest(emptyMessage))
		}
		return nil
	}
	failed := func(message string) *graphqlError {
		return noStore(&graphqlError{status: http.StatusBadRequest, message: message, code: language.Internal})
	}
	if version, ok := asked.Value("version").(jsontree.Number); !ok || version.Float() != 1 {
		return failed("Unsupported persisted query version")
	}
	op.hash = asked.Text("sha256Hash")
	if op.hasQuery {
		sum := sha256.Sum256([]byte(op.query))
		if hexadecimal.EncodeToString(sum[:]) != op.hash {
			return failed("provided sha does not match query")
		}
		op.persist = true
		return nil
	}
	query, ok := p.Get(op.hash)
	if !ok {
		return &graphqlError{status: http.StatusOK, message: "PersistedQueryNotFound", code: "PERSISTED_QUERY_NOT_FOUND",
			cache: "private, no-cache, must-revalidate"}
	}
	op.query, op.hasQuery = query, true
	return nil
}
