package store

import (
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

// containsFold returns a search for needle that ignores case. Texts of ASCII are searched as they lie, without a copy.
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
		// Letters beyond ASCII can have one of its letters as their lower case (the Kelvin sign).
		return !isASCII(text) && strings.Contains(fold(string(text)), folded)
	}
}

// lowerASCII is the lower case of each byte that is an ASCII letter, and every other byte itself.
var lowerASCII = func() (t [256]byte) {
	for i := range t {
		t[i] = byte(i)
		if 'A' <= i && i <= 'Z' {
			t[i] += 'a' - 'A'
		}
	}
	return t
}()

// matchesFold reports whether text begins with an ASCII text in lower case, ignoring case.
func matchesFold(text []byte, folded string) bool {
	for i := range len(folded) {
		if lowerASCII[text[i]] != folded[i] {
			return false
		}
	}
	return true
}
