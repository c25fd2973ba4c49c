package webfile

import (
	"io"
	"net/http"
	"strconv"
)

// Head returns the beginning of a page with a title, up to what else its head has.
func Head(title string) string {
	return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>` + title + `</title>
<link rel="icon" href="data:,">
`
}

// A StaticPage is a page without scripts that loads no files.
type StaticPage string

// NewStaticPage returns a page with a title and a body in HTML.
func NewStaticPage(title, body string) StaticPage {
	return StaticPage(Head(title) + `<style>
body { font: 16px/1.5 system-ui, sans-serif; max-width: 40rem; margin: 4rem auto; padding: 0 1rem; color: #222;
	background: #fff; }
pre { background: #f4f4f4; padding: 1rem; overflow-x: auto; }
table { border-collapse: collapse; }
th, td { text-align: left; padding: 0.2rem 1.5rem 0.2rem 0; border-bottom: 1px solid #ddd; }
</style>
</head>
<body>
<h1>` + title + `</h1>
` + body + `</body>
</html>
`)
}

const staticPolicy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; " +
	"form-action 'none'; frame-ancestors 'none'"

// ServeHTTP implements http.Handler.
func (s StaticPage) ServeHTTP(w http.ResponseWriter, _ *http.Request) { s.Send(w, http.StatusOK) }

// Send answers with the page and a status.
func (s StaticPage) Send(w http.ResponseWriter, status int) {
	SendPage(w, status, staticPolicy, string(s))
}

// SendPage answers with a page in HTML that nobody may keep, under a content security policy.
func SendPage(w http.ResponseWriter, status int, policy, page string) {
	header := w.Header()
	header["Content-Security-Policy"] = []string{policy}
	header["Cache-Control"] = []string{"no-store"}
	header["Content-Type"] = []string{"text/html"}
	header["Content-Length"] = []string{strconv.Itoa(len(page))}
	w.WriteHeader(status)
	_, _ = io.WriteString(w, page) // it fails only if the client is gone
}
