// Package spelling suggests the known word that a misspelled word stands for, and writes how many of a thing there are.
package spelling

import (
	"strconv"
	"strings"
)

// listed is the largest number of known words in a suggestion.
const listed = 40

// Suggest returns the end of a message about an unknown word: the most similar known word, or else a list of known
// words.
func Suggest(word string, known []string) string {
	best, nearest := "", 3
	if len(word) < 8 {
		nearest = 2
	}
	for _, k := range known {
		if d := Distance(word, k, nearest); d < nearest && d < len(k)/2+1 {
			best, nearest = k, d
		}
	}
	switch {
	case best != "":
		return "did you mean \"" + best + "\"?"
	case len(known) == 0:
		return "none is known here"
	case len(known) > listed:
		return "known are " + strings.Join(known[:listed], ", ") + ", …"
	}
	return "known are " + strings.Join(known, ", ")
}

// Count returns how many of a thing there are, such as "1 entry" and "28 entries". what is the singular; only its last
// word is changed.
func Count(n int, what string) string {
	text := strconv.Itoa(n) + " " + what
	last := len(text) - 1
	switch {
	case n == 1:
		return text
	case strings.HasSuffix(text, "y") && !strings.ContainsRune("aeiou", rune(text[last-1])):
		return text[:last] + "ies"
	case strings.HasSuffix(text, "s"), strings.HasSuffix(text, "x"), strings.HasSuffix(text, "ch"),
		strings.HasSuffix(text, "sh"):
		return text + "es"
	}
	return text + "s"
}

// Distance returns the number of letters to insert, delete, change or swap with a neighbour to turn a into b, ignoring
// case. If the number is at least limit, or a word has more than 64 letters, Distance returns some number that is at
// least limit.
func Distance(a, b string, limit int) int {
	if diff := len(a) - len(b); diff >= limit || -diff >= limit || len(a) > 64 || len(b) > 64 {
		return limit
	}
	x, y := strings.ToLower(a), strings.ToLower(b)
	var rows [3][130]int // distances for the letter of x before the last, the last one and the current one; lower-case words may be longer
	last, row, spare := rows[0][:len(y)+1], rows[1][:len(y)+1], rows[2][:len(y)+1]
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(x); i++ {
		last, row, spare = row, spare, last
		row[0] = i
		for j := 1; j <= len(y); j++ {
			cost := 1
			if x[i-1] == y[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				row[j] = min(row[j], spare[j-2]+1)
			}
		}
	}
	return row[len(y)]
}
