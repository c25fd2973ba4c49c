package media

import (
	"io"
	"mime"
	"strings"

	"github.com/gabriel-vasile/mimetype"

	"lectern/documents/apierror"
)

// sniffed is how much of a file is looked at to tell what it is.
const sniffed = 3072

// A kind says what a file is, as far as its content and its name tell together.
type kind struct {
	content string // what its first bytes say, without parameters
	served  string // the Content-Type it is served as
	active  bool   // a browser could run script in it
	named   bool   // the extension was believed
}

// kindOf tells what a file is. Its content decides. Its extension is believed only where the content does not contradict it:
// where it is a refinement of what the content says (a .csv is a text, a .docx an archive).
func kindOf(head []byte, ext string) kind {
	m := mimetype.Detect(head)
	k := kind{content: plainType(m.String()), served: m.String()}
	if byName := typeByExtension(ext); byName != "" && agrees(m, byName) {
		k.served, k.named = byName, true
	}
	if scripts[plainType(k.served)] {
		k.served = "text/plain; charset=utf-8" // which no page can load as a script
	}
	k.active = isActive(k.content) || isActive(plainType(k.served))
	if text, ok := withCharset[plainType(k.served)]; ok {
		k.served = text
	}
	return k
}

// kindOfFile is kindOf for a file whose head is still to be read.
func kindOfFile(r io.ReaderAt, ext string) (kind, error) {
	head := make([]byte, sniffed)
	n, err := r.ReadAt(head, 0)
	if err != nil && err != io.EOF {
		return kind{}, err
	}
	return kindOf(head[:n], ext), nil
}

// agrees reports whether the type that a name says does not contradict what the content was found to be: it is the same type, or a
// more special one.
func agrees(m *mimetype.MIME, byName string) bool {
	byName = plainType(byName)
	if m.Is(byName) {
		return true
	}
	switch content := plainType(m.String()); content {
	case "application/octet-stream": // nothing is known; but it is no text
		return !isTextual(byName)
	case "text/plain":
		return isTextual(byName)
	case "text/xml", "application/json", "application/zip", "application/gzip", "application/x-ole-storage", "application/ogg", "video/mp4":
		return refines[content][byName]
	}
	for p := m.Parent(); p != nil; p = p.Parent() { // a .xml that is in fact SVG: served as what it is
		if p.Is(byName) {
			return false
		}
	}
	return false
}

// refines lists the types by name that a more general content may have.
var refines = map[string]map[string]bool{
	"text/xml":                  set("image/svg+xml", "application/xml", "application/rss+xml", "application/atom+xml", "application/gpx+xml", "application/xhtml+xml", "application/vnd.google-earth.kml+xml"),
	"application/json":          set("application/geo+json", "application/ld+json", "application/manifest+json", "model/gltf+json", "text/plain"),
	"application/zip":           set("application/epub+zip", docx, xlsx, pptx, odt, ods, odp, "application/java-archive", "application/vnd.google-earth.kmz"),
	"application/gzip":          set("application/x-gzip"),
	"application/x-ole-storage": set("application/msword", "application/vnd.ms-excel", "application/vnd.ms-powerpoint"),
	"application/ogg":           set("audio/ogg", "video/ogg"),
	"video/mp4":                 set("audio/mp4", "video/x-m4v"),
}

const (
	docx = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
	xlsx = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
	pptx = "application/vnd.openxmlformats-officedocument.presentationml.presentation"
	odt  = "application/vnd.oasis.opendocument.text"
	ods  = "application/vnd.oasis.opendocument.spreadsheet"
	odp  = "application/vnd.oasis.opendocument.presentation"
)

func set(list ...string) map[string]bool {
	m := map[string]bool{}
	for _, s := range list {
		m[s] = true
	}
	return m
}

// scripts are what a page could load as a script.
var scripts = set("text/javascript", "application/javascript", "application/x-javascript", "text/ecmascript", "application/ecmascript")

// isActive reports whether a browser that shows a document of this type may run what is written in it.
func isActive(t string) bool {
	switch t {
	case "text/html", "application/xhtml+xml", "text/xml", "application/xml", "text/xsl", "application/xslt+xml", "application/pdf",
		"application/x-shockwave-flash", "multipart/x-mixed-replace", "multipart/related", "message/rfc822", "application/mathml+xml":
		return true
	}
	return strings.HasSuffix(t, "+xml") || scripts[t]
}

func isTextual(t string) bool {
	switch t {
	case "application/json", "application/ld+json", "application/geo+json", "application/manifest+json", "application/xml", "application/rtf", "application/sql",
		"application/x-sh", "application/yaml", "application/toml", "application/x-subrip", "application/vnd.apple.mpegurl", "model/obj":
		return true
	}
	return strings.HasPrefix(t, "text/") || strings.HasSuffix(t, "+xml") || strings.HasSuffix(t, "+json") || scripts[t]
}

// plainType is a media type without parameters, in lower case.
func plainType(t string) string {
	t, _, _ = strings.Cut(t, ";")
	return strings.ToLower(strings.TrimSpace(t))
}

// A policy says which types may be uploaded, written as image/png or image/*. Where allowed is empty, all that are not denied.
type policy struct{ allowed, denied []string }

// check refuses a file of a kind that may not be uploaded.
func (p policy) check(name string, k kind) error {
	served := plainType(k.served)
	if matches(p.denied, k.content) || matches(p.denied, served) || len(p.allowed) > 0 && !matches(p.allowed, served) {
		return apierror.Validation(name + " is of the type " + k.content + ", which may not be uploaded")
	}
	return nil
}

func matches(patterns []string, t string) bool {
	for _, p := range patterns {
		if p == t || p == "*/*" || strings.HasSuffix(p, "/*") && strings.HasPrefix(t, p[:len(p)-1]) {
			return true
		}
	}
	return false
}

// declaredType is the type that a form declares for a file, without parameters, as it is stored. One that is malformed or longer than
// any real one counts as not declared.
func declaredType(header string) string {
	t, _, err := mime.ParseMediaType(header)
	if err != nil || len(t) > 100 || !strings.Contains(t, "/") {
		return "application/octet-stream"
	}
	return t
}
