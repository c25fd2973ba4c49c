// Package qs reads query strings and form bodies with nested names into a tree of ordered objects.
//
//	filters[owner][age][$gt]=30&sort[0]=name&populate[]=menu
//
// A leaf is a string, or nil for a name without "=". Names nest by brackets; [] and indexes make arrays, without gaps;
// a name that occurs several times makes an array of its values. No name has a special meaning, not even "__proto__".
//
// The time and memory of reading are proportional to the length of the input: the numbers of pairs, of elements of an
// array and of levels are limited. Levels beyond the limit become part of a literal name, which callers do not know.
// Exceeding the other limits is an error, since a filter that was dropped would show what it should hide.
package qs

import (
	"iter"
	"strings"
	"sync"
	"unicode/utf8"

	"lectern/jsontree"
)

// Limits of the input.
const (
	MaxPairs    = 1000 // pairs in a query string or form
	MaxElements = 100  // elements of an array in a query string
	MaxLevels   = 20   // brackets after a parameter's own name; the rest of the name is one literal key
)

// Errors of Parse, ParseForm and Fields.
const (
	ErrTooManyPairs    Error = "Too many parameters: at most 1000 are allowed"
	ErrTooManyElements Error = "Too many elements in an array: at most 100 are allowed"
)

// An Error is a message for the client that sent the string.
type Error string

func (e Error) Error() string { return string(e) }

// Parse reads a query string, without its question mark.
func Parse(s string) (*jsontree.Object, error) {
	p := newParser(MaxElements, false)
	defer p.release()
	if err := p.pairs(s); err != nil {
		return nil, err
	}
	return p.tree()
}

// ParseForm reads an urlencoded body. In its names a dot may stand for brackets: data.address.city is
// data[address][city].
func ParseForm(s string) (*jsontree.Object, error) {
	p := newParser(MaxPairs, true)
	defer p.release()
	if err := p.pairs(s); err != nil {
		return nil, err
	}
	return p.tree()
}

// Fields reads decoded names and values, such as those of a multipart form. Names are read as by ParseForm.
func Fields(fields iter.Seq2[string, string]) (*jsontree.Object, error) {
	p := newParser(MaxPairs, true)
	defer p.release()
	for name, value := range fields {
		if err := p.add(valid(name), leaf{text: valid(value)}); err != nil {
			return nil, err
		}
	}
	return p.tree()
}

// A parser holds the tree while it grows. Nodes and leaves are in two slices and refer to each other by index, so that
// a parser can be reused without garbage.
type parser struct {
	nodes       []node
	leaves      []leaf
	wide        map[wideKey]int32 // the children of nodes with many children
	pairsRead   int
	maxElements int
	dots        bool
}

// A node is a name with its values and children. Index 0 is the root, and also means "none".
type node struct {
	key              string
	index            int32 // the key as an index, appended for [], notIndex otherwise
	first, last      int32 // children in the order of the input
	next             int32 // the next child of the same parent
	children         int32
	named            bool // some child's key is not an index, so the node is an object
	values           int32
	firstVal, endVal int32 // indexes of the first and last value in leaves, plus 1
}

// A leaf is one value of a node.
type leaf struct {
	text string
	null bool
	next int32 // index of the next value of the node in leaves, plus 1
}

type wideKey struct {
	parent int32
	key    string
}

const (
	appended = -1
	notIndex = -2

	wideFrom  = 16   // a node with as many children finds them by a map
	maxPooled = 4096 // a parser with more nodes or leaves does not go back to the pool
)

var parsers = sync.Pool{New: func() any { return new(parser) }}

func newParser(maxElements int, dots bool) *parser {
	p := parsers.Get().(*parser)
	p.nodes = append(p.nodes[:0], node{})
	p.leaves = p.leaves[:0]
	p.pairsRead = 0
	p.maxElements, p.dots = maxElements, dots
	return p
}

// release puts p back into the pool, without references to strings.
func (p *parser) release() {
	if cap(p.nodes) > maxPooled || cap(p.leaves) > maxPooled {
		return
	}
	clear(p.nodes)
	clear(p.leaves)
	clear(p.wide)
	parsers.Put(p)
}

// pairs adds all pairs of s.
func (p *parser) pairs(s string) error {
	s = valid(s)
	for s != "" {
		pair, rest, _ := strings.Cut(s, "&")
		s = rest
		if pair == "" {
			continue
		}
		name, value := pair, leaf{null: true}
		if i := equalsSign(pair); i >= 0 {
			name, value = pair[:i], leaf{text: unescape(pair[i+1:])}
		}
		if name == "" {
			continue
		}
		if err := p.add(unescapeName(name), value); err != nil {
			return err
		}
	}
	return nil
}

