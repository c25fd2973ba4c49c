package graphqlhttp

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"lectern/gateway/internal/server"
	"lectern/jsontree"
)

// An operation is the operation in a request.
type operation struct {
	query      string
	hasQuery   bool
	name       *string
	variables  *jsontree.Object
	extensions *jsontree.Object

	hash    string   // SHA-256 of a persisted query
	persist bool     // persist the query under the hash
	refused *refusal // of a batch: the result, if there is no query to execute
}

// readBody reads the body of a request: JSON of any content type, or a form. It returns nil for other bodies.
func (h *Handler) readBody(w http.ResponseWriter, r *http.Request) (any, error) {
	kind, _, err := server.ContentType(r.Header)
	if err == nil && strings.HasSuffix(kind, "+json") && r.Body != nil && r.Body != http.NoBody {
		text, err := h.Limits.ReadAll(r, h.Limits.JSONBytes)
		if err != nil {
			return nil, err
		}
		return server.ParseJSON(text, server.BodyMemory(r))
	}
	if kind == "multipart/form-data" {
		return nil, nil // GraphQL takes no files
	}
	return h.Limits.ReadBody(w, r)
}

const (
	csrfMessage = "This operation was blocked as a possible cross-site request forgery. " +
		"Send a content-type that browsers ask leave for, such as application/json, " +
		"or a value in one of the headers apollo-require-preflight and x-apollo-operation-name.\n"
	noBodyMessage = "POST body missing, invalid Content-Type, or JSON object has no keys."
)

// operation reads the operation of a request. memory is for what the query string of a request by GET is parsed to.
func (h *Handler) operation(r *http.Request, body any,
	memory jsontree.Memory) (op *operation, wrong *refusal, err error) {
	if !h.preflighted(r.Header) {
		return nil, badRequest(csrfMessage), nil
	}
	switch r.Method {
	case http.MethodPost:
		op, wrong = fromBody(body)
		return op, wrong, nil
	case http.MethodGet:
		return fromQuery(r.URL, memory)
	}
	return nil, &refusal{status: http.StatusMethodNotAllowed, message: "Apollo Server supports only GET/POST requests.",
		code: "BAD_REQUEST", allow: "GET, POST"}, nil
}

// preflighted reports whether a browser sends a CORS preflight before a cross-origin request with these headers, or
// none is required.
func (h *Handler) preflighted(header http.Header) bool {
	if h.PreflightHeaders == nil ||
		slices.ContainsFunc(h.PreflightHeaders, func(name string) bool { return header.Get(name) != "" }) {
		return true
	}
	if header.Get("Content-Type") == "" {
		return false
	}
	kind, _, err := server.ContentType(header)
	if err != nil && kind == "" {
		return true // only three valid types need no preflight
	}
	switch kind {
	case "text/plain", "application/x-www-form-urlencoded", "multipart/form-data":
		return false
	}
	return true
}

func fromBody(body any) (*operation, *refusal) {
	if _, batch := body.([]any); batch {
		return nil, badRequest("Operation batching disabled.")
	}
	return fromObject(body)
}

// fromObject reads an operation from the JSON object that is a body or an element of a batch.
func fromObject(body any) (*operation, *refusal) {
	o, ok := body.(*jsontree.Object)
	if !ok || len(o.Keys) == 0 {
		return nil, badRequest(noBodyMessage)
	}
	op := &operation{}
	switch query := o.Value("query").(type) {
	case nil:
	case string:
		op.query, op.hasQuery = query, query != ""
	case *jsontree.Object:
		return nil, noStore(
			badRequest("GraphQL queries must be strings. It looks like you're sending the internal graphql-js " +
				"representation of a parsed query in your request instead of a request in the GraphQL query language."))
	default:
		return nil, noStore(badRequest("GraphQL queries must be strings."))
	}
	var wrong *refusal
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

func objectIn(o *jsontree.Object, key string) (*jsontree.Object, *refusal) {
	v := o.Value(key)
	if _, text := v.(string); text {
		return nil, noStore(
			badRequest("`" + key +
				"` in a POST body should be provided as an object, not a recursively JSON-encoded string."))
	}
	return objectOrNil(v, "`"+key+"` in a POST body must be an object if provided.")
}

// objectOrNil returns v if it is an object or nil, and otherwise an error with the message wrong.
func objectOrNil(v any, wrong string) (*jsontree.Object, *refusal) {
	o, ok := v.(*jsontree.Object)
	if !ok && v != nil {
		return nil, noStore(badRequest(wrong))
	}
	return o, nil
}

// fromQuery reads an operation from a query string.
func fromQuery(u *url.URL, memory jsontree.Memory) (op *operation, wrong *refusal, err error) {
	given, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return nil, noStore(badRequest("The query string cannot be decoded.")), nil
	}
	op = &operation{}
	query, wrong := parameter(given, "query")
	if wrong != nil {
		return nil, wrong, nil
	}
	if query != nil {
		op.query, op.hasQuery = *query, *query != ""
	}
	if op.name, wrong = parameter(given, "operationName"); wrong != nil {
		return nil, wrong, nil
	}
	if op.variables, wrong, err = objectParameter(given, "variables", memory); wrong != nil || err != nil {
		return nil, wrong, err
	}
	op.extensions, wrong, err = objectParameter(given, "extensions", memory)
	return op, wrong, err
}

// parameter returns a parameter of a query string, nil if it is missing.
func parameter(given url.Values, key string) (*string, *refusal) {
	switch values := given[key]; len(values) {
	case 0:
		return nil, nil
	case 1:
		return &values[0], nil
	}
	return nil, noStore(badRequest("The '" + key + "' search parameter may only be specified once."))
}

// objectParameter returns a parameter of a query string that is a JSON object, nil if it is missing.
func objectParameter(given url.Values, key string,
	memory jsontree.Memory) (o *jsontree.Object, wrong *refusal, err error) {
	text, wrong := parameter(given, key)
	if text == nil {
		return nil, wrong, nil
	}
	v, err := jsontree.ParseWithin([]byte(*text), server.MaxJSONDepth, memory)
	switch {
	case server.IsMemory(err):
		return nil, nil, err
	case err != nil:
		return nil, noStore(badRequest("The " + key + " search parameter contains invalid JSON.")), nil
	}
	o, wrong = objectOrNil(v, "The "+key+" search parameter should contain a JSON-encoded object.")
	return o, wrong, nil
}

// appendBody appends a JSON body that asks for the operation.
func (op *operation) appendBody(b []byte) []byte {
	body := jsontree.ObjectOf("query", op.query)
	if op.name != nil {
		body.Set("operationName", *op.name)
	}
	if op.variables != nil {
		body.Set("variables", op.variables)
	}
	return jsontree.Append(b, body)
}
