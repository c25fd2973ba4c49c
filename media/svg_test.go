package media_test

import (
	"strings"
	"testing"
	"unicode/utf16"
)

// TestSVGIsKnownAfterAnyProlog uploads SVG files with all that may stand before their root element, where only images
// are allowed. Chromium shows each of them in an img, with a size of 10×20.
func TestSVGIsKnownAfterAnyProlog(t *testing.T) {
	s := serve(t, "upload: {config: {security: {allowedTypes: ['image/*']}}}")
	const (
		svg     = `<svg xmlns="http://www.w3.org/2000/svg" width="10" height="20"><rect width="10" height="20" fill="red"/></svg>`
		doctype = `<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "http://www.w3.org/Graphics/SVG/1.1/DTD/svg11.dtd">`
	)
	for name, text := range map[string]string{
		"comment":                  "<!-- c -->" + svg,
		"byte order mark, comment": "\ufeff<!-- c -->" + svg,
		"white space, comment":     " \n\t<!-- c -->\n" + svg,
		"all three":                "\ufeff \r\n<!-- c -->\n" + svg,
		"long comment":             "<!-- " + strings.Repeat("x", 5000) + " -->" + svg,
		"longer comment":           "<!-- " + strings.Repeat("x", 60_000) + " -->" + svg,
		"many comments":            strings.Repeat("<!-- <html> -->\n", 500) + svg,
		"declaration, comment":     `<?xml version="1.0"?>` + "\n<!-- " + strings.Repeat("x", 5000) + " -->" + svg,
		"encoding":                 `<?xml version="1.0" encoding="ISO-8859-1"?><!-- \xe4 -->` + svg,
		"document type":            doctype + svg,
		"comment, document type":   "<!-- c -->" + doctype + svg,
		"entities":                 `<!-- c --><!DOCTYPE svg [<!ENTITY ns "http://www.w3.org/2000/svg">]><svg xmlns="&ns;" width="10" height="20"/>`,
		"style sheet":              `<?xml-stylesheet href="a.css"?>` + svg,
		"prefix":                   `<s:svg xmlns:s="http://www.w3.org/2000/svg" width="10" height="20"/>`,
		"UTF-16, low byte first":   inUTF16(svg, false),
		"UTF-16, high byte first":  inUTF16("<!-- "+strings.Repeat("x", 3000)+" -->"+svg, true),
	} {
		t.Run(name, func(t *testing.T) {
			s := &server{T: t, base: s.base, dir: s.dir}
			for _, p := range []part{file("a.svg", "image/svg+xml", text), file("a.png", "image/png", text),
				file("a", "application/octet-stream", text)} {
				f := s.upload(p)[0]
				if got := shape(f); got != "10x20" {
					t.Errorf("%s: %s", p.file, got)
				}
				if got := s.get(f.URL).header.Get("Content-Type"); got != "image/svg+xml" {
					t.Errorf("%s: served as %s", p.file, got)
				}
			}
		})
	}
	for _, text := range []string{
		"<!-- c --><p>" + svg, "<!-- c --><!doctype html>" + svg, "<!-- c --><html>" + svg, "<!-- c -->text", "<!-- c",
		"<!-- c --><svgs/>",
		"text " + svg, "<!-- " + strings.Repeat("x", 70_000) + " -->" + svg, "\xff\xfe", "\xff\xfe<",
	} {
		if a := s.post("", file("a.png", "image/png", text)); a.status != 400 {
			t.Errorf("%.40q is an image: %d %s", text, a.status, a.body)
		}
	}
}

// inUTF16 encodes a text with a byte order mark.
func inUTF16(text string, highFirst bool) string {
	var b strings.Builder
	for _, unit := range utf16.Encode([]rune("\ufeff" + text)) {
		high, low := byte(unit>>8), byte(unit)
		if highFirst {
			b.Write([]byte{high, low})
		} else {
			b.Write([]byte{low, high})
		}
	}
	return b.String()
}