// equalsSign returns the position of the "=" that ends the name of a pair: the first one outside of brackets, which may
// be escaped. If a bracket is not closed, it is the first "=" of the pair. It is -1 if there is none.
func equalsSign(pair string) int {
	first, open := -1, 0
	for i := 0; i < len(pair); i++ {
		switch c := pair[i]; {
		case c == '=':
			if open == 0 {
				return i
			}
			if first < 0 {
				first = i
			}
		case c == '[' || c == '%' && escaped(pair[i:], 'B'):
			open++
		case c == ']' || c == '%' && escaped(pair[i:], 'D'):
			open = max(open-1, 0)
		}
	}
	return first
}

// escaped reports whether s begins with %5B or %5D, an escaped bracket, in either case.
func escaped(s string, last byte) bool {
	return len(s) >= 3 && s[1] == '5' && s[2]&^0x20 == last
}

// add adds a value under a decoded name.
func (p *parser) add(name string, value leaf) error {
	if p.pairsRead++; p.pairsRead > MaxPairs {
		return ErrTooManyPairs
	}
	head, rest := p.head(name)
	if head == "" {
		return nil
	}
	at := p.child(0, head)
	for level := 1; rest != ""; level++ {
		key, after, ok := p.segment(rest)
		if !ok || level > MaxLevels {
			key, after = rest, ""
		}
		at = p.child(at, key)
		rest = after
	}
	return p.value(at, value)
}

// head splits a name into the name of the parameter and the brackets after it. If the name begins with a bracket, the
// name of the parameter is the text in the first pair of brackets.
func (p *parser) head(name string) (head, rest string) {
	for i := 0; i < len(name); i++ {
		if c := name[i]; c == '[' && i > 0 || c == '.' && p.dots && i > 0 {
			return name[:i], name[i:]
		} else if c == '[' {
			key, rest, ok := p.segment(name)
			if !ok {
				return name, ""
			}
			return key, rest
		}
	}
	return name, ""
}

// segment returns the first key in brackets (or after a dot) at the beginning of s, and the rest of s from the next
// bracket on. It is not ok if the bracket is not closed. Brackets within brackets are part of the key.
func (p *parser) segment(s string) (key, rest string, ok bool) {
	end := 0
	if s[0] == '.' {
		end = 1
		for end < len(s) && s[end] != '.' && s[end] != '[' {
			end++
		}
		return s[1:end], s[end:], end > 1
	}
	for open := 0; ; end++ {
		if end == len(s) {
			return "", "", false
		}
		if s[end] == '[' {
			open++
		} else if s[end] == ']' {
			if open--; open == 0 {
				break
			}
		}
	}
	key, rest = s[1:end], s[end+1:]
	for rest != "" && rest[0] != '[' && (rest[0] != '.' || !p.dots) {
		rest = rest[1:]
	}
	return key, rest, true
}

// child returns the child of a node with this key. It creates the child if there is none.
func (p *parser) child(parent int32, key string) int32 {
	if last := p.nodes[parent].last; last != 0 && p.nodes[last].key == key {
		return last
	}
	wide := p.nodes[parent].children >= wideFrom
	if wide {
		if at, ok := p.wide[wideKey{parent, key}]; ok {
			return at
		}
	} else {
		for at := p.nodes[parent].first; at != 0; at = p.nodes[at].next {
			if p.nodes[at].key == key {
				return at
			}
		}
	}

	at := int32(len(p.nodes))
	p.nodes = append(p.nodes, node{key: key, index: index(key)})
	up := &p.nodes[parent]
	if up.last == 0 {
		up.first = at
	} else {
		p.nodes[up.last].next = at
	}
	up.last = at
	up.named = up.named || p.nodes[at].index == notIndex
	up.children++
	if wide {
		p.wide[wideKey{parent, key}] = at
	} else if up.children == wideFrom {
		p.widen(parent)
	}
	return at
}

// widen adds the children of a node to the map.
func (p *parser) widen(parent int32) {
	if p.wide == nil {
		p.wide = map[wideKey]int32{}
	}
	for at := p.nodes[parent].first; at != 0; at = p.nodes[at].next {
		p.wide[wideKey{parent, p.nodes[at].key}] = at
	}
}

// value adds a value to a node.
func (p *parser) value(at int32, v leaf) error {
	p.leaves = append(p.leaves, v)
	n, l := &p.nodes[at], int32(len(p.leaves))
	if n.values == 0 {
		n.firstVal = l
	} else {
		p.leaves[n.endVal-1].next = l
	}
	n.endVal = l
	if n.values++; int(n.values) > p.maxElements {
		return ErrTooManyElements
	}
	return nil
}

// index returns a key as an index of an array: appended for [], notIndex if it is not a number as JavaScript prints it.
func index(key string) int32 {
	if key == "" {
		return appended
	}
	if len(key) > 9 || key[0] == '0' && len(key) > 1 {
		return notIndex
	}
	n := int32(0)
	for i := 0; i < len(key); i++ {
		if key[i] < '0' || key[i] > '9' {
			return notIndex
		}
		n = n*10 + int32(key[i]-'0')
	}
	return n
}

// valid returns s with invalid UTF-8 replaced.
func valid(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}
