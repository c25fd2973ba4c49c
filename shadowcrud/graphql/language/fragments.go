package language

import (
	"fmt"
	"slices"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"

	"lectern/documents/apierror"
)

func (v *validator) inlineFragment(on *Type, f *ast.InlineFragment) {
	start := v.doc.source.spread(f.Position)
	to := on
	if f.TypeCondition != "" {
		to = v.schema.types[f.TypeCondition]
		if to != nil && !to.IsCompositeType() {
			v.report(`Fragment cannot condition on non composite type "`+f.TypeCondition+`".`,
				v.doc.source.next(start, 2))
		} else if !overlap(on, to) {
			v.report(`Fragment cannot be spread here as objects of type "`+on.Name+`" can never be of type "`+to.Name+
				`".`, start)
		}
	}
	v.uniqueDirectives(f.Directives)
	if f.TypeCondition != "" {
		v.knownType(f.TypeCondition, v.doc.source.next(start, 2))
	}
	v.directives(f.Directives, ast.LocationInlineFragment)
	v.selectionSet(to, f.SelectionSet)
}

func (v *validator) fragmentSpread(on *Type, f *ast.FragmentSpread) {
	start := v.doc.source.spread(f.Position)
	def := v.doc.Fragments[f.Name]
	if v.current != nil {
		v.current.spreads = append(v.current.spreads, f)
	}
	if def == nil {
		v.report(`Unknown fragment "`+f.Name+`".`, f.Position.Start)
	} else if to := v.schema.types[def.TypeCondition]; to != nil && to.IsCompositeType() && !overlap(on, to) {
		v.report(`Fragment "`+f.Name+`" cannot be spread here as objects of type "`+on.Name+`" can never be of type "`+
			to.Name+`".`, start)
	}
	v.uniqueDirectives(f.Directives)
	v.directives(f.Directives, ast.LocationFragmentSpread)
}

// overlap reports whether a value can be of both types. An unknown type overlaps with every type.
func overlap(a, b *Type) bool {
	if a == nil || b == nil || a == b || !a.IsCompositeType() || !b.IsCompositeType() {
		return true
	}
	for _, x := range a.possible {
		if slices.Contains(b.possible, x) {
			return true
		}
	}
	return false
}

// uses returns the variables and fragments that a fragment uses. It visits the fragment when it is first asked for it.
func (v *validator) uses(f *ast.FragmentDefinition) *definition {
	if d := v.definitions[f.Name]; d != nil {
		return d
	}
	silent, current := v.silent, v.current
	v.silent, v.current = true, &definition{}
	d := v.current
	v.definitions[f.Name] = d
	v.directives(f.Directives, ast.LocationFragmentDefinition)
	v.selectionSet(v.schema.types[f.TypeCondition], f.SelectionSet)
	v.silent, v.current = silent, current
	return d
}

// referenced returns the definitions that an operation consists of: itself and all fragments that it spreads, directly
// or indirectly.
func (v *validator) referenced(op *definition) []*definition {
	list := []*definition{op}
	seen := map[string]bool{}
	for i := 0; i < len(list); i++ {
		for _, spread := range list[i].spreads {
			f := v.doc.Fragments[spread.Name]
			if f == nil || seen[spread.Name] {
				continue
			}
			seen[spread.Name] = true
			v.usedFragment[spread.Name] = true
			list = append(list, v.uses(f))
		}
	}
	return list
}

// unusedFragments reports fragments that no operation spreads.
func (v *validator) unusedFragments() {
	for _, f := range v.doc.fragments {
		if !v.usedFragment[f.Name] {
			v.report(`Fragment "`+f.Name+`" is never used.`, f.Position.Start)
		}
	}
}

// cycles is a search for fragments that spread themselves. It visits each fragment once.
type cycles struct {
	visited map[string]bool
	path    []*ast.FragmentSpread
	index   map[string]int // in path, by the name of a fragment that is being visited
}

// findCycles reports fragments that spread themselves.
func (v *validator) findCycles(f *ast.FragmentDefinition) {
	if !v.cyclic {
		return
	}
	c := &v.cycles
	if c.visited == nil {
		c.visited, c.index = map[string]bool{}, map[string]int{}
	}
	if c.visited[f.Name] {
		return
	}
	c.visited[f.Name] = true
	spreads := v.uses(f).spreads
	if len(spreads) == 0 {
		return
	}
	c.index[f.Name] = len(c.path)
	for _, spread := range spreads {
		from, open := c.index[spread.Name]
		c.path = append(c.path, spread)
		if !open {
			if to := v.doc.Fragments[spread.Name]; to != nil {
				v.findCycles(to)
			}
		} else {
			v.reportCycle(spread.Name, c.path[from:])
		}
		c.path = c.path[:len(c.path)-1]
	}
	delete(c.index, f.Name)
}

func (v *validator) reportCycle(name string, path []*ast.FragmentSpread) {
	var via []string
	var at []int
	for i, spread := range path {
		if i < len(path)-1 {
			via = append(via, `"`+spread.Name+`"`)
		}
		at = append(at, v.doc.source.spread(spread.Position))
	}
	through := ""
	if len(via) > 0 {
		through = " via " + strings.Join(via, ", ")
	}
	v.report(`Cannot spread fragment "`+name+`" within itself`+through+".", at...)
}

// introspectionDepth refuses introspection that nests lists of fields or types too deeply, since each level multiplies
// the answer.
func (v *validator) introspectionDepth(f *ast.Field) {
	if v.cyclic {
		return // fragments that spread themselves are an error already
	}
	var tooDeep func(set ast.SelectionSet, depth int) bool
	tooDeep = func(set ast.SelectionSet, depth int) bool {
		for _, sel := range set {
			switch sel := sel.(type) {
			case *ast.Field:
				d := depth
				switch sel.Name {
				case "fields", "interfaces", "possibleTypes", "inputFields":
					if d++; d > v.limits.IntrospectionDepth {
						return true
					}
				}
				if tooDeep(sel.SelectionSet, d) {
					return true
				}
			case *ast.InlineFragment:
				if tooDeep(sel.SelectionSet, depth) {
					return true
				}
			case *ast.FragmentSpread:
				if def := v.doc.Fragments[sel.Name]; def != nil && tooDeep(def.SelectionSet, depth) {
					return true
				}
			}
		}
		return false
	}
	if tooDeep(f.SelectionSet, 0) {
		v.refuse(apierror.IntrospectionDepth,
			fmt.Sprintf("Maximum introspection depth exceeded (%sintrospectionDepth is %d)", Settings,
				v.limits.IntrospectionDepth), f.Position.Start)
	}
}
