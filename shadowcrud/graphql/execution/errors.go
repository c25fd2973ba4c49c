package execution

import (
	"errors"
	"net/http"

	"lectern/documents"
	"lectern/documents/apierror"
	"lectern/jsontree"
	"lectern/shadowcrud/graphql/language"
	"lectern/store"
)

// addError adds the error of the field called name at the current path.
func (x *execution) addError(name string, err error) {
	var carriedOut *store.CarriedOutError
	if errors.Is(err, store.ErrRedefined) || errors.As(err, &carriedOut) {
		x.fail(err) // the gateway runs the request again, or answers with the answer that was kept
		return
	}
	x.reserve(errorBytes)
	e, known := clientError(err)
	if !known {
		x.engine.log.ErrorContext(x.ctx, "a GraphQL field failed", "id", x.id, "field", name, "error", err)
	}
	x.errors = append(x.errors, &language.Error{Message: e.Message, Path: x.pathTo(name), Code: codeOf(e.Name), Details: errorDetails(e), Refusal: e.Reason})
}

// addNullError adds the error of a field that is null but must not be.
func (x *execution) addNullError(f *field, of string) {
	x.reserve(errorBytes)
	x.errors = append(x.errors, &language.Error{
		Message:   "Cannot return null for non-nullable field " + of + "." + f.node.Name + ".",
		Locations: []language.Location{x.plan.doc.Location(f.node.Position)}, Path: x.pathTo(f.name), Code: language.Internal,
	})
}

// codeOf returns extensions.code for an error of that name.
func codeOf(name string) string {
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

var errForbidden = &apierror.Error{Status: 403, Name: "ForbiddenError", Message: "Forbidden access", Reason: apierror.Permission}

// errOutput is the error of a value that the type of its field cannot represent.
func errOutput(message string) error {
	return &apierror.Error{Status: 500, Name: "InternalServerError", Message: message}
}

// errInternal hides an internal error from clients.
var errInternal = &apierror.Error{Status: http.StatusInternalServerError, Name: "InternalServerError", Message: "Internal Server Error"}

// clientError returns the error that a client may see instead of err; ok is false if err must be logged because it hides details.
func clientError(err error) (e *apierror.Error, ok bool) {
	if errors.As(err, &e) {
		return e, true
	}
	if e := documents.Unavailable(err); e != nil {
		return e, true
	}
	return errInternal, false
}
