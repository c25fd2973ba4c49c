package query

import (
	"slices"
	"unicode/utf8"
)

// A Trigram is three bytes in a row of a folded text (see Fold). The text stands between two marks, which no text has:
// one byte textBegins before it, and two bytes textEnds after it. So a trigram begins at every byte of a text, and a
// trigram can say that the text begins or ends there.
type Trigram [3]byte

const (
	textBegins = 0xFE
	textEnds   = 0xFF
)

// Trigrams returns the trigrams of a text, each once, in order.
func Trigrams(text []byte) []Trigram {
	marked := append(append(make([]byte, 0, len(text)+3), textBegins), text...)
	if isASCII(text) {
		for i, c := range marked {
			marked[i] = lowerASCII[c]
		}
	} else {
		marked = append(marked[:1], Fold(string(text))...)
	}
	return distinct(append(marked, textEnds, textEnds))
}

// distinct returns each three bytes in a row of b once, in order.
func distinct(b []byte) []Trigram {
	list := make([]Trigram, 0, max(0, len(b)-2))
	for i := 0; i+3 <= len(b); i++ {
		list = append(list, Trigram(b[i:]))
	}
	slices.SortFunc(list, func(x, y Trigram) int { return x.compare(y) })
	return slices.Compact(list)
}

func (t Trigram) compare(o Trigram) int { return t.number() - o.number() }

func (t Trigram) number() int { return int(t[0])<<16 | int(t[1])<<8 | int(t[2]) }

// TextParts returns what the trigrams of a text that meets a comparison must be: for each returned part, one of the
// trigrams begins with it. ok is false if trigrams cannot find the texts that meet the comparison.
func TextParts(op Op, needle string) (parts [][]byte, ok bool) {
	begins, ends := false, false
	switch op {
	case Contains, StartsWith, EndsWith:
		if !utf8.ValidString(needle) {
			return nil, false // a fold of the text need not have one of the needle
		}
		begins, ends = op == StartsWith, op == EndsWith
	case ContainsI:
	case StartsWithI:
		begins = true
	case EndsWithI:
		ends = true
	case EqI:
		begins, ends = true, true
	default:
		return nil, false
	}
	folded := Fold(needle)
	marked := make([]byte, 0, len(folded)+3)
	if begins {
		marked = append(marked, textBegins)
	}
	marked = append(marked, folded...)
	if ends && len(marked) > 0 {
		marked = append(marked, textEnds, textEnds)
	}
	switch {
	case len(marked) == 0:
		return nil, false
	case len(marked) < 3:
		return [][]byte{marked}, true
	}
	list := distinct(marked)
	parts = make([][]byte, len(list))
	for i := range list {
		parts[i] = list[i][:]
	}
	return parts, true
}
