package plan

import (
	source "github.com/graphql-go/graphql/language/ast"
	"github.com/vektah/gqlparser/v2/ast"
)

// This file converts nodes of gqlparser to nodes of graphql-go, for the ResolveInfo of resolvers. The parser of
// graphql-go cannot parse the document instead, since it refuses null literals and directives on variables.

// fieldSyntax converts the nodes of a field.
func fieldSyntax(nodes []*ast.Field) []*source.Field {
	fields := make([]*source.Field, len(nodes))
	for i, n := range nodes {
		fields[i] = nodeSyntax(n)
	}
	return fields
}

func nodeSyntax(n *ast.Field) *source.Field {
	f := source.NewField(&source.Field{
		Name: nameSyntax(n.Name), Directives: directiveSyntax(n.Directives), Arguments: argumentSyntax(n.Arguments),
	})
	if n.Alias != n.Name {
		f.Alias = nameSyntax(n.Alias)
	}
	if len(n.SelectionSet) > 0 {
		f.SelectionSet = selectionSyntax(n.SelectionSet)
	}
	return f
}

func nameSyntax(name string) *source.Name { return source.NewName(&source.Name{Value: name}) }

func typeSyntax(name string) *source.Named {
	if name == "" {
		return nil
	}
	return source.NewNamed(&source.Named{Name: nameSyntax(name)})
}

func selectionSyntax(set ast.SelectionSet) *source.SelectionSet {
	s := source.NewSelectionSet(nil)
	for _, sel := range set {
		switch sel := sel.(type) {
		case *ast.Field:
			s.Selections = append(s.Selections, nodeSyntax(sel))
		case *ast.InlineFragment:
			s.Selections = append(s.Selections, source.NewInlineFragment(&source.InlineFragment{
				TypeCondition: typeSyntax(sel.TypeCondition), Directives: directiveSyntax(sel.Directives),
				SelectionSet: selectionSyntax(sel.SelectionSet),
			}))
		case *ast.FragmentSpread:
			s.Selections = append(s.Selections, source.NewFragmentSpread(&source.FragmentSpread{
				Name: nameSyntax(sel.Name), Directives: directiveSyntax(sel.Directives),
			}))
		}
	}
	return s
}

// fragmentSyntax converts the fragments of a document, by name.
func fragmentSyntax(fragments map[string]*ast.FragmentDefinition) map[string]source.Definition {
	all := make(map[string]source.Definition, len(fragments))
	for name, f := range fragments {
		all[name] = source.NewFragmentDefinition(&source.FragmentDefinition{
			Name: nameSyntax(name), TypeCondition: typeSyntax(f.TypeCondition),
			Directives:   directiveSyntax(f.Directives),
			SelectionSet: selectionSyntax(f.SelectionSet),
		})
	}
	return all
}

// operationSyntax converts an operation, without the definitions of its variables.
func operationSyntax(op *ast.OperationDefinition) *source.OperationDefinition {
	d := source.NewOperationDefinition(&source.OperationDefinition{
		Operation: string(op.Operation), SelectionSet: selectionSyntax(op.SelectionSet),
	})
	if op.Name != "" {
		d.Name = nameSyntax(op.Name)
	}
	return d
}

func directiveSyntax(list ast.DirectiveList) []*source.Directive {
	var all []*source.Directive
	for _, d := range list {
		all = append(all, source.NewDirective(&source.Directive{
			Name: nameSyntax(d.Name), Arguments: argumentSyntax(d.Arguments),
		}))
	}
	return all
}

func argumentSyntax(list ast.ArgumentList) []*source.Argument {
	var all []*source.Argument
	for _, a := range list {
		all = append(all, source.NewArgument(&source.Argument{Name: nameSyntax(a.Name), Value: valueSyntax(a.Value)}))
	}
	return all
}

// valueSyntax converts a literal. Since graphql-go has no null literal, null becomes an enum value of that name.
func valueSyntax(v *ast.Value) source.Value {
	switch v.Kind {
	case ast.Variable:
		return source.NewVariable(&source.Variable{Name: nameSyntax(v.Raw)})
	case ast.IntValue:
		return source.NewIntValue(&source.IntValue{Value: v.Raw})
	case ast.FloatValue:
		return source.NewFloatValue(&source.FloatValue{Value: v.Raw})
	case ast.StringValue, ast.BlockValue:
		return source.NewStringValue(&source.StringValue{Value: v.Raw})
	case ast.BooleanValue:
		return source.NewBooleanValue(&source.BooleanValue{Value: v.Raw == "true"})
	case ast.ListValue:
		list := source.NewListValue(nil)
		for _, c := range v.Children {
			list.Values = append(list.Values, valueSyntax(c.Value))
		}
		return list
	case ast.ObjectValue:
		o := source.NewObjectValue(nil)
		for _, c := range v.Children {
			field := &source.ObjectField{Name: nameSyntax(c.Name), Value: valueSyntax(c.Value)}
			o.Fields = append(o.Fields, source.NewObjectField(field))
		}
		return o
	}
	return source.NewEnumValue(&source.EnumValue{Value: v.Raw})
}
