// Package slug writes texts as uids: in small letters and digits of ASCII, with a hyphen between words. "Déjà vu" becomes deja-vu, and
// "Привет, мир" privet-mir. It writes what the admin panel of Strapi proposes, so that documents of either have the same uids.
package slug

import (
	_ "embed"
	"regexp"
	"strings"
	"sync"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// letters.txt says how letters are written that are none of ASCII, nor one with marks. It is taken from @sindresorhus/transliterate and
// lodash.deburr, which are under the MIT licence.
//
//go:embed letters.txt
var letters string

// replacer writes letters.txt's left sides as its right sides; where several fit, the first.
var replacer = sync.OnceValue(func() *strings.Replacer {
	var pairs []string
	for line := range strings.Lines(letters) {
		if from, to, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "="); ok && !strings.HasPrefix(line, "#") {
			pairs = append(pairs, from, to)
		}
	}
	return strings.NewReplacer(pairs...)
})

// Words are told apart by their capital letters too: fooBar, APIGateway, HTML5.
var camels = []*regexp.Regexp{
	regexp.MustCompile(`([A-Z]{2,})([0-9]+)`),
	regexp.MustCompile(`([a-z0-9]+)([A-Z]{2,})`),
	regexp.MustCompile(`([a-z0-9])([A-Z])`),
	regexp.MustCompile(`([A-Z]+)([A-Z][a-z0-9]+)`),
}

// Of returns the slug of a text: words of a-z and 0-9 that are joined by single hyphens. It is empty where the text has no letter or
// digit that can be written so.
func Of(text string) string {
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
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') })
	return strings.Join(words, "-")
}

// Cut returns a slug of at most n bytes: s without words at its end, or without the end of a single one.
func Cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	if i := strings.LastIndexByte(s[:n+1], '-'); i > 0 {
		return s[:i]
	}
	return s[:n]
}
