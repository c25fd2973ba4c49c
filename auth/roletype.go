package auth

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// latin spells the letters of Latin-1 and Latin Extended-A that do not decompose into an ASCII letter and marks. It
// removes apostrophes. It is no part of internal/slug, which spells German umlauts, Cyrillic, Greek and so on: the
// types of roles keep what is not in these two blocks.
var latin = strings.NewReplacer("ß", "ss", "æ", "ae", "œ", "oe", "ø", "o", "đ", "d", "ð", "d", "þ", "th", "ł", "l", "ħ",
	"h", "ŧ", "t", "ı", "i",
	"ĳ", "ij", "ŀ", "l", "ŉ", "n", "ŋ", "n", "ſ", "s", "ĸ", "k", "'", "", "’", "")

// roleType returns the type of a role that is created under a name, which is the name of the role in permissions.yaml:
// its words in lower case, without the accents of Latin letters, joined by _. Numbers are words of their own, except
// ordinals such as 2nd: "Editor2" becomes editor_2. The result is the type that Strapi gives to the role.
func roleType(name string) string {
	var words []string
	for _, word := range strings.FieldsFunc(withoutAccents(strings.ToLower(name)), isBreak) {
		words = append(words, splitNumbers(word)...)
	}
	return strings.Join(words, "_")
}

// isBreak reports whether a lower-case character ends a word: spaces, the symbols and punctuation of ASCII and Latin-1,
// and general punctuation. Other symbols, and marks such as the vowels of Hindi, are parts of words.
func isBreak(r rune) bool {
	switch {
	case r < 0xC0:
		return (r < 'a' || r > 'z') && !isDigit(r)
	case r == '×', r == '÷', 0x2000 <= r && r <= 0x206F:
		return true
	}
	return unicode.IsSpace(r)
}

// withoutAccents spells the letters of Latin-1 and Latin Extended-A of a text in lower case in ASCII, and removes the
// marks of Latin letters that stand alone.
func withoutAccents(text string) string {
	var out strings.Builder
	for _, r := range latin.Replace(text) {
		switch {
		case 0x0300 <= r && r <= 0x036F:
		case 0xC0 <= r && r < 0x0180:
			decomposed := []rune(norm.NFD.String(string(r)))
			out.WriteRune(decomposed[0])
		default:
			out.WriteRune(r)
		}
	}
	return out.String()
}

// splitNumbers splits a word where digits begin or end. A number that ends the word as an ordinal is not split.
func splitNumbers(word string) (parts []string) {
	for word != "" {
		n := strings.IndexFunc(word, func(r rune) bool { return isDigit(r) != isDigit(rune(word[0])) })
		if n < 0 || isOrdinal(word) {
			n = len(word)
		}
		parts, word = append(parts, word[:n]), word[n:]
	}
	return parts
}

// isOrdinal reports whether a word is a number with its ending: 1st, 22nd, 3rd, 10th.
func isOrdinal(word string) bool {
	digits := strings.TrimRightFunc(word, func(r rune) bool { return !isDigit(r) })
	if digits == "" || strings.IndexFunc(digits, func(r rune) bool { return !isDigit(r) }) >= 0 {
		return false
	}
	ending := "th"
	switch digits[len(digits)-1] {
	case '1':
		ending = "st"
	case '2':
		ending = "nd"
	case '3':
		ending = "rd"
	}
	return word[len(digits):] == ending
}

func isDigit(r rune) bool { return r >= '0' && r <= '9' }
