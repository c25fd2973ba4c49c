package openapi

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"lectern/contenttypes"
	"lectern/documents/apierror"
	"lectern/documents/permission"
	"lectern/jsontree"
)

// object returns the schema of an object that has all of these properties, which are given as names and schemas in
// turn.
func object(pairs ...any) *jsontree.Object {
	properties := jsontree.ObjectOf(pairs...)
	return jsontree.ObjectOf("type", "object", "required", jsontree.ListOf(properties.Keys), "properties", properties)
}

// answer describes a response in JSON. example may be nil.
func answer(description string, schema, example any) *jsontree.Object {
	return jsontree.ObjectOf("description", description, "content", jsonContent(schema, example))
}

func jsonContent(schema, example any) *jsontree.Object {
	media := jsontree.ObjectOf("schema", schema)
	if example != nil {
		media.Set("example", example)
	}
	return jsontree.ObjectOf("application/json", media)
}

// jsonBody describes a request body in JSON. example may be nil.
func jsonBody(schema, example any) *jsontree.Object {
	return jsontree.ObjectOf("required", true, "content", jsonContent(schema, example))
}

func statusText(status int) string { return strconv.Itoa(status) }

// tag describes a read that has an ETag and answers ok, after its parameters and errors are known.
func (b *builder) tag(op *operation, ok *jsontree.Object) {
	op.parameters = append(op.parameters, b.ifNoneMatch(), b.ifMatchAnswer())
	op.fails(http.StatusPreconditionFailed)
	ok.Set("headers", jsontree.ObjectOf("ETag", jsontree.ObjectOf("description",
		"Identifies the answer, for `If-None-Match` and `If-Match`.", "schema", typed("string"))))
	op.responses = jsontree.ObjectOf("200", ok, "304",
		jsontree.ObjectOf("description", "You have this answer: its ETag is in `If-None-Match`."))
}

func (b *builder) paginationAnswer() *jsontree.Object {
	return b.schema("Pagination", func() any {
		return typed("object", "description",
			"`page`, `pageSize` and `pageCount`, or `start` and `limit`, as the request said.", "properties",
			jsontree.ObjectOf(
				"page", typed("integer"), "pageSize", typed("integer"), "pageCount", typed("integer"),
				"start", typed("integer"), "limit", typed("integer"), "total", typed("integer"),
			))
	})
}

func paginationExample() *jsontree.Object {
	return jsontree.ObjectOf("pagination", jsontree.ObjectOf("page", 1, "pageSize", 25, "pageCount", 1, "total", 1))
}

// Statuses of the errors that several operations answer.
var (
	readErrors    = []int{400, 401, 403, 404, 429, 500, 503}
	pastErrors    = []int{400, 401, 403, 404, 410, 429, 500, 503}
	writeErrors   = []int{400, 401, 403, 404, 409, 412, 413, 415, 422, 429, 500, 503, 507}
	restoreErrors = []int{400, 401, 403, 404, 409, 410, 412, 413, 415, 422, 429, 500, 503, 507}
	batchErrors   = []int{400, 401, 403, 404, 409, 412, 413, 415, 422, 424, 429, 500, 503, 507}
	pluginErrors  = []int{400, 401, 403, 404, 413, 429, 500, 503, 507}
)

// A failure is what the server answers with a status of an error.
type failure struct {
	name        string // of the response in the document
	description string
	example     string // the name of an error
	message     string
}

// failureHeaders are the headers that come with some statuses of errors, and what they say.
var failureHeaders = map[int][2]string{
	401: {"WWW-Authenticate", "`Bearer`: send an API token, or the JWT of a user."},
	415: {"Accept-Encoding", "The encodings that the server can read."},
	429: {"Retry-After", "After how many seconds to try again."},
}

