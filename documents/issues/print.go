package issues

import (
	"math"
	"strings"

	"lectern/jsontree"
)

// maxPrinted is the maximum number of bytes that Print prints, since indentation can make a value many times larger
// than the body.
const maxPrinted = 16 << 10

// Print prints a value for messages as Strapi does. It prints a string in quotes, and another scalar without quotes. It
// prints an array or object as JSON indented by two, in which every scalar becomes a string, and a string gets a second
// pair of quotes.
func Print(v any) string {
	switch v := v.(type) {
	case []any, *jsontree.Object:
		p := printer{}
		p.print(v, 0)
		if len(p.buf) > maxPrinted {
			return strings.ToValidUTF8(string(p.buf[:maxPrinted]), "") + "…"
		}
		return string(p.buf)
	case string:
		if len(v) > maxPrinted {
			return `"` + strings.ToValidUTF8(v[:maxPrinted], "") + `…"`
		}
		return printScalar(v)
	}
	return printScalar(v)
}

func printScalar(v any) string {
	switch v := v.(type) {
	case string:
		return `"` + v + `"`
	case float64:
		return jsontree.FormatNumber(v)
	case jsontree.Number:
		if f := v.Float(); f == 0 && math.Signbit(f) {
			return "-0"
		}
	}
	return string(jsontree.Append(nil, v))
}

// A printer prints nested values for Print and stops soon after maxPrinted bytes.
type printer struct{ buf []byte }

func (p *printer) print(v any, depth int) {
	switch v := v.(type) {
	case []any:
		p.list('[', ']', len(v), depth, func(i int) any { return v[i] })
	case *jsontree.Object:
		p.list('{', '}', len(v.Keys), depth, func(i int) any {
			p.buf = jsontree.AppendString(p.buf, v.Keys[i])
			p.buf = append(p.buf, ": "...)
			return v.Value(v.Keys[i])
		})
	default:
		p.buf = jsontree.AppendString(p.buf, printScalar(v))
	}
}

// list prints n items between begin and end. item(i) returns the i-th item, and may print its key first.
func (p *printer) list(begin, end byte, n, depth int, item func(int) any) {
	p.buf = append(p.buf, begin)
	for i := range n {
		if len(p.buf) > maxPrinted {
			return
		}
		if i > 0 {
			p.buf = append(p.buf, ',')
		}
		p.line(depth + 1)
		p.print(item(i), depth+1)
	}
	if n > 0 {
		p.line(depth)
	}
	p.buf = append(p.buf, end)
}

func (p *printer) line(depth int) {
	p.buf = append(p.buf, '\n')
	for range depth {
		p.buf = append(p.buf, "  "...)
	}
}
