package language

import (
	"github.com/vektah/gqlparser/v2/ast"
)

// uniqueVariables reports variables that are declared more than once.
func (v *validator) uniqueVariables(op *ast.OperationDefinition) {
	reportRepeated(v, op.VariableDefinitions, "variable", func(def *ast.VariableDefinition) (string, int) {
		return "$" + def.Variable, v.doc.source.next(def.Position.Start, 1)
	})
}

// reportRepeated reports the names that several items have, each with the places of all of them.
func reportRepeated[T any](v *validator, items []T, what string, nameAndPlace func(T) (string, int)) {
	if len(items) < 2 {
		return
	}
	places := map[string][]int{}
	for _, item := range items {
		name, at := nameAndPlace(item)
		places[name] = append(places[name], at)
	}
	for _, item := range items {
		name, _ := nameAndPlace(item)
		if at := places[name]; len(at) > 1 {
			v.report(`There can be only one `+what+` named "`+name+`".`, at...)
			delete(places, name)
		}
	}
}

func (v *validator) variableDefinition(def *ast.VariableDefinition) {
	t := v.schema.of(def.Type)
	start := v.doc.source.typ(def.Type)
	if t != nil && !t.IsInputType() {
		v.report(`Variable "$`+def.Variable+`" cannot be non-input type "`+def.Type.String()+`".`, start)
	}
	v.uniqueDirectives(def.Directives)
	named := def.Type
	for named.Elem != nil {
		named = named.Elem
	}
	v.knownType(named.NamedType, named.Position.Start)
	if def.DefaultValue != nil {
		known := def.Type
		if t == nil || !t.IsInputType() {
			known = nil
		}
		v.value(known, false, def.DefaultValue)
	}
	v.directives(def.Directives, ast.LocationVariableDefinition)
}

// variableRules checks the variables that an operation and its fragments use against those that the operation declares.
func (v *validator) variableRules(op *ast.OperationDefinition) {
	declared := make(map[string]*ast.VariableDefinition, len(op.VariableDefinitions))
	for _, def := range op.VariableDefinitions {
		declared[def.Variable] = def
	}
	of, in := "", ""
	if op.Name != "" {
		of, in = ` by operation "`+op.Name+`"`, ` in operation "`+op.Name+`"`
	}
	used := map[string]bool{}
	definitions := v.referenced(v.current)
	for _, d := range definitions {
		for _, u := range d.usages {
			used[u.node.Raw] = true
			if declared[u.node.Raw] == nil {
				v.report(`Variable "$`+u.node.Raw+`" is not defined`+of+`.`, u.node.Position.Start, op.Position.Start)
			}
		}
	}
	for _, def := range op.VariableDefinitions {
		if !used[def.Variable] {
			v.report(`Variable "$`+def.Variable+`" is never used`+in+`.`, def.Position.Start)
		}
	}
	for _, d := range definitions {
		for _, u := range d.usages {
			def := declared[u.node.Raw]
			if def == nil || u.typ == nil || v.schema.of(def.Type) == nil || fits(def, u) {
				continue
			}
			v.report(`Variable "$`+u.node.Raw+`" of type "`+def.Type.String()+`" used in position expecting type "`+
				u.typ.String()+`".`,
				def.Position.Start, u.node.Position.Start)
		}
		for _, c := range d.oneOf {
			if def := declared[c.node.Raw]; def != nil && !def.Type.NonNull {
				v.report(`Variable "$`+c.node.Raw+`" is of type "`+def.Type.String()+
					`" but must be non-nullable to be used for OneOf Input Object "`+c.in.Name+`".`,
					def.Position.Start, c.node.Position.Start)
			}
		}
	}
}

// fits reports whether the type of a variable is allowed at the position where it is used.
func fits(def *ast.VariableDefinition, u usage) bool {
	if u.typ.NonNull && !def.Type.NonNull {
		if !u.hasDefault && (def.DefaultValue == nil || def.DefaultValue.Kind == ast.NullValue) {
			return false
		}
		nullable := *u.typ
		nullable.NonNull = false
		return isSubtype(def.Type, &nullable)
	}
	return isSubtype(def.Type, u.typ)
}

func isSubtype(t, of *ast.Type) bool {
	switch {
	case of.NonNull && !t.NonNull:
		return false
	case (of.Elem == nil) != (t.Elem == nil):
		return false
	case of.Elem != nil:
		return isSubtype(t.Elem, of.Elem)
	}
	return t.NamedType == of.NamedType
}
