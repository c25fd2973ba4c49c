package schema

import (
	"errors"
	"fmt"

	"github.com/graphql-go/graphql"

	"lectern/contenttypes"
)

// A builder makes a Schema: it declares every type first, so that types can refer to one another, and then fills them.
type builder struct {
	*Schema
	options  Options
	shadow   *ShadowCRUD
	declared []*namedType // in the order of the schema
	shapes   map[*contenttypes.Schema]*shapes
	morph    *Union
	listed   []graphql.Type // types of extensions, kept even where no field leads to them
	added    []Extension
	errs     []error
}

// A namedType is a type of the schema: exactly one of object, iface, union, enum, scalar and input is set.
type namedType struct {
	name   string
	owner  string // what needs the type, for messages
	object *Object
	iface  *Interface
	union  *Union
	enum   *Enum
	scalar *Scalar
	input  *inputType
	goType graphql.Type // set on types of extensions that were made in Go

	// For an input that the engine reads itself, exactly one of these is set.
	filters   *Filters
	operators *Operators
	data      *Input
}

// An inputType is an input object; Filters, Operators and Inputs have one.
type inputType struct {
	name        string
	description string
	fields      []*argument
	graphql     *graphql.InputObject
}

// An argument is an argument of a field, or a field of an input.
type argument struct {
	name        string
	description string
	typ         graphql.Input
	value       any    // the default, nil where there is none
	literal     string // the default as SDL, empty where there is none
	deprecated  string // the reason of @deprecated, empty if it is not deprecated
}

// graphql returns the type of graphql-go.
func (r *namedType) graphql() graphql.Type {
	switch {
	case r.goType != nil:
		return r.goType
	case r.object != nil:
		return r.object.graphql
	case r.iface != nil:
		return r.iface.graphql
	case r.union != nil:
		return r.union.graphql
	case r.enum != nil:
		return r.enum.GraphQL
	case r.scalar != nil:
		return r.scalar.GraphQL
	}
	return r.input.graphql
}

func (b *builder) errorf(format string, args ...any) {
	b.errs = append(b.errs, fmt.Errorf(format, args...))
}

// declare adds a type. Where two types have one name, the first keeps it and the second is an error.
func (b *builder) declare(r *namedType) {
	if first := b.types[r.name]; first != nil {
		b.errorf("the GraphQL type %s is needed for %s and for %s; rename one of them", r.name, first.owner, r.owner)
		return
	}
	b.types[r.name] = r
	b.declared = append(b.declared, r)
}

// object declares an object type.
func (b *builder) object(name, owner string) *Object {
	o := &Object{Name: name, byName: map[string]*FieldSpec{}}
	o.graphql = graphql.NewObject(graphql.ObjectConfig{Name: name, Fields: graphql.FieldsThunk(o.define),
		Interfaces: graphql.InterfacesThunk(o.defineInterfaces)})
	b.declare(&namedType{name: name, owner: owner, object: o})
	return o
}

// define returns the fields in the form that graphql-go takes.
func (o *Object) define() graphql.Fields { return define(o.Fields) }

func define(fields []*FieldSpec) graphql.Fields {
	defined := graphql.Fields{}
	for _, m := range fields {
		args := graphql.FieldConfigArgument{}
		for _, a := range m.args {
			args[a.name] = &graphql.ArgumentConfig{Type: a.typ, DefaultValue: a.value, Description: a.description}
		}
		defined[m.Name] = &graphql.Field{Name: m.Name, Type: m.out, Args: args, Resolve: m.Resolve,
			Description: m.description, DeprecationReason: m.deprecated}
	}
	return defined
}

func (o *Object) defineInterfaces() (defined []*graphql.Interface) {
	for _, i := range o.interfaces {
		defined = append(defined, i.graphql)
	}
	return defined
}

// field adds a field to an object type.
func (b *builder) field(o *Object, m *FieldSpec) {
	if o.byName[m.Name] != nil {
		b.errorf("%s has two fields %s in GraphQL; rename what one of them is made from", o.Name, m.Name)
		return
	}
	m.Of = o
	if m.out == nil {
		m.out = m.output()
	}
	o.Fields = append(o.Fields, m)
	o.byName[m.Name] = m
}

// output returns the type of a field: the type of its value, wrapped in a list and non-nulls as the FieldSpec says.
func (m *FieldSpec) output() graphql.Output {
	var t graphql.Output
	switch {
	case m.Object != nil:
		t = m.Object.graphql
	case m.Union != nil:
		t = m.Union.graphql
	case m.Enum != nil:
		t = m.Enum.GraphQL
	default:
		t = m.Scalar.GraphQL
	}
	if m.List {
		if m.NonNulls {
			t = graphql.NewNonNull(t)
		}
		t = graphql.NewList(t)
	}
	if m.NonNull {
		t = graphql.NewNonNull(t)
	}
	return t
}

// union declares a union.
func (b *builder) union(name, owner string) *Union {
	u := &Union{Name: name, byName: map[string]*Object{}}
	u.graphql = graphql.NewUnion(graphql.UnionConfig{Name: name, Types: graphql.UnionTypesThunk(u.define),
		ResolveType: func(graphql.ResolveTypeParams) *graphql.Object { return nil }})
	b.declare(&namedType{name: name, owner: owner, union: u})
	return u
}

func (u *Union) define() (members []*graphql.Object) {
	for _, o := range u.Members {
		members = append(members, o.graphql)
	}
	return members
}

// member adds a member unless the union has it.
func (u *Union) member(o *Object) {
	if u.byName[o.Name] != nil {
		return
	}
	u.Members = append(u.Members, o)
	u.byName[o.Name] = o
}

// scalar declares a scalar.
func (b *builder) scalar(s *Scalar, owner string) *Scalar {
	b.declare(&namedType{name: s.Name, owner: owner, scalar: s})
	return s
}

// enum declares an enum whose values are complete.
func (b *builder) enum(e *Enum, owner string) *Enum {
	values := graphql.EnumValueConfigMap{}
	for _, v := range e.Values {
		values[v.Name] = &graphql.EnumValueConfig{Value: v.Value, Description: v.description,
			DeprecationReason: v.deprecated}
	}
	e.GraphQL = graphql.NewEnum(graphql.EnumConfig{Name: e.Name, Description: e.description, Values: values})
	b.declare(&namedType{name: e.Name, owner: owner, enum: e})
	return e
}

// input declares an input object.
func (b *builder) input(name, owner string) *inputType {
	in := &inputType{name: name}
	in.graphql = graphql.NewInputObject(
		graphql.InputObjectConfig{Name: name, Fields: graphql.InputObjectConfigFieldMapThunk(in.define)})
	b.declare(&namedType{name: name, owner: owner, input: in})
	return in
}

func (in *inputType) define() graphql.InputObjectConfigFieldMap {
	fields := graphql.InputObjectConfigFieldMap{}
	for _, a := range in.fields {
		fields[a.name] = &graphql.InputObjectFieldConfig{Type: a.typ, DefaultValue: a.value, Description: a.description}
	}
	return fields
}

// add adds a field to an input object.
func (in *inputType) add(name string, typ graphql.Input) *argument {
	a := &argument{name: name, typ: typ}
	in.fields = append(in.fields, a)
	return a
}

// err returns all errors of the builder, joined.
func (b *builder) err() error { return errors.Join(b.errs...) }
