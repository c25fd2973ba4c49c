package schema

import (
	"fmt"
	"slices"

	"github.com/graphql-go/graphql"
)

// custom makes the FieldSpec of a field that an extension adds.
func custom(name string, t graphql.Output) *FieldSpec {
	m := &FieldSpec{Name: name, out: t}
	var inner graphql.Type = t
	if n, ok := inner.(*graphql.NonNull); ok {
		m.NonNull, inner = true, n.OfType
	}
	if l, ok := inner.(*graphql.List); ok {
		m.List, inner = true, l.OfType
		if n, ok := inner.(*graphql.NonNull); ok {
			m.NonNulls, inner = true, n.OfType
		}
		_, m.Wrapped = inner.(*graphql.List)
	}
	return m
}

// named returns the type beneath lists and non-nulls; nil where there is none.
func named(t graphql.Type) graphql.Type {
	for {
		switch wrapped := t.(type) {
		case *graphql.NonNull:
			t = wrapped.OfType
		case *graphql.List:
			t = wrapped.OfType
		default:
			return t
		}
	}
}

// link resolves the types that fields of extensions name. It declares types of graphql-go that the schema reaches only
// through other types.
func (b *builder) link() {
	for i := 0; i < len(b.declared); i++ { // the loop may append to b.declared
		switch r := b.declared[i]; {
		case r.goType != nil:
			b.readGoType(r)
		case r.object != nil:
			b.linkFields(r.object.Fields)
		case r.iface != nil:
			b.linkFields(r.iface.Fields)
		case r.input != nil:
			for _, a := range r.input.fields {
				b.adopt(a.typ)
			}
		}
	}
}

func (b *builder) linkFields(fields []*FieldSpec) {
	for _, m := range fields {
		if m.Kind != Custom {
			continue
		}
		for _, a := range m.args {
			b.adopt(a.typ)
		}
		r := b.adopt(m.out)
		if r == nil {
			continue
		}
		m.Object, m.Interface, m.Union, m.Enum, m.Scalar = r.object, r.iface, r.union, r.enum, r.scalar
		if m.Object != nil {
			m.Type, m.Component = m.Object.Type, m.Object.Component
		}
	}
}

// adopt returns the namedType beneath the lists and non-nulls of t, and declares it first if the schema does not have
// it yet.
func (b *builder) adopt(t graphql.Type) *namedType {
	t = named(t)
	if t == nil {
		b.errorf("an extension has a field without a type")
		return nil
	}
	if r := b.types[t.Name()]; r != nil {
		if r.graphql() != t {
			b.errorf("an extension has a type %s of its own beside that of %s; "+
				"take the one that Builder.Type returns, or choose another name", t.Name(), r.owner)
		}
		return r
	}
	return b.declareGoType(t)
}

// declareGoType declares a type that an extension made in Go. readGoType reads its content once all types are declared.
func (b *builder) declareGoType(t graphql.Type) *namedType {
	if t.Name() == subscription {
		b.errorf("type %s of an extension: %s", subscription, noSubscriptions)
		return nil
	}
	r := &namedType{name: t.Name(), owner: "an extension", goType: t}
	switch t := t.(type) {
	case *graphql.Object:
		r.object = &Object{Name: t.Name(), byName: map[string]*FieldSpec{}, graphql: t, description: t.Description()}
	case *graphql.Interface:
		r.iface = &Interface{Name: t.Name(), graphql: t, description: t.Description()}
	case *graphql.Union:
		r.union = &Union{Name: t.Name(), byName: map[string]*Object{}, graphql: t, description: t.Description()}
	case *graphql.Enum:
		r.enum = goEnum(t)
	case *graphql.Scalar:
		r.scalar = &Scalar{Name: t.Name(), GraphQL: t}
	case *graphql.InputObject:
		r.input = &inputType{name: t.Name(), description: t.Description(), graphql: t}
	default:
		b.errorf("an extension has a type %v of the kind %T, which cannot be declared", t, t)
		return nil
	}
	if err := t.Error(); err != nil {
		b.errorf("type %s of an extension: %w", r.name, err)
	}
	b.declare(r)
	return r
}

// goEnum reads an enum of graphql-go, and sorts its values by name since graphql-go keeps them in a map.
func goEnum(t *graphql.Enum) *Enum {
	e := &Enum{Name: t.Name(), GraphQL: t, description: t.Description(), byName: map[string]string{},
		byValue: map[string]string{}}
	values := slices.Clone(t.Values())
	slices.SortFunc(values, func(a, b *graphql.EnumValueDefinition) int { return compare(a.Name, b.Name) })
	for _, v := range values {
		e.add(EnumValue{Name: v.Name, Value: v.Name, description: v.Description, deprecated: v.DeprecationReason})
	}
	return e
}

