// Package openapi describes the REST API of a server as an OpenAPI 3.1 document. The document is made from the Model
// and the routes of the server, and from what its reader may do: it has only the operations that the reader may use,
// and of documents only what the reader may see or write. A private attribute appears in bodies of requests alone, and
// a relation to a type that the reader may not find appears nowhere.
//
//	api := &openapi.API{Model: model, Prefix: "/api", Routes: routes, Locales: []string{"en"}}
//	text := api.Describe(access)
//
// The same API and permissions always give the same bytes.
//
// A route of a content-type is described by content.go, another route of the server by the table routes in plugins.go,
// and a route that a program added by its method and path alone. schema.go, input.go and filter.go turn attributes into
// schemas.
package openapi

import (
	"net/http"
	"regexp"
	"strings"

	"lectern/contenttypes"
	"lectern/documents/permission"
	"lectern/jsontree"
)

// An API is what a document describes. Its fields must not be changed after the first call of Describe.
type API struct {
	Title   string
	Version string // of the content API: it should change with the definitions
	URL     string // where clients find the server; "": where they found the document
	Prefix  string // of the content API, such as /api
	Model   *contenttypes.Model
	Routes  []Route
	Locales []string // the codes of the locales, the default one first; at least one

	Sessions  bool     // a login begins a session, with a refresh token
	Providers []string // names of the providers by which users can log in; empty: there are none

	// Public is what callers without a credential may do. Other operations need a token.
	Public *permission.Access

	DefaultLimit int // the length of a page if a request does not say
	MaxLimit     int // the greatest length of a page; below 1: unlimited
}

// A Route is a method and a path that the server answers.
type Route struct {
	Method string
	Path   string   // with the prefix; a variable is written {name} or {name:pattern}
	Scopes []string // the permissions that the caller needs, all of them

	// Type and Action are set for the routes of content-types.
	Type   *contenttypes.ContentType
	Action string

	Program bool // a program added the route
	Keyed   bool // the route is one of the server and takes requests with an Idempotency-Key
}

// Describe returns the document for a reader with these permissions, as JSON.
func (a *API) Describe(access *permission.Access) []byte {
	b := &builder{API: a, access: access, names: newNames(a.Model), paths: jsontree.NewObject(),
		schemas:    map[string]any{},
		parameters: map[string]any{}, responses: map[string]any{}, operationIDs: map[string]bool{},
		tags: jsontree.NewObject()}
	for i := range a.Routes {
		if route := &a.Routes[i]; b.uses(route) {
			b.route(route)
		}
	}
	return append(jsontree.Append(nil, b.document()), '\n')
}

// A builder makes the document for one reader.
type builder struct {
	*API
	access *permission.Access
	names  *names

	paths                          *jsontree.Object
	tags                           *jsontree.Object // from the name of a tag to its description
	schemas, parameters, responses map[string]any   // the components, by name
	operationIDs                   map[string]bool
}

// uses reports whether the reader may use a route.
func (b *builder) uses(r *Route) bool { return allows(b.access, r) }

func allows(access *permission.Access, r *Route) bool {
	for _, scope := range r.Scopes {
		if !access.AllowsAction(scope) {
			return false
		}
	}
	return true
}

// An operation is what the document says of one route.
type operation struct {
	id, tag, summary, description string

	parameters []any
	body       *jsontree.Object // the request body; nil: none
	responses  *jsontree.Object // the responses that are no errors, by status
	errors     []int            // the statuses of errors, ascending
}

// route adds the operation of a route. A route of the server without a description is left out: it is not for users of
// the API.
func (b *builder) route(r *Route) {
	path := plainPath(r.Path)
	switch describe := routes[r.Method+" "+strings.TrimPrefix(path, b.Prefix)]; {
	case r.Program:
		b.add(r, path, b.programRoute(r, path))
	case r.Type != nil:
		b.add(r, path, b.content(r))
	case describe != nil:
		if op := describe(b); op != nil {
			if op.body != nil {
				op.fails(http.StatusUnsupportedMediaType)
			}
			if r.Keyed {
				b.takesKeys(op)
			}
			b.add(r, path, op)
		}
	}
}

