package pages

import (
	"bytes"
	"compress/gzip"
	"crypto/rand"
	"embed"
	"io"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"sync"

	"lectern/gateway/internal/accept"
	"lectern/internal/etag"
)

// sandbox holds the bundles that go generate built from the folder sandbox. Without go generate it has no usable file.
//
//go:embed all:sandbox/dist
var sandbox embed.FS

// assets is the folder of the files of a page, below the page.
const assets = "assets/"

// A bundle holds the files of a page for browsers in a build of the program.
type bundle struct {
	script, style, licences *asset
}

// An asset is a file of a bundle. Its name changes with its content.
type asset struct {
	name   string
	kind   []string // header Content-Type
	packed []byte   // the content, compressed by gzip
}

// builtIDE returns the GraphQL IDE of this build, builtReader the page that shows the OpenAPI document; nil if it has
// none.
var (
	builtIDE    = sync.OnceValue(func() *bundle { return readBundle(sandbox, "sandbox/dist/assets") })
	builtReader = sync.OnceValue(func() *bundle { return readBundle(sandbox, "sandbox/dist/reader") })
)

// readBundle reads a bundle from a directory; nil if a file is missing.
func readBundle(files fs.FS, dir string) *bundle {
	b := &bundle{}
	for suffix, is := range map[string]struct {
		asset **asset
		kind  string
	}{
		".js":  {&b.script, "text/javascript; charset=utf-8"},
		".css": {&b.style, "text/css; charset=utf-8"},
		".txt": {&b.licences, "text/plain; charset=utf-8"},
	} {
		found, err := fs.Glob(files, dir+"/*"+suffix+".gz")
		if err != nil || len(found) != 1 {
			return nil
		}
		packed, err := fs.ReadFile(files, found[0])
		if err != nil {
			return nil
		}
		*is.asset = &asset{strings.TrimSuffix(path.Base(found[0]), ".gz"), []string{is.kind}, packed}
	}
	return b
}

// files returns the files.
func (b *bundle) files() (files []File) {
	for _, a := range []*asset{b.script, b.style, b.licences} {
		files = append(files, File{"/" + assets + a.name, a})
	}
	return files
}

var (
	forGood      = []string{"public, max-age=31536000, immutable"}
	gzipEncoding = []string{"gzip"}
	vary         = []string{"Origin, Accept-Encoding"}
)

// ServeHTTP implements http.Handler: it sends the compressed file, decompressed for clients that do not accept gzip.
func (a *asset) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	tag := `"` + a.name + `"`
	header["Cache-Control"] = forGood
	header["Etag"] = []string{"W/" + tag}
	header["Vary"] = vary
	if known := r.Header["If-None-Match"]; etag.Lists(known, []byte(tag)) || etag.IsAny(known) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	if accept.Gzip(r.Header.Get("Accept-Encoding")) {
		header["Content-Encoding"] = gzipEncoding
		sendBody(w, a.kind, a.packed)
		return
	}
	header["Content-Type"] = a.kind
	if unpacked, err := gzip.NewReader(bytes.NewReader(a.packed)); err == nil { // the build made it
		_, _ = io.Copy(w, unpacked) // it fails only if the client is gone
	}
}

// policy returns the content security policy of a page that loads a bundle from the address of the page, and a nonce
// for its script.
func (b *bundle) policy() (policy []string, nonce string) {
	nonce = rand.Text()
	return []string{"default-src 'none'; script-src 'nonce-" + nonce + "'; style-src 'self' 'nonce-" + nonce +
		"'; img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"}, nonce
}

// links returns the elements of the head of a page at a path that load the bundle.
func (b *bundle) links(at, nonce string) string {
	from := base(at) + assets
	return `<link rel="stylesheet" href="` + from + b.style.name + `">
<link rel="license" href="` + from + b.licences.name + `">
<script type="module" nonce="` + nonce + `" src="` + from + b.script.name + `"></script>
`
}
