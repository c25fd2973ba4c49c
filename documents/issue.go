package documents

import (
	"math"
	"strconv"
	"strings"

	"lectern/documents/apierror"
	"lectern/jsontree"
)

// An issue says why one value of a body is refused. It becomes an entry of details.errors.
type issue struct {
	path     []string // attribute names and list indexes that lead from the document to the value
	message  string
	value    any // the refused value after casting
	hasValue bool
}

// maxIssues is the maximum number of issues in details.errors, so that a small body cannot cause a huge answer. The message counts all
// issues.
const maxIssues = 1000

// issuesError makes a ValidationError of at least one issue.
func issuesError(issues []issue) *apierror.Error {
	message := issues[0].message
	if len(issues) > 1 {
		message = strconv.Itoa(len(issues)) + " errors occurred"
	}
	list := make([]any, 0, min(len(issues), maxIssues))
	for _, f := range issues[:min(len(issues), maxIssues)] {
		list = append(list, f.details())
	}
	details := jsontree.NewObject()
	details.Set("errors", list)
	return &apierror.Error{Status: 400, Name: "ValidationError", Message: message, Details: details}
}

func (f issue) details() *jsontree.Object {
	path := make([]any, len(f.path))
	for i, p := range f.path {
		path[i] = p
	}
	o := jsontree.NewObject()
	o.Set("path", path)
	o.Set("message", f.message)
	o.Set("name", "ValidationError")
	if f.hasValue {
		o.Set("value", f.value)
	}
	return o
}

// pathName prints a path for messages: closingPeriods[0].label; the empty path is "this".
func pathName(path []string) string {
	if len(path) == 0 {
		return "this"
	}
	var b strings.Builder
	for i, p := range path {
		switch {
		case i > 0 && isDigits(p):
			b.WriteString("[" + p + "]")
		case i > 0:
			b.WriteString("." + p)
		default:
			b.WriteString(p)
		}
	}
	return b.String()
}

// isDigits reports whether s consists of ASCII digits, of which there is at least one.
func isDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

// below returns path with names appended, in a new slice.
func below(path []string, names ...string) []string {
	return append(path[:len(path):len(path)], names...)
}

// issueAt makes an issue whose message begins with the name of its path: issueAt(path, "must be an integer", 1.5).
func issueAt(path []string, says string, value any) issue {
	return issue{path: path, message: pathName(path) + " " + says, value: value, hasValue: true}
}

// missing makes the issue of an absent value.
func missing(path []string, says string) issue {
	return issue{path: path, message: pathName(path) + " " + says}
}

// wrongType makes the issue of a value that does not have the type want ("string", "number", "array", "object", …). If wasCast is set,
// casting changed original to cast, and the message shows both.
func wrongType(path []string, want string, cast, original any, wasCast bool) issue {
	says := "must be a `" + want + "` type, but the final value was: `" + printValue(cast) + "`"
	if wasCast {
		says += " (cast from the value `" + printValue(original) + "`)"
	}
	f := issueAt(path, says+".", cast)
	if _, ok := cast.(float64); ok { // NaN or infinite, for which JSON has no number
		f.value = nil
	}
	return f
}

// WrongType returns the error for a value of a body that does not have the type want ("string", "object", "array", …). If wasCast
// is set, cast is the result of casting sent, and the message shows both.
func WrongType(path []string, want string, cast, sent any, wasCast bool) *apierror.Error {
	return issuesError([]issue{wrongType(path, want, cast, sent, wasCast)})
}

// maxPrinted is the maximum number of bytes that printValue prints, since indentation can make a value many times larger than the body.
const maxPrinted = 16 << 10

// printValue prints a value for messages as Strapi does. It prints a string in quotes, and another scalar without quotes. It prints an
// array or object as JSON indented by two, in which every scalar becomes a string, and a string gets a second pair of quotes.
func printValue(v any) string {
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

// A printer prints nested values for printValue and stops soon after maxPrinted bytes.
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
