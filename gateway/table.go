package gateway

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// maxParams is how many parts of a path a route may leave open.
const maxParams = 4

// A table finds the route that a path names in time that does not grow with the number of routes: it walks down a tree of
// path parts. Letter case and one slash at the end do not matter; an empty part matches nothing. Where a part matches by
// its name and as an open one, the name is tried first.
type table struct{ root node }

// A node is what can follow a beginning of a path.
type node struct {
	parts   map[string]*node // by the part in lower case
	open    *node            // any part
	rest    *node            // one part or more
	methods []operation      // what answers here; none: the path goes on
	names   []string         // of the open parts, in order
	allow   []string         // value of the header Allow, ready to be sent
}

// An operation answers one method of a path.
type operation struct {
	method string
	handle handlerFunc
}

// A handlerFunc answers a request whose path it was found by; what it returns is turned into an answer by Server.fail.
type handlerFunc func(w http.ResponseWriter, r *http.Request, m *found) error

// found is a path that a table knows.
type found struct {
	node   *node
	params [maxParams]string // decoded
}

// setPathValues tells a request the open parts of its path.
func (m *found) setPathValues(r *http.Request) {
	for i, name := range m.node.names {
		r.SetPathValue(name, m.params[i])
	}
}

// add has handle answer method at pattern, unless something does already: who comes first stays.
func (t *table) add(method, pattern string, handle handlerFunc) error {
	if !strings.HasPrefix(pattern, "/") {
		return fmt.Errorf("route %s %s: the path must begin with a slash", method, pattern)
	}
	n, names := &t.root, []string(nil)
	for part := range strings.SplitSeq(strings.Trim(pattern, "/"), "/") {
		next := &n.open
		switch {
		case part == "*":
			names = append(names, part)
			next = &n.rest
		case strings.HasPrefix(part, ":"):
			names = append(names, part[1:])
		default:
			n = n.named(strings.ToLower(part))
			continue
		}
		if *next == nil {
			*next = &node{}
		}
		n = *next
	}
	if len(names) > maxParams {
		return fmt.Errorf("route %s %s: a path may have at most %d open parts", method, pattern, maxParams)
	}
	if n.operation(method) != nil {
		return nil
	}
	if n.names == nil {
		n.names = names
	}
	n.methods = append(n.methods, operation{method, handle})
	n.allow = []string{n.allowed()}
	return nil
}

func (n *node) named(part string) *node {
	if n.parts[part] == nil {
		if n.parts == nil {
			n.parts = map[string]*node{}
		}
		n.parts[part] = &node{}
	}
	return n.parts[part]
}

// allowed lists the methods of a path as the header Allow does.
func (n *node) allowed() string {
	var all []string
	for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE"} {
		if n.operation(method) == nil {
			continue
		}
		if method == "GET" {
			all = append(all, "HEAD")
		}
		all = append(all, method)
	}
	return strings.Join(all, ", ")
}

// operation returns what answers a method, nil when nothing does.
func (n *node) operation(method string) handlerFunc {
	if method == http.MethodHead {
		method = http.MethodGet
	}
	for i := range n.methods {
		if n.methods[i].method == method {
			return n.methods[i].handle
		}
	}
	return nil
}

// find looks up the path of u. It sets m and reports whether the path is known.
func (t *table) find(u *url.URL, m *found) bool {
	path, escaped := u.Path, false
	if u.RawPath != "" {
		path, escaped = u.RawPath, true
	}
	if len(path) == 0 || path[0] != '/' {
		return false
	}
	path = strings.TrimSuffix(path[1:], "/")
	m.node = t.root.find(path, escaped, m, 0)
	return m.node != nil
}

// find walks down from n along path, of which params open parts were passed already.
func (n *node) find(path string, escaped bool, m *found, params int) *node {
	part, rest, more := strings.Cut(path, "/")
	if part == "" {
		return nil
	}
	if next := n.parts[lower(part)]; next != nil {
		if found := next.step(rest, more, escaped, m, params); found != nil {
			return found
		}
	}
	if n.open != nil {
		if found := n.open.step(rest, more, escaped, m, params+1); found != nil {
			m.params[params] = unescape(part, escaped)
			return found
		}
	}
	if n.rest != nil && len(n.rest.methods) > 0 {
		m.params[params] = unescape(path, escaped)
		return n.rest
	}
	return nil
}

// step goes on below n, or ends there when the path does.
func (n *node) step(rest string, more, escaped bool, m *found, params int) *node {
	if more {
		return n.find(rest, escaped, m, params)
	}
	if len(n.methods) == 0 {
		return nil
	}
	return n
}

func unescape(part string, escaped bool) string {
	if escaped {
		if s, err := url.PathUnescape(part); err == nil {
			return s
		}
	}
	return part
}

// lower is strings.ToLower for ASCII alone: other letters of a path have one case.
func lower(s string) string {
	for i := range len(s) {
		if 'A' <= s[i] && s[i] <= 'Z' {
			b := []byte(s)
			for ; i < len(b); i++ {
				if 'A' <= b[i] && b[i] <= 'Z' {
					b[i] += 'a' - 'A'
				}
			}
			return string(b)
		}
	}
	return s
}