// readGoType reads the content of a type that was made in Go.
func (b *builder) readGoType(r *namedType) {
	switch t := r.goType.(type) {
	case *graphql.Object:
		b.goFields(r.object, t.Fields())
		b.linkFields(r.object.Fields)
		for _, i := range t.Interfaces() {
			if of := b.adopt(i); of != nil && of.iface != nil {
				r.object.interfaces = append(r.object.interfaces, of.iface)
			}
		}
	case *graphql.Interface:
		for _, name := range sortedKeys(t.Fields()) {
			r.iface.Fields = append(r.iface.Fields, goField(t.Fields()[name]))
		}
		b.linkFields(r.iface.Fields)
	case *graphql.Union:
		for _, o := range t.Types() {
			if of := b.adopt(o); of != nil && of.object != nil {
				r.union.member(of.object)
			}
		}
	case *graphql.InputObject:
		if len(r.input.fields) == 0 {
			r.input.fields = goInputFields(t)
		}
		for _, a := range r.input.fields {
			b.adopt(a.typ)
		}
	}
	if err := r.goType.Error(); err != nil {
		b.errorf("type %s of an extension: %w", r.name, err)
	}
}

// addTypes adds types that an extension made in Go.
func (b *builder) addTypes(types []graphql.Type) {
	for _, t := range types {
		if t == nil {
			b.errorf("an extension lists a type that is nil")
			continue
		}
		known := b.types[t.Name()]
		switch {
		case known == nil:
			b.declareGoType(t)
			b.listed = append(b.listed, t)
		case known.graphql() == t:
		case known.goType != nil:
			b.errorf("two extensions have a type %s; rename one of them", t.Name())
		default:
			b.merge(known, t)
		}
	}
}

// merge adds the content of t to the schema's type of that name.
func (b *builder) merge(r *namedType, t graphql.Type) {
	switch t := t.(type) {
	case *graphql.Object:
		if r.object != nil {
			b.goFields(r.object, t.Fields())
			b.linkFields(r.object.Fields) // so that definitions can name the types of the fields
			if err := t.Error(); err != nil {
				b.errorf("type %s of an extension: %w", r.name, err)
			}
			return
		}
	case *graphql.InputObject:
		if r.input != nil {
			for _, a := range goInputFields(t) {
				b.inputExtra(r, a)
			}
			return
		}
	case *graphql.Union:
		if r.union != nil {
			for _, o := range t.Types() {
				if of := b.adopt(o); of != nil && of.object != nil {
					r.union.member(of.object)
				}
			}
			return
		}
	}
	b.errorf("an extension has a type %s (%s), which %s has already and which cannot be added to that", t.Name(),
		kindOf(t), r.owner)
}

// kindOf names the kind of a type, for messages.
func kindOf(t graphql.Type) string {
	switch t.(type) {
	case *graphql.Object:
		return "an object"
	case *graphql.Interface:
		return "an interface"
	case *graphql.Union:
		return "a union"
	case *graphql.Enum:
		return "an enum"
	case *graphql.Scalar:
		return "a scalar"
	case *graphql.InputObject:
		return "an input"
	}
	return fmt.Sprintf("a %T", t)
}

// goFields adds the fields of a graphql-go type to an object, sorted by name since graphql-go keeps them in a map.
func (b *builder) goFields(o *Object, fields graphql.FieldDefinitionMap) {
	for _, name := range sortedKeys(fields) {
		b.field(o, goField(fields[name]))
	}
}

func goField(f *graphql.FieldDefinition) *FieldSpec {
	m := custom(f.Name, f.Type)
	m.Resolve, m.description, m.deprecated = f.Resolve, f.Description, f.DeprecationReason
	args := slices.Clone(f.Args)
	slices.SortFunc(args, func(a, b *graphql.Argument) int { return compare(a.Name(), b.Name()) })
	for _, a := range args {
		m.args = append(m.args, &argument{name: a.Name(), description: a.Description(), typ: a.Type,
			value: a.DefaultValue, literal: defaultLiteral(a.DefaultValue, a.Type)})
	}
	return m
}

func goInputFields(t *graphql.InputObject) (fields []*argument) {
	for _, name := range sortedKeys(t.Fields()) {
		f := t.Fields()[name]
		fields = append(fields, &argument{name: name, description: f.Description(), typ: f.Type, value: f.DefaultValue,
			literal: defaultLiteral(f.DefaultValue, f.Type)})
	}
	return fields
}

// inputExtra adds a field of an extension to an input.
func (b *builder) inputExtra(r *namedType, a *argument) {
	if slices.ContainsFunc(r.input.fields, func(x *argument) bool { return x.name == a.name }) {
		b.errorf("the input %s has a field %s already", r.name, a.name)
		return
	}
	switch in, f := b.Input(r.name), b.Filters(r.name); {
	case in != nil:
		field := &InputField{Kind: InputCustom, Name: a.name}
		in.Fields = append(in.Fields, field)
		in.byName[a.name] = field
	case f != nil:
		field := &FilterField{Kind: FilterCustom, Name: a.name}
		f.Fields = append(f.Fields, field)
		f.byName[a.name] = field
	case r.owner == generated:
		b.errorf("the input %s cannot have a field %s: nothing would look at it", r.name, a.name)
		return
	}
	r.input.fields = append(r.input.fields, a)
}
