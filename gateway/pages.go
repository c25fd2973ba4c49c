package gateway

import (
	"net/http"

	"lectern/auth"
	"lectern/gateway/internal/pages"
	"lectern/gateway/internal/routes"
	"lectern/gateway/internal/server"
)

//go:generate npm --prefix internal/pages/sandbox ci --ignore-scripts --no-audit --no-fund
//go:generate npm --prefix internal/pages/sandbox run --silent build

// A LandingPage decides what a browser shows at the GraphQL endpoint: page if it is not nil, otherwise the IDE if ide
// is true, and otherwise a small page. It is called whenever the routes of a project are made.
type LandingPage func(p *Project) (ide bool, page http.Handler)

// LandingPage sets the function that decides what a browser shows at the GraphQL endpoint. It replaces the setting
// landingPage.
func (x *Extensions) LandingPage(f LandingPage) { x.landingPage = f }

// landing returns the page at the GraphQL endpoint and the routes of the files that the page loads.
func (g *generation) landing(introspection bool) (http.Handler, []server.Route) {
	wanted, asked := !g.project.options.Production, false
	if setting := g.Settings.GraphQL.LandingPage; setting != nil {
		wanted, asked = *setting, true
	}
	if choose := g.extensions.landingPage; choose != nil {
		var page http.Handler
		if wanted, page = choose(g.project); page != nil {
			return page, nil
		}
		asked = true
	}
	if !wanted {
		return pages.PlainGraphQL(), nil
	}
	ide := pages.GraphQL(g.Settings.GraphQL.Endpoint, introspection)
	if ide.Missing && asked {
		g.project.log.Warn("the landing page of GraphQL should be an IDE, but this build holds none: " +
			"where the program is built, run " + pages.Generate + " and build again")
	}
	return ide, fileRoutes(g.Settings.GraphQL.Endpoint, ide)
}

// docsPath is the path of the page that shows the OpenAPI document, below the prefix of the API.
const docsPath = "/_docs"

// showsDocs reports whether there is such a page.
func (g *generation) showsDocs() bool {
	if setting := g.Settings.REST.DocsPage; setting != nil {
		return *setting
	}
	return !g.project.options.Production
}

// docsRoutes returns the routes of the page that shows the OpenAPI document and of its files; none if the page is
// switched off. Without the setting openapi.page there is a page in development only.
func (g *generation) docsRoutes() []server.Route {
	if !g.showsDocs() {
		return nil
	}
	at := g.Settings.REST.Prefix + docsPath
	page := pages.OpenAPI(at, routes.OpenAPIPath[1:])
	if page.Missing && g.Settings.REST.DocsPage != nil {
		g.project.log.Warn("openapi.page is true, but this build holds no page: where the program is built, run " +
			pages.Generate + " and build again")
	}
	return append(fileRoutes(at, page), openRoute(at, page))
}

// fileRoutes returns the routes of the files of a page.
func fileRoutes(at string, page pages.Page) (routes []server.Route) {
	for _, file := range page.Files {
		routes = append(routes, openRoute(at+file.Path, file))
	}
	return routes
}

// openRoute returns the route of a page or file that is for everybody.
func openRoute(at string, h http.Handler) server.Route {
	return server.Route{Method: http.MethodGet, Path: at, Open: true,
		Handle: func(w http.ResponseWriter, r *http.Request, _ auth.Principal) error {
			h.ServeHTTP(w, r)
			return nil
		}}
}
