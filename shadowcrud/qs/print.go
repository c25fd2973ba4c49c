package qs

import (
	"slices"
	"strconv"
	"strings"

	"lectern/jsontree"
)

// Print prints a tree as Parse made it, such that Parse makes the same tree out of it again. What a query string cannot say
// (empty arrays and objects, values other than nil and strings) is left out.
func Print(o *jsontree.Object) string {
	var p printer
	for _, key := range o.Keys {
		name := key
		if strings.Contains(key, "[") {
			name = bracketed(key)
		}
		p.print(name, 1, o.Values[key])
	}
	return string(p.out)
}

type printer struct{ out []byte }

// print prints what is below a name; level is the number of brackets of a child's name.
func (p *printer) print(name string, level int, v any) {
	switch v := v.(type) {
	case nil:
		p.pair(name)
	case string:
		p.pair(name)
		p.out = append(p.out, '=')
		p.out = appendEscaped(p.out, v)
	case *jsontree.Object:
		for _, key := range v.Keys {
			child := name + key
			if level <= MaxLevels {
				child = name + bracketed(key)
			}
			p.print(child, level+1, v.Values[key])
		}
	case []any:
		p.array(name, level, v)
	}
}

// array prints the leading values of an array as repetitions of its name, where reading puts them in front of what is below
// the name, and otherwise every element under its index.
func (p *printer) array(name string, level int, items []any) {
	values := 0
	for values < len(items) && isLeaf(items[values]) {
		values++
	}
	rest := items[values:]
	repeated := len(rest) == 0 && values > 1
	if len(rest) == 1 && values > 0 {
		o, isObject := rest[0].(*jsontree.Object)
		repeated = isObject && !(level == MaxLevels && hasRest(o))
	}
	for i, item := range items {
		if repeated {
			p.print(name, level, item)
		} else {
			p.print(name+"["+strconv.Itoa(i)+"]", level+1, item)
		}
	}
}

// hasRest reports whether an object has a key that is what was left of too deep a name: it must stay below an index, since a
// level less would have it read as a name.
func hasRest(o *jsontree.Object) bool {
	return slices.ContainsFunc(o.Keys, func(key string) bool { return bracketed(key) == key })
}

func (p *printer) pair(name string) {
	if len(p.out) > 0 {
		p.out = append(p.out, '&')
	}
	p.out = appendEscaped(p.out, name)
}

// bracketed puts a key in brackets, unless it is what was left of a name whose bracket is never closed.
func bracketed(key string) string {
	open := 0
	for i := 0; i < len(key) && open >= 0; i++ {
		if key[i] == '[' {
			open++
		} else if key[i] == ']' {
			open--
		}
	}
	if open != 0 {
		return key
	}
	return "[" + key + "]"
}

func isLeaf(v any) bool {
	_, text := v.(string)
	return v == nil || text
}
