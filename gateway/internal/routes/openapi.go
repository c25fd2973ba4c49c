package routes

import (
	"net/http"

	"lectern/auth"
	"lectern/documents/permission"
	"lectern/gateway/internal/server"
	"lectern/internal/lru"
	"lectern/shadowcrud/openapi"
)

// OpenAPIPath is the path of the OpenAPI document below the prefix of the API.
const OpenAPIPath = "/_openapi.json"

// Bounds of the documents that are kept: one for each set of permissions that callers have.
const (
	keptOpenAPIs     = 64
	keptOpenAPIBytes = 32 << 20
)

// openAPI answers requests for the OpenAPI document of an API.
type openAPI struct {
	api          *openapi.API
	authenticate func(*http.Request) (auth.Principal, error)
	kept         *lru.Cache[string, *tagged] // by the outlines of what the caller and the public may do
	limits       server.Limits
}

// OpenAPI returns the route of the document of an API. authenticate returns who sent a request.
func OpenAPI(api *openapi.API, authenticate func(*http.Request) (auth.Principal, error),
	limits server.Limits) server.Route {
	o := &openAPI{api: api, authenticate: authenticate, limits: limits,
		kept: lru.New[string, *tagged](keptOpenAPIs, keptOpenAPIBytes)}
	return server.Route{Method: http.MethodGet, Path: api.Prefix + OpenAPIPath, Handle: o.serve}
}

// GET /api/_openapi.json: the OpenAPI document of what the caller may do.
func (o *openAPI) serve(w http.ResponseWriter, r *http.Request, who auth.Principal) error {
	public, err := o.authenticate(server.WithoutCredential)
	if err != nil {
		return err
	}
	return o.document(who.Access, public.Access).send(w, r, o.limits)
}

// document returns the document for a caller, which it makes unless it is kept.
func (o *openAPI) document(access, public *permission.Access) *tagged {
	key := string(public.AppendOutline(access.AppendOutline(nil)))
	if d, ok := o.kept.Get(key); ok {
		return d
	}
	api := *o.api
	api.Public = public
	d := taggedOf(api.Describe(access))
	o.kept.Add(key, d, len(d.text))
	return d
}
