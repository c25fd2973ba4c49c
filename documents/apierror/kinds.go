package apierror

import (
	"cmp"
	"slices"
	"strings"
)

// A Kind is a name of errors. Clients may match the name; it does not change.
type Kind struct {
	Name     string
	Statuses string // the HTTP statuses that come with it, such as "400"
	Title    string // a short summary, the same for all errors of the kind
	Meaning  string // what docs/errors.md says about it
}

// Kinds returns the kinds of all errors of the server, ordered by name. Programs that extend the server may have
// others.
func Kinds() []Kind { return slices.Clone(kinds) }

// KindOf returns the kind with a name, and false if it is a name of a program that extends the server.
func KindOf(name string) (Kind, bool) {
	i, ok := slices.BinarySearchFunc(kinds, name, func(k Kind, name string) int { return cmp.Compare(k.Name, name) })
	if !ok {
		return Kind{}, false
	}
	return kinds[i], true
}

// kinds are ordered by name. A test of internal/repository compares them with the names in the source and with
// docs/errors.md.
var kinds = slices.SortedFunc(slices.Values([]Kind{
	{"ApplicationError", "400", "Not possible now", "The present content does not allow the request."},
	{"BadGatewayError", "502", "Wrong answer of another server", "A provider of logins gives an answer that cannot be used."},
	{"BadRequestError", "400", "Malformed request", "The path or the body cannot be read."},
	{"ConflictError", "409", "Conflict with the state of the server",
		"The server is a replica, which takes no writes or does not have this part of the content; " +
			"the store was replaced during the request; or the answer to a request with the same `Idempotency-Key` " +
			"is not there yet, or may no longer be shown."},
	{"Error", "400, 415", "Malformed request",
		"The reference gives no better name: a component in the body that does not exist, " +
			"or a `Content-Encoding` that the server does not know; " +
			"the header `Accept-Encoding` then lists those that it knows."},
	{"FailedDependencyError", "424", "Refers to something that failed",
		"An operation of a [batch](batch.md) refers to a document whose creation has failed."},
	{"ForbiddenError", "403", "Permission missing", "The caller lacks a permission."},
	{"GoneError", "410", "No longer available", "The server had this content and does not have it any more."},
	{"InsufficientStorageError", "507", "Disk full", "The disk of the server is full. Reads and deletions go on."},
	{"InternalServerError", "500", "Internal error", "The log of the server says more, under the id of the request."},
	{"LoopDetectedError", "508", "Loop of replicas", "A replica forwards writes to itself."},
	{"MethodNotAllowedError", "405", "Method not allowed",
		"The path does not have the method. The header `Allow` lists those that it has. Without problem details, " +
			"the body is the text `Method Not Allowed`, as in Strapi."},
	{"NotFoundError", "404", "Not found", "There is no such document or route, or you may not know of it."},
	{"NotImplementedError", "501", "Not available", "A setting of the server switches this off."},
	{"PaginationError", "400", "Invalid pagination", "The parameters of pagination contradict each other."},
	{"PayloadTooLargeError", "413", "Too large",
		"The body, a file or a list in the body is longer than a limit. The message names the limit."},
	{"PolicyError", "403", "Refused by a policy", "A policy of the program refuses the request."},
	{"PreconditionFailedError", "412", "Precondition failed",
		"`If-Match`, `If-None-Match` or `If-Unmodified-Since` does not hold: what you read has changed since, " +
			"or exists, or does not. See [caching.md](caching.md#write-only-what-you-have-read)."},
	{"RangeNotSatisfiableError", "416", "No such part",
		"The file has none of the bytes that `Range` asks for. The header `Content-Range` says how many it has."},
	{"RateLimitError", "429", "Too many requests", "Wait as long as `Retry-After` says."},
	{"RequestTimeoutError", "408", "Body too slow", "The body arrived too slowly (`limits.bodyRate`)."},
	{"ServiceUnavailableError", "503", "Not possible at the moment",
		"The server is busy, starting or stopping, or lacks something that it needs. Try again; " +
			"`Retry-After` says when, if the server can tell."},
	{"SyntaxError", "400", "Invalid JSON", "The body is no JSON."},
	{"UnauthorizedError", "401", "Not authenticated", "The credential is missing, wrong or expired."},
	{"UnprocessableEntityError", "422", "Key of another request",
		"The `Idempotency-Key` was used for another request."},
	{"ValidationError", "400", "Invalid request",
		"A parameter or a value of the body is not valid. `errors` lists the values, where there are several."},
}), func(a, b Kind) int { return strings.Compare(a.Name, b.Name) })
