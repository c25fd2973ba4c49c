package qs

import (
	"strings"
	"unicode/utf8"
)

// unescape decodes a value: "+" is a blank and %XX a byte. If an escape is malformed or the bytes are not UTF-8, all
// escapes of the value stay as they are.
func unescape(s string) string {
	plain, escapes := true, false
	for i := 0; i < len(s); i++ {
		if s[i] == '+' {
			plain = false
		} else if s[i] == '%' {
			plain, escapes = false, true
		}
	}
	switch {
	case plain:
		return s
	case escapes:
		if d, ok := decode(s); ok {
			return d
		}
	}
	return strings.ReplaceAll(s, "+", " ")
}

// unescapeName decodes a name. In a name that cannot be decoded, only escaped brackets are decoded, so that the name
// still belongs to its parameter.
func unescapeName(s string) string {
	if !strings.ContainsAny(s, "%+") {
		return s
	}
	if d, ok := decode(s); ok {
		return d
	}
	return brackets.Replace(s)
}

var brackets = strings.NewReplacer("%5B", "[", "%5b", "[", "%5D", "]", "%5d", "]", "+", " ")

// decode decodes s. It is not ok if an escape is malformed or the bytes are not UTF-8.
func decode(s string) (string, bool) {
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch c {
		case '+':
			c = ' '
		case '%':
			if i+2 >= len(s) {
				return "", false
			}
			hi, lo := unhex(s[i+1]), unhex(s[i+2])
			if hi < 0 || lo < 0 {
				return "", false
			}
			c = byte(hi<<4 | lo)
			i += 2
		}
		out = append(out, c)
	}
	if !utf8.Valid(out) {
		return "", false
	}
	return string(out), true
}

func unhex(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c && c <= 'f':
		return int(c-'a') + 10
	case 'A' <= c && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}
