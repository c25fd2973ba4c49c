package jsontree

import (
	"strconv"
	"unicode/utf16"
)

// A SyntaxError says where and why JSON text is not valid.
type SyntaxError struct{ Message string }

func (e *SyntaxError) Error() string { return e.Message }

// fail returns the error "message at position N" for the current position.
func (p *parser) fail(message string) error {
	return &SyntaxError{message + " at position " + strconv.Itoa(units(p.data[:p.pos]))}
}

// unexpected returns the error for a character, or the end of the text, that is not allowed at the current position.
// The message quotes up to ten UTF-16 units on either side of the character.
func (p *parser) unexpected() error {
	if p.pos >= len(p.data) {
		return &SyntaxError{"Unexpected end of JSON input"}
	}
	switch c := p.data[p.pos]; {
	case c == '-' || isDigit(c):
		return p.fail("Unexpected number in JSON")
	case c == '"':
		return p.fail("Unexpected string in JSON")
	}
	switch p.data {
	case "NaN", "Infinity", "undefined", "[object Object]":
		return &SyntaxError{`"` + p.data + `" is not valid JSON`}
	}
	const around = 10
	at, length := units(p.data[:p.pos]), units(p.data)
	from, to, before, after := 0, length, "", ""
	if length > 2*around && at >= around {
		from, before = at-around, "..."
	}
	if length > 2*around && at < length-around {
		to, after = at+around, "..."
	}
	text := before + `"` + window(p.data, from, to) + `"` + after
	return &SyntaxError{"Unexpected token '" + window(p.data, at, at+1) + "', " + text + " is not valid JSON"}
}

// units counts the UTF-16 units of UTF-8 text.
func units(s string) int {
	n := 0
	for _, r := range s {
		n += utf16.RuneLen(r)
	}
	return n
}

// window returns the UTF-16 units [from, to) of UTF-8 text; half a surrogate pair becomes U+FFFD.
func window(s string, from, to int) string {
	var out []uint16
	n := 0
	for _, r := range s {
		if n >= to {
			break
		}
		for _, u := range utf16.AppendRune(nil, r) {
			if from <= n && n < to {
				out = append(out, u)
			}
			n++
		}
	}
	return string(utf16.Decode(out))
}
