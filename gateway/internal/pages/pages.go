// Package pages has the pages that the server shows to browsers: the GraphQL IDE, the page that shows the OpenAPI
// document, and the one at /. Scripts and styles of the first two are in the folder sandbox; go generate ./gateway
// bundles them, and the build embeds what it made.
package pages

import (
	"html"
	"net/http"
	"path"
	"strings"

	"lectern/internal/webfile"
)

// Generate is the command that builds the pages. It also works in a program that has Lectern as a module.
const Generate = `go -C "$(go list -m -f '{{.Dir}}' lectern)" generate ./gateway`

// A Page shows itself to every request, whose path says how the client has written the address of the page.
type Page struct {
	http.Handler
	// Files are the files that the page loads.
	Files []File
	// Missing is set if this build of the program has no such page, since go generate did not run before. The page
	// tells the reader so.
	Missing bool
}

// A File answers GET with a file, whatever the path of the request is.
type File struct {
	Path string // below the path of the page, such as "/assets/ide-1a2b.js"
	http.Handler
}

// PlainGraphQL returns a page that says how operations are sent to the GraphQL endpoint.
func PlainGraphQL() Page { return Page{Handler: plainGraphQL} }

// GraphQL returns the GraphQL IDE for an endpoint. introspection says whether the endpoint answers questions about its
// schema.
func GraphQL(endpoint string, introspection bool) Page {
	b := builtIDE()
	if b == nil {
		return Page{Handler: missingGraphQL, Missing: true}
	}
	return b.graphQL(endpoint, introspection)
}

// OpenAPI returns the page that shows an OpenAPI document. at is the path of the page; document is the name of the
// document, which is in the same folder.
func OpenAPI(at, document string) Page {
	b := builtReader()
	if b == nil {
		return Page{Handler: webfile.NewStaticPage("API", `<p>A page that shows the <a href="`+document+
			`">OpenAPI document</a> belongs here, but this build of the server was made without it. With Node
and npm, where the program is built, Lectern itself or one that adds to it:</p>
<pre>`+html.EscapeString(Generate)+`
go build</pre>
<p>Releases of Lectern hold it.</p>
`), Missing: true}
	}
	return b.openAPI(at, document)
}

// graphQL returns the page of a bundle that is the IDE.
func (b *bundle) graphQL(endpoint string, introspection bool) Page {
	allowed := "off"
	if introspection {
		allowed = "on"
	}
	return b.page("GraphQL", endpoint, func(string) string {
		return `<div id="ide" data-introspection="` + allowed + `"></div>
<noscript>This page wants JavaScript. Operations are answered without it: send them by POST, as JSON.</noscript>
`
	})
}

// openAPI returns the page of a bundle that shows OpenAPI documents.
func (b *bundle) openAPI(at, document string) Page {
	return b.page("API", at, func(shownAt string) string {
		from := document
		if shownAt != at {
			from = "../" + document
		}
		return `<form id="caller"><label for="token">Token</label><input id="token" name="token" type="password" autocomplete="off"><button>Show what it allows</button></form>
<div id="reader" data-document="` + from + `"></div>
<noscript>This page wants JavaScript. The document that it shows is at ` + from + `.</noscript>
`
	})
}

// page returns a page at a path that loads the bundle. body returns its body; it gets the path as the request wrote it:
// with a slash at the end, or without. All links are relative, so that a proxy may serve the page at another path.
func (b *bundle) page(title, at string, body func(shownAt string) string) Page {
	return Page{Files: b.files(), Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		shownAt := at
		if strings.HasSuffix(r.URL.Path, "/") {
			shownAt += "/"
		}
		policy, nonce := b.policy()
		webfile.SendPage(w, http.StatusOK, policy, webfile.Head(title)+b.links(shownAt, nonce)+
			"</head>\n<body>\n"+body(shownAt)+"</body>\n</html>\n")
	})}
}

const postOperations = `<p>This address answers GraphQL operations. Send one by POST:</p>
<pre>curl --json '{"query": "{ __typename }"}' THIS-ADDRESS</pre>
`

var (
	plainGraphQL   = webfile.NewStaticPage("GraphQL", postOperations)
	missingGraphQL = webfile.NewStaticPage("GraphQL", postOperations+
		`<p>A page to work with belongs here, but this build of the server was made without it. With Node and npm,
where the program is built, Lectern itself or one that adds to it:</p>
<pre>`+html.EscapeString(Generate)+`
go build</pre>
<p>Releases of Lectern hold it. <code>landingPage: false</code> under <code>graphql.config</code> in <code>config/plugins.yaml</code> takes
this notice away.</p>
`)
)

// base returns what a relative link from a page begins with.
func base(at string) string {
	if strings.HasSuffix(at, "/") {
		return ""
	}
	return path.Base(at) + "/"
}
