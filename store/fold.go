package store

import (
	"strings"
	"unicode/utf8"
)

// fold returns s in lower case. Texts that differ in case alone have the same fold.
func fold(s string) string { return strings.ToLower(s) }

// equalFold reports whether the fold of text is folded.
func equalFold(text []byte, folded string) bool {
	if len(text) != len(folded) && isASCII(text) {
		return false
	}
	return fold(string(text)) == folded
}

func isASCII(b []byte) bool {
	for ; len(b) >= 8; b = b[8:] {
		if be.Uint64(b)&0x8080808080808080 != 0 {
			return false
		}
	}
	for _, c := range b {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// containsFold returns a function that reports whether a text contains needle, ignoring case. It does not copy texts that are ASCII.
func containsFold(needle string) func(text []byte) bool {
	folded := fold(needle)
	if folded == "" {
		return func([]byte) bool { return true }
	}
	if !isASCII([]byte(folded)) {
		return func(text []byte) bool { return strings.Contains(fold(string(text)), folded) }
	}
	first := folded[0]
	return func(text []byte) bool {
		for i := 0; i+len(folded) <= len(text); i++ {
			if lowerASCII[text[i]] == first && matchesFold(text[i:], folded) {
				return true
			}
		}
		// The lower case of a letter outside ASCII may be an ASCII letter, as that of the Kelvin sign.
		return !isASCII(text) && strings.Contains(fold(string(text)), folded)
	}
}

// lowerASCII maps the upper-case letters of ASCII to lower case, and all other bytes to themselves.
var lowerASCII = func() (t [256]byte) {
	for i := range t {
		t[i] = byte(i)
		if 'A' <= i && i <= 'Z' {
			t[i] += 'a' - 'A'
		}
	}
	return t
}()

// matchesFold reports whether text begins with folded, ignoring case. folded must be ASCII and in lower case, and no longer than text.
func matchesFold(text []byte, folded string) bool {
	for i := range len(folded) {
		if lowerASCII[text[i]] != folded[i] {
			return false
		}
	}
	return true
}
