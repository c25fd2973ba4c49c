package media

import (
	"cmp"
	"io"
	"mime"
	"strings"

	"github.com/gabriel-vasile/mimetype"

	"lectern/documents/apierror"
	"lectern/media/images"
)

// sniffed is how many bytes at the beginning of a file decide its type.
const sniffed = 3072

// A kind is the type of a file, as derived from its content and its name.
type kind struct {
	content string // media type of the content, without parameters
	served  string // Content-Type that it is served with
	active  bool   // a browser may run script in it
	named   bool   // served was chosen by the extension
}

// kindOf derives the type of a file from its content, which begins with head. The extension counts only if it refines
// the type of the content: a .csv is text, a .docx is an archive.
func kindOf(head []byte, r io.ReaderAt, ext string) kind {
	m := mimetype.Detect(head)
	var rest io.ReaderAt
	if len(head) == sniffed {
		rest = r
	}
	if !m.Is(images.SVG) && isTextual(plainType(m.String())) && images.IsSVG(head, rest) {
		m = mimetype.Lookup(images.SVG)
	}
	k := kind{content: plainType(m.String()), served: m.String()}
	if byName := typeByExtension(ext); byName != "" && agrees(m, byName) {
		k.served, k.named = byName, true
	}
	if scripts[plainType(k.served)] {
		k.served = "text/plain; charset=utf-8" // so that no page can load it as a script
	}
	k.active = isActive(k.content) || isActive(plainType(k.served))
	if text, ok := withCharset[plainType(k.served)]; ok {
		k.served = text
	}
	return k
}

// image returns the type as which an image is read: SVG may look like any other XML in its first bytes.
func (k kind) image() string {
	if k.served == images.SVG {
		return images.SVG
	}
	return k.content
}

// kindOfFile reads the beginning of a file and returns its kind.
func kindOfFile(r io.ReaderAt, ext string) (kind, error) {
	head := make([]byte, sniffed)
	n, err := r.ReadAt(head, 0)
	if err != nil && err != io.EOF {
		return kind{}, err
	}
	return kindOf(head[:n], r, ext), nil
}

// agrees reports whether the type that an extension stands for is the detected type or a refinement of it.
func agrees(m *mimetype.MIME, byName string) bool {
	byName = plainType(byName)
	if m.Is(byName) {
		return true
	}
	switch content := plainType(m.String()); content {
	case unknownType: // the content is unknown, but it is not text
		return !isTextual(byName)
	case "text/plain":
		return isTextual(byName)
	case "text/xml", "application/json", "application/zip", "application/gzip", "application/x-ole-storage",
		"application/ogg", "video/mp4":
		return refines[content][byName]
	}
	for p := m.Parent(); p != nil; p = p.Parent() { // for example SVG named .xml: it is served as SVG
		if p.Is(byName) {
			return false
		}
	}
	return false
}

// refines maps a general media type to the types by which an extension may refine it.
var refines = map[string]map[string]bool{
	"text/xml": set("image/svg+xml", "application/xml", "application/rss+xml", "application/atom+xml",
		"application/gpx+xml", "application/xhtml+xml", "application/vnd.google-earth.kml+xml"),
	"application/json": set("application/geo+json", "application/ld+json", "application/manifest+json",
		"model/gltf+json", "text/plain"),
	"application/zip": set("application/epub+zip", docx, xlsx, pptx, odt, ods, odp,
		"application/java-archive", "application/vnd.google-earth.kmz"),
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

// scripts are the media types that a page can load as a script.
var scripts = set("text/javascript", "application/javascript", "application/x-javascript", "text/ecmascript",
	"application/ecmascript")

// isActive reports whether a browser that opens a document of this type may run script in it.
func isActive(t string) bool {
	switch t {
	case "text/html", "application/xhtml+xml", "text/xml", "application/xml", "text/xsl", "application/xslt+xml",
		"application/pdf",
		"application/x-shockwave-flash", "multipart/x-mixed-replace", "multipart/related", "message/rfc822",
		"application/mathml+xml":
		return true
	}
	return strings.HasSuffix(t, "+xml") || scripts[t]
}

func isTextual(t string) bool {
	switch t {
	case "application/json", "application/ld+json", "application/geo+json", "application/manifest+json",
		"application/xml", "application/rtf", "application/sql",
		"application/x-sh", "application/yaml", "application/toml", "application/x-subrip",
		"application/vnd.apple.mpegurl", "model/obj":
		return true
	}
	return strings.HasPrefix(t, "text/") || strings.HasSuffix(t, "+xml") || strings.HasSuffix(t, "+json") || scripts[t]
}

// plainType returns a media type in lower case without its parameters.
func plainType(t string) string {
	t, _, _ = strings.Cut(t, ";")
	return strings.ToLower(strings.TrimSpace(t))
}

// A policy lists the media types that may be uploaded, written as image/png or image/*. If allowed is empty, it allows
// all types that are not denied.
type policy struct{ allowed, denied []string }

// check returns an error if files of this kind may not be uploaded.
func (p policy) check(name string, k kind) error {
	served := plainType(k.served)
	if matches(p.denied, k.content) || matches(p.denied, served) || len(p.allowed) > 0 && !matches(p.allowed, served) {
		return apierror.Validation(name + " is of the type " + k.content + ", which may not be uploaded")
	}
	return nil
}

func matches(patterns []string, t string) bool {
	for _, p := range patterns {
		if prefix, wild := strings.CutSuffix(p, "*"); p == t || p == "*/*" || wild && strings.HasPrefix(t, prefix) {
			return true
		}
	}
	return false
}

// statedType returns the media type that the document of a file states: that of its extension, or else of its content
// if a file of that type can be recognised, or else the declared one. Many clients declare application/octet-stream, or
// no type, for every file that they send; there the content comes first.
func statedType(ext, declared string, k kind) string {
	byName, byContent := plainType(typeByExtension(ext)), ""
	switch {
	case k.named:
		byContent = byName
	case k.content != unknownType && !isTextual(k.content):
		byContent = k.content
	}
	if ext == "" || declared == unknownType {
		return cmp.Or(byContent, byName, declared)
	}
	return cmp.Or(byName, declared)
}

const (
	unknownType = "application/octet-stream" // of bytes of which nothing else is known
)

// declaredType returns the media type that a form declares for a file, without parameters. A malformed type, or one
// longer than any real type, counts as absent.
func declaredType(header string) string {
	t, _, err := mime.ParseMediaType(header)
	if err != nil || len(t) > 100 || !strings.Contains(t, "/") {
		return unknownType
	}
	return t
}
