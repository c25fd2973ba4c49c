package plan

import (
	"github.com/vektah/gqlparser/v2/ast"

	"lectern/documents/apierror"
	"lectern/jsontree"
	"lectern/shadowcrud/graphql/language"
)

// Arguments are the values of a field's arguments. An argument that the request omits and that has no default is
// absent. The values must not be changed, since requests share those that hold no variables.
type Arguments []ArgumentValue

// An ArgumentValue is the value of one argument.
type ArgumentValue struct {
	Name  string
	Value any
}

// Get returns the value of an argument, and whether it is present.
func (a Arguments) Get(name string) (any, bool) {
	for i := range a {
		if a[i].Name == name {
			return a[i].Value, true
		}
	}
	return nil, false
}

// Value returns the value of an argument, nil where it is absent.
func (a Arguments) Value(name string) any { v, _ := a.Get(name); return v }

// Text returns the text of an argument, "" where it is null or absent.
func (a Arguments) Text(name string) string { s, _ := a.Value(name).(string); return s }

// Object returns the input object of an argument, nil where it is null or absent.
func (a Arguments) Object(name string) *jsontree.Object {
	o, _ := a.Value(name).(*jsontree.Object)
	return o
}

// An argument is a compiled argument of a field.
type argument struct {
	def   *ast.ArgumentDefinition
	value *ast.Value // nil: not given
	// fixed holds the value of an argument without variables, and is empty if such an argument is absent.
	fixed   Arguments
	isFixed bool
}

// Arguments returns the values of the arguments of a field for these variables. It allocates nothing if no argument
// holds a variable.
func (f *Field) Arguments(l *language.Schema, vars language.Variables) (Arguments, error) {
	if len(f.Args) == 0 || f.isFixed {
		return f.fixed, nil
	}
	args := make(Arguments, 0, len(f.Args))
	for i := range f.Args {
		a := &f.Args[i]
		if a.isFixed {
			args = append(args, a.fixed...)
			continue
		}
		v, ok, wrong := a.evaluate(l, vars)
		if wrong != "" {
			return nil, apierror.Validation(wrong)
		}
		if ok {
			args = append(args, ArgumentValue{a.def.Name, v})
		}
	}
	return args, nil
}

// evaluate returns the value of an argument for these variables; ok is false if it is absent. If there can be no value,
// wrong says why.
func (a *argument) evaluate(l *language.Schema, vars language.Variables) (value any, ok bool, wrong string) {
	what := `Argument "` + a.def.Name + `"`
	given := a.value
	if given != nil && given.Kind == ast.Variable {
		if v, has := vars[given.Raw]; has {
			if v == nil && a.def.Type.NonNull {
				return nil, false, what + ` of non-null type "` + a.def.Type.String() + `" must not be null.`
			}
			return v, true, ""
		}
		if a.def.DefaultValue == nil && a.def.Type.NonNull {
			return nil, false, what + ` of required type "` + a.def.Type.String() + `" was provided the variable "$` +
				given.Raw +
				`" which was not provided a runtime value.`
		}
		given = nil
	}
	if given == nil {
		if a.def.DefaultValue == nil {
			return nil, false, ""
		}
		v, ok := l.Literal(a.def.Type, a.def.DefaultValue, nil)
		return v, ok, ""
	}
	v, valid := l.Literal(a.def.Type, given, vars)
	if !valid {
		return nil, false, what + " has invalid value " + given.String() + "."
	}
	return v, true, ""
}
