package pages

import (
	"crypto/rand"
	"embed"
	"io/fs"
	"path"
	"sync"

	"lectern/internal/webfile"
)

// sandbox holds the bundles that go generate built from the folder sandbox. Without go generate it has no usable file.
//
//go:embed all:sandbox/dist
var sandbox embed.FS

// assets is the folder of the files of a page, below the page.
const assets = "assets/"

// A bundle holds the files of a page for browsers in a build of the program.
type bundle struct {
	script, style, licences *webfile.File
}

// builtIDE returns the GraphQL IDE of this build, builtReader the page that shows the OpenAPI document; nil if it has
// none.
var (
	builtIDE    = sync.OnceValue(func() *bundle { return readBundle(sandbox, "sandbox/dist/assets") })
	builtReader = sync.OnceValue(func() *bundle { return readBundle(sandbox, "sandbox/dist/reader") })
)

// readBundle reads a bundle from a directory; nil if there is not one file of each kind.
func readBundle(files fs.FS, dir string) *bundle {
	found, err := webfile.Read(files, dir)
	if err != nil || len(found) != 3 {
		return nil
	}
	b := &bundle{}
	for _, f := range found {
		switch path.Ext(f.Name) {
		case ".js":
			b.script = f
		case ".css":
			b.style = f
		case ".txt":
			b.licences = f
		}
	}
	if b.script == nil || b.style == nil || b.licences == nil {
		return nil
	}
	return b
}

// files returns the files.
func (b *bundle) files() (files []File) {
	for _, f := range []*webfile.File{b.script, b.style, b.licences} {
		files = append(files, File{"/" + assets + f.Name, f})
	}
	return files
}

// policy returns the content security policy of a page that loads a bundle from the address of the page, and a nonce
// for its script.
func (b *bundle) policy() (policy, nonce string) {
	nonce = rand.Text()
	return "default-src 'none'; script-src 'nonce-" + nonce + "'; style-src 'self' 'nonce-" + nonce +
		"'; img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'", nonce
}

// links returns the elements of the head of a page at a path that load the bundle.
func (b *bundle) links(at, nonce string) string {
	from := base(at) + assets
	return `<link rel="stylesheet" href="` + from + b.style.Name + `">
<link rel="license" href="` + from + b.licences.Name + `">
<script type="module" nonce="` + nonce + `" src="` + from + b.script.Name + `"></script>
`
}
