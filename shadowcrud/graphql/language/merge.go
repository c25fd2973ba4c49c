package language

import (
	"github.com/vektah/gqlparser/v2/ast"
)

// Fields with the same response name must be mergeable. findConflict checks that in time linear in the size of the
// operation: it looks at all selections that will be merged together, level by level, so that each field is compared
// with one other. If there is a conflict, the slower search of overlap.go runs to find its position.

// A typedSet is a selection set on a type.
type typedSet struct {
	on  *Type
	set ast.SelectionSet
}

// A typedField is a field with the type that it is selected on.
type typedField struct {
	on    *Type
	field *ast.Field
	def   *ast.FieldDefinition
}

// findConflict reports whether fields of some operation cannot be merged. Fragments must not be cyclic.
func (v *validator) findConflict() bool {
	for _, op := range v.doc.Operations {
		root := []typedSet{{v.schema.Roots[op.Operation], op.SelectionSet}}
		if v.shapesConflict(root) || v.fieldsConflict(root) {
			return true
		}
	}
	return false
}

// byName groups the fields of several selection sets by response name. It includes the fields of each fragment once for
// each type.
func (v *validator) byName(sets []typedSet) map[string][]typedField {
	fields := map[string][]typedField{}
	type spread struct {
		name string
		on   *Type
	}
	seen := map[spread]bool{}
	var gather func(p typedSet)
	gather = func(p typedSet) {
		for _, sel := range p.set {
			switch sel := sel.(type) {
			case *ast.Field:
				fields[sel.Alias] = append(fields[sel.Alias], typedField{p.on, sel, v.fieldOf(p.on, sel.Name)})
			case *ast.InlineFragment:
				on := p.on
				if sel.TypeCondition != "" {
					on = v.schema.types[sel.TypeCondition]
				}
				gather(typedSet{on, sel.SelectionSet})
			case *ast.FragmentSpread:
				f := v.doc.Fragments[sel.Name]
				if f == nil || seen[spread{sel.Name, p.on}] {
					continue
				}
				seen[spread{sel.Name, p.on}] = true
				gather(typedSet{v.schema.types[f.TypeCondition], f.SelectionSet})
			}
		}
	}
	for _, p := range sets {
		gather(p)
	}
	return fields
}

// below returns the selection sets of fields, which will be merged.
func (v *validator) below(fields []typedField) []typedSet {
	var sets []typedSet
	for _, f := range fields {
		if len(f.field.SelectionSet) > 0 {
			var to *Type
			if f.def != nil {
				to = v.schema.of(f.def.Type)
			}
			sets = append(sets, typedSet{to, f.field.SelectionSet})
		}
	}
	return sets
}

// shapesConflict reports whether fields with the same response name have incompatible result types, even if they are
// selected on different types.
func (v *validator) shapesConflict(sets []typedSet) bool {
	for _, fields := range v.byName(sets) {
		var first *ast.Type
		for _, f := range fields {
			if f.def == nil {
				continue
			}
			if first == nil {
				first = f.def.Type
			} else if v.typesConflict(first, f.def.Type) {
				return true
			}
		}
		if sub := v.below(fields); len(sub) > 0 && v.shapesConflict(sub) {
			return true
		}
	}
	return false
}

// fieldsConflict reports whether one object may be asked for two fields with the same response name but different names
// or arguments.
func (v *validator) fieldsConflict(sets []typedSet) bool {
	for _, fields := range v.byName(sets) {
		for _, group := range byObject(fields) {
			for _, f := range group[1:] {
				if f.field.Name != group[0].field.Name || !sameArguments(f.field.Arguments, group[0].field.Arguments) {
					return true
				}
			}
			if sub := v.below(group); len(sub) > 0 && v.fieldsConflict(sub) {
				return true
			}
		}
	}
	return false
}

// byObject groups fields that may be selected on the same object. Each group holds the fields selected on one object
// type and all fields selected on interfaces and unions.
func byObject(fields []typedField) [][]typedField {
	if len(fields) == 1 {
		return [][]typedField{fields}
	}
	groups := map[*Type][]typedField{}
	var any []typedField
	for _, f := range fields {
		if f.on != nil && f.on.Kind == ast.Object {
			groups[f.on] = append(groups[f.on], f)
		} else {
			any = append(any, f)
		}
	}
	if len(groups) == 0 {
		return [][]typedField{any}
	}
	list := make([][]typedField, 0, len(groups))
	for _, group := range groups {
		list = append(list, append(group, any...))
	}
	return list
}

func (v *validator) typesConflict(a, b *ast.Type) bool {
	switch {
	case a.NonNull != b.NonNull, (a.Elem == nil) != (b.Elem == nil):
		return true
	case a.Elem != nil:
		return v.typesConflict(a.Elem, b.Elem)
	}
	x, y := v.schema.types[a.NamedType], v.schema.types[b.NamedType]
	return x != y && (x == nil || y == nil || x.IsLeafType() || y.IsLeafType())
}

func sameArguments(a, b ast.ArgumentList) bool {
	if len(a) != len(b) {
		return false
	}
	for _, x := range a {
		y := b.ForName(x.Name)
		if y == nil || !sameValue(x.Value, y.Value) {
			return false
		}
	}
	return true
}

// sameValue reports whether two literals are the same, whatever the order of the fields of objects.
func sameValue(a, b *ast.Value) bool {
	if a.Kind != b.Kind || a.Raw != b.Raw || len(a.Children) != len(b.Children) {
		return false
	}
	for i, c := range a.Children {
		other := b.Children[i].Value
		if a.Kind == ast.ObjectValue {
			other = b.Children.ForName(c.Name)
		}
		if other == nil || !sameValue(c.Value, other) {
			return false
		}
	}
	return true
}
