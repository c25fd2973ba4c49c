// Package jsontree holds JSON values with the order of their keys, as JavaScript keeps and prints them.
//
// A value is nil, bool, Number, string, []any or *Object. Parse makes one from text and complains in the words clients know
// from JSON.parse; Append prints one as JSON.stringify does. Unlike JavaScript, a Number keeps every digit it was written
// with, and keys that look like integers stay where they were written.
package jsontree

// MaxDepth is a bound for Parse that no sensible document comes near and that every part of the program can walk
// recursively.
const MaxDepth = 500

// A Number is a JSON number as it was written, so that no digit is lost.
type Number string

// Equal reports whether two values are the same JSON: numbers when they print the same, objects when they have equal values
// under the same keys in whatever order.
func Equal(a, b any) bool {
	switch a := a.(type) {
	case nil:
		return b == nil
	case bool:
		b, ok := b.(bool)
		return ok && a == b
	case string:
		b, ok := b.(string)
		return ok && a == b
	case Number:
		b, ok := b.(Number)
		return ok && (a == b || string(appendNumber(nil, a)) == string(appendNumber(nil, b)))
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for i := range a {
			if !Equal(a[i], b[i]) {
				return false
			}
		}
		return true
	case *Object:
		b, ok := b.(*Object)
		if !ok || len(a.Keys) != len(b.Keys) {
			return false
		}
		for i, k := range a.Keys {
			w, ok := b.Get(k)
			if !ok || !Equal(a.values[i], w) {
				return false
			}
		}
		return true
	}
	return false
}
