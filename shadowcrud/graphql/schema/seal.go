package schema

import (
	"fmt"
	"maps"

	"github.com/graphql-go/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/validator"
)

// seal makes the schema of graphql-go of what was declared, takes what nothing leads to out of it, and writes it down.
func (b *builder) seal() error {
	if len(b.Query.Fields) == 0 { // a schema must have something to ask for
		b.field(b.Query, &Meaning{Kind: QueryOK, Name: "ok", Scalar: b.scalars["Boolean"], NonNull: true})
	}
	b.link()
	b.customise()
	if err := b.err(); err != nil {
		return err
	}
	config := graphql.SchemaConfig{Query: b.Query.graphql, Types: b.listed}
	if len(b.Mutation.Fields) > 0 {
		config.Mutation = b.Mutation.graphql
	} else {
		b.Mutation = nil
	}
	var err error
	if b.GraphQL, err = graphql.NewSchema(config); err != nil {
		return fmt.Errorf("make the GraphQL schema: %w", err)
	}
	kept := b.prune()
	b.TypeNames = typeOrder(kept, b.byName)
	b.SDL = printSchema(kept)
	if b.options.Extensions != nil && len(b.options.Extensions.sources) > 0 {
		return b.validate()
	}
	return nil
}

// validate reads the schema that extensions were added to as package language will, so that what is wrong with it is told when it is
// built.
func (b *builder) validate() error {
	if _, err := validator.LoadSchema(validator.Prelude, &ast.Source{Name: "schema", Input: b.SDL}); err != nil {
		return fmt.Errorf("the GraphQL schema with its extensions: %w", err)
	}
	return nil
}

// prune takes out the types that no field of the schema leads to, and returns the others in order.
func (b *builder) prune() (kept []*record) {
	types := b.GraphQL.TypeMap()
	gone := func(name string) bool { return types[name] == nil }
	for _, r := range b.declared {
		if !gone(r.name) {
			kept = append(kept, r)
		}
	}
	maps.DeleteFunc(b.objects, func(name string, _ *Object) bool { return gone(name) })
	maps.DeleteFunc(b.interfaces, func(name string, _ *Interface) bool { return gone(name) })
	maps.DeleteFunc(b.unions, func(name string, _ *Union) bool { return gone(name) })
	maps.DeleteFunc(b.enums, func(name string, _ *Enum) bool { return gone(name) })
	maps.DeleteFunc(b.scalars, func(name string, _ *Scalar) bool { return gone(name) })
	maps.DeleteFunc(b.filters, func(name string, _ *Filters) bool { return gone(name) })
	maps.DeleteFunc(b.operators, func(name string, _ *Operators) bool { return gone(name) })
	maps.DeleteFunc(b.inputs, func(name string, _ *Input) bool { return gone(name) })
	maps.DeleteFunc(b.byUID, func(_ string, o *Object) bool { return gone(o.Name) })
	return kept
}

// typeOrder is the order in which introspection lists the types: as declared, each of GraphQL's own scalars behind the
// first type that names it.
func typeOrder(kept []*record, byName map[string]*record) (names []string) {
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
	// String and Boolean are there in any schema: introspection and directives need them.
	for _, name := range []string{"String", "Boolean"} {
		visit(byName[name].graphql())
	}
	return names
}

// fields are those of an object type or interface.
func (r *record) fields() []*Meaning {
	switch {
	case r.object != nil:
		return r.object.Fields
	case r.iface != nil:
		return r.iface.Fields
	}
	return nil
}
