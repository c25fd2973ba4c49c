// Package issues says what is wrong with values that a client sent: where each is, and why it is refused, in the words
// of Strapi.
package issues

import (
	"strconv"
	"strings"

	"lectern/documents/apierror"
	"lectern/jsontree"
)

// An Issue says why one value of a body is refused. It becomes an entry of details.errors.
type Issue struct {
	Path     []string // attribute names and list indexes that lead from the document to the value
	Message  string
	Value    any // the refused value after casting
	HasValue bool
}

// Max is the maximum number of issues in details.errors, so that a small body cannot cause a huge answer. The message
// counts all issues.
const Max = 1000

// At makes an issue whose message begins with the name of its path: At(path, "must be an integer", 1.5).
func At(path []string, says string, value any) Issue {
	return Issue{Path: path, Message: PathName(path) + " " + says, Value: value, HasValue: true}
}

// Missing makes the issue of an absent value.
func Missing(path []string, says string) Issue {
	return Issue{Path: path, Message: PathName(path) + " " + says}
}

// WrongType makes the issue of a value that does not have the type want ("string", "number", "array", "object", …). If
// wasCast is set, casting changed original to cast, and the message shows both.
func WrongType(path []string, want string, cast, original any, wasCast bool) Issue {
	says := "must be a `" + want + "` type, but the final value was: `" + Print(cast) + "`"
	if wasCast {
		says += " (cast from the value `" + Print(original) + "`)"
	}
	f := At(path, says+".", cast)
	if _, ok := cast.(float64); ok { // NaN or infinite, for which JSON has no number
		f.Value = nil
	}
	return f
}

// Error makes a ValidationError of at least one issue.
func Error(list ...Issue) *apierror.Error {
	message := list[0].Message
	if len(list) > 1 {
		message = strconv.Itoa(len(list)) + " errors occurred"
	}
	entries := make([]any, 0, min(len(list), Max))
	for _, f := range list[:min(len(list), Max)] {
		entries = append(entries, f.details())
	}
	return &apierror.Error{Status: 400, Name: "ValidationError", Message: message,
		Details: jsontree.ObjectOf("errors", entries)}
}

func (f Issue) details() *jsontree.Object {
	o := jsontree.ObjectOf("path", jsontree.ListOf(f.Path), "message", f.Message, "name", "ValidationError")
	if f.HasValue {
		o.Set("value", f.Value)
	}
	return o
}

// PathName prints a path for messages: closingPeriods[0].label; the empty path is "this".
func PathName(path []string) string {
	if len(path) == 0 {
		return "this"
	}
	var b strings.Builder
	for i, p := range path {
		switch {
		case i > 0 && isIndex(p):
			b.WriteString("[" + p + "]")
		case i > 0:
			b.WriteString("." + p)
		default:
			b.WriteString(p)
		}
	}
	return b.String()
}

// isIndex reports whether a part of a path is a number.
func isIndex(part string) bool { return part != "" && strings.Trim(part, "0123456789") == "" }

// Below returns path with names appended, in a new slice.
func Below(path []string, names ...string) []string {
	return append(path[:len(path):len(path)], names...)
}
