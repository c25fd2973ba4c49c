package answer

import (
	"errors"
	"net/http"

	"lectern/documents"
	"lectern/documents/apierror"
	"lectern/jsontree"
	"lectern/shadowcrud/graphql/language"
)

// CodeOf returns extensions.code for an error of that name.
func CodeOf(name string) string {
	switch name {
	case "ValidationError":
		return language.BadUserInput
	case "ForbiddenError", "PolicyError", "UnauthorizedError":
		return "FORBIDDEN"
	case "InternalServerError":
		return language.Internal
	}
	code := []byte("STRAPI")
	for i := range len(name) {
		c := name[i]
		switch {
		case 'A' <= c && c <= 'Z':
			code = append(code, '_', c)
		case 'a' <= c && c <= 'z':
			code = append(code, c-'a'+'A')
		}
	}
	return string(code)
}

// errorDetails returns the value of extensions.error for an error.
func errorDetails(e *apierror.Error) any {
	o := jsontree.NewObject()
	o.Set("name", e.Name)
	o.Set("message", e.Message)
	if e.Details == nil {
		o.Set("details", jsontree.NewObject())
	} else {
		o.Set("details", e.Details)
	}
	return o
}

// ErrorOf returns a client's error in the form of GraphQL.
func ErrorOf(e *apierror.Error) *language.Error {
	return &language.Error{Message: e.Message, Code: CodeOf(e.Name), Details: errorDetails(e), Refusal: e.Reason}
}

// Unrepresentable is the error of a value that the type of its field cannot represent.
func Unrepresentable(message string) error {
	return &apierror.Error{Status: 500, Name: "InternalServerError", Message: message}
}

// errInternal hides an internal error from clients.
var errInternal = &apierror.Error{
	Status: http.StatusInternalServerError, Name: "InternalServerError", Message: "Internal Server Error",
}

// ClientError returns the error that a client may see instead of err; ok is false if err must be logged because it
// hides details.
func ClientError(err error) (e *apierror.Error, ok bool) {
	if errors.As(err, &e) {
		return e, true
	}
	if e := documents.Unavailable(err); e != nil {
		return e, true
	}
	return errInternal, false
}
