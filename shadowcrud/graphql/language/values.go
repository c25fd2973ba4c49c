package language

import (
	"github.com/vektah/gqlparser/v2/ast"
)

// value checks a literal against its expected type, nil if that is unknown. hasDefault says that the argument or input
// field of the literal has a default.
func (v *validator) value(t *ast.Type, hasDefault bool, val *ast.Value) {
	switch val.Kind {
	case ast.Variable:
		if v.current != nil {
			v.current.usages = append(v.current.usages, usage{val, t, hasDefault})
		}
	case ast.NullValue:
		if t != nil && t.NonNull {
			v.report(`Expected value of type "`+t.String()+`", found null.`, val.Position.Start)
		}
	case ast.ListValue:
		v.list(t, val)
	case ast.ObjectValue:
		v.object(t, val)
	default:
		v.scalar(t, val)
	}
}

func (v *validator) list(t *ast.Type, val *ast.Value) {
	item := t
	if t != nil {
		if t.Elem == nil {
			nullable := *t
			nullable.NonNull = false
			v.scalar(&nullable, val)
			v.usagesWithin(&nullable, val)
			return
		}
		item = t.Elem
	}
	for _, c := range val.Children {
		v.value(item, false, c.Value)
	}
}

func (v *validator) object(t *ast.Type, val *ast.Value) {
	to := v.schema.of(t)
	if t != nil && (to == nil || to.Kind != ast.InputObject) {
		if to != nil {
			v.scalar(t, val)
		}
		v.uniqueFields(val)
		v.usagesWithin(t, val)
		return
	}
	if to != nil {
		for _, def := range to.Fields {
			if def.Type.NonNull && def.DefaultValue == nil && val.Children.ForName(def.Name) == nil {
				v.report(`Field "`+to.Name+"."+def.Name+`" of required type "`+def.Type.String()+`" was not provided.`,
					val.Position.Start)
			}
		}
	}
	if to != nil && to.oneOf() {
		v.oneOf(to, val)
	}
	first := map[string]int{}
	for _, c := range val.Children {
		var def *ast.FieldDefinition
		if to != nil {
			if def = to.fields[c.Name]; def == nil && !v.silent {
				v.report(`Field "`+c.Name+`" is not defined by type "`+to.Name+`".`+
					didYouMean("", suggestions(c.Name, fieldNames(to))), c.Position.Start)
			}
		}
		v.uniqueField(first, c)
		if def != nil {
			v.value(def.Type, def.DefaultValue != nil, c.Value)
		} else {
			v.value(nil, false, c.Value)
		}
	}
}

// oneOf reports whether values of an input type must have exactly one field.
func (t *Type) oneOf() bool { return t.Directives.ForName("oneOf") != nil }

func (v *validator) oneOf(t *Type, val *ast.Value) {
	if len(val.Children) != 1 {
		v.report(`OneOf Input Object "`+t.Name+`" must specify exactly one key.`, val.Position.Start)
		return
	}
	switch c := val.Children[0]; c.Value.Kind {
	case ast.NullValue:
		v.report(`Field "`+t.Name+"."+c.Name+`" must be non-null.`, val.Position.Start)
	case ast.Variable:
		if v.current != nil {
			v.current.oneOf = append(v.current.oneOf, oneOfVariable{c.Value, t})
		}
	}
}

func fieldNames(t *Type) []string {
	names := make([]string, len(t.Fields))
	for i, f := range t.Fields {
		names[i] = f.Name
	}
	return names
}

// uniqueField reports a field that an object literal holds twice. first maps the fields seen so far to their positions.
func (v *validator) uniqueField(first map[string]int, c *ast.ChildValue) {
	if at, taken := first[c.Name]; taken {
		v.report(`There can be only one input field named "`+c.Name+`".`, at, c.Position.Start)
	} else {
		first[c.Name] = c.Position.Start
	}
}

func (v *validator) uniqueFields(val *ast.Value) {
	first := map[string]int{}
	for _, c := range val.Children {
		v.uniqueField(first, c)
	}
}

// usagesWithin collects the variables within a literal whose type is a scalar. It expects items of a list to be of that
// scalar, and fields of an object to be of any type.
func (v *validator) usagesWithin(t *ast.Type, val *ast.Value) {
	if val.Kind == ast.ObjectValue {
		t = nil
	}
	for _, c := range val.Children {
		switch c.Value.Kind {
		case ast.Variable:
			v.value(t, false, c.Value)
		case ast.ListValue, ast.ObjectValue:
			if c.Value.Kind == ast.ObjectValue {
				v.uniqueFields(c.Value)
			}
			v.usagesWithin(t, c.Value)
		}
	}
}

// scalar checks the literal of a scalar or an enumeration.
func (v *validator) scalar(t *ast.Type, val *ast.Value) {
	if t == nil || v.silent {
		return
	}
	to := v.schema.of(t)
	if to == nil {
		return
	}
	if !to.IsLeafType() {
		v.report(`Expected value of type "`+t.String()+`", found `+printValue(val)+".", val.Position.Start)
		return
	}
	if _, err := v.schema.literal(to, val, nil); err != nil {
		v.report(err.ofLiteral(t, val), val.Position.Start)
	}
}
