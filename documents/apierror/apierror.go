// Package apierror has the type of errors that clients may read, and constructors of the errors that several packages
// return.
package apierror

import (
	"fmt"

	"lectern/jsontree"
)

// An Error is an error whose text a client may read. It passes through all layers and becomes the REST envelope
// {"data":null,"error":{status,name,message,details}} or a GraphQL error at the edge. Any other error is internal: the
// server logs it and answers 500 without its text.
type Error struct {
	Status    int // HTTP
	Name      string
	Message   string
	Details   any    // a jsontree value; nil is printed as {}
	NoDetails bool   // leave the key "details" out of the answer
	Reason    Reason // of an error that refuses a request; "" for others
}

func (e *Error) Error() string { return fmt.Sprintf("%s: %s", e.Name, e.Message) }

// Validation returns the error for a request whose parameters or body are not valid, with empty details.
func Validation(message string) *Error {
	return &Error{Status: 400, Name: "ValidationError", Message: message}
}

// Application returns the error for a request that the present content does not allow.
func Application(message string) *Error {
	return &Error{Status: 400, Name: "ApplicationError", Message: message}
}

// NotFound returns the error for a document or route that does not exist.
func NotFound() *Error {
	return &Error{Status: 404, Name: "NotFoundError", Message: "Not Found"}
}

// Gone returns the error for content that the server does not have any more.
func Gone(message string) *Error {
	return &Error{Status: 410, Name: "GoneError", Message: message}
}

// Forbidden returns the error for an action that the caller may not use.
func Forbidden() *Error {
	return &Error{Status: 403, Name: "ForbiddenError", Message: "Forbidden", Reason: Permission}
}

// PolicyFailed returns the error for a request that a policy of the program refuses.
func PolicyFailed() *Error {
	return &Error{Status: 403, Name: "PolicyError", Message: "Policy Failed", Reason: Policy}
}

// noPath is the type of NoPath.
type noPath struct{}

// NoPath, given to InvalidKey as path, leaves the path out of the details.
var NoPath any = noPath{}

// InvalidKey returns the error for a key that a body or a parameter may not have. The message is "Invalid key K", or
// "Invalid key K at AT" when at is not empty. The details are {key, path, source, param}: path is a dotted string, nil
// for null, or NoPath; param is left out when it is empty. Most callers want UnknownKey or ForbiddenKey.
func InvalidKey(key, at string, path any, source, param string) *Error {
	message := "Invalid key " + key
	if at != "" {
		message += " at " + at
	}
	details := jsontree.NewObject()
	details.Set("key", key)
	if path != NoPath {
		details.Set("path", path)
	}
	details.Set("source", source)
	if param != "" {
		details.Set("param", param)
	}
	return &Error{Status: 400, Name: "ValidationError", Message: message, Details: details}
}

// UnknownKey is InvalidKey for a key that does not exist: the path is that of its parent, null at the root.
func UnknownKey(key, parent, source, param string) *Error {
	if parent == "" {
		return InvalidKey(key, "", nil, source, param)
	}
	return InvalidKey(key, parent, parent, source, param)
}

// ForbiddenKey is InvalidKey for a key that exists but may not be used: the path is that of the key itself, and the
// message names it only when the key is not at the root.
func ForbiddenKey(key, path, source, param string) *Error {
	if path == key {
		return InvalidKey(key, "", path, source, param)
	}
	return InvalidKey(key, path, path, source, param)
}
