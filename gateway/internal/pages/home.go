package pages

import (
	"fmt"
	"html"
	"net/http"
	"strings"

	"lectern/internal/accept"
	"lectern/internal/webfile"
)

// A Home is what the page at / shows of a project in development.
type Home struct {
	Name, Version string
	Types         []HomeType
	Links         []Link
}

// A HomeType is a content-type of a project.
type HomeType struct {
	Name   string
	Path   string // of its documents
	Drafts bool   // the type has drafts
	// Published and Draft are how many versions there are, in all locales.
	Published, Draft int
}

// A Link leads to a part of the server.
type Link struct{ Path, Text string }

// PrefersHTML reports whether a client prefers HTML to JSON, as browsers do.
func PrefersHTML(r *http.Request) bool {
	headers := r.Header["Accept"]
	return len(headers) > 0 && accept.Choose(headers, accept.JSON, "text/html") == "text/html"
}

// PlainHome returns the page at / in production: one line.
func PlainHome(api string) http.Handler {
	return webfile.NewStaticPage("Lectern", "<p>The API is at <code>"+html.EscapeString(api)+"</code>.</p>\n")
}

// Page returns the page at / in development. Its links are relative, so that a proxy may serve it at another path.
func (h *Home) Page() http.Handler {
	var b strings.Builder
	fmt.Fprintf(&b, "<p>Lectern %s, in development.</p>\n<ul>\n", html.EscapeString(h.Version))
	for _, link := range h.Links {
		fmt.Fprintf(&b, "<li>%s</li>\n", linked(link.Path, link.Text))
	}
	b.WriteString("</ul>\n")
	if len(h.Types) == 0 {
		b.WriteString("<p>There are no content-types yet; each is a file in <code>content-types/</code>.</p>\n")
		return webfile.NewStaticPage(html.EscapeString(h.Name), b.String())
	}
	b.WriteString("<table>\n<tr><th>Content-type</th><th>Published</th><th>Drafts</th></tr>\n")
	for _, t := range h.Types {
		drafts := ""
		if t.Drafts {
			drafts = fmt.Sprint(t.Draft)
		}
		fmt.Fprintf(&b, "<tr><td>%s</td><td>%d</td><td>%s</td></tr>\n", linked(t.Path, t.Name), t.Published, drafts)
	}
	b.WriteString("</table>\n<p>All localizations are counted.</p>\n")
	return webfile.NewStaticPage(html.EscapeString(h.Name), b.String())
}

// linked returns a link from / to a path.
func linked(path, text string) string {
	return `<a href="` + html.EscapeString(strings.TrimPrefix(path, "/")) + `">` + html.EscapeString(text) + `</a>`
}