// add adds an operation to the paths of the document.
func (b *builder) add(r *Route, path string, op *operation) {
	item, _ := b.paths.Value(path).(*jsontree.Object)
	if item == nil {
		item = jsontree.NewObject()
		b.paths.Set(path, item)
	}
	method := strings.ToLower(r.Method)
	if item.Value(method) != nil {
		return // a route of a program answers in place of this one
	}
	o := jsontree.ObjectOf("operationId", b.operationID(op.id), "summary", op.summary)
	if op.description != "" {
		o.Set("description", op.description)
	}
	o.Set("tags", []any{op.tag})
	if parameters := append(pathParameters(path), op.parameters...); len(parameters) > 0 {
		o.Set("parameters", parameters)
	}
	if op.body != nil {
		o.Set("requestBody", op.body)
	}
	for _, status := range op.errors {
		b.failure(op.responses, status)
	}
	o.Set("responses", op.responses)
	o.Set("security", b.security(r))
	item.Set(method, o)
}

// security says whether a route needs a credential.
func (b *builder) security(r *Route) []any {
	bearer := jsontree.ObjectOf("bearer", []any{})
	if b.Public != nil && allows(b.Public, r) {
		return []any{jsontree.NewObject(), bearer}
	}
	return []any{bearer}
}

// operationID returns an id that no other operation has.
func (b *builder) operationID(id string) string {
	id = unique(id, func(s string) bool { return b.operationIDs[s] })
	b.operationIDs[id] = true
	return id
}

var variable = regexp.MustCompile(`\{([^{}:]+)(?::[^{}]*)?\}`)

// plainPath returns a path whose variables have no patterns.
func plainPath(path string) string { return variable.ReplaceAllString(path, "{$1}") }

// pathParameters describes the variables of a path.
func pathParameters(path string) (list []any) {
	for _, found := range variable.FindAllStringSubmatch(path, -1) {
		schema := jsontree.ObjectOf("type", "string")
		if found[1] == "id" {
			schema.Set("description", "The number of the entry. A schedule has a documentId instead, and a session the id that the list has.")
		}
		list = append(list, jsontree.ObjectOf("name", found[1], "in", "path", "required", true, "schema", schema))
	}
	return list
}

// programRoute describes a route that a program added, of which nothing but its method and path is known.
func (b *builder) programRoute(r *Route, path string) *operation {
	b.tags.Set("Program", "Routes that the program adds to the server.")
	return &operation{
		id: strings.ToLower(r.Method) + contenttypes.GraphQLName(
			nonLetters.ReplaceAllString(strings.TrimPrefix(path, b.Prefix), "-")), tag: "Program",
		summary:   r.Method + " " + path,
		responses: jsontree.ObjectOf("default", jsontree.ObjectOf("description", "What the program answers.")),
	}
}

var nonLetters = regexp.MustCompile(`[^A-Za-z0-9]+`)

// document returns the finished document.
func (b *builder) document() *jsontree.Object {
	url := b.URL
	if url == "" {
		url = "/"
	}
	tags := make([]any, 0, len(b.tags.Keys))
	for _, name := range b.tags.Keys {
		tags = append(tags, jsontree.ObjectOf("name", name, "description", b.tags.Value(name)))
	}
	components := jsontree.NewObject()
	for _, part := range []struct {
		name string
		of   map[string]any
	}{{"schemas", b.schemas}, {"parameters", b.parameters}, {"responses", b.responses}} {
		if len(part.of) > 0 {
			components.Set(part.name, sorted(part.of))
		}
	}
	components.Set("securitySchemes", jsontree.ObjectOf("bearer", jsontree.ObjectOf("type", "http", "scheme", "bearer",
		"description", "An API token, or the `jwt` that a login answers.")))
	return jsontree.ObjectOf(
		"openapi", "3.1.1",
		"info", jsontree.ObjectOf("title", b.Title, "version", b.Version,
			"description", "The operations that you may use with your credential, and the fields that you may see."),
		"servers", []any{jsontree.ObjectOf("url", url)},
		"tags", tags,
		"paths", b.paths,
		"components", components,
	)
}
