package language

import (
	"math"
	"sort"
	"strings"
	"unicode/utf8"
)

// didYouMean returns the end of a message that suggests names: ` Did you mean "a" or "b"?`. The parameter what is put
// before the names.
func didYouMean(what string, names []string) string {
	if len(names) == 0 {
		return ""
	}
	names = names[:min(len(names), 5)]
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = `"` + n + `"`
	}
	if what != "" {
		what += " "
	}
	return " Did you mean " + what + orList(quoted) + "?"
}

func orList(items []string) string {
	switch n := len(items); n {
	case 1:
		return items[0]
	case 2:
		return items[0] + " or " + items[1]
	default:
		return strings.Join(items[:n-1], ", ") + ", or " + items[n-1]
	}
}

// suggestions returns the options that are close to a name, the closest first.
func suggestions(name string, options []string) []string {
	type option struct {
		name     string
		distance int
	}
	var close []option
	length := utf8.RuneCountInString(name)
	threshold := int(math.Floor(float64(length)*0.4)) + 1
	lower := strings.ToLower(name)
	for _, o := range options {
		if n := utf8.RuneCountInString(o); n-length > threshold || length-n > threshold {
			continue
		}
		if d, ok := distance(name, lower, o, threshold); ok {
			close = append(close, option{o, d})
		}
	}
	sort.SliceStable(close, func(i, j int) bool {
		if close[i].distance != close[j].distance {
			return close[i].distance < close[j].distance
		}
		return naturalLess(close[i].name, close[j].name)
	})
	names := make([]string, len(close))
	for i, c := range close {
		names[i] = c.name
	}
	return names
}

// distance counts the insertions, deletions, replacements and swaps of neighbours that turn a into b, up to threshold.
// Texts that differ only in case have the distance 1.
func distance(a, lowerA, b string, threshold int) (int, bool) {
	if a == b {
		return 0, true
	}
	lowerB := strings.ToLower(b)
	if lowerA == lowerB {
		return 1, 1 <= threshold
	}
	x, y := []rune(lowerA), []rune(lowerB)
	if len(x) < len(y) {
		x, y = y, x
	}
	var rows [3][]int
	for i := range rows {
		rows[i] = make([]int, len(y)+1)
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(x); i++ {
		above, row := rows[(i-1)%3], rows[i%3]
		row[0] = i
		least := i
		for j := 1; j <= len(y); j++ {
			cost := 1
			if x[i-1] == y[j-1] {
				cost = 0
			}
			cell := min(above[j]+1, row[j-1]+1, above[j-1]+cost)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				cell = min(cell, rows[(i-2)%3][j-2]+1)
			}
			least = min(least, cell)
			row[j] = cell
		}
		if least > threshold {
			return 0, false
		}
	}
	d := rows[len(x)%3][len(y)]
	return d, d <= threshold
}

// naturalLess reports whether a sorts before b when numbers within texts are compared by value, so that a2 sorts before
// a10.
func naturalLess(a, b string) bool {
	i, j := 0, 0
	for i < len(a) && j < len(b) {
		if isDigit(a[i]) && isDigit(b[j]) {
			si, sj := i, j
			for i < len(a) && isDigit(a[i]) {
				i++
			}
			for j < len(b) && isDigit(b[j]) {
				j++
			}
			x, y := strings.TrimLeft(a[si:i], "0"), strings.TrimLeft(b[sj:j], "0")
			if len(x) != len(y) {
				return len(x) < len(y)
			}
			if x != y {
				return x < y
			}
			continue
		}
		if a[i] != b[j] {
			return a[i] < b[j]
		}
		i, j = i+1, j+1
	}
	return len(a)-i < len(b)-j
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
