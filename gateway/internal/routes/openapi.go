package routes

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"

	"lectern/auth"
	"lectern/documents/permission"
	"lectern/gateway/internal/server"
	"lectern/internal/etag"
	"lectern/internal/lru"
	"lectern/shadowcrud/openapi"
	"lectern/shadowcrud/rest"
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
	kept         *lru.Cache[string, *openAPIDocument] // by the outlines of what the caller and the public may do
	limits       server.Limits
}

// An openAPIDocument is the document for callers with some permissions.
type openAPIDocument struct {
	text []byte
	etag string
}

// OpenAPI returns the route of the document of an API. authenticate returns who sent a request.
func OpenAPI(api *openapi.API, authenticate func(*http.Request) (auth.Principal, error),
	limits server.Limits) server.Route {
	o := &openAPI{api: api, authenticate: authenticate, limits: limits,
		kept: lru.New[string, *openAPIDocument](keptOpenAPIs, keptOpenAPIBytes)}
	return server.Route{Method: http.MethodGet, Path: api.Prefix + OpenAPIPath, Handle: o.serve}
}

// GET /api/_openapi.json: the OpenAPI document of what the caller may do.
func (o *openAPI) serve(w http.ResponseWriter, r *http.Request, who auth.Principal) error {
	public, err := o.authenticate(server.WithoutCredential)
	if err != nil {
		return err
	}
	d := o.document(who.Access, public.Access)
	header := w.Header()
	header["Etag"] = []string{d.etag}
	header["Cache-Control"] = []string{"no-cache"}
	header["Vary"] = server.VaryByCallerEncoding
	switch tag, known := []byte(d.etag), r.Header["If-None-Match"]; {
	case etag.Excludes(r.Header["If-Match"], tag):
		delete(header, "Etag")
		delete(header, "Cache-Control")
		return rest.ErrOtherAnswer
	case etag.Lists(known, tag) || etag.IsAny(known):
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	return o.limits.SendJSON(w, r, http.StatusOK, d.text)
}

// document returns the document for a caller, which it makes unless it is kept.
func (o *openAPI) document(access, public *permission.Access) *openAPIDocument {
	key := string(public.AppendOutline(access.AppendOutline(nil)))
	if d, ok := o.kept.Get(key); ok {
		return d
	}
	api := *o.api
	api.Public = public
	d := &openAPIDocument{text: api.Describe(access)}
	sum := sha256.Sum256(d.text)
	d.etag = `"` + base64.RawURLEncoding.EncodeToString(sum[:16]) + `"`
	o.kept.Add(key, d, len(d.text))
	return d
}
