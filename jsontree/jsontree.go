// Package jsontree holds JSON values that keep the order of their keys.
//
// A value is nil, bool, Number, string, []any or *Object. Parse reads a value and fails with the messages of
// JavaScript's JSON.parse, which clients know; Append prints a value as JSON.stringify does. Unlike JavaScript, a
// Number keeps every digit, and keys that look like integers keep their position.
package jsontree

// MaxDepth is a depth limit for Parse. It is far above the depth of real documents, and small enough for recursive
// functions.
const MaxDepth = 500

// A Number is a JSON number in its original text, so that no digit is lost.
type Number string

// Equal reports whether two values are the same JSON. Numbers are equal when they print the same; objects when they
// have the same keys, in any order, with equal values.
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
