// Package slug turns texts into words of ASCII letters and digits, and into uids of such words in lower case: "Déjà vu"
// becomes deja-vu, and "Привет, мир" becomes privet-mir. Uids are those that the admin panel of Strapi proposes for the
// same text; it names uploaded files after the same words.
package slug

import (
	_ "embed"
	"regexp"
	"strings"
	"sync"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// letters.txt maps letters that are not ASCII letters with marks, such as Cyrillic ones, to ASCII. It is taken from
// @sindresorhus/transliterate and lodash.deburr, which are under the MIT licence.
//
//go:embed letters.txt
var letters string

// replacer replaces the left sides of letters.txt by the right sides; the first matching line applies.
var replacer = sync.OnceValue(func() *strings.Replacer {
	var pairs []string
	for line := range strings.Lines(letters) {
		if from, to, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "="); ok && !strings.HasPrefix(line, "#") {
			pairs = append(pairs, from, to)
		}
	}
	return strings.NewReplacer(pairs...)
})

// camels match word boundaries such as those in fooBar, APIGateway and HTML5.
var camels = []*regexp.Regexp{
	regexp.MustCompile(`([A-Z]{2,})([0-9]+)`),
	regexp.MustCompile(`([a-z0-9]+)([A-Z]{2,})`),
	regexp.MustCompile(`([a-z0-9])([A-Z])`),
	regexp.MustCompile(`([A-Z]+)([A-Z][a-z0-9]+)`),
}

// Of returns the slug of a text: words of a-z and 0-9, joined by single hyphens. It is empty when the text has no
// letter or digit that can be written in ASCII.
func Of(text string) string { return strings.ToLower(strings.Join(Words(text), "-")) }

// Words returns the words of a text in ASCII letters and digits. fooBar are two words.
func Words(text string) []string {
	text = replacer().Replace(norm.NFC.String(text))
	text = strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return r
	}, norm.NFD.String(text))
	for _, camel := range camels {
		text = camel.ReplaceAllString(text, "$1 $2")
	}
	return strings.FieldsFunc(
		text, func(r rune) bool { return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') })
}

// Cut shortens a slug to at most n bytes: it drops words from the end, or the end of the word when there is only one.
func Cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	if i := strings.LastIndexByte(s[:n+1], '-'); i > 0 {
		return s[:i]
	}
	return s[:n]
}
