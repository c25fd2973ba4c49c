package values

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// IsEmail reports whether s has the form of an e-mail address. The local part consists of words joined by single dots,
// or is quoted. The domain has at least two labels, of which the last begins and ends with a letter. Both parts may
// contain letters beyond ASCII.
func IsEmail(s string) bool {
	domain, ok := afterQuoted(s)
	if !ok {
		var local string
		local, domain, ok = strings.Cut(s, "@")
		for word := range strings.SplitSeq(local, ".") {
			ok = ok && word != "" && strings.IndexFunc(word, notAtom) < 0
		}
	}
	return ok && isDomain(domain)
}

// afterQuoted parses an address with a quoted local part and returns its domain.
func afterQuoted(s string) (domain string, ok bool) {
	if !strings.HasPrefix(s, `"`) {
		return "", false
	}
	escaped := false
	for i, r := range s[1:] {
		switch {
		case r < ' ' && r != '\t' || r == 0x7F:
			return "", false
		case escaped:
			escaped = false
		case r == '\\':
			escaped = true
		case r == '"':
			return strings.CutPrefix(s[1+i+1:], "@")
		}
	}
	return "", false
}

func notAtom(r rune) bool {
	return !isLetterOrDigit(r) && (r > 0x7F || !strings.ContainsRune("!#$%&'*+-/=?^_`{|}~", r))
}

func isDomain(s string) bool {
	labels := strings.Split(s, ".")
	for _, label := range labels {
		if label == "" || !isLetterOrDigit(first(label)) || !isLetterOrDigit(last(label)) {
			return false
		}
		for _, r := range label {
			if !isLetterOrDigit(r) && r != '-' && r != '_' && r != '~' {
				return false
			}
		}
	}
	top := labels[len(labels)-1]
	return len(labels) > 1 && !isDigit(first(top)) && !isDigit(last(top))
}

func first(s string) rune {
	r, _ := utf8.DecodeRuneInString(s)
	return r
}

func last(s string) rune {
	r, _ := utf8.DecodeLastRuneInString(s)
	return r
}

func isDigit(r rune) bool { return '0' <= r && r <= '9' }

// isLetterOrDigit reports whether r is an ASCII letter or digit, or any visible character beyond ASCII that fits in one
// UTF-16 unit.
func isLetterOrDigit(r rune) bool {
	if r < 0x80 {
		return isDigit(r) || 'a' <= r|0x20 && r|0x20 <= 'z'
	}
	return r < 0xFFF0 && unicode.IsGraphic(r) && !unicode.IsSpace(r)
}
