package gateway

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"slices"

	"lectern/auth"
	"lectern/documents/permission"
	"lectern/gateway/internal/routes"
	"lectern/gateway/internal/server"
	"lectern/shadowcrud/openapi"
	"lectern/shadowcrud/rest"
)

// OpenAPI returns the OpenAPI document of all operations, as JSON. What callers without a credential may do is what
// config/permissions.yaml grants to the role public.
func (d *Definition) OpenAPI() []byte {
	g := &generation{Definition: d}
	served := slices.Concat(g.routes(nil, nil, nil), []server.Route{g.feedRoute(nil)})
	api := g.openAPI(rest.New(d.Model, nil, nil, nil), served)
	api.Public = d.CompileRoles().Access(auth.PublicRole)
	return api.Describe(permission.FullAccess)
}

// openAPI returns the API that documents describe: the generated routes, others of the server, and those of the
// program.
func (g *generation) openAPI(generated *rest.API, served []server.Route) *openapi.API {
	s, x := g.Settings, g.extensions
	api := &openapi.API{
		Title: "Content API", Version: g.definitionsVersion(), URL: s.Server.URL, Prefix: s.REST.Prefix, Model: g.Model,
		DefaultLimit: s.REST.DefaultLimit, MaxLimit: s.REST.MaxLimit, Locales: s.I18n.DefaultFirst(),
		Sessions: s.Users.Accounts.Sessions.On,
	}
	for _, p := range s.Users.Providers {
		api.Providers = append(api.Providers, p.Name)
	}
	for _, route := range x.routes {
		api.Routes = append(api.Routes,
			openapi.Route{Method: route.Method, Path: route.Path, Scopes: route.config().Scopes, Program: true})
	}
	for _, route := range generated.Routes() {
		config, _ := x.configured(nameOfGenerated(s.REST.Prefix, route))
		if len(config.Scopes) == 0 && !config.Open {
			config.Scopes = []string{route.Type.UID + "." + route.Action}
		}
		api.Routes = append(api.Routes, openapi.Route{Method: route.Method, Path: s.REST.Prefix + route.Path,
			Scopes: config.Scopes, Type: route.Type, Action: route.Action})
	}
	for _, route := range served {
		api.Routes = append(api.Routes, openapi.Route{Method: route.Method, Path: route.Path, Scopes: route.Requires(),
			Keyed: route.Keyed})
	}
	api.Routes = append(api.Routes, openapi.Route{Method: http.MethodGet, Path: s.REST.Prefix + routes.OpenAPIPath},
		openapi.Route{Method: http.MethodGet, Path: "/_health"})
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
