package format

import (
	"bytes"
	"math"
	"strconv"
	"unicode/utf8"

	"lectern/contenttypes"
)

// Index values are encoded so that their bytes sort as the values do: null first, numbers by value, text by bytes. An
// encoding has a fixed length or a terminator, so that the row id can follow it.
const (
	OrdNull  = 0x00
	OrdValue = 0x01

	// MaxIndexed is how many bytes of a text an index holds. Longer texts are cut and marked as cut; their full text is
	// in the row.
	MaxIndexed = 64

	endWhole = 0x00 // after 0x00: the text ends here
	endCut   = 0x01 // after 0x00: the text goes on in the row
	escaped  = 0xFF // after 0x00: a zero byte of the text
)

// AppendOrdered appends the encoding of a scalar, given as stored JSON; nil is null.
func AppendOrdered(b []byte, t contenttypes.Type, raw []byte) []byte {
	if raw == nil {
		return append(b, OrdNull)
	}
	b = append(b, OrdValue)
	switch t.Kind() {
	case contenttypes.NumberValue:
		return appendFloat(b, ParseFloat(raw))
	case contenttypes.BigIntegerValue:
		return be.AppendUint64(b, uint64(ParseBig(raw))^(1<<63))
	case contenttypes.BooleanValue:
		if raw[0] == 't' {
			return append(b, 1)
		}
		return append(b, 0)
	case contenttypes.DateTimeValue:
		if packed, ok := packTime(raw); ok {
			return be.AppendUint64(b, packed)
		}
		return be.AppendUint64(b, 0)
	}
	return AppendText(b, Unquote(raw))
}

// AppendOrderedValue appends the encoding of a value of a Compare. ok is false if attributes of the type cannot hold
// the value.
func AppendOrderedValue(b []byte, t contenttypes.Type, v any) (_ []byte, ok bool) {
	if v == nil {
		return append(b, OrdNull), true
	}
	b = append(b, OrdValue)
	switch v := v.(type) {
	case float64:
		if t == contenttypes.BigInteger {
			return b, false
		}
		return appendFloat(b, v), true
	case int64:
		if t == contenttypes.BigInteger {
			return be.AppendUint64(b, uint64(v)^(1<<63)), true
		}
		return appendFloat(b, float64(v)), true
	case bool:
		if v {
			return append(b, 1), true
		}
		return append(b, 0), true
	case string:
		if t == contenttypes.DateTime {
			packed, ok := packTime([]byte(strconv.Quote(v)))
			return be.AppendUint64(b, packed), ok
		}
		return AppendText(b, []byte(v)), true
	}
	return b, false
}

func appendFloat(b []byte, f float64) []byte {
	if f == 0 {
		f = 0 // -0 becomes 0
	}
	bits := math.Float64bits(f)
	if bits>>63 == 1 {
		bits = ^bits
	} else {
		bits |= 1 << 63
	}
	return be.AppendUint64(b, bits)
}

// AppendText appends the encoding of a text, without the byte that says that it is not null.
func AppendText(b, text []byte) []byte {
	end := byte(endWhole)
	if len(text) > MaxIndexed {
		text, end = text[:MaxIndexed], endCut
	}
	for _, c := range text {
		if b = append(b, c); c == 0 {
			b = append(b, escaped)
		}
	}
	return append(b, 0, end)
}

// IsCut reports whether an encoded text is only the beginning of the text in the row.
func IsCut(ord []byte) bool {
	return len(ord) >= MaxIndexed+3 && ord[0] == OrdValue && ord[len(ord)-2] == 0 && ord[len(ord)-1] == endCut
}

// OrderedText returns the text of an encoding that is not cut. The result is a part of ord unless the text holds zero
// bytes.
func OrderedText(ord []byte) []byte {
	body := ord[1 : len(ord)-2]
	if bytes.IndexByte(body, 0) >= 0 {
		return unescapeZeros(body)
	}
	return body
}

