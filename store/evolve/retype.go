package evolve

import (
	"bytes"
	"strconv"

	"lectern/contenttypes"
	"lectern/jsontree"
)

// A Retyping converts values of one type to another.
type Retyping struct {
	From contenttypes.Type `json:"from"`
	To   contenttypes.Type `json:"to"`
}

// isText reports whether values of a type are texts.
func isText(t contenttypes.Type) bool { return t.Kind() == contenttypes.TextValue }

func isNumber(t contenttypes.Type) bool { return t.Kind() == contenttypes.NumberValue }

// Retype converts the stored JSON of a value to another type; ok is false if that would lose something. It does not
// check the value against its new definition (length, pattern, values of an enumeration): that happens when the value
// is written next.
func Retype(from, to contenttypes.Type, raw []byte) (_ []byte, ok bool) {
	switch {
	case from == to:
		return raw, true
	case from == contenttypes.Password || to == contenttypes.Password:
		return nil, false // a hash is no text, and a text is no hash
	case to == contenttypes.JSON:
		return raw, true
	}
	switch from.Kind() {
	case contenttypes.TextValue, contenttypes.EnumValue:
		return raw, isText(to) || to == contenttypes.Enumeration
	case contenttypes.NumberValue:
		return retypeNumber(to, raw)
	case contenttypes.BigIntegerValue:
		digits := bytes.Trim(raw, `"`)
		if isNumber(to) {
			n, _ := strconv.ParseInt(string(digits), 10, 64) // validated on the way in
			return digits, -maxExact <= n && n <= maxExact
		}
		return quote(string(digits)), isText(to)
	case contenttypes.DateValue:
		if to == contenttypes.DateTime {
			return quote(string(bytes.Trim(raw, `"`)) + "T00:00:00.000Z"), true
		}
		return raw, isText(to)
	case contenttypes.TimeValue, contenttypes.DateTimeValue:
		return raw, isText(to)
	}
	return nil, false
}

// maxExact is the greatest integer up to which JSON numbers are exact.
const maxExact = 1 << 53

// retypeNumber converts a number to another type. A fraction does not become an integer.
func retypeNumber(to contenttypes.Type, raw []byte) ([]byte, bool) {
	switch to {
	case contenttypes.Float, contenttypes.Decimal:
		return raw, true
	case contenttypes.Integer, contenttypes.BigInteger:
		n, err := strconv.ParseInt(string(raw), 10, 64)
		if err != nil {
			f, _ := strconv.ParseFloat(string(raw), 64) // a range error gives ±Inf
			if n = int64(f); f < -maxExact || f > maxExact || float64(n) != f {
				return nil, false
			}
		}
		if to == contenttypes.BigInteger {
			return quote(strconv.FormatInt(n, 10)), true
		}
		return strconv.AppendInt(nil, n, 10), true
	}
	return quote(string(raw)), isText(to)
}

// rewrites reports whether a change of type changes the stored form of values, so that rows must be rewritten.
func rewrites(from, to contenttypes.Type) bool {
	switch {
	case to == contenttypes.JSON:
		return false
	case isNumber(from):
		return !isNumber(to)
	case from == contenttypes.BigInteger:
		return isNumber(to)
	}
	return from == contenttypes.Date && to == contenttypes.DateTime
}

// ordering returns a number for the order in which the index of a type is. Types with the same number can share an
// index; after a change to another number the index must be rebuilt.
func ordering(t contenttypes.Type) int {
	switch t.Kind() {
	case contenttypes.NumberValue:
		return 1
	case contenttypes.BigIntegerValue:
		return 2
	case contenttypes.BooleanValue:
		return 3
	case contenttypes.DateTimeValue:
		return 4
	}
	return 0
}

// quote returns a text as a JSON string.
func quote(s string) []byte { return jsontree.AppendString(nil, s) }
