package graphqlhttp

import (
	"net/http"

	"lectern/shadowcrud/graphql/execution"
	"lectern/shadowcrud/graphql/language"
	"lectern/shadowcrud/rest"
)

// A refusal is the answer to a request without an operation that can be executed.
type refusal struct {
	status  int
	message string
	code    string
	allow   string // header Allow
	cache   string // header Cache-Control
}

func badRequest(message string) *refusal {
	return &refusal{status: http.StatusBadRequest, message: message, code: "BAD_REQUEST"}
}

// response returns the error as the result of an operation.
func (e *refusal) response() *execution.Response {
	body := language.AppendErrors([]byte("{"), []*language.Error{{Message: e.message, Code: e.code}})
	return &execution.Response{Status: e.status, Body: append(body, '}', '\n')}
}

// noStore adds the header Cache-Control: no-store to an error.
func noStore(e *refusal) *refusal {
	e.cache = "no-store"
	return e
}

// errOtherAnswer answers a query by GET whose header If-Match names other answers.
var errOtherAnswer = &refusal{status: http.StatusPreconditionFailed, message: rest.ErrOtherAnswer.Message,
	code: "PRECONDITION_FAILED"}

var errNotAcceptable = &refusal{status: http.StatusNotAcceptable, code: "BAD_REQUEST",
	message: "The header accept allows neither application/json nor application/graphql-response+json."}
