package server

import (
	"net/http"

	"lectern/auth"
	"lectern/documents/apierror"
	"lectern/store"
)

// Steps are what stands between a request and its handler beside the server itself. A request takes this way, and meets
// a step where its name stands; a step that is nil is passed by:
//
//  1. The request gets its id, and the answer the headers that all answers have. Begin.
//  2. The route is found by path and method. Probes are answered.
//  3. The request takes a place, unless Placeless. Preflight requests of browsers are answered. Await.
//  4. Forward, around all that follows.
//  5. The guard of the route: authentication, permissions, rate limits, conditions; then policies and middlewares of
//     a program.
//  6. Once, for requests with an Idempotency-Key to generated routes that write; then the handler.
//  7. An error is answered. Confirm, before that.
//
// If the definitions have changed meanwhile, the request is retried from step 2 on.
type Steps struct {
	// Begin may set headers of the answer, and returns the writer of the answer: w, or one around it.
	Begin func(w http.ResponseWriter) http.ResponseWriter
	// Placeless reports whether a request needs no place, since another request waits for its answer and holds one.
	Placeless func(*http.Request) bool
	// Await waits until the server shows all that a request demands to see; waited is false for a request that demands
	// nothing. If there is an error, that is the answer.
	Await func(w http.ResponseWriter, r *http.Request) (waited bool, err *apierror.Error)
	// Forward returns what answers a request: serve, or a function that sends the request to another server.
	Forward func(r *http.Request, serve Serve) Serve
	// Once carries out a request with an Idempotency-Key by do, or answers it as the request before with the same key.
	// If Once is nil, the key is ignored.
	Once Once
	// Confirm returns the error that a client gets for an error: err, or another one.
	Confirm func(r *http.Request, err *apierror.Error) *apierror.Error
}

// A Once is the step Once.
type Once = func(w http.ResponseWriter, r *http.Request, who auth.Principal, do func(*store.Once) error) error
