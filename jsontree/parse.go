package jsontree

import (
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// ErrPrototype is the error of Parse for JSON in which an object has the key "__proto__". Parse returns the value as
// well, so a caller that accepts the key may ignore the error. JavaScript servers refuse such bodies, since the key
// would replace the object's prototype.
var ErrPrototype = &SyntaxError{"Object contains forbidden prototype property"}

// Parse reads one JSON value. Its errors are of type *SyntaxError, with the messages of V8's JSON.parse. It refuses
// arrays and objects nested deeper than maxDepth.
//
// Each byte that is not UTF-8 and each unpaired surrogate becomes U+FFFD. Positions in messages count UTF-16 units.
// Parse refuses a byte order mark, so the caller must remove it. The strings and numbers of the value share one copy of
// data, which stays in memory as long as any of them.
func Parse(data []byte, maxDepth int) (any, error) { return ParseWithin(data, maxDepth, nil) }

// ParseWithin is Parse for a text that somebody else has sent, which may be made to become many times larger as a
// value: [{},{},…] takes 27 bytes for each byte. It asks for memory before it allocates it, and fails with the error of
// memory.
func ParseWithin(data []byte, maxDepth int, memory Memory) (any, error) {
	p := parser{left: maxDepth, memory: memory}
	if err := p.take(len(data)); err != nil {
		return nil, err
	}
	p.data = string(data)
	p.blanks()
	v, err := p.value()
	if err != nil {
		return nil, err
	}
	p.blanks()
	if p.pos < len(data) {
		return nil, p.fail("Unexpected non-whitespace character after JSON")
	}
	if p.prototype {
		return v, ErrPrototype
	}
	return v, nil
}

// A parser reads data from front to back; pos is the position of the next byte.
type parser struct {
	data      string
	pos       int
	left      int // how many levels of nesting are still allowed
	prototype bool
	scratch   []byte // of escaped

	memory Memory // nil: without a limit
	room   int    // bytes that were asked for and are not allocated yet
}

// peek returns the next byte, or 0, which no rule accepts, at the end.
func (p *parser) peek() byte {
	if p.pos < len(p.data) {
		return p.data[p.pos]
	}
	return 0
}

func (p *parser) blanks() {
	for p.pos < len(p.data) {
		switch p.data[p.pos] {
		case ' ', '\t', '\n', '\r':
			p.pos++
		default:
			return
		}
	}
}

// value reads a value that begins at pos.
func (p *parser) value() (any, error) {
	switch c := p.peek(); c {
	case '{':
		return p.object()
	case '[':
		return p.array()
	case '"':
		s, err := p.string()
		if err == nil && s != "" {
			err = p.take(textBytes)
		}
		return s, err
	case 't':
		return true, p.literal("true")
	case 'f':
		return false, p.literal("false")
	case 'n':
		return nil, p.literal("null")
	default:
		if c == '-' || isDigit(c) {
			return p.number()
		}
		return nil, p.unexpected()
	}
}

func (p *parser) object() (any, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	if p.blanks(); p.peek() == '}' {
		p.leave()
		return NewObject(), p.take(objectBytes)
	}
	if err := p.take(objectBytes + usualKeys*keyBytes); err != nil {
		return nil, err
	}
	o := NewObjectOf(usualKeys)
	for first := true; ; first = false {
		if p.peek() != '"' {
			if first {
				return nil, p.fail("Expected property name or '}' in JSON")
			}
			return nil, p.fail("Expected double-quoted property name in JSON")
		}
		key, err := p.string()
		if err != nil {
			return nil, err
		}
		if p.blanks(); p.peek() != ':' {
			if first {
				return nil, p.fail("Expected ':' after property name in JSON")
			}
			return nil, p.unexpected()
		}
		p.pos++
		p.blanks()
		v, err := p.value()
		if err != nil {
			return nil, err
		}
		if i := o.index(key); i >= 0 {
			o.values[i] = v
		} else if err := p.take(o.growth()); err != nil {
			return nil, err
		} else {
			o.add(key, v)
		}
		p.prototype = p.prototype || key == "__proto__"
		p.blanks()
		switch p.peek() {
		case ',':
			p.pos++
			p.blanks()
		case '}':
			p.leave()
			return o, nil
		default:
			return nil, p.fail("Expected ',' or '}' after property value in JSON")
		}
	}
}

func (p *parser) array() (any, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	list := []any{}
	if p.blanks(); p.peek() == ']' {
		p.leave()
		return list, p.take(listBytes)
	}
	for {
		v, err := p.value()
		if err != nil {
			return nil, err
		}
		if len(list) == cap(list) {
			if list, err = p.longer(list); err != nil {
				return nil, err
			}
		}
		list = append(list, v)
		p.blanks()
		switch p.peek() {
		case ',':
			p.pos++
			p.blanks()
		case ']':
			p.leave()
			return list, p.take(listBytes)
		default:
			return nil, p.fail("Expected ',' or ']' after array element in JSON")
		}
	}
}

// longer returns a list with room for more elements.
func (p *parser) longer(list []any) ([]any, error) {
	n := 1
	if len(list) > 0 {
		n = max(usualElements, 2*len(list))
	}
	if err := p.take(n * valueBytes); err != nil {
		return nil, err
	}
	return append(make([]any, 0, n), list...), nil
}

// enter skips an opening bracket and counts the level. leave skips a closing bracket.
func (p *parser) enter() error {
	if p.left <= 0 {
		return p.fail("Too deeply nested value in JSON")
	}
	p.left--
	p.pos++
	return nil
}

func (p *parser) leave() {
	p.left++
	p.pos++
}

func (p *parser) literal(word string) error {
	for i := range len(word) {
		if p.pos >= len(p.data) || p.data[p.pos] != word[i] {
			return p.unexpected()
		}
		p.pos++
	}
	return nil
}

func (p *parser) number() (any, error) {
	start := p.pos
	if p.peek() == '-' {
		p.pos++
		if !isDigit(p.peek()) {
			return nil, p.fail("No number after minus sign in JSON")
		}
	}
	if p.peek() == '0' {
		p.pos++
		if isDigit(p.peek()) {
			return nil, p.unexpected()
		}
	}
	p.digits()
	if p.peek() == '.' {
		p.pos++
		if !p.digits() {
			return nil, p.fail("Unterminated fractional number in JSON")
		}
	}
	if c := p.peek(); c == 'e' || c == 'E' {
		p.pos++
		if c := p.peek(); c == '+' || c == '-' {
			p.pos++
		}
		if !p.digits() {
			return nil, p.fail("Exponent part is missing a number in JSON")
		}
	}
	return Number(p.data[start:p.pos]), p.take(textBytes)
}

// digits skips digits and reports whether there were any.
func (p *parser) digits() bool {
	start := p.pos
	for isDigit(p.peek()) {
		p.pos++
	}
	return p.pos > start
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// string reads a string from its opening quote. A string of valid UTF-8 without escapes needs no copy.
func (p *parser) string() (string, error) {
	p.pos++
	start := p.pos
	ascii := true
	for p.pos < len(p.data) {
		switch c := p.data[p.pos]; {
		case c == '"':
			s := p.data[start:p.pos]
			if !ascii && !utf8.ValidString(s) {
				return p.escaped(start)
			}
			p.pos++
			return s, nil
		case c == '\\':
			return p.escaped(start)
		case c < ' ':
			return "", p.fail("Bad control character in string literal in JSON")
		case c >= utf8.RuneSelf:
			ascii = false
		}
		p.pos++
	}
	return "", p.fail("Unterminated string in JSON")
}

// leastScratch is for how many bytes there is room at first to collect a string with escapes.
const leastScratch = 64

// escaped reads a string with escapes or invalid UTF-8, rune by rune. Its contents begin at start.
func (p *parser) escaped(start int) (string, error) {
	buf := p.scratch[:0]
	p.pos = start
	for p.pos < len(p.data) {
		if cap(buf)-len(buf) < utf8.UTFMax {
			room := max(leastScratch, 2*cap(buf))
			if err := p.take(room); err != nil {
				return "", err
			}
			buf = append(make([]byte, 0, room), buf...)
		}
		switch c := p.data[p.pos]; {
		case c == '"':
			p.pos++
			p.scratch = buf
			return string(buf), p.take(len(buf) + allocated)
		case c == '\\':
			p.pos++
			r, err := p.escape()
			if err != nil {
				return "", err
			}
			buf = utf8.AppendRune(buf, r)
		case c < ' ':
			return "", p.fail("Bad control character in string literal in JSON")
		case c < utf8.RuneSelf:
			buf = append(buf, c)
			p.pos++
		default:
			r, n := utf8.DecodeRuneInString(p.data[p.pos:])
			buf = utf8.AppendRune(buf, r)
			p.pos += n
		}
	}
	return "", p.fail("Unterminated string in JSON")
}

// escape reads the part of an escape sequence after the backslash.
func (p *parser) escape() (rune, error) {
	var r rune
	switch p.peek() {
	case '"', '\\', '/':
		r = rune(p.data[p.pos])
	case 'b':
		r = '\b'
	case 'f':
		r = '\f'
	case 'n':
		r = '\n'
	case 'r':
		r = '\r'
	case 't':
		r = '\t'
	case 'u':
		return p.unicodeEscape()
	default:
		if r, _ := utf8.DecodeRuneInString(p.data[p.pos:]); p.pos >= len(p.data) || r > unicode.MaxLatin1 {
			return 0, p.unexpected() // V8 has a special message only for bad escapes below U+0100
		}
		return 0, p.fail("Bad escaped character in JSON")
	}
	p.pos++
	return r, nil
}

// unicodeEscape reads a \u escape from its u, and a second one if both form a surrogate pair.
func (p *parser) unicodeEscape() (rune, error) {
	r, err := p.hex4()
	if err != nil || !utf16.IsSurrogate(r) {
		return r, err
	}
	if p.pos+1 < len(p.data) && p.data[p.pos] == '\\' && p.data[p.pos+1] == 'u' {
		back := p.pos
		p.pos++
		low, err := p.hex4()
		if err != nil {
			return 0, err
		}
		if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
			return pair, nil
		}
		p.pos = back
	}
	return utf8.RuneError, nil
}

// hex4 skips the u and reads four hexadecimal digits.
func (p *parser) hex4() (rune, error) {
	p.pos++
	var r rune
	for range 4 {
		d, ok := hexDigit(p.peek())
		if !ok {
			return 0, p.fail("Bad Unicode escape in JSON")
		}
		r = r<<4 | d
		p.pos++
	}
	return r, nil
}

func hexDigit(c byte) (rune, bool) {
	switch {
	case isDigit(c):
		return rune(c - '0'), true
	case 'a' <= c && c <= 'f':
		return rune(c-'a') + 10, true
	case 'A' <= c && c <= 'F':
		return rune(c-'A') + 10, true
	}
	return 0, false
}
