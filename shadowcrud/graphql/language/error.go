package language

import (
	"strconv"

	"lectern/documents/apierror"
	"lectern/jsontree"
)

// Codes of errors, which clients find under extensions.code.
const (
	ParseFailed         = "GRAPHQL_PARSE_FAILED"
	ValidationFailed    = "GRAPHQL_VALIDATION_FAILED"
	BadUserInput        = "BAD_USER_INPUT"
	OperationResolution = "OPERATION_RESOLUTION_FAILURE"
	Internal            = "INTERNAL_SERVER_ERROR"
)

// An Error is an entry of the list `errors` of an answer.
type Error struct {
	Message   string
	Locations []Location
	Path      []any // to the field in the answer: string keys and int positions; nil for errors of the whole request
	Code      string
	// Reason is a more precise code than Code. Clients find it under extensions.validationErrorCode.
	Reason string
	// Details is the jsontree value of extensions.error, nil if there are no details.
	Details any
	// Refusal is the limit that the operation exceeds, or another reason why the server refused it or a field. It is
	// for metrics; answers do not have it.
	Refusal apierror.Reason
}

// A Location is a position in a document. Lines and columns count from 1; columns count UTF-16 code units.
type Location struct{ Line, Column int }

func (e *Error) Error() string { return e.Message }

// Append appends the error as JSON.
func (e *Error) Append(b []byte) []byte {
	b = append(b, `{"message":`...)
	b = jsontree.AppendString(b, e.Message)
	if len(e.Locations) > 0 {
		b = append(b, `,"locations":[`...)
		for i, l := range e.Locations {
			if i > 0 {
				b = append(b, ',')
			}
			b = strconv.AppendInt(append(b, `{"line":`...), int64(l.Line), 10)
			b = strconv.AppendInt(append(b, `,"column":`...), int64(l.Column), 10)
			b = append(b, '}')
		}
		b = append(b, ']')
	}
	if e.Path != nil {
		b = append(b, `,"path":`...)
		b = jsontree.Append(b, e.Path)
	}
	b = append(b, `,"extensions":{`...)
	if e.Reason != "" {
		b = jsontree.AppendString(append(b, `"validationErrorCode":`...), e.Reason)
		b = append(b, ',')
	}
	b = jsontree.AppendString(append(b, `"code":`...), e.Code)
	if e.Details != nil {
		b = jsontree.Append(append(b, `,"error":`...), e.Details)
	}
	return append(b, "}}"...)
}

// AppendErrors appends the member "errors" of an answer, without a comma.
func AppendErrors(b []byte, errs []*Error) []byte {
	b = append(b, `"errors":[`...)
	for i, e := range errs {
		if i > 0 {
			b = append(b, ',')
		}
		b = e.Append(b)
	}
	return append(b, ']')
}
