package contenttypes

import (
	"fmt"
	"strconv"
)

// A NodeKind says what a Node is.
type NodeKind uint8

const (
	NullNode NodeKind = iota
	BoolNode
	IntNode // a whole number
	FloatNode
	TextNode
	ListNode
	MapNode
)

// String names the kind as messages do.
func (k NodeKind) String() string {
	return [...]string{"null", "a boolean", "a whole number", "a number", "a text", "a list", "a mapping"}[k]
}

// A Node is a value read from a YAML or JSON file that knows where it stands. Aliases and merge keys (<<) are resolved and
// environment variables filled in, so a Node is a plain tree. The methods may be called on nil, which is a null that
// stands nowhere.
type Node struct {
	Kind    NodeKind
	File    string // as it was named to ReadFile
	Line    int
	Text    string  // of a scalar, after substitution
	Items   []*Node // of a list
	Entries []Entry // of a mapping, in the order of the file

	// fromEnv is set on a scalar that came from an environment variable, whose text stands for whichever type is wanted.
	fromEnv bool
	// unset is set on a null that stands for a variable without a value.
	unset bool
}

// An Entry is one key of a mapping and its value.
type Entry struct {
	Key   string
	Line  int // of the key
	Value *Node
}

// IsNull reports whether n is null or not there.
func (n *Node) IsNull() bool { return n == nil || n.Kind == NullNode }

// Get returns the value of a key of a mapping, nil when there is none or n is no mapping.
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

// At walks down keys as far as they are there: the place to name in a problem about a value that may be missing.
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

// Problem returns a problem at n.
func (n *Node) Problem(format string, args ...any) Problem {
	p := Problem{Message: fmt.Sprintf(format, args...)}
	if n != nil {
		p.File, p.Line = n.File, n.Line
	}
	return p
}

// entryProblem returns a problem at the key of an entry of n.
func (n *Node) entryProblem(e Entry, format string, args ...any) Problem {
	return Problem{File: n.File, Line: e.Line, Message: fmt.Sprintf(format, args...)}
}

// describe names a value in a message: its kind, and what it says when that is short.
func (n *Node) describe() string {
	switch {
	case n.IsNull():
		return "null"
	case n.Kind >= ListNode:
		return n.Kind.String()
	}
	text := n.Text
	if len(text) > 40 {
		text = string([]rune(text)[:min(40, len([]rune(text)))]) + "…"
	}
	if n.Kind == TextNode {
		return n.Kind.String() + " " + strconv.Quote(text)
	}
	return n.Kind.String() + " " + text
}

// bool reads a boolean.
func (n *Node) bool() (value, ok bool) {
	if n.Kind != BoolNode && !(n.fromEnv && n.Kind == TextNode) {
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

// int reads a whole number of at most the given number of bits.
func (n *Node) int(bits int) (int64, bool) {
	if n.Kind != IntNode && !(n.fromEnv && n.Kind == TextNode) {
		return 0, false
	}
	i, err := strconv.ParseInt(n.Text, 0, bits)
	return i, err == nil
}

// uint is int without a sign.
func (n *Node) uint(bits int) (uint64, bool) {
	if n.Kind != IntNode && !(n.fromEnv && n.Kind == TextNode) {
		return 0, false
	}
	i, err := strconv.ParseUint(n.Text, 0, bits)
	return i, err == nil
}

// unquoted is n, or the integer that stands in it as a text: values of biginteger attributes are written so.
func (n *Node) unquoted() *Node {
	if n.Kind != TextNode || n.Text == "" || !isInt(n.Text) {
		return n
	}
	return &Node{Kind: IntNode, Text: n.Text, File: n.File, Line: n.Line}
}

// float reads a finite number.
func (n *Node) float() (float64, bool) {
	if i, ok := n.int(64); ok {
		return float64(i), true
	}
	if n.Kind != IntNode && n.Kind != FloatNode && !(n.fromEnv && n.Kind == TextNode) {
		return 0, false
	}
	f, err := strconv.ParseFloat(n.Text, 64)
	return f, err == nil && f-f == 0
}

// string reads a text. A number or boolean is one only when an environment variable gave it.
func (n *Node) string() (string, bool) { return n.Text, n.isText() }

func (n *Node) isText() bool {
	return n != nil && (n.Kind == TextNode || (n.fromEnv && n.Kind > NullNode && n.Kind < ListNode))
}
