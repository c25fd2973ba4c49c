package gateway

import (
	"html"
	"net/http"
	"path"

	"lectern/documents/permission"
)

// docsPath is the path of the page that shows the OpenAPI document, below the prefix of the API.
const docsPath = "/_docs"

// docsRoutes returns the routes of the page that shows the OpenAPI document and of its files; none if the page is switched off. Without the
// setting openapi.page there is a page in development only.
func (g *generation) docsRoutes() []Route {
	wanted := !g.project.options.Production
	if setting := g.Settings.REST.DocsPage; setting != nil {
		wanted = *setting
	}
	if !wanted {
		return nil
	}
	at := g.Settings.REST.Prefix + docsPath
	reader := builtReader()
	if reader == nil {
		if g.Settings.REST.DocsPage != nil {
			g.project.log.Warn("openapi.page is true, but this build holds no page: where the program is built, run " + generateIDE + " and build again")
		}
		return []Route{{Method: http.MethodGet, Path: at, Open: true, Handle: missingDocs.answer}}
	}
	return append(reader.routes(at), Route{Method: http.MethodGet, Path: at, Open: true, Handle: reader.docsPage(at)})
}

// docsPage returns the handler of the page. Its links are relative, so that a proxy may serve it at another path.
func (b *bundle) docsPage(at string) func(http.ResponseWriter, *http.Request, *permission.Access) error {
	return func(w http.ResponseWriter, r *http.Request, _ *permission.Access) error {
		page := below(at, r)
		document := path.Base(openAPIPath)
		if page != at {
			document = "../" + document
		}
		policy, nonce := b.policy()
		sendPage(w, policy, pageHead("API")+b.links(page, nonce)+`</head>
<body>
<form id="caller"><label for="token">Token</label><input id="token" name="token" type="password" autocomplete="off"><button>Show what it allows</button></form>
<div id="reader" data-document="`+document+`"></div>
<noscript>This page wants JavaScript. The document that it shows is at `+document+`.</noscript>
</body>
</html>
`)
		return nil
	}
}

var missingDocs = newStaticPage("API", `<p>A page that shows the <a href="_openapi.json">OpenAPI document</a> belongs here, but this build of the server was made without it. With Node
and npm, where the program is built, Lectern itself or one that adds to it:</p>
<pre>`+html.EscapeString(generateIDE)+`
go build</pre>
<p>Releases of Lectern hold it.</p>
`)

// answer answers a request with the page.
func (s staticPage) answer(w http.ResponseWriter, r *http.Request, _ *permission.Access) error {
	s.ServeHTTP(w, r)
	return nil
}
