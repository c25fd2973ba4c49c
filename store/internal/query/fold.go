package query

import (
	"encoding/binary"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/cases"
)

// folding is Unicode's full case folding. Several goroutines may use it at a time.
var folding = cases.Fold()

// Fold returns the case folding of s. Texts that differ in case alone have the same fold: Σ, σ and ς become σ, and ß, ẞ
// and SS become ss. The fold may be longer than s.
func Fold(s string) string { return folding.String(s) }

// equalFold reports whether the fold of text is folded. Like startsFold and endsFold, it does not copy texts that are
// ASCII.
func equalFold(text []byte, folded string) bool {
	if isASCII(text) {
		return len(text) == len(folded) && matchesFold(text, folded)
	}
	return Fold(string(text)) == folded
}

// startsFold reports whether the fold of text begins with folded.
func startsFold(text []byte, folded string) bool {
	if isASCII(text) {
		return len(text) >= len(folded) && matchesFold(text, folded)
	}
	return strings.HasPrefix(Fold(string(text)), folded)
}

// endsFold reports whether the fold of text ends with folded.
func endsFold(text []byte, folded string) bool {
	if isASCII(text) {
		return len(text) >= len(folded) && matchesFold(text[len(text)-len(folded):], folded)
	}
	return strings.HasSuffix(Fold(string(text)), folded)
}

func isASCII(b []byte) bool {
	for ; len(b) >= 8; b = b[8:] {
		if binary.LittleEndian.Uint64(b)&0x8080808080808080 != 0 {
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

// ContainsFold returns a function that reports whether a text contains needle, ignoring case. It does not copy texts
// that are ASCII.
func ContainsFold(needle string) func(text []byte) bool {
	folded := Fold(needle)
	if folded == "" {
		return func([]byte) bool { return true }
	}
	if !isASCII([]byte(folded)) {
		return func(text []byte) bool { return !isASCII(text) && strings.Contains(Fold(string(text)), folded) }
	}
	first := folded[0]
	return func(text []byte) bool {
		for i := 0; i+len(folded) <= len(text); i++ {
			if lowerASCII[text[i]] == first && matchesFold(text[i:], folded) {
				return true
			}
		}
		// The fold of a letter outside ASCII may be ASCII letters, as those of the Kelvin sign and of ß.
		return !isASCII(text) && strings.Contains(Fold(string(text)), folded)
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

// matchesFold reports whether text begins with folded, ignoring the case of ASCII letters. folded must be a fold, and
// no longer than text. No text that is ASCII begins with a fold that is not.
func matchesFold(text []byte, folded string) bool {
	for i := range len(folded) {
		if lowerASCII[text[i]] != folded[i] {
			return false
		}
	}
	return true
}
