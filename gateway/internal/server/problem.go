package server

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"lectern/documents/apierror"
	"lectern/internal/accept"
	"lectern/jsontree"
)

const problemType = "application/problem+json"

var typeProblem = []string{problemType}

// kindsPage is the page that describes the kinds of errors, as the type of a problem refers to it.
const kindsPage = "/docs/errors.md#"

var errNotAllowed = &apierror.Error{
	Status: http.StatusMethodNotAllowed, Name: "MethodNotAllowedError", Message: "Method Not Allowed", NoDetails: true,
}

// prefersProblem reports whether a request asks for errors as problem details (RFC 9457): it names their media type,
// and does not prefer JSON. A client that accepts both equally gets problems, since it names the type for nothing but
// errors.
func prefersProblem(r *http.Request) bool {
	named := r.Header["Accept"]
	if !slices.ContainsFunc(named, func(value string) bool {
		return strings.Contains(strings.ToLower(value), problemType)
	}) {
		return false
	}
	header := strings.Join(named, ",")
	q, _ := accept.Quality(header, problemType)
	other, _ := accept.Quality(header, accept.JSON)
	return q > 0 && q >= other
}

// appendProblem appends an error as problem details. id is the id of the request.
func appendProblem(dst []byte, e *apierror.Error, id string) []byte {
	kind, known := apierror.KindOf(e.Name)
	uri := kindsPage + kind.Name
	if !known {
		uri, kind.Title = "about:blank", http.StatusText(e.Status)
	}
	dst = jsontree.AppendString(append(dst, `{"type":`...), uri)
	dst = jsontree.AppendString(append(dst, `,"title":`...), kind.Title)
	dst = strconv.AppendInt(append(dst, `,"status":`...), int64(e.Status), 10)
	dst = jsontree.AppendString(append(dst, `,"detail":`...), e.Message)
	dst = jsontree.AppendString(append(dst, `,"instance":`...), "#"+id)
	dst = jsontree.AppendString(append(dst, `,"name":`...), e.Name)
	switch details, _ := e.Details.(*jsontree.Object); {
	case e.NoDetails || e.Details == nil || details != nil && len(details.Keys) == 0:
	case details != nil && details.Value("errors") != nil:
		dst = jsontree.Append(append(dst, `,"errors":`...), details.Value("errors"))
		others := jsontree.NewObject()
		for _, key := range details.Keys {
			if key != "errors" {
				others.Set(key, details.Value(key))
			}
		}
		if len(others.Keys) > 0 {
			dst = jsontree.Append(append(dst, `,"details":`...), others)
		}
	default:
		dst = jsontree.Append(append(dst, `,"details":`...), e.Details)
	}
	return append(dst, '}')
}
