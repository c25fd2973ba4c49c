package mcp

import (
	"bytes"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"lectern/documents/apierror"
	"lectern/jsontree"
	"lectern/shadowcrud/qs"
)

// MaxAnswer is how many bytes the result of a tool may have.
const MaxAnswer = 1 << 20

// handedOn are the headers of a message that its request to the REST API has too: who sends it, from where, and which
// replicas it has passed.
var handedOn = []string{"Authorization", "X-Forwarded-For", "Via", "User-Agent"}

// send sends the request of a call to the REST API and returns its answer.
func (h *Handler) send(c *call) (string, error) {
	query, err := c.query()
	if err != nil {
		return "", err
	}
	if data := c.arguments.Value("data"); data != nil {
		c.kind, c.body = "application/json", append(jsontree.Append([]byte(`{"data":`), data), '}')
	}
	outer := c.caller.request
	r, err := http.NewRequestWithContext(outer.Context(), c.method, h.options.Prefix+c.path+query,
		bytes.NewReader(c.body))
	if err != nil {
		return "", apierror.Validation("the arguments make no valid path")
	}
	if len(c.body) == 0 {
		r.Body = http.NoBody
	}
	r.Host, r.RemoteAddr, r.TLS = outer.Host, outer.RemoteAddr, outer.TLS
	for _, name := range handedOn {
		if values := outer.Header[name]; values != nil {
			r.Header[name] = values
		}
	}
	if c.kind != "" {
		r.Header["Content-Type"] = []string{c.kind}
	}
	a := &answer{header: http.Header{}}
	a.cut = !h.options.Call(a, r)
	if c.method != http.MethodGet && a.status != 0 && a.status < http.StatusBadRequest {
		return a.written()
	}
	return a.result()
}

// An answer is the answer to a request within the process, up to MaxAnswer bytes.
type answer struct {
	header  http.Header
	status  int
	body    []byte
	tooLong bool
	cut     bool // the answer has broken off
}

var errTooLong = &apierror.Error{Status: http.StatusBadRequest, Name: "PayloadTooLargeError",
	Message: "the answer is longer than " + strconv.Itoa(MaxAnswer>>20) +
		" MB: ask for fewer documents, fields or relations"}

// Header implements http.ResponseWriter.
func (a *answer) Header() http.Header { return a.header }

// WriteHeader implements http.ResponseWriter.
func (a *answer) WriteHeader(status int) {
	if a.status == 0 && status >= http.StatusOK {
		a.status = status
	}
}

// Write implements http.ResponseWriter.
func (a *answer) Write(p []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	if a.tooLong = a.tooLong || len(a.body)+len(p) > MaxAnswer; a.tooLong {
		return 0, errTooLong
	}
	a.body = append(a.body, p...)
	return len(p), nil
}

// written is result for a write that was carried out. That its answer cannot be shown is no error, because a client
// would send the write again.
func (a *answer) written() (string, error) {
	switch {
	case a.tooLong:
		return unseen("its answer is longer than " + strconv.Itoa(MaxAnswer>>20) + " MB and is left out"), nil
	case a.cut:
		return unseen("its answer has broken off"), nil
	}
	return a.result()
}

// unseen returns the result of a write whose answer cannot be shown.
func unseen(because string) string {
	message := "the write was carried out, and " + because +
		": read the document to see it, with few fields and relations"
	return string(jsontree.Append(nil, jsontree.ObjectOf("data", nil, "meta", jsontree.ObjectOf("message", message))))
}

var errCut = &apierror.Error{Status: http.StatusServiceUnavailable, Name: "ServiceUnavailableError",
	Message: "the answer has broken off"}

// result returns the body of the answer, or the error that it tells.
func (a *answer) result() (string, error) {
	switch {
	case a.tooLong:
		return "", errTooLong
	case a.cut:
		return "", errCut
	case a.status < http.StatusBadRequest && len(a.body) == 0:
		return `{"data":null}`, nil
	case a.status < http.StatusBadRequest:
		return string(a.body), nil
	}
	return "", &refusal{status: a.status, body: a.body}
}

// A refusal is an answer of the REST API with an error.
type refusal struct {
	status int
	body   []byte
}

func (r *refusal) Error() string { return strconv.Itoa(r.status) + " " + string(r.body) }

// errorText returns what a client is told of an error: the object that the envelope of REST has as its member error.
func errorText(err error) string {
	var refused *refusal
	if errors.As(err, &refused) {
		if v, err := jsontree.Parse(refused.body, jsontree.MaxDepth); err == nil {
			if envelope, ok := v.(*jsontree.Object); ok && envelope.Value("error") != nil {
				return string(jsontree.Append(nil, envelope.Value("error")))
			}
		}
		name := "Error"
		if refused.status == http.StatusMethodNotAllowed { // answered as a text
			name = "MethodNotAllowedError"
		}
		return textOf(refused.status, name, http.StatusText(refused.status))
	}
	var refusal *apierror.Error
	if errors.As(err, &refusal) {
		return textOf(refusal.Status, refusal.Name, refusal.Message)
	}
	return textOf(http.StatusInternalServerError, "InternalServerError", "Internal Server Error")
}