var failures = map[int]failure{
	400: {"BadRequest", "A parameter or the body is not valid, or the present content does not allow the request.",
		"ValidationError", "Invalid key titel"},
	401: {"Unauthorized", "The credential is not valid.", "UnauthorizedError", "Missing or invalid credentials"},
	403: {"Forbidden", "You lack a permission.", "ForbiddenError", "Forbidden"},
	404: {"NotFound", "There is no such document or route.", "NotFoundError", "Not Found"},
	409: {"Conflict", "The server is a replica, another request has changed what this one depends on, " +
		"or one with the same `Idempotency-Key` is at work.", "ConflictError", "This server is a replica"},
	410: {"Gone", "The server does not know the past that far back any more.", "GoneError",
		"The log does not reach back to this moment"},
	412: {"PreconditionFailed",
		"What the path names is not as `If-Match`, `If-None-Match` or `If-Unmodified-Since` demands. " +
			"Nothing was written.", "PreconditionFailedError", "Precondition Failed"},
	413: {"PayloadTooLarge", "The request is too long.", "PayloadTooLargeError", "PayloadTooLarge"},
	415: {"UnsupportedMediaType", "The server cannot read a body of this encoding.", "Error", "unsupported encoding"},
	422: {"UnprocessableEntity", "The `Idempotency-Key` was used for another request.", "UnprocessableEntityError",
		"the Idempotency-Key was used for another request"},
	424: {"FailedDependency", "An operation refers to a document whose creation has failed.", "FailedDependencyError",
		"The document was not created"},
	429: {"TooManyRequests", "You have sent too many requests. The header Retry-After says when to try again.",
		"RateLimitError", "Too many requests, please try again later."},
	500: {"InternalServer", "The server has failed. Its log has the cause, with the id of the request.",
		"InternalServerError", "Internal Server Error"},
	501: {"NotImplemented", "A setting of the server switches this off.", "NotImplementedError",
		"there is no change feed"},
	503: {"ServiceUnavailable", "The server is busy, or does not take writes. Try again.", "ServiceUnavailableError",
		"the server is starting, try again"},
	507: {"InsufficientStorage", "There is no space left on the disk of the server.", "InsufficientStorageError",
		"there is no space left on the disk"},
}

// schema returns the name of the schema of the errors.
func (f failure) schema() string { return f.name + "Error" }

// errorNames returns the names of the errors that come with a status.
func errorNames(status int) (names []any) {
	for _, kind := range apierror.Kinds() {
		if slices.Contains(strings.Split(kind.Statuses, ", "), statusText(status)) {
			names = append(names, kind.Name)
		}
	}
	return names
}

// failure adds the response of an error to the responses of an operation.
func (b *builder) failure(responses *jsontree.Object, status int) {
	f := failures[status]
	if b.responses[f.name] == nil {
		example := jsontree.ObjectOf("data", nil, "error", jsontree.ObjectOf("status", status, "name", f.example,
			"message", f.message, "details", jsontree.NewObject()))
		schema := b.schema(f.schema(), func() any {
			inner := object("status", jsontree.ObjectOf("const", status), "name",
				typed("string", "enum", errorNames(status)), "message", typed("string"))
			inner.Value("properties").(*jsontree.Object).Set(
				"details", jsontree.ObjectOf("type", []any{"object", "array"},
					"additionalProperties", true, "items", jsontree.NewObject(),
					"description", "What is wrong, in the form that the message calls for. For several problems: "+
						"`errors`, a list of `{path, message, name}`."))
			return object("data", typed("null"), "error", inner)
		})
		content := jsonContent(schema, example)
		content.Set("application/problem+json", jsontree.ObjectOf("schema", b.problem()))
		response := jsontree.ObjectOf("description", f.description, "content", content)
		if header, ok := failureHeaders[status]; ok {
			response.Set("headers",
				jsontree.ObjectOf(header[0], jsontree.ObjectOf("description", header[1], "schema", typed("string"))))
		}
		b.responses[f.name] = response
	}
	responses.Set(statusText(status), reference("responses", f.name))
}

// problem returns a reference to the schema of problem details (RFC 9457), which the server answers to clients that ask
// for them.
func (b *builder) problem() *jsontree.Object {
	return b.schema("Problem", func() any {
		return typed("object", "required", []any{"type", "title", "status", "detail", "name"}, "properties",
			jsontree.ObjectOf(
				"type", typed("string", "format", "uri-reference"), "title", typed("string"), "status",
				typed("integer"),
				"detail", typed("string"),
				"instance", typed("string", "format", "uri-reference"), "name", typed("string"),
				"errors", arrayOf(typed("object", "additionalProperties", true)), "details",
				typed("object", "additionalProperties", true),
			))
	})
}

// example returns an example of a document or component in an answer.
func (b *builder) example(s *contenttypes.Schema) *jsontree.Object {
	o := jsontree.NewObject()
	for _, a := range s.Attributes {
		if a.IsScalar() && b.shows(a) {
			o.Set(a.Name, exampleOf(a))
		}
	}
	return o
}

