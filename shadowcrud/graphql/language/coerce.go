package language

import (
	"strconv"

	"github.com/vektah/gqlparser/v2/ast"

	"lectern/jsontree"
)

// Variables are the values of an operation's variables. A variable without a value and without a default is absent from
// the map; the value of a variable that the request sets to null is nil.
type Variables map[string]any

// maxVariableErrors is how many errors of variables are reported.
const maxVariableErrors = 50

// Variables converts the values of a request to those of the variables that an operation declares, and ignores others.
// given may be nil.
func (s *Schema) Variables(d *Document, op *ast.OperationDefinition, given *jsontree.Object) (Variables, []*Error) {
	if len(op.VariableDefinitions) == 0 {
		return nil, nil
	}
	c := coercer{schema: s, strict: op.Operation == ast.Mutation}
	vars := make(Variables, len(op.VariableDefinitions))
	for _, def := range op.VariableDefinitions {
		c.at = def
		var v any
		ok := false
		if given != nil {
			v, ok = given.Get(def.Variable)
		}
		switch {
		case !ok && def.DefaultValue != nil:
			if v, ok = s.Literal(def.Type, def.DefaultValue, nil); ok {
				vars[def.Variable] = v
			}
		case !ok && def.Type.NonNull:
			c.fail(`Variable "$` + def.Variable + `" of required type "` + def.Type.String() + `" was not provided.`)
		case !ok:
		case v == nil && def.Type.NonNull:
			c.fail(`Variable "$` + def.Variable + `" of non-null type "` + def.Type.String() + `" must not be null.`)
		default:
			vars[def.Variable] = c.value(def.Type, v)
		}
	}
	if len(c.errors) == 0 {
		return vars, nil
	}
	for _, e := range c.errors {
		if e.def != nil {
			e.Locations = []Location{d.Location(e.def.Position)}
		}
	}
	errs := make([]*Error, len(c.errors))
	for i, e := range c.errors {
		errs[i] = &e.Error
	}
	return nil, errs
}

// Value converts a value that did not come with a request, such as the result of a resolver, to an input type. Errors
// call it a variable of that name.
func (s *Schema) Value(name string, t *ast.Type, v any) (any, error) {
	c := coercer{schema: s, at: &ast.VariableDefinition{Variable: name}}
	read := c.value(t, v)
	if len(c.errors) > 0 {
		return nil, &c.errors[0].Error
	}
	return read, nil
}

// A coercer converts the values of variables to their declared types, and collects the errors.
type coercer struct {
	schema *Schema
	strict bool
	at     *ast.VariableDefinition
	path   []any // keys and positions that lead from the variable to the current value
	errors []*variableError
}

type variableError struct {
	Error
	def *ast.VariableDefinition
}

func (c *coercer) fail(message string) {
	switch n := len(c.errors); {
	case n > maxVariableErrors:
	case n == maxVariableErrors:
		c.errors = append(c.errors, &variableError{Error: Error{
			Message: "Too many errors processing variables, error limit reached. Execution aborted.",
			Code:    BadUserInput}})
	default:
		c.errors = append(c.errors, &variableError{Error: Error{Message: message, Code: BadUserInput}, def: c.at})
	}
}

// invalid reports that v, at the current path within the variable, is not valid.
func (c *coercer) invalid(v any, why string) {
	if len(c.errors) > maxVariableErrors {
		return
	}
	b := append([]byte(`Variable "$`), c.at.Variable...)
	b = append(b, `" got invalid value `...)
	b = append(b, inspectShort(v)...)
	if len(c.path) > 0 {
		b = append(b, ` at "`...)
		b = append(b, c.at.Variable...)
		for _, p := range c.path {
			switch p := p.(type) {
			case int:
				b = append(strconv.AppendInt(append(b, '['), int64(p), 10), ']')
			case string:
				b = append(append(b, '.'), p...)
			}
		}
		b = append(b, '"')
	}
	c.fail(string(append(append(b, "; "...), why...)))
}

func (c *coercer) value(t *ast.Type, v any) any {
	if v == nil {
		if t.NonNull {
			c.invalid(v, `Expected non-nullable type "`+t.String()+`" not to be null.`)
		}
		return nil
	}
	if t.Elem != nil {
		items, many := v.([]any)
		if !many {
			return []any{c.value(t.Elem, v)}
		}
		list := make([]any, len(items))
		for i, item := range items {
			c.path = append(c.path, i)
			list[i] = c.value(t.Elem, item)
			c.path = c.path[:len(c.path)-1]
		}
		return list
	}
	to := c.schema.types[t.NamedType]
	if to.Kind == ast.InputObject {
		return c.object(to, v)
	}
	read, err := c.schema.coerce(to, v, c.strict)
	if err != nil {
		c.invalid(v, err.ofVariable(to))
	}
	return read
}

