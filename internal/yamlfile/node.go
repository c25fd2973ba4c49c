package yamlfile

import (
	"fmt"
	"strconv"

	"lectern/jsontree"
)

// A Kind is the type of a Node's value.
type Kind uint8

const (
	Null Kind = iota
	Bool
	Int // an integer
	Float
	Text
	List
	Map
)

// String returns the kind's name in problems.
func (k Kind) String() string {
	return [...]string{"null", "a boolean", "a whole number", "a number", "a text", "a list", "a mapping"}[k]
}

// A Node is a value of a YAML or JSON file with its position. Aliases, merge keys (<<) and environment variables are
// replaced by their values, so a Node is a plain tree. Methods work on a nil Node, which is a null without a position.
type Node struct {
	Kind    Kind
	File    string // the file name that Read or Parse was called with
	Line    int
	Text    string  // the text of a scalar, with variables replaced
	Items   []*Node // the items of a list
	Entries []Entry // the entries of a mapping, in the order of the file

	// fromEnv is true for a scalar that came from an environment variable. Its text can be decoded to any type.
	fromEnv bool
	// unset is true for a null that replaces a variable without a value.
	unset bool
}

// An Entry is one key of a mapping and its value.
type Entry struct {
	Key   string
	Line  int // the line of the key
	Value *Node

	// Comment is printed above the key, with # before each line. Parse leaves it empty. An Entry with a nil Value is
	// only a comment; such entries are for Print alone.
	Comment string
}

// IsNull reports whether n is null or nil.
func (n *Node) IsNull() bool { return n == nil || n.Kind == Null }

// Get returns the value of a key of a mapping, or nil if there is no such key or n is not a mapping.
func (n *Node) Get(key string) *Node {
	if n == nil {
		return nil
	}
	for _, e := range n.Entries {
		if e.Key == key {
			return e.Value
		}
	}
	return nil
}

// At follows keys from n as far as they exist, and returns the last Node. Its line is the best one for a problem with a
// value that may be missing.
func (n *Node) At(keys ...string) *Node {
	for _, key := range keys {
		next := n.Get(key)
		if next == nil {
			break
		}
		n = next
	}
	return n
}

// Problem returns a problem at the position of n.
func (n *Node) Problem(format string, args ...any) Problem {
	p := Problem{Message: fmt.Sprintf(format, args...)}
	if n != nil {
		p.File, p.Line = n.File, n.Line
	}
	return p
}

// EntryProblem returns a problem at the key of an entry of n.
func (n *Node) EntryProblem(e Entry, format string, args ...any) Problem {
	return Problem{File: n.File, Line: e.Line, Message: fmt.Sprintf(format, args...)}
}

// Describe returns a description of a value for problems: its kind, and its text, shortened to 40 characters.
func (n *Node) Describe() string {
	switch {
	case n.IsNull():
		return "null"
	case n.Kind >= List:
		return n.Kind.String()
	}
	text := n.Text
	if len(text) > 40 {
		text = string([]rune(text)[:min(40, len([]rune(text)))]) + "…"
	}
	if n.Kind == Text {
		return n.Kind.String() + " " + strconv.Quote(text)
	}
	return n.Kind.String() + " " + text
}

// Tree returns n as a value of JSON: a jsontree.Object, a list, a text, a jsontree.Number, a boolean or nil.
func (n *Node) Tree() any {
	if n.IsNull() {
		return nil
	}
	switch n.Kind {
	case Int:
		if i, ok := n.AsInt(64); ok {
			return jsontree.Number(strconv.FormatInt(i, 10))
		}
		return jsontree.Number(n.Text)
	case Float:
		return jsontree.Number(n.Text)
	case Bool:
		b, _ := n.AsBool()
		return b
	case List:
		list := make([]any, len(n.Items))
		for i, item := range n.Items {
			list[i] = item.Tree()
		}
		return list
	case Map:
		o := jsontree.NewObjectOf(len(n.Entries))
		for _, e := range n.Entries {
			o.Set(e.Key, e.Value.Tree())
		}
		return o
	}
	return n.Text
}

// AsBool returns the value of a boolean.
func (n *Node) AsBool() (value, ok bool) {
	if n.Kind != Bool && !(n.fromEnv && n.Kind == Text) {
		return false, false
	}
	switch n.Text {
	case "true", "True", "TRUE":
		return true, true
	case "false", "False", "FALSE":
		return false, true
	}
	return false, false
}

// AsInt returns an integer of at most the given number of bits.
func (n *Node) AsInt(bits int) (int64, bool) {
	if n.Kind != Int && !(n.fromEnv && n.Kind == Text) {
		return 0, false
	}
	i, err := strconv.ParseInt(n.Text, 0, bits)
	return i, err == nil
}

// AsUint returns an unsigned integer of at most the given number of bits.
func (n *Node) AsUint(bits int) (uint64, bool) {
	if n.Kind != Int && !(n.fromEnv && n.Kind == Text) {
		return 0, false
	}
	i, err := strconv.ParseUint(n.Text, 0, bits)
	return i, err == nil
}

// Unquoted returns an Int node for a quoted integer, and n otherwise. Values of biginteger attributes are written in
// quotes.
func (n *Node) Unquoted() *Node {
	if n.Kind != Text || n.Text == "" || !isInt(n.Text) {
		return n
	}
	return &Node{Kind: Int, Text: n.Text, File: n.File, Line: n.Line}
}

// AsFloat returns a finite number.
func (n *Node) AsFloat() (float64, bool) {
	if i, ok := n.AsInt(64); ok {
		return float64(i), true
	}
	if n.Kind != Int && n.Kind != Float && !(n.fromEnv && n.Kind == Text) {
		return 0, false
	}
	f, err := strconv.ParseFloat(n.Text, 64)
	return f, err == nil && f-f == 0
}

// AsText returns the value of a text. A number or boolean counts as a text only if it came from an environment
// variable.
func (n *Node) AsText() (string, bool) { return n.Text, n.IsText() }

// IsText reports whether AsText would return a text.
func (n *Node) IsText() bool {
	return n != nil && (n.Kind == Text || (n.fromEnv && n.Kind > Null && n.Kind < List))
}
