// Package jsontree holds JSON values with the order of their keys, as JavaScript keeps and prints them.
//
// A value is nil, bool, Number, string, []any or *Object.
package jsontree

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

// Parse reads one JSON value; err is a *SyntaxError in the words of V8's JSON.parse. maxDepth bounds nesting.
func Parse(data []byte, maxDepth int) (any, error) { panic("stub") }

// A SyntaxError says where JSON text is wrong.
type SyntaxError struct{ Message string }

func (e *SyntaxError) Error() string { return e.Message }

// Append appends the JSON text of v as JSON.stringify prints it (numbers as JavaScript prints them, no HTML escaping).
func Append(dst []byte, v any) []byte { panic("stub") }

// AppendString appends s as a JSON string as JSON.stringify prints it.
func AppendString(dst []byte, s string) []byte { panic("stub") }

// FormatNumber prints a float as JavaScript does (1e21, 0.1, 100, NaN).
func FormatNumber(f float64) string { panic("stub") }

// ParseNumber reads a string as JavaScript's Number() does; ok is false for NaN.
func ParseNumber(s string) (f float64, ok bool) { panic("stub") }