func (c *coercer) object(t *Type, v any) any {
	given, ok := v.(*jsontree.Object)
	if !ok {
		c.invalid(v, `Expected type "`+t.Name+`" to be an object.`)
		return nil
	}
	o := jsontree.NewObject()
	for _, f := range t.Fields {
		value, ok := given.Get(f.Name)
		switch {
		case ok:
			c.path = append(c.path, f.Name)
			o.Set(f.Name, c.value(f.Type, value))
			c.path = c.path[:len(c.path)-1]
		case f.DefaultValue != nil:
			if d, ok := c.schema.Literal(f.Type, f.DefaultValue, nil); ok {
				o.Set(f.Name, d)
			}
		case f.Type.NonNull:
			c.invalid(v, `Field "`+f.Name+`" of required type "`+f.Type.String()+`" was not provided.`)
		}
	}
	for _, key := range given.Keys {
		if t.fields[key] == nil {
			c.invalid(v, `Field "`+key+`" is not defined by type "`+t.Name+`".`+
				didYouMean("", suggestions(key, fieldNames(t))))
		}
	}
	if t.oneOf() {
		if len(o.Keys) != 1 {
			c.invalid(v, `Exactly one key must be specified for OneOf type "`+t.Name+`".`)
		} else if o.Value(o.Keys[0]) == nil {
			c.invalid(v, `Field "`+o.Keys[0]+`" must be non-null.`)
		}
	}
	return o
}

// Literal evaluates a literal of an input type with the values of variables. It returns false if the result is not a
// value of the type; in a valid document, only an absent or null variable causes that.
func (s *Schema) Literal(t *ast.Type, v *ast.Value, vars Variables) (value any, ok bool) {
	switch {
	case v.Kind == ast.Variable:
		value, ok = vars[v.Raw]
		return value, ok && (value != nil || !t.NonNull)
	case v.Kind == ast.NullValue:
		return nil, !t.NonNull
	case t.Elem != nil:
		return s.listLiteral(t, v, vars)
	}
	to := s.types[t.NamedType]
	if to.Kind == ast.InputObject {
		return s.objectLiteral(to, v, vars)
	}
	value, err := s.literal(to, v, vars)
	return value, err == nil
}

func (s *Schema) listLiteral(t *ast.Type, v *ast.Value, vars Variables) (any, bool) {
	if v.Kind != ast.ListValue {
		item, ok := s.Literal(t.Elem, v, vars)
		return []any{item}, ok
	}
	list := make([]any, len(v.Children))
	for i, c := range v.Children {
		item, ok := s.Literal(t.Elem, c.Value, vars)
		if !ok {
			if c.Value.Kind != ast.Variable || t.Elem.NonNull {
				return nil, false
			}
			item = nil
		}
		list[i] = item
	}
	return list, true
}

func (s *Schema) objectLiteral(t *Type, v *ast.Value, vars Variables) (any, bool) {
	if v.Kind != ast.ObjectValue {
		return nil, false
	}
	o := jsontree.NewObject()
	for _, c := range v.Children {
		f := t.fields[c.Name]
		if f == nil {
			return nil, false
		}
		if c.Value.Kind == ast.Variable {
			if _, given := vars[c.Value.Raw]; !given {
				continue // as if it were not there
			}
		}
		value, ok := s.Literal(f.Type, c.Value, vars)
		if !ok {
			return nil, false
		}
		o.Set(c.Name, value)
	}
	for _, f := range t.Fields {
		if _, given := o.Get(f.Name); given {
			continue
		}
		if f.DefaultValue != nil {
			if d, ok := s.Literal(f.Type, f.DefaultValue, nil); ok {
				o.Set(f.Name, d)
			}
		} else if f.Type.NonNull {
			return nil, false
		}
	}
	return o, true
}

// UsesVariables reports whether a literal holds a variable.
func UsesVariables(v *ast.Value) bool {
	if v.Kind == ast.Variable {
		return true
	}
	for _, c := range v.Children {
		if UsesVariables(c.Value) {
			return true
		}
	}
	return false
}
