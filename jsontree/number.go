package jsontree

import (
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode"
)

// MaxSafeInteger is the largest integer n such that a float64, JavaScript's only number type, holds every integer up to
// n exactly.
const MaxSafeInteger = 1<<53 - 1

// safeDigits is a number of digits that keeps an integer below 2^53.
const safeDigits = 15

// appendNumber prints a number as JavaScript does, except that large integers keep their digits.
func appendNumber(dst []byte, n Number) []byte {
	s := string(n)
	if isInteger(s) {
		digits := strings.TrimPrefix(s, "-")
		if len(digits) <= safeDigits && s != "-0" {
			return append(dst, s...)
		}
		f, err := strconv.ParseFloat(s, 64)
		if err != nil || math.Abs(f) > MaxSafeInteger {
			return append(dst, s...)
		}
		return appendFloat(dst, f)
	}
	f, ok := ParseNumber(s)
	if !ok {
		return append(dst, "null"...)
	}
	return appendFloatJSON(dst, f)
}

// isInteger reports whether s consists of digits, with an optional minus sign.
func isInteger(s string) bool {
	s = strings.TrimPrefix(s, "-")
	for i := range len(s) {
		if !isDigit(s[i]) {
			return false
		}
	}
	return s != ""
}

// appendFloatJSON does what appendFloat does, but prints NaN and infinity, which JSON has no numbers for, as null.
func appendFloatJSON(dst []byte, f float64) []byte {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return append(dst, "null"...)
	}
	return appendFloat(dst, f)
}

// FormatNumber prints a float as JavaScript's String() does: 1e+21, 0.1, 100, 0 for -0, NaN, Infinity.
func FormatNumber(f float64) string {
	var buf [32]byte
	return string(appendFloat(buf[:0], f))
}

// appendFloat appends what FormatNumber returns.
func appendFloat(dst []byte, f float64) []byte {
	switch {
	case math.IsNaN(f):
		return append(dst, "NaN"...)
	case math.IsInf(f, 1):
		return append(dst, "Infinity"...)
	case math.IsInf(f, -1):
		return append(dst, "-Infinity"...)
	case f == 0:
		return append(dst, '0')
	}
	if abs := math.Abs(f); abs >= 1e-6 && abs < 1e21 {
		return strconv.AppendFloat(dst, f, 'f', -1, 64)
	}
	dst = strconv.AppendFloat(dst, f, 'e', -1, 64)
	// Go writes an exponent with at least two digits, JavaScript without leading zeros.
	if n := len(dst); dst[n-2] == '0' && (dst[n-3] == '-' || dst[n-3] == '+') {
		dst[n-2] = dst[n-1]
		dst = dst[:n-1]
	}
	return dst
}

// Float returns n as a float64. A number that is too large is infinite.
func (n Number) Float() float64 {
	f, _ := strconv.ParseFloat(string(n), 64)
	return f
}

// ParseNumber reads a string as JavaScript's Number() does; ok is false for NaN. It trims white space at both ends; a
// string of nothing else is 0. The prefixes 0x, 0o and 0b mark hexadecimal, octal and binary integers. Infinity may
// have a sign, and a number that is too large is infinite.
func ParseNumber(s string) (f float64, ok bool) {
	s = strings.TrimFunc(s, IsBlank)
	if s == "" {
		return 0, true
	}
	if len(s) > 2 && s[0] == '0' {
		switch s[1] {
		case 'x', 'X':
			return parseDigits(s[2:], 16)
		case 'o', 'O':
			return parseDigits(s[2:], 8)
		case 'b', 'B':
			return parseDigits(s[2:], 2)
		}
	}
	switch s {
	case "Infinity", "+Infinity":
		return math.Inf(1), true
	case "-Infinity":
		return math.Inf(-1), true
	}
	if !isDecimal(s) {
		return math.NaN(), false
	}
	f, _ = strconv.ParseFloat(s, 64) // infinite when out of range
	return f, true
}

// IsBlank reports whether JavaScript's trim() and \s treat r as white space.
func IsBlank(r rune) bool {
	switch r {
	case '\t', '\n', '\v', '\f', '\r', ' ', 0xFEFF, 0x2028, 0x2029:
		return true
	}
	return unicode.Is(unicode.Zs, r)
}

// parseDigits reads an integer in a base that is a power of two, rounding to even.
func parseDigits(s string, base int) (float64, bool) {
	for i := range len(s) {
		if d, ok := hexDigit(s[i]); !ok || int(d) >= base {
			return math.NaN(), false
		}
	}
	s = strings.TrimLeft(s, "0")
	if s == "" {
		return 0, true
	}
	if len(s) > 1024 { // at least 2^1024 in any base
		return math.Inf(1), true
	}
	i, _ := new(big.Int).SetString(s, base)
	f, _ := new(big.Float).SetInt(i).Float64()
	return f, true
}

// isDecimal reports whether s is a decimal literal: an optional sign, digits with at most one point, and an optional
// exponent.
func isDecimal(s string) bool {
	i := 0
	digits := func() bool {
		start := i
		for i < len(s) && isDigit(s[i]) {
			i++
		}
		return i > start
	}
	sign := func() {
		if i < len(s) && (s[i] == '+' || s[i] == '-') {
			i++
		}
	}
	sign()
	some := digits()
	if i < len(s) && s[i] == '.' {
		i++
		some = digits() || some
	}
	if !some {
		return false
	}
	if i < len(s) && (s[i] == 'e' || s[i] == 'E') {
		i++
		sign()
		if !digits() {
			return false
		}
	}
	return i == len(s)
}
