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

// An Object is a JSON object in the order of its keys. A repeated key keeps its first place and its last value.
type Object struct {
	Keys   []string
	Values map[string]any
}

// NewObject returns an empty object.
func NewObject() *Object { return &Object{Values: map[string]any{}} }

// Get returns the value of a key and whether there is one.
func (o *Object) Get(key string) (any, bool) { v, ok := o.Values[key]; return v, ok }

// Set adds a key or changes its value.
func (o *Object) Set(key string, v any) {
	if _, ok := o.Values[key]; !ok {
		o.Keys = append(o.Keys, key)
	}
	o.Values[key] = v
}

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
		for k, v := range a.Values {
			w, ok := b.Values[k]
			if !ok || !Equal(v, w) {
				return false
			}
		}
		return true
	}
	return false
}
