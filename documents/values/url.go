package values

import (
	"net/url"
	"strings"
)

// isLinkURL reports whether s may be the target of a link in a text: a path or host that begins with a slash, a mailto
// or tel address, or an absolute http or ftp URL. Other schemes, such as javascript and data, are refused.
func isLinkURL(s string) bool {
	if strings.HasPrefix(s, "/") {
		return true
	}
	s = strings.TrimFunc(s, func(r rune) bool { return r <= ' ' }) // browsers trim these
	scheme, rest, ok := strings.Cut(s, ":")
	if !ok {
		return false
	}
	switch strings.ToLower(scheme) {
	case "mailto", "tel":
		return true
	case "http", "https", "ftp":
		host := strings.TrimLeft(rest, `/\`)
		if end := strings.IndexAny(host, `/\?#`); end >= 0 {
			host = host[:end]
		}
		u, err := url.Parse("http://" + host)
		return err == nil && u.Hostname() != ""
	}
	return false
}
