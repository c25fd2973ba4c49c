package gateway

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"slices"

	"lectern/auth"
	"lectern/documents/permission"
	"lectern/gateway/internal/server"
	"lectern/internal/etag"
	"lectern/internal/lru"
	"lectern/shadowcrud/openapi"
	"lectern/shadowcrud/rest"
)

// openAPIPath is the path of the OpenAPI document below the prefix of the API.
const openAPIPath = "/_openapi.json"

// Bounds of the documents that a generation keeps: one for each set of permissions that callers have.
const (
	keptOpenAPIs     = 64
	keptOpenAPIBytes = 32 << 20
)

// OpenAPI returns the OpenAPI document of all operations, as JSON. What callers without a credential may do is what config/permissions.yaml
// grants to the role public.
func (d *Definition) OpenAPI() []byte {
	g := &generation{Definition: d}
	routes := slices.Concat(g.routes(nil, nil, nil), []server.Route{g.feedRoute(nil)})
	api := g.openAPI(rest.New(d.Model, nil, nil, nil), routes)
	api.Public = auth.CompileRoles(d.Settings.Roles).Access(auth.PublicRole)
	return api.Describe(permission.FullAccess)
}

// openAPI returns the API that documents describe: the generated routes, others of the server, and those of the program.
func (g *generation) openAPI(generated *rest.API, routes []server.Route) *openapi.API {
	s, x := g.Settings, g.extensions
	api := &openapi.API{
		Title: "Content API", Version: g.definitionsVersion(), URL: s.Server.URL, Prefix: s.REST.Prefix, Model: g.Model,
		DefaultLimit: s.REST.DefaultLimit, MaxLimit: s.REST.MaxLimit, Locales: []string{s.I18n.DefaultLocale},
	}
	for _, l := range s.I18n.Locales {
		if l.Code != s.I18n.DefaultLocale {
			api.Locales = append(api.Locales, l.Code)
		}
	}
	for _, route := range x.routes {
		api.Routes = append(api.Routes, openapi.Route{Method: route.Method, Path: route.Path, Scopes: route.config().Scopes, Program: true})
	}
	for _, route := range generated.Routes() {
		config, _ := x.configured(nameOfGenerated(s.REST.Prefix, route))
		if len(config.Scopes) == 0 && !config.Open {
			config.Scopes = []string{route.Type.UID + "." + route.Action}
		}
		api.Routes = append(api.Routes, openapi.Route{Method: route.Method, Path: s.REST.Prefix + route.Path, Scopes: config.Scopes, Type: route.Type, Action: route.Action})
	}
	for _, route := range routes {
		api.Routes = append(api.Routes, openapi.Route{Method: route.Method, Path: route.Path, Scopes: route.Requires(), Keyed: route.Keyed})
	}
	api.Routes = append(api.Routes, openapi.Route{Method: http.MethodGet, Path: s.REST.Prefix + openAPIPath}, openapi.Route{Method: http.MethodGet, Path: "/_health"})
	return api
}

// definitionsVersion returns a text that changes with the definitions.
func (d *Definition) definitionsVersion() string {
	sum := sha256.New()
	for _, definition := range d.Model.DefinitionsWithRules() {
		sum.Write(definition)
	}
	return hex.EncodeToString(sum.Sum(nil)[:6])
}

// An openAPIDocuments answers requests for the OpenAPI document of one generation.
type openAPIDocuments struct {
	api    *openapi.API
	public func(*http.Request) (auth.Principal, error)
	kept   *lru.Cache[string, *openAPIDocument] // by what the caller may do and what the public may
	limits server.Limits
}

// An openAPIDocument is the document for callers with some permissions.
type openAPIDocument struct {
	text []byte
	etag string
}

// openAPIRoute returns the route of the OpenAPI document.
func (g *generation) openAPIRoute(api *openapi.API, authenticate func(*http.Request) (auth.Principal, error)) server.Route {
	o := &openAPIDocuments{
		api: api, public: authenticate, kept: lru.New[string, *openAPIDocument](keptOpenAPIs, keptOpenAPIBytes),
		limits: server.Limits(g.Settings.Server.Limits.WithDefaults()),
	}
	return server.Route{Method: http.MethodGet, Path: g.Settings.REST.Prefix + openAPIPath, Handle: o.serve}
}

// GET /api/_openapi.json: the OpenAPI document of what the caller may do.
func (o *openAPIDocuments) serve(w http.ResponseWriter, r *http.Request, who auth.Principal) error {
	public, err := o.public(server.WithoutCredential)
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
func (o *openAPIDocuments) document(access, public *permission.Access) *openAPIDocument {
	key := string(public.AppendFingerprint(access.AppendFingerprint(nil)))
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
