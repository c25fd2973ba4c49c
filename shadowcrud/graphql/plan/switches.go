package plan

import (
	"github.com/vektah/gqlparser/v2/ast"

	"lectern/shadowcrud/graphql/language"
)

// Switches returns the names of the variables in @include and @skip of an operation, each once. Their values decide
// which fields the answer has, so each combination of them has a plan of its own.
func Switches(doc *language.Document, op *ast.OperationDefinition) (names []string) {
	seen := map[string]bool{}
	var visit func(set ast.SelectionSet)
	check := func(list ast.DirectiveList) {
		for _, d := range list {
			if v := condition(d); v != nil && v.Kind == ast.Variable && !seen[v.Raw] {
				seen[v.Raw] = true
				names = append(names, v.Raw)
			}
		}
	}
	visit = func(set ast.SelectionSet) {
		for _, sel := range set {
			switch sel := sel.(type) {
			case *ast.Field:
				check(sel.Directives)
				visit(sel.SelectionSet)
			case *ast.InlineFragment:
				check(sel.Directives)
				visit(sel.SelectionSet)
			case *ast.FragmentSpread:
				check(sel.Directives)
			}
		}
	}
	visit(op.SelectionSet)
	for _, f := range doc.Fragments {
		visit(f.SelectionSet)
	}
	return names
}

// condition returns the argument of @include or @skip, nil for other directives.
func condition(d *ast.Directive) *ast.Value {
	if d.Name != "include" && d.Name != "skip" {
		return nil
	}
	if arg := d.Arguments.ForName("if"); arg != nil {
		return arg.Value
	}
	return nil
}
