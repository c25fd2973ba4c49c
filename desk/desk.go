// Package desk serves the page in which people write content and see how the server is. The page is in web, in
// TypeScript; go generate ./desk bundles it, and the build embeds what it made. It is made of static files that speak
// the public API with the permissions of whoever logged in: this package reads no content.
package desk

import (
	"crypto/rand"
	"embed"
	"html"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"sync"

	"lectern/internal/webfile"
)

//go:generate npm --prefix web ci --ignore-scripts --no-audit --no-fund
//go:generate npm --prefix web run --silent build

// Generate is the command that builds the page. It also works in a program that has Lectern as a module.
const Generate = `go -C "$(go list -m -f '{{.Dir}}' lectern)" generate ./desk`

// built holds what go generate made. Without go generate it has no usable file.
//
//go:embed all:web/dist
var built embed.FS

// bundle returns the files of this build; nil if it has none.
var bundle = sync.OnceValue(func() *files { return readFiles(built, "web/dist") })

// files are the files of a build.
type files struct {
	byName        map[string]*webfile.File
	script, style string // what the page loads first
	licences      string
}

// readFiles reads the files of a build from a directory; nil if one that every build has is missing.
func readFiles(from fs.FS, dir string) *files {
	all, err := webfile.Read(from, dir)
	if err != nil {
		return nil
	}
	f := &files{byName: map[string]*webfile.File{}}
	for _, file := range all {
		f.byName[file.Name] = file
		switch {
		case strings.HasPrefix(file.Name, "desk-") && path.Ext(file.Name) == ".js":
			f.script = file.Name
		case strings.HasPrefix(file.Name, "desk-") && path.Ext(file.Name) == ".css":
			f.style = file.Name
		case path.Ext(file.Name) == ".txt":
			f.licences = file.Name
		}
	}
	if f.script == "" || f.style == "" || f.licences == "" {
		return nil
	}
	return f
}

// IsMissing reports whether this build holds no page.
func IsMissing() bool { return bundle() == nil }

// Options are what the page has to know of its server.
type Options struct {
	Path string // of the page, such as /desk; without a slash at the end
	API  string // the path of the API, such as /api
	// Frames are the origins of websites that the page may show in a frame: those that show previews.
	Frames []string
}

// New returns a handler for Options.Path and all paths below it. A path that is not a file's shows the page, which
// reads from the path what to show. All links are relative to the page, so a proxy may serve it below a prefix. If this
// build holds no page, the handler says how to make it.
func New(o Options) http.Handler {
	if IsMissing() {
		return http.HandlerFunc(answerMissing)
	}
	return &handler{o, bundle()}
}

// assets is the folder of the files, below the page.
const assets = "/assets/"

type handler struct {
	o     Options
	files *files
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	below := r.URL.Path[min(len(h.o.Path), len(r.URL.Path)):]
	if name, ok := strings.CutPrefix(below, assets); ok {
		if file := h.files.byName[name]; file != nil {
			file.ServeHTTP(w, r)
			return
		}
		http.NotFound(w, r) // and not the page, which would come as a script
		return
	}
	root := path.Base(h.o.Path) + "/" // from the page to the path of the desk with a slash at the end
	if below != "" {
		root = "./" + strings.Repeat("../", strings.Count(below, "/")-1)
	}
	nonce := rand.Text()
	policy := "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-" + nonce + "'; " +
		"img-src 'self' data: blob: https:; media-src 'self' blob: https:; font-src 'self'; connect-src 'self'; " +
		"frame-src " + strings.Join(append([]string{"'self'"}, h.o.Frames...), " ") +
		"; base-uri 'self'; form-action 'self'; frame-ancestors 'none'"
	w.Header()["Referrer-Policy"] = []string{"same-origin"}
	webfile.SendPage(w, http.StatusOK, policy, webfile.Head("Lectern")+`<meta name="color-scheme" content="light dark">
<meta property="csp-nonce" nonce="`+nonce+`">
<base href="`+html.EscapeString(root)+`">
<link rel="stylesheet" href="`+assets[1:]+h.files.style+`">
<link rel="license" href="`+assets[1:]+h.files.licences+`">
<script type="module" src="`+assets[1:]+h.files.script+`"></script>
</head>
<body>
<div id="desk" data-api="`+html.EscapeString(h.api())+`"></div>
<noscript>This page wants JavaScript. All that it does, the API does without it.</noscript>
</body>
</html>
`)
}

// api returns the way from the path of the desk with a slash at the end to the API.
func (h *handler) api() string {
	return strings.Repeat("../", strings.Count(h.o.Path, "/")) + strings.TrimPrefix(h.o.API, "/")
}

var missing = webfile.NewStaticPage("The desk", `<p>The page to write content in belongs here, but this build of the server was made
without it. With Node and npm, where the program is built, Lectern itself or one that adds to it:</p>
<pre>`+html.EscapeString(Generate)+`
go build</pre>
<p>Releases of Lectern hold it. <code>desk: {enabled: false}</code> in <code>config/server.yaml</code> takes this notice
away.</p>
`)

func answerMissing(w http.ResponseWriter, _ *http.Request) { missing.Send(w, http.StatusNotFound) }
