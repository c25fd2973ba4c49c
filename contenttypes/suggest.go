package contenttypes

import "strings"

// suggest says what may have been meant by a word that is not among those known.
func suggest(word string, known []string) string {
	for _, k := range known {
		if strings.EqualFold(word, k) || oneOff(word, k) {
			return "did you mean \"" + k + "\"?"
		}
	}
	if len(known) == 0 {
		return "none is known here"
	}
	return "known are " + strings.Join(known, ", ")
}

// oneOff reports whether a and b differ by one letter that was added, left out, changed, or swapped with its neighbour.
func oneOff(a, b string) bool {
	x, y := []rune(strings.ToLower(a)), []rune(strings.ToLower(b))
	if len(x) > len(y) {
		x, y = y, x
	}
	if len(y)-len(x) > 1 || len(y) < 3 {
		return false
	}
	i := 0
	for i < len(x) && x[i] == y[i] {
		i++
	}
	rest := func(s []rune, skip int) string { return string(s[min(i+skip, len(s)):]) }
	if len(x) < len(y) {
		return rest(x, 0) == rest(y, 1)
	}
	if rest(x, 1) == rest(y, 1) {
		return true
	}
	return i+1 < len(x) && x[i] == y[i+1] && x[i+1] == y[i] && rest(x, 2) == rest(y, 2)
}
