package schema

import (
	"fmt"

	"github.com/graphql-go/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/parser"
)

// addTypeDefs adds definitions in the schema definition language. It declares all new types before it fills any, so
// that they may refer to one another in any order.
func (b *builder) addTypeDefs(sources ...string) {
	doc := &ast.SchemaDocument{}
	for _, source := range sources {
		parsed, err := parser.ParseSchema(&ast.Source{Name: "typeDefs", Input: source})
		if err != nil {
			b.errs = append(b.errs, err)
			continue
		}
		doc.Merge(parsed)
	}
	for _, d := range doc.Directives {
		b.refuse(d.Position, "directive @%s cannot be defined", d.Name)
	}
	for _, d := range append(doc.Schema, doc.SchemaExtension...) {
		b.refuse(d.Position, "the schema itself cannot be defined: its roots are generated")
	}
	var known, extensions []*ast.Definition
	for _, d := range doc.Definitions {
		if b.types[d.Name] == nil {
			b.declareDefinition(d, doc.Extensions)
			known = append(known, d)
		} else {
			extensions = append(extensions, d) // defining an existing type extends it
		}
	}
	for _, d := range append(append(known, extensions...), doc.Extensions...) {
		b.fillDefinition(d)
	}
}

// refuse adds an error about an invalid definition, with its position.
func (b *builder) refuse(at *ast.Position, format string, args ...any) {
	where := "typeDefs"
	if at != nil {
		where = fmt.Sprintf("typeDefs:%d", at.Line)
	}
	b.errorf("%s: %s", where, fmt.Sprintf(format, args...))
}

// declareDefinition declares a new type.
func (b *builder) declareDefinition(d *ast.Definition, extensions ast.DefinitionList) {
	const owner = "an extension"
	if d.Name == subscription { // fillDefinition refuses it
		return
	}
	switch d.Kind {
	case ast.Object:
		o := b.object(d.Name, owner)
		o.description = d.Description
		o.graphql.PrivateDescription = d.Description
	case ast.Interface:
		b.declareInterface(d)
	case ast.Union:
		u := b.union(d.Name, owner)
		u.description = d.Description
		u.graphql.PrivateDescription = d.Description
	case ast.Enum:
		e := &Enum{Name: d.Name, description: d.Description, byName: map[string]string{}, byValue: map[string]string{}}
		b.addEnumValues(e, d)
		for _, x := range extensions {
			if x.Kind == ast.Enum && x.Name == d.Name {
				b.addEnumValues(e, x)
			}
		}
		b.enum(e, owner)
	case ast.Scalar:
		s := newScalar(d.Name, d.Description, CustomScalar)
		if by := d.Directives.ForName("specifiedBy"); by != nil {
			s.specifiedBy = directiveText(by, "url")
		}
		b.scalar(s, owner)
	case ast.InputObject:
		in := b.input(d.Name, owner)
		in.description = d.Description
		in.graphql.PrivateDescription = d.Description
	}
	if r := b.types[d.Name]; r != nil {
		b.listed = append(b.listed, r.graphql())
	}
}

func (b *builder) declareInterface(d *ast.Definition) {
	i := &Interface{Name: d.Name, description: d.Description}
	i.graphql = graphql.NewInterface(graphql.InterfaceConfig{Name: d.Name, Description: d.Description,
		Fields:      graphql.FieldsThunk(func() graphql.Fields { return define(i.Fields) }),
		ResolveType: func(graphql.ResolveTypeParams) *graphql.Object { return nil }})
	b.declare(&namedType{name: d.Name, owner: "an extension", iface: i})
}

func (b *builder) addEnumValues(e *Enum, d *ast.Definition) {
	for _, v := range d.EnumValues {
		if _, twice := e.byName[v.Name]; twice {
			b.refuse(v.Position, "%s has a value %s twice", e.Name, v.Name)
			continue
		}
		e.add(EnumValue{Name: v.Name, Value: v.Name, description: v.Description, deprecated: deprecation(v.Directives)})
	}
}

// fillDefinition adds the content of a definition or extension to the type of its name.
func (b *builder) fillDefinition(d *ast.Definition) {
	b.checkDirectives(d.Directives, "specifiedBy")
	r := b.types[d.Name]
	switch {
	case d.Name == subscription && r == nil:
		b.refuse(d.Position, noSubscriptions)
	case r == nil:
		b.refuse(d.Position, "there is no type %s to extend", d.Name)
	case r.goType != nil:
		b.refuse(d.Position, "type %s is made in Go and is to be extended there", d.Name)
	case r.kind() != d.Kind:
		b.refuse(d.Position, "%s is of the kind %s, not %s", d.Name, r.kind(), d.Kind)
	case r.object != nil:
		b.fillObject(r.object, d)
	case r.iface != nil:
		for _, f := range d.Fields {
			if m := b.customField(f); m != nil {
				r.iface.Fields = append(r.iface.Fields, m)
			}
		}
	case r.union != nil:
		for _, name := range d.Types {
			if member := b.types[name]; member == nil || member.object == nil {
				b.refuse(d.Position, "%s cannot hold %s, which is no object type", d.Name, name)
			} else {
				r.union.member(member.object)
			}
		}
	case r.enum != nil:
		if r.owner != "an extension" {
			b.refuse(d.Position, "enum %s has the values of %s and no others", d.Name, r.owner)
		}
	case r.input != nil:
		for _, f := range d.Fields {
			b.checkDirectives(f.Directives, "deprecated")
			if a := b.argument(f.Name, f.Description, f.Type, f.DefaultValue, f.Directives, f.Position); a != nil {
				b.inputExtra(r, a)
			}
		}
	}
}

