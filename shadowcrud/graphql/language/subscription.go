package language

import (
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
)

// singleField checks that a subscription selects one field, which is none of introspection. It must not be possible to
// skip this field, so @skip and @include are refused beside it, as graphql-js does from version 17 on.
func (v *validator) singleField(op *ast.OperationDefinition) {
	what := "Anonymous Subscription"
	if op.Name != "" {
		what = `Subscription "` + op.Name + `"`
	}
	c := topLevel{v: v, spread: map[string]bool{}, byName: map[string][]*ast.Field{}}
	c.collect(op.SelectionSet)
	if len(c.conditions) > 0 {
		v.report(what+" must not use `@skip` or `@include` directives in the top level selection.", c.conditions...)
		return
	}
	var extra []int
	for _, name := range c.names[min(1, len(c.names)):] {
		extra = append(extra, starts(c.byName[name])...)
	}
	if extra != nil {
		v.report(what+" must select only one top level field.", extra...)
	}
	for _, name := range c.names {
		if fields := c.byName[name]; strings.HasPrefix(fields[0].Name, "__") {
			v.report(what+" must not select an introspection top level field.", starts(fields)...)
		}
	}
}

func starts(fields []*ast.Field) (at []int) {
	for _, f := range fields {
		at = append(at, f.Position.Start)
	}
	return at
}

// A topLevel collects the fields of a subscription with its fragments inlined.
type topLevel struct {
	v          *validator
	spread     map[string]bool // the fragments that were visited
	names      []string        // of fields in the answer, in order
	byName     map[string][]*ast.Field
	conditions []int // the positions of @skip and @include
}

func (c *topLevel) collect(set ast.SelectionSet) {
	for _, sel := range set {
		switch sel := sel.(type) {
		case *ast.Field:
			c.check(sel.Directives)
			if c.byName[sel.Alias] == nil {
				c.names = append(c.names, sel.Alias)
			}
			c.byName[sel.Alias] = append(c.byName[sel.Alias], sel)
		case *ast.InlineFragment:
			c.check(sel.Directives)
			if c.applies(sel.TypeCondition) {
				c.collect(sel.SelectionSet)
			}
		case *ast.FragmentSpread:
			c.check(sel.Directives)
			f := c.v.doc.Fragments[sel.Name]
			if f == nil || c.spread[sel.Name] {
				continue
			}
			c.spread[sel.Name] = true
			if c.applies(f.TypeCondition) {
				c.collect(f.SelectionSet)
			}
		}
	}
}

// check notes the positions of directives that could skip a field.
func (c *topLevel) check(list ast.DirectiveList) {
	for _, d := range list {
		if d.Name == "skip" || d.Name == "include" {
			c.conditions = append(c.conditions, c.v.doc.source.directive(d))
		}
	}
}

// applies reports whether a fragment on a type applies to Subscription.
func (c *topLevel) applies(condition string) bool {
	root := c.v.schema.Subscription
	return condition == "" || condition == root.Name || c.v.schema.types[condition].Includes(root)
}