func textOf(status int, name, message string) string {
	return string(jsontree.Append(nil, jsontree.ObjectOf("status", jsontree.Number(strconv.Itoa(status)), "name", name,
		"message", message)))
}

// notParameters are the arguments that are not parameters of the query string.
var notParameters = map[string]bool{"type": true, "documentId": true, "data": true, "fileName": true, "content": true,
	"alternativeText": true, "caption": true}

// query returns the arguments that are parameters of REST as a query string.
func (c *call) query() (string, error) {
	var dst []byte
	for _, name := range c.arguments.Keys {
		if v := c.arguments.Value(name); !notParameters[name] && v != nil {
			var err error
			if dst, err = appendOption(dst, name, name, v); err != nil {
				return "", err
			}
		}
	}
	if len(dst) > 0 {
		dst[0] = '?'
	}
	return string(dst), nil
}

// appendOption appends a parameter of a request, or the option with that key of a populate, after a "&". Objects of
// filters and of populate that are empty say nothing: they are left out.
func appendOption(dst []byte, name, key string, v any) ([]byte, error) {
	o, isObject := v.(*jsontree.Object)
	switch {
	case !isObject:
	case len(o.Keys) == 0 && (key == "filters" || key == "populate"):
		return dst, nil
	case len(o.Keys) > 0 && (key == "populate" || key == "on"):
		return appendPopulate(dst, name, o)
	}
	return appendParameter(dst, name, v)
}

// appendPopulate appends what to show of each attribute, or of each component of a zone. One without options is shown
// all the same.
func appendPopulate(dst []byte, name string, populate *jsontree.Object) (_ []byte, err error) {
	for _, shown := range populate.Keys {
		at := name + "[" + shown + "]"
		if err := checkParameter(dst, at); err != nil {
			return nil, err
		}
		options, isObject := populate.Value(shown).(*jsontree.Object)
		if !isObject {
			if dst, err = appendParameter(dst, at, populate.Value(shown)); err != nil {
				return nil, err
			}
			continue
		}
		before := len(dst)
		for _, key := range options.Keys {
			if dst, err = appendOption(dst, at+"["+key+"]", key, options.Value(key)); err != nil {
				return nil, err
			}
		}
		if len(dst) == before {
			dst = appendPair(dst, at, "true")
		}
	}
	return dst, nil
}

const (
	// maxQuery is how long a query string of arguments may be, in bytes.
	maxQuery = 64 << 10
	// maxNested is how deeply the value of an argument may be nested.
	maxNested = qs.MaxLevels
)

// checkParameter returns an error if a parameter is nested more deeply than the REST API reads it, or if the query
// string becomes too long with it. A text of a megabyte may stand for a query string that is a million times longer,
// since each value of it has all the names that lead there.
func checkParameter(dst []byte, name string) error {
	switch {
	case len(dst)+len(name) > maxQuery:
		return apierror.Validation("the arguments are too long for a query: at most " + strconv.Itoa(maxQuery>>10) +
			" KiB")
	case strings.Count(name, "[") > maxNested:
		return apierror.Validation("the arguments are nested too deeply: at most " + strconv.Itoa(maxNested) +
			" levels")
	}
	return nil
}

// appendParameter appends a value in the nested form of query strings, after a "&". Nothing of a value is left out
// silently, since a condition that is missing would show documents that nobody asked for.
func appendParameter(dst []byte, name string, v any) (_ []byte, err error) {
	if err := checkParameter(dst, name); err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case *jsontree.Object:
		for _, key := range v.Keys {
			if dst, err = appendParameter(dst, name+"["+key+"]", v.Value(key)); err != nil {
				return nil, err
			}
		}
		if len(v.Keys) > 0 {
			return dst, nil
		}
	case []any:
		for i, item := range v {
			if dst, err = appendParameter(dst, name+"["+strconv.Itoa(i)+"]", item); err != nil {
				return nil, err
			}
		}
		if len(v) > 0 {
			return dst, nil
		}
	case string:
		return appendPair(dst, name, v), nil
	case jsontree.Number:
		return appendPair(dst, name, string(v)), nil
	case bool:
		return appendPair(dst, name, strconv.FormatBool(v)), nil
	}
	return nil, apierror.Validation(
		"the value of " + name + " is empty: leave it out, or use an operator such as $null")
}

func appendPair(dst []byte, name, value string) []byte {
	dst = append(append(dst, '&'), url.QueryEscape(name)...)
	return append(append(dst, '='), url.QueryEscape(value)...)
}
