package language

import (
	"fmt"
	"slices"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"

	"lectern/documents/apierror"
)

// DocumentLimits bound the size of a document. Each limit is checked before any work whose cost grows faster than the
// document.
type DocumentLimits struct {
	Tokens     int // of the document, without comments
	Nesting    int // how deeply brackets may be nested
	Depth      int // how many levels of fields may be below a root field, without introspection
	Selections int // of an operation; a fragment counts each time it is spread
	RootFields int // how many fields of Query or Mutation an operation may have
	Aliases    int // of the document
	Directives int // of the document
	// IntrospectionDepth is how deeply lists of fields or types may be nested in introspection.
	IntrospectionDepth int
	// Introspection allows __schema and __type.
	Introspection bool
}

// DefaultDocumentLimits allow documents far larger than clients usually send.
var DefaultDocumentLimits = DocumentLimits{Tokens: 15000, Nesting: 250, Depth: 10, Selections: 10000, RootFields: 100,
	Aliases: 500, Directives: 500,
	IntrospectionDepth: 2, Introspection: true}

// bounds checks a document against the limits before it is validated. It reports each selection that is too deep; it
// reports every other exceeded limit once.
func (v *validator) bounds() {
	d := v.doc
	c := census{doc: d, sizes: map[string]int{}}
	for _, op := range d.Operations {
		c.count(op.SelectionSet, op.Directives)
	}
	for _, f := range d.fragments {
		c.count(f.SelectionSet, f.Directives)
	}
	switch {
	case c.aliases > v.limits.Aliases:
		v.tooMany("aliases", v.limits.Aliases, "aliases", apierror.Aliases)
	case c.directives > v.limits.Directives:
		v.tooMany("directives", v.limits.Directives, "directives", apierror.Directives)
	}
	v.cyclic = c.cyclic()
	for _, op := range d.Operations {
		if v.stopped {
			return
		}
		if !v.cyclic && c.size(op.SelectionSet, v.limits.Selections) > v.limits.Selections {
			v.tooMany("selections with its fragments put in place", v.limits.Selections, "selections",
				apierror.Selections)
			return
		}
		if n := c.roots(op.SelectionSet, v.limits.RootFields, map[string]bool{}); n > v.limits.RootFields {
			v.tooMany("root fields", v.limits.RootFields, "rootFields", apierror.RootFields)
			return
		}
	}
	for _, op := range d.Operations {
		w := depths{v: v, operation: op.Name}
		w.selections(op.SelectionSet, 0)
	}
}

// Settings is the path of DocumentLimits in config/plugins.yaml. Messages put it before the name of an exceeded limit.
const Settings = "graphql.config.limits."

// tooMany reports a limit that is exceeded and ends validation.
func (v *validator) tooMany(what string, limit int, setting string, refusal apierror.Reason) {
	v.stopped = true
	v.errors = append(v.errors, &Error{
		Message: fmt.Sprintf("Document contains more than %d %s (%s).", limit, what, Settings+setting),
		Code:    ValidationFailed, Refusal: refusal,
	})
}

// A census counts the parts of a document.
type census struct {
	doc                 *Document
	aliases, directives int
	sizes               map[string]int // the result of size for each fragment, by its name
}

func (c *census) count(set ast.SelectionSet, on ast.DirectiveList) {
	c.directives += len(on)
	for _, sel := range set {
		switch sel := sel.(type) {
		case *ast.Field:
			if sel.Alias != sel.Name {
				c.aliases++
			}
			c.count(sel.SelectionSet, sel.Directives)
		case *ast.InlineFragment:
			c.count(sel.SelectionSet, sel.Directives)
		case *ast.FragmentSpread:
			c.directives += len(sel.Directives)
		}
	}
}

// size counts the selections of a set with its fragments inlined, and stops at limit. The fragments must not be cyclic.
func (c *census) size(set ast.SelectionSet, limit int) int {
	n := 0
	for _, sel := range set {
		if n > limit {
			return n
		}
		n++
		switch sel := sel.(type) {
		case *ast.Field:
			n += c.size(sel.SelectionSet, limit)
		case *ast.InlineFragment:
			n += c.size(sel.SelectionSet, limit)
		case *ast.FragmentSpread:
			known, ok := c.sizes[sel.Name]
			if f := c.doc.Fragments[sel.Name]; !ok && f != nil {
				known = c.size(f.SelectionSet, limit)
				c.sizes[sel.Name] = known
			}
			n += known
		}
	}
	return n
}

// roots counts the fields of a set and of the fragments that it spreads. It counts each fragment once, and stops at
// limit.
func (c *census) roots(set ast.SelectionSet, limit int, seen map[string]bool) int {
	n := 0
	for _, sel := range set {
		switch sel := sel.(type) {
		case *ast.Field:
			n++
		case *ast.InlineFragment:
			n += c.roots(sel.SelectionSet, limit, seen)
		case *ast.FragmentSpread:
			if f := c.doc.Fragments[sel.Name]; f != nil && !seen[sel.Name] {
				seen[sel.Name] = true
				n += c.roots(f.SelectionSet, limit, seen)
			}
		}
		if n > limit {
			return n
		}
	}
	return n
}

// cyclic reports whether a fragment spreads itself, directly or through others.
func (c *census) cyclic() bool {
	const open, done = 1, 2
	state := map[string]int{}
	var visit func(set ast.SelectionSet) bool
	visit = func(set ast.SelectionSet) bool {
		for _, sel := range set {
			var found bool
			switch sel := sel.(type) {
			case *ast.Field:
				found = visit(sel.SelectionSet)
			case *ast.InlineFragment:
				found = visit(sel.SelectionSet)
			case *ast.FragmentSpread:
				f := c.doc.Fragments[sel.Name]
				if f == nil || state[sel.Name] == done {
					continue
				}
				if state[sel.Name] == open {
					return true
				}
				state[sel.Name] = open
				found = visit(f.SelectionSet)
				state[sel.Name] = done
			}
			if found {
				return true
			}
		}
		return false
	}
	for _, f := range c.doc.fragments {
		if visit(f.SelectionSet) {
			return true
		}
	}
	return false
}

// depths finds the selections that are exactly one level too deep, and reports each as an error.
type depths struct {
	v         *validator
	operation string
	visited   int
	open      []string // fragments entered since the last field; entering one again finds no new fields
}

// maxDepthVisits bounds the search where fragments are cyclic; it is greater than any limit of selections.
const maxDepthVisits = 1 << 16

func (d *depths) selections(set ast.SelectionSet, depth int) {
	for _, sel := range set {
		d.selection(sel, depth)
	}
}

func (d *depths) selection(sel ast.Selection, depth int) {
	if d.visited++; d.visited > maxDepthVisits || d.v.full() {
		return
	}
	if depth > d.v.limits.Depth {
		d.v.refuse(apierror.Depth, fmt.Sprintf("'%s' exceeds maximum operation depth of %d", d.operation,
			d.v.limits.Depth), d.v.doc.source.selection(sel))
		return
	}
	switch sel := sel.(type) {
	case *ast.Field:
		if !strings.HasPrefix(sel.Name, "__") {
			open := d.open
			d.open = nil
			d.selections(sel.SelectionSet, depth+1)
			d.open = open
		}
	case *ast.InlineFragment:
		d.selections(sel.SelectionSet, depth)
	case *ast.FragmentSpread:
		f := d.v.doc.Fragments[sel.Name]
		if f == nil || slices.Contains(d.open, sel.Name) {
			return
		}
		d.open = append(d.open, sel.Name)
		d.selections(f.SelectionSet, depth)
		d.open = d.open[:len(d.open)-1]
	}
}
