package schema

import (
	"fmt"
	"maps"

	"github.com/graphql-go/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/validator"
)

// seal assembles the declared types into a schema of graphql-go. It removes the types that no field leads to, and makes
// the SDL and its syntax tree from the others.
func (b *builder) seal() error {
	if len(b.Query.Fields) == 0 { // a schema must have a field of Query
		b.field(b.Query, &FieldSpec{Kind: QueryOK, Name: "ok", Scalar: b.Scalar("Boolean"), NonNull: true})
	}
	b.link()
	b.attachExtensions()
	if err := b.err(); err != nil {
		return err
	}
	config := graphql.SchemaConfig{Query: b.Query.graphql, Types: b.listed}
	if len(b.Mutation.Fields) > 0 {
		config.Mutation = b.Mutation.graphql
	} else {
		b.Mutation = nil
	}
	if b.Subscription != nil && len(b.Subscription.Fields) > 0 {
		config.Subscription = b.Subscription.graphql
	} else {
		b.Subscription = nil
	}
	var err error
	if b.GraphQL, err = graphql.NewSchema(config); err != nil {
		return fmt.Errorf("make the GraphQL schema: %w", err)
	}
	kept := b.prune()
	b.TypeNames = typeOrder(kept, b.types)
	b.SDL = printSchema(kept)
	return b.parse()
}

// parse makes the syntax tree of the SDL. It adds the fields by which introspection shows deprecated directives, which
// gqlparser does not know yet.
func (b *builder) parse() (err error) {
	if b.Tree, err = validator.LoadSchema(validator.Prelude, &ast.Source{Name: "schema", Input: b.SDL}); err != nil {
		return fmt.Errorf("the GraphQL schema with its extensions: %w", err)
	}
	delete(b.Tree.Directives, "defer") // gqlparser declares @defer, but this server sends each answer as a whole
	if d := b.Tree.Types["__Schema"].Fields.ForName("directives"); d != nil && len(d.Arguments) == 0 {
		d.Arguments = ast.ArgumentDefinitionList{{Name: "includeDeprecated", Type: ast.NonNullNamedType("Boolean", nil),
			DefaultValue: &ast.Value{Kind: ast.BooleanValue, Raw: "false"}}}
	}
	if t := b.Tree.Types["__Directive"]; t.Fields.ForName("isDeprecated") == nil {
		t.Fields = append(t.Fields,
			&ast.FieldDefinition{Name: "isDeprecated", Type: ast.NonNullNamedType("Boolean", nil)},
			&ast.FieldDefinition{Name: "deprecationReason", Type: ast.NamedType("String", nil)})
	}
	return nil
}

// prune removes the types that no field leads to, and returns the others in order.
func (b *builder) prune() (kept []*namedType) {
	types := b.GraphQL.TypeMap()
	for _, r := range b.declared {
		if types[r.name] != nil {
			kept = append(kept, r)
		}
	}
	maps.DeleteFunc(b.types, func(name string, _ *namedType) bool { return types[name] == nil })
	maps.DeleteFunc(b.byUID, func(_ string, o *Object) bool { return types[o.Name] == nil })
	return kept
}

// typeOrder returns the order in which introspection lists types: the order of declaration, with each standard scalar
// after the first type that names it.
func typeOrder(kept []*namedType, types map[string]*namedType) (names []string) {
	standard := map[string]bool{}
	for _, s := range standardScalars {
		standard[s.Name] = true
	}
	visit := func(t graphql.Type) {
		if name := named(t).Name(); standard[name] {
			standard[name] = false
			names = append(names, name)
		}
	}
	for _, r := range kept {
		names = append(names, r.name)
		fields := r.fields()
		for _, m := range fields {
			visit(m.out)
			for _, a := range m.args {
				visit(a.typ)
			}
		}
		if r.input != nil {
			for _, a := range r.input.fields {
				visit(a.typ)
			}
		}
	}
	// String and Boolean are in every schema, since introspection and directives use them.
	for _, name := range []string{"String", "Boolean"} {
		visit(types[name].graphql())
	}
	return names
}

// fields returns the fields of an object type or interface.
func (r *namedType) fields() []*FieldSpec {
	switch {
	case r.object != nil:
		return r.object.Fields
	case r.iface != nil:
		return r.iface.Fields
	}
	return nil
}
