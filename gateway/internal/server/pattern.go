package server

import (
	"cmp"
	"errors"
	"net/url"
	"strings"
)

// A pattern is the path of a route in the notation of mux, such as /api/users/{id}, or /uploads/{path:.*}, whose last
// variable matches the rest of a path. Unlike a template of mux it matches paths in any letter case, with or without a
// slash at the end, and without a regular expression.
type pattern []patternPart

// A patternPart is the part of a pattern between two slashes.
type patternPart struct {
	kind partKind
	text string // the text of a literal part, in lower case, or the name of a variable
}

// A partKind says what a part of a pattern matches. Routes are tried in the order of kinds.
type partKind int

const (
	literalPart  partKind = iota
	variablePart          // one part of a path
	restPart              // the rest of a path, at least one part
	mountPart             // the rest of a path, which may be empty
)

var errVariable = errors.New("a variable is a whole part of the path, as in /api/articles/{documentId}; " +
	"the last one may take the rest of the path, as in /files/{path:.*}; " +
	"routers of Extensions.Mount take all templates of mux")

// parsePattern parses the path of a route.
func parsePattern(path string) (pattern, error) {
	if !strings.HasPrefix(path, "/") {
		return nil, errors.New("the path must begin with a slash")
	}
	p := pattern{}
	path = strings.Trim(path, "/")
	for path != "" {
		var text string
		text, path, _ = strings.Cut(path, "/")
		part := patternPart{literalPart, strings.ToLower(text)}
		if strings.ContainsAny(text, "{}*") || text[:min(1, len(text))] == ":" {
			name, isVariable := strings.CutPrefix(strings.TrimSuffix(text, "}"), "{")
			name, isRest := strings.CutSuffix(name, ":.*")
			if !isVariable || text[len(text)-1] != '}' || name == "" || strings.ContainsAny(name, "{}:*") ||
				isRest && path != "" {
				return nil, errVariable
			}
			part = patternPart{variablePart, name}
			if isRest {
				part.kind = restPart
			}
		}
		p = append(p, part)
	}
	return p, nil
}

// PathName returns the path of a route without the names of variables and in lower case: routes that match the same
// paths have the same name. It returns an error if the path cannot be that of a route.
func PathName(path string) (string, error) {
	p, err := parsePattern(path)
	return p.String(), err
}

// String returns the pattern without the names of variables. Patterns that match the same paths have the same string.
func (p pattern) String() string {
	return p.format(func(patternPart) string { return "" })
}

// template returns the pattern with the names of variables.
func (p pattern) template() string {
	return cmp.Or(p.format(func(part patternPart) string { return part.text }), "/")
}

// format returns the pattern with the names that name returns for its variables.
func (p pattern) format(name func(patternPart) string) string {
	var b strings.Builder
	for _, part := range p {
		switch part.kind {
		case literalPart:
			b.WriteString("/" + part.text)
		case variablePart:
			b.WriteString("/{" + name(part) + "}")
		case restPart:
			b.WriteString("/{" + name(part) + ":.*}")
		case mountPart:
			b.WriteString("/...")
		}
	}
	return b.String()
}

// compare orders patterns: a more literal one comes first, such as /users/me before /users/{id}.
func (p pattern) compare(q pattern) int {
	for i := range min(len(p), len(q)) {
		if c := cmp.Compare(p[i].kind, q[i].kind); c != 0 {
			return c
		}
	}
	return cmp.Compare(len(p), len(q))
}

// matches reports whether the pattern matches a path.
func (p pattern) matches(at requestPath) bool {
	rest, ok := p.cut(at.path)
	return ok && rest == ""
}

// cut removes the part that the pattern matches from the beginning of a path. It is not ok if the path does not begin
// with the pattern.
func (p pattern) cut(path string) (rest string, ok bool) {
	for i := range p {
		if p[i].kind == mountPart {
			return "", true
		}
		if path == "" || path[0] != '/' {
			return "", false
		}
		part, end := path[1:], len(path)
		if slash := strings.IndexByte(part, '/'); slash >= 0 {
			part, end = part[:slash], slash+1
		}
		if part == "" || p[i].kind == literalPart && lower(part) != p[i].text {
			return "", false
		}
		if p[i].kind == restPart {
			return "", true
		}
		path = path[end:]
	}
	return path, true
}

// variables returns the decoded values of the variables in a path that the pattern matches; nil if it has no variables.
func (p pattern) variables(at requestPath) (values map[string]string) {
	for i, part := range p {
		if part.kind == literalPart {
			continue
		}
		if values == nil {
			values = map[string]string{}
		}
		values[part.text] = at.part(i, part.kind)
	}
	return values
}

// first returns the decoded value of the first variable in a path that the pattern matches; "" if it has no variables.
func (p pattern) first(at requestPath) string {
	for i := range p {
		if p[i].kind != literalPart {
			return at.part(i, p[i].kind)
		}
	}
	return ""
}

// A requestPath is the path of a request without a slash at its end. It is not decoded, so that an escaped slash does
// not divide it.
type requestPath struct {
	path    string
	escaped bool
}

// pathOf returns the path of a URL.
func pathOf(u *url.URL) requestPath {
	if u.RawPath != "" {
		return requestPath{strings.TrimSuffix(u.RawPath, "/"), true}
	}
	return requestPath{strings.TrimSuffix(u.Path, "/"), false}
}

// part returns the i-th part of a path, decoded. For a restPart it returns the i-th part and all that follow.
func (at requestPath) part(i int, kind partKind) string {
	text := at.path[1:]
	for range i {
		_, text, _ = strings.Cut(text, "/")
	}
	if kind != restPart {
		text, _, _ = strings.Cut(text, "/")
	}
	if at.escaped {
		if decoded, err := url.PathUnescape(text); err == nil {
			return decoded
		}
	}
	return text
}

// lower returns s with ASCII letters in lower case. Other letters stay as they are.
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
