package gateway

import (
	"html"
	"net/http"
	"strings"
)

// A LandingPage decides what a browser shows at the GraphQL endpoint: page if it is not nil, otherwise the IDE if ide is true, and otherwise
// a small page. It is called whenever the routes of a project are made.
type LandingPage func(p *Project) (ide bool, page http.Handler)

// LandingPage sets the function that decides what a browser shows at the GraphQL endpoint. It replaces the setting landingPage.
func (x *Extensions) LandingPage(f LandingPage) { x.landingPage = f }

// landing returns the page at the GraphQL endpoint and the routes of the files that the page loads.
func (g *generation) landing(introspection bool) (http.Handler, []Route) {
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
		return plainPage, nil
	}
	ide := builtIDE()
	if ide == nil {
		if asked {
			g.project.log.Warn("the landing page of GraphQL should be an IDE, but this build holds none: where the program is built, run " + generateIDE + " and build again")
		}
		return missingPage, nil
	}
	endpoint := g.Settings.GraphQL.Endpoint
	return ide.idePage(endpoint, introspection), ide.routes(endpoint)
}

// A staticPage is a page without scripts that loads no files.
type staticPage string

func newStaticPage(title, body string) staticPage {
	return staticPage(pageHead(title) + `<style>
body { font: 16px/1.5 system-ui, sans-serif; max-width: 40rem; margin: 4rem auto; padding: 0 1rem; color: #222; background: #fff; }
pre { background: #f4f4f4; padding: 1rem; overflow-x: auto; }
</style>
</head>
<body>
<h1>` + title + `</h1>
` + body + `</body>
</html>
`)
}

const postOperations = `<p>This address answers GraphQL operations. Send one by POST:</p>
<pre>curl --json '{"query": "{ __typename }"}' THIS-ADDRESS</pre>
`

// generateIDE is the command that builds the pages for browsers. It also works in a program that has Lectern as a module.
const generateIDE = `go -C "$(go list -m -f '{{.Dir}}' lectern)" generate ./gateway`

// pageHead returns the beginning of a page with a title.
func pageHead(title string) string {
	return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>` + title + `</title>
<link rel="icon" href="data:,">
`
}

var (
	plainPage   = newStaticPage("GraphQL", postOperations)
	missingPage = newStaticPage("GraphQL", postOperations+`<p>A page to work with belongs here, but this build of the server was made without it. With Node and npm,
where the program is built, Lectern itself or one that adds to it:</p>
<pre>`+html.EscapeString(generateIDE)+`
go build</pre>
<p>Releases of Lectern hold it. <code>landingPage: false</code> under <code>graphql.config</code> in <code>config/plugins.yaml</code> takes
this notice away.</p>
`)
)

var (
	typeHTML     = []string{"text/html"}
	staticPolicy = []string{"default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"}
)

func (s staticPage) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	sendPage(w, staticPolicy, string(s))
}

func sendPage(w http.ResponseWriter, policy []string, page string) {
	header := w.Header()
	header["Content-Security-Policy"] = policy
	header["Cache-Control"] = noStoreValue
	_ = sendBody(w, typeHTML, http.StatusOK, []byte(page)) // it fails only if the client is gone
}

// idePage returns the page with the IDE.
func (b *bundle) idePage(endpoint string, introspection bool) http.Handler {
	allowed := "off"
	if introspection {
		allowed = "on"
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		policy, nonce := b.policy()
		sendPage(w, policy, pageHead("GraphQL")+b.links(below(endpoint, r), nonce)+`</head>
<body>
<div id="ide" data-introspection="`+allowed+`"></div>
<noscript>This page wants JavaScript. Operations are answered without it: send them by POST, as JSON.</noscript>
</body>
</html>
`)
	})
}

// below returns the path of a page as a request for it wrote it: with a slash at the end, or without.
func below(page string, r *http.Request) string {
	if strings.HasSuffix(r.URL.Path, "/") {
		return page + "/"
	}
	return page
}