func unescapeZeros(body []byte) []byte {
	out := make([]byte, 0, len(body))
	for i := 0; i < len(body); i++ {
		if out = append(out, body[i]); body[i] == 0 {
			i++
		}
	}
	return out
}

// packTime turns the JSON text "yyyy-MM-ddTHH:mm:ss.SSSZ" into a number; later times have greater numbers. A year
// outside 0 to 9999 has six digits and a sign, as JavaScript writes it.
func packTime(raw []byte) (uint64, bool) {
	if len(raw) < 2 {
		return 0, false
	}
	s := raw[1 : len(raw)-1]
	year, sign := int64(0), int64(1)
	switch {
	case len(s) == 24:
		year, s = digits(s[:4]), s[4:]
	case len(s) == 27 && (s[0] == '+' || s[0] == '-'):
		if s[0] == '-' {
			sign = -1
		}
		year, s = digits(s[1:7]), s[7:]
	default:
		return 0, false
	}
	parts := [...]int64{digits(s[1:3]), digits(s[4:6]), digits(s[7:9]), digits(s[10:12]), digits(s[13:15]),
		digits(s[16:19])}
	bases := [...]int64{13, 32, 24, 60, 61, 1000}
	n := sign*year + 1_000_000
	for i, p := range parts {
		if p < 0 || p >= bases[i] {
			return 0, false
		}
		n = n*bases[i] + p
	}
	return uint64(n), year >= 0
}

func digits(s []byte) int64 {
	n := int64(0)
	for _, c := range s {
		if c < '0' || c > '9' {
			return -1 << 40
		}
		n = n*10 + int64(c-'0')
	}
	return n
}

// ParseFloat reads a number from its stored JSON.
func ParseFloat(raw []byte) float64 {
	if len(raw) <= 15 {
		n, neg, i := int64(0), false, 0
		if len(raw) > 0 && raw[0] == '-' {
			neg, i = true, 1
		}
		for ; i < len(raw) && raw[i] >= '0' && raw[i] <= '9'; i++ {
			n = n*10 + int64(raw[i]-'0')
		}
		if i == len(raw) {
			if neg {
				n = -n
			}
			return float64(n)
		}
	}
	f, _ := strconv.ParseFloat(
		string(raw), 64) // what is stored was printed by us; a range error still gives ±Inf, which orders
	return f
}

// ParseBig reads a biginteger, which is stored as a JSON string of digits.
func ParseBig(raw []byte) int64 {
	if len(raw) >= 2 && raw[0] == '"' {
		raw = raw[1 : len(raw)-1]
	}
	n, _ := strconv.ParseInt(string(raw), 10, 64) // validated on the way in
	return n
}

// Unquote returns the text of a JSON string; other JSON it returns as it is. It copies only texts with escapes.
func Unquote(raw []byte) []byte {
	if len(raw) < 2 || raw[0] != '"' {
		return raw
	}
	body := raw[1 : len(raw)-1]
	if bytes.IndexByte(body, '\\') >= 0 {
		return unescape(body)
	}
	return body
}

func unescape(body []byte) []byte {
	out := make([]byte, 0, len(body))
	for i := 0; i < len(body); i++ {
		c := body[i]
		if c != '\\' || i+1 == len(body) {
			out = append(out, c)
			continue
		}
		i++
		switch body[i] {
		case 'b':
			out = append(out, '\b')
		case 'f':
			out = append(out, '\f')
		case 'n':
			out = append(out, '\n')
		case 'r':
			out = append(out, '\r')
		case 't':
			out = append(out, '\t')
		case 'u':
			if i+4 < len(body) {
				n, _ := strconv.ParseUint(string(body[i+1:i+5]), 16, 32) // our own printing
				out = utf8.AppendRune(out, rune(n))
				i += 4
			}
		default:
			out = append(out, body[i])
		}
	}
	return out
}
