package yamlfile

import (
	"strings"
)

// A Lookup returns the value of an environment variable, as os.LookupEnv does.
type Lookup func(name string) (value string, ok bool)

// expand replaces ${NAME} and ${NAME:default} in text by their values. A variable that is set to an empty text counts
// as set. $${ is an escaped ${. If no name follows ${, it is kept, so that regular expressions need no escaping.
// missing lists the variables that are not set and have no default.
func expand(text string, lookup Lookup) (out string, changed bool, missing []string) {
	if lookup == nil || !strings.Contains(text, "${") {
		return text, false, nil
	}
	var b strings.Builder
	for {
		i := strings.Index(text, "${")
		if i < 0 {
			break
		}
		if i > 0 && text[i-1] == '$' {
			b.WriteString(text[:i])
			b.WriteByte('{')
			text, changed = text[i+2:], true
			continue
		}
		name, fallback, hasFallback, rest, ok := reference(text[i:])
		if !ok {
			b.WriteString(text[:i+2])
			text = text[i+2:]
			continue
		}
		b.WriteString(text[:i])
		value, set := lookup(name)
		switch {
		case set:
			b.WriteString(value)
		case hasFallback:
			b.WriteString(fallback)
		default:
			missing = append(missing, name)
		}
		text, changed = rest, true
	}
	b.WriteString(text)
	return b.String(), changed, missing
}

// reference parses the ${NAME} or ${NAME:default} at the beginning of text.
func reference(text string) (name, fallback string, hasFallback bool, rest string, ok bool) {
	end := strings.IndexByte(text, '}')
	if end < 0 {
		return "", "", false, "", false
	}
	name, fallback, hasFallback = strings.Cut(text[2:end], ":")
	if !IsVariable(name) {
		return "", "", false, "", false
	}
	return name, fallback, hasFallback, text[end+1:], true
}

// IsVariable reports whether name is a valid name of an environment variable: letters, digits and _, not beginning with
// a digit.
func IsVariable(name string) bool {
	for i := 0; i < len(name); i++ {
		c := name[i]
		letter := c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != ""
}