// inputExample returns an example of the data of a write: scalars, and what else is required. It leaves out attributes
// whose values must match a pattern of the definition.
func (b *builder) inputExample(s *contenttypes.Schema, l *permission.Limit) *jsontree.Object {
	o := jsontree.NewObject()
	for _, a := range s.Attributes {
		_, pattern := a.Pattern()
		switch {
		case !b.access.MaySend(a, l) || pattern != "" && a.Type != contenttypes.UID:
		case a.IsScalar() && a.Type != contenttypes.Password:
			o.Set(a.Name, exampleOf(a))
		case a.Required:
			o.Set(a.Name, b.requiredExample(a))
		}
	}
	return o
}

// requiredExample returns an example of the value of a required attribute that inputExample would leave out otherwise.
func (b *builder) requiredExample(a *contenttypes.Attribute) any {
	switch {
	case a.Type == contenttypes.ComponentType && a.Repeatable:
		return repeated(b.inputExample(&a.Component.Schema, nil), a)
	case a.Type == contenttypes.ComponentType:
		return b.inputExample(&a.Component.Schema, nil)
	case a.Type == contenttypes.DynamicZone:
		entry, data := jsontree.ObjectOf("__component", a.Components[0].UID), b.inputExample(&a.Components[0].Schema, nil)
		for _, key := range data.Keys {
			entry.Set(key, data.Value(key))
		}
		return repeated(entry, a)
	case a.Type == contenttypes.Media || a.Type == contenttypes.RelationType:
		return 1 // an id
	}
	return exampleText(a)
}

// repeated returns the fewest items that a component or a zone may have, but one at least.
func repeated(item any, a *contenttypes.Attribute) (items []any) {
	least := 1
	if a.Min != nil {
		least = max(least, int(*a.Min))
	}
	return slices.Repeat([]any{item}, min(least, 10))
}

// createExample returns an example of the body that creates a document; nil if the document needs a value that matches
// a pattern of the definition.
func (b *builder) createExample(t *contenttypes.ContentType) any {
	limit := b.limit(&t.Schema, "create")
	data := b.inputExample(&t.Schema, limit)
	always, _ := b.required(t, limit)
	for _, name := range always {
		if !slices.Contains(data.Keys, name) {
			return nil
		}
	}
	return jsontree.ObjectOf("data", data)
}

const exampleTime = "2030-01-01T09:00:00.000Z"

// exampleOf returns an example of the value of a scalar.
func exampleOf(a *contenttypes.Attribute) any {
	switch {
	case a.HasDefault:
		return a.Default
	case a.Type == contenttypes.DocumentID:
		return "k2v8m4x1c7b9n3q5w6e0r2t4"
	case a.Type == contenttypes.ID:
		return 1
	case a.Type == contenttypes.Locale:
		return nil
	case a.Type == contenttypes.Email:
		return "ada@example.com"
	case a.Type == contenttypes.UID:
		return "an-example"
	case a.Type == contenttypes.Blocks:
		return []any{jsontree.ObjectOf("type", "paragraph", "children",
			[]any{jsontree.ObjectOf("type", "text", "text", "Some text")})}
	}
	switch a.Type.Kind() {
	case contenttypes.NumberValue:
		return exampleNumber(a)
	case contenttypes.BigIntegerValue:
		return "9007199254740993"
	case contenttypes.BooleanValue:
		return true
	case contenttypes.EnumValue:
		return a.Enum[0]
	case contenttypes.DateValue:
		return exampleTime[:10]
	case contenttypes.TimeValue:
		return "18:30:00.000"
	case contenttypes.DateTimeValue:
		return exampleTime
	case contenttypes.JSONValue:
		return jsontree.ObjectOf("any", "JSON")
	}
	return exampleText(a)
}

func exampleNumber(a *contenttypes.Attribute) float64 {
	n := 1.0
	if a.Min != nil {
		n = max(n, *a.Min)
	}
	if a.Max != nil {
		n = min(n, *a.Max)
	}
	return n
}

// exampleText returns a text that is neither too short nor too long.
func exampleText(a *contenttypes.Attribute) string {
	text := "Text of " + a.Name
	for a.MinLength != nil && len(text) < *a.MinLength && len(text) < 1<<10 {
		text += " and more"
	}
	if most, ok := a.LengthLimit(); ok {
		text = text[:min(len(text), most)]
	}
	return text
}
