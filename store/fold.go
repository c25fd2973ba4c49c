package store

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// fold maps texts that differ in case alone to one text.
func fold(s string) string { return strings.ToLower(s) }

func equalFold(text []byte, folded string) bool {
	if len(text) != len(folded) && isASCII(text) {
		return false
	}
	return fold(string(text)) == folded
}

func isASCII(b []byte) bool {
	for _, c := range b {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// containsFold returns a search for needle that ignores case. Texts of ASCII are searched as they lie, without a copy.
func containsFold(needle string) func(text []byte) bool {
	folded := fold(needle)
	if folded == "" {
		return func([]byte) bool { return true }
	}
	if !isASCII([]byte(folded)) {
		return func(text []byte) bool { return strings.Contains(fold(string(text)), folded) }
	}
	lower, upper := folded[0], upperASCII(folded[0])
	return func(text []byte) bool {
		if !isASCII(text) {
			return strings.Contains(fold(string(text)), folded)
		}
		for len(text) >= len(folded) {
			i := indexEither(text[:len(text)-len(folded)+1], lower, upper)
			if i < 0 {
				return false
			}
			if matchesFold(text[i:], folded) {
				return true
			}
			text = text[i+1:]
		}
		return false
	}
}

func indexEither(text []byte, a, b byte) int {
	if a == b {
		return bytes.IndexByte(text, a)
	}
	for i, c := range text {
		if c == a || c == b {
			return i
		}
	}
	return -1
}

func upperASCII(c byte) byte {
	if 'a' <= c && c <= 'z' {
		return c - 'a' + 'A'
	}
	return c
}

// matchesFold reports whether text begins with an ASCII text in lower case, ignoring case.
func matchesFold(text []byte, folded string) bool {
	for i := range len(folded) {
		c := text[i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != folded[i] {
			return false
		}
	}
	return true
}
