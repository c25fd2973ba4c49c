package media

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// transliterate returns a character in ASCII letters, or unchanged if it has no transliteration.
func transliterate(r rune) string {
	if r < 0x80 {
		if r == '&' {
			return " and "
		}
		return string(r)
	}
	if s, ok := letters[r]; ok {
		return s
	}
	if s, ok := letters[unicode.ToLower(r)]; ok {
		if s == "" {
			return ""
		}
		return strings.ToUpper(s[:1]) + s[1:]
	}
	if base := []rune(norm.NFD.String(string(r)))[0]; base < 0x80 {
		return string(base)
	} else if base != r {
		return transliterate(base)
	}
	return string(r)
}

// letters maps lower-case letters that are not an ASCII letter with marks to ASCII. German umlauts are written as in German: ä
// is ae.
var letters = merged(map[rune]string{
	'ä': "ae", 'ö': "oe", 'ü': "ue", 'ß': "ss", 'ẞ': "SS",
	'æ': "ae", 'œ': "oe", 'ø': "o", 'đ': "d", 'ð': "d", 'þ': "th", 'ł': "l", 'ħ': "h", 'ı': "i", 'ĸ': "k", 'ŋ': "n", 'ŧ': "t", 'ə': "e",
},
	pairs("абвгдеёжзийклмнопрстуфхцчшщъыьэюя", "a b v g d e yo zh z i y k l m n o p r s t u f h c ch sh sch - y - e yu ya"),
	pairs("іїєґўђјљњћџѓќѕ", "i yi ye g u dj j lj nj c dz g k z"),
	pairs("αβγδεζηθικλμνξοπρσςτυφχψω", "a b g d e z h 8 i k l m n 3 o p r s s t y f x ps w"),
	pairs("աբգդեզէըթժիլխծկհձղճմյնշոչպջռսվտրցւփքօֆ", "a b g d e z e y t zh i l kh ts k h dz gh ch m y n sh o ch p j r s v t r ts u p q o f"),
	pairs("აბგდევზთიკლმნოპჟრსტუფქღყშჩცძწჭხჯჰ", "a b g d e v z t i k l m n o p zh r s t u f k gh q sh ch ts dz ts ch kh j h"),
)

// pairs maps each letter in from to the word at its position in to; "-" stands for nothing.
func pairs(from, to string) map[rune]string {
	m, words := map[rune]string{}, strings.Fields(to)
	for i, r := range []rune(from) {
		if words[i] != "-" {
			m[r] = words[i]
		} else {
			m[r] = ""
		}
	}
	return m
}

func merged(maps ...map[rune]string) map[rune]string {
	all := map[rune]string{}
	for _, m := range maps {
		for r, s := range m {
			all[r] = s
		}
	}
	return all
}