// kind returns the kind of the type in the schema definition language.
func (r *namedType) kind() ast.DefinitionKind {
	switch {
	case r.object != nil:
		return ast.Object
	case r.iface != nil:
		return ast.Interface
	case r.union != nil:
		return ast.Union
	case r.enum != nil:
		return ast.Enum
	case r.scalar != nil:
		return ast.Scalar
	}
	return ast.InputObject
}

func (b *builder) fillObject(o *Object, d *ast.Definition) {
	for _, name := range d.Interfaces {
		if i := b.Interface(name); i == nil {
			b.refuse(d.Position, "there is no interface %s", name)
		} else {
			o.interfaces = append(o.interfaces, i)
		}
	}
	for _, f := range d.Fields {
		switch m := b.customField(f); {
		case m == nil:
		case o.byName[f.Name] != nil:
			b.refuse(f.Position, "%s has a field %s already", o.Name, f.Name)
		default:
			b.field(o, m)
		}
	}
}

// customField makes the FieldSpec of a field defined in SDL. For an invalid definition it adds an error and returns
// nil.
func (b *builder) customField(f *ast.FieldDefinition) *FieldSpec {
	b.checkDirectives(f.Directives, "deprecated")
	t := b.typeOf(f.Type, f.Position)
	if t == nil {
		return nil
	}
	if !graphql.IsOutputType(t) {
		b.refuse(f.Position, "field %s cannot be of the type %s, which is one of inputs", f.Name, f.Type)
		return nil
	}
	m := custom(f.Name, t)
	m.description, m.deprecated = f.Description, deprecation(f.Directives)
	for _, arg := range f.Arguments {
		b.checkDirectives(arg.Directives, "deprecated")
		if a := b.argument(arg.Name, arg.Description, arg.Type, arg.DefaultValue, arg.Directives,
			arg.Position); a != nil {
			m.args = append(m.args, a)
		}
	}
	return m
}

// argument makes an argument, or a field of an input, from its definition. For an invalid definition it adds an error
// and returns nil.
func (b *builder) argument(name, description string, typ *ast.Type, def *ast.Value, directives ast.DirectiveList,
	at *ast.Position) *argument {
	t := b.typeOf(typ, at)
	if t == nil {
		return nil
	}
	if !graphql.IsInputType(t) {
		b.refuse(at, "%s cannot be of the type %s, which is none of inputs", name, typ)
		return nil
	}
	a := &argument{name: name, description: description, typ: t, deprecated: deprecation(directives)}
	if def != nil {
		value, err := def.Value(nil)
		if err != nil {
			b.refuse(at, "the default of %s: %v", name, err)
			return nil
		}
		a.value, a.literal = value, def.String()
	}
	return a
}

// typeOf returns the type that a definition names. If there is no such type, it adds an error and returns nil.
func (b *builder) typeOf(t *ast.Type, at *ast.Position) graphql.Type {
	var of graphql.Type
	if t.Elem != nil {
		inner := b.typeOf(t.Elem, at)
		if inner == nil {
			return nil
		}
		of = graphql.NewList(inner)
	} else if r := b.types[t.NamedType]; r != nil {
		of = r.graphql()
	} else {
		b.refuse(at, "there is no type %s", t.NamedType)
		return nil
	}
	if t.NonNull {
		return graphql.NewNonNull(of)
	}
	return of
}

// checkDirectives reports directives that would have no effect.
func (b *builder) checkDirectives(directives ast.DirectiveList, allowed string) {
	for _, d := range directives {
		if d.Name != allowed {
			b.refuse(d.Position,
				"directive @%s has no effect here; there are @deprecated, on fields, arguments and values, "+
					"and @specifiedBy, on scalars", d.Name)
		}
	}
}

// deprecation returns the reason that @deprecated gives, or "" if there is no such directive.
func deprecation(directives ast.DirectiveList) string {
	d := directives.ForName("deprecated")
	if d == nil {
		return ""
	}
	if reason := directiveText(d, "reason"); reason != "" {
		return reason
	}
	return "No longer supported"
}

func directiveText(d *ast.Directive, arg string) string {
	if a := d.Arguments.ForName(arg); a != nil && a.Value != nil {
		return a.Value.Raw
	}
	return ""
}
