package contenttypes

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strconv"
	"strings"
)

// compileRegex compiles a regular expression in JavaScript's syntax, which definitions use, to an equivalent Go
// expression. problem says why that is not possible.
func compileRegex(source string) (re *regexp.Regexp, problem string) {
	if len(source) > 2000 {
		return nil, "is longer than 2000 bytes; make it shorter"
	}
	t := &regexTranslator{in: source}
	for t.pos < len(t.in) && t.problem == "" {
		t.next()
	}
	if t.problem != "" {
		return nil, t.problem
	}
	re, err := regexp.Compile(t.out.String())
	var se *syntax.Error
	switch {
	case err == nil:
		return re, ""
	case !errors.As(err, &se):
		return nil, "is not valid: " + err.Error()
	case se.Code == syntax.ErrInvalidRepeatSize, se.Code == syntax.ErrLarge:
		return nil, fmt.Sprintf("repeats %s too often; a repetition is bounded by 1000", se.Expr)
	}
	return nil, fmt.Sprintf("is not valid: %s: %s", se.Code, se.Expr)
}

// Sets of characters in Go's syntax, for use inside brackets: what \s matches in JavaScript, its complement, the line
// ends that a dot does not match, and all characters.
const (
	jsSpace    = `\t\n\v\f\r \x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}\x{feff}`
	jsNonSpace = `\x{0}-\x{8}\x{e}-\x{1f}\x{21}-\x{9f}\x{a1}-\x{167f}\x{1681}-\x{1fff}\x{200b}-\x{2027}\x{202a}-\x{202e}` +
		`\x{2030}-\x{205e}\x{2060}-\x{2fff}\x{3001}-\x{fefe}\x{ff00}-\x{10ffff}`
	jsNewline = `\n\r\x{2028}\x{2029}`
	anything  = `\x{0}-\x{10ffff}`
)

// A regexTranslator translates a regular expression from JavaScript's to Go's syntax in one pass.
type regexTranslator struct {
	in      string
	pos     int
	out     strings.Builder
	inClass bool
	problem string
}

func (t *regexTranslator) rest() string { return t.in[t.pos:] }

// take copies n bytes of the input to the output.
func (t *regexTranslator) take(n int) {
	t.out.WriteString(t.in[t.pos : t.pos+n])
	t.pos += n
}

// put writes s in place of the next n bytes of the input.
func (t *regexTranslator) put(s string, n int) {
	t.out.WriteString(s)
	t.pos += n
}

func (t *regexTranslator) next() {
	rest := t.rest()
	switch c := rest[0]; {
	case c == '\\':
		t.escape()
	case t.inClass:
		switch c {
		case ']':
			t.inClass = false
			t.take(1)
		case '[', '&', '~':
			t.put(`\`+string(c), 1)
		default:
			t.take(1)
		}
	case strings.HasPrefix(rest, "[^]"):
		t.put("["+anything+"]", 3)
	case strings.HasPrefix(rest, "[]"):
		t.put("[^"+anything+"]", 2)
	case c == '[':
		t.inClass = true
		t.take(1)
		if strings.HasPrefix(t.rest(), "^") {
			t.take(1)
		}
	case c == '.':
		t.put("[^"+jsNewline+"]", 1)
	case strings.HasPrefix(rest, "(?"):
		t.group(rest)
	default:
		t.take(1)
	}
}

// group translates the beginning of a group that has a question mark.
func (t *regexTranslator) group(rest string) {
	for _, look := range []string{"(?=", "(?!", "(?<=", "(?<!"} {
		if strings.HasPrefix(rest, look) {
			t.problem = "looks ahead or behind with " + look +
				"…), which cannot be checked in bounded time; say it without, or check it in a hook"
			return
		}
	}
	switch {
	case strings.HasPrefix(rest, "(?:"), strings.HasPrefix(rest, "(?<"):
		t.take(3)
	default:
		flags, _, found := strings.Cut(rest[2:], ":")
		if !found || strings.Trim(flags, "ims-") != "" {
			t.problem = "has a group that JavaScript does not know: " + rest[:min(len(rest), 4)]
			return
		}
		t.take(2)
	}
}

// escape translates a backslash and the characters that belong to it.
func (t *regexTranslator) escape() {
	rest := t.rest()
	if len(rest) == 1 {
		t.problem = `ends in a single \; write \\ for a backslash`
		return
	}
	switch c := rest[1]; {
	case strings.IndexByte("dDwWtnvfr", c) >= 0:
		t.take(2)
	case c == 's' && t.inClass:
		t.put(jsSpace, 2)
	case c == 's':
		t.put("["+jsSpace+"]", 2)
	case c == 'S' && t.inClass:
		t.put(jsNonSpace, 2)
	case c == 'S':
		t.put("["+jsNonSpace+"]", 2)
	case c == 'b' && t.inClass:
		t.put(`\x08`, 2)
	case c == 'b' || c == 'B':
		t.take(2)
	case c == 'x' || c == 'u':
		t.code(rest, map[byte]int{'x': 2, 'u': 4}[c])
	case c == 'c' && len(rest) > 2 && isLetter(rest[2]):
		t.put(fmt.Sprintf(`\x{%x}`, rest[2]%32), 3)
	case c == '0' && (len(rest) == 2 || rest[2] < '0' || rest[2] > '9'):
		t.put(`\x{0}`, 2)
	case '0' <= c && c <= '9' || c == 'k':
		t.problem = fmt.Sprintf(
			"refers back to a group with \\%c, which cannot be checked in bounded time; say it without", c)
	case c == 'p' || c == 'P':
		t.take(2) // Go has the same Unicode classes
	case isLetter(c), c == '_':
		t.put(string(c), 2) // in JavaScript any other escaped letter stands for itself
	case c < 0x80:
		t.take(2)
	default:
		t.pos++ // drop the backslash and keep the character, which next copies
	}
}

// code translates \xHH and \uHHHH.
func (t *regexTranslator) code(rest string, digits int) {
	if len(rest) >= 2+digits {
		if r, err := strconv.ParseUint(rest[2:2+digits], 16, 32); err == nil {
			if 0xD800 <= r && r < 0xE000 {
				t.problem = "names half of a character with " + rest[:2+digits] + "; write the character itself"
				return
			}
			t.put(fmt.Sprintf(`\x{%x}`, r), 2+digits)
			return
		}
	}
	t.problem = fmt.Sprintf("has \\%c without the %d hexadecimal digits that belong to it", rest[1], digits)
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
