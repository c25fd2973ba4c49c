// Package schema makes the GraphQL schema of a Model: for each content-type an object type, the inputs that write and
// filter its documents, pages of them, and the fields of Query and Mutation that reach them; the same for components,
// dynamic zones, enumerations, files, locales, users and roles.
//
//	s, err := schema.Build(model, schema.Options{})
//	fmt.Print(s.SDL)
//
// The types are those of graphql-go. Beside them stands what each part means: which attribute a field shows, which operator
// a filter is, which stored value an enum name stands for. Whoever answers an operation looks that up and never takes a
// name apart:
//
//	m := s.Query.Field("articles") // m.Kind == schema.RootList, m.Type is api::article.article
//	f := m.Object.Field("author")  // f.Kind == schema.Relation, f.Attr is the attribute
//
// What a type shows can be cut down, and types and fields can be added; see Extensions.
//
// Reading the source: meaning.go is what comes out; types.go, inputs.go, roots.go and users.go make it; builder.go is what they
// make it with; seal.go finishes it, print.go writes it down. shadowcrud.go is what a program takes away; extensions.go, what it
// adds: types in SDL (typedefs.go) and in Go (custom.go), resolvers and who may ask (resolvers.go, customise.go).
package schema

import (
	"lectern/contenttypes"
)

// Options say what the schema holds beside what the Model asks for. The zero value takes nothing away and adds nothing.
type Options struct {
	// WithoutShadowCRUD leaves out all that the Model asks for: there is then only what extensions bring.
	WithoutShadowCRUD bool
	// DocumentActions adds the mutations publishX, unpublishX and discardDraftX of types with drafts.
	DocumentActions bool
	// Extensions are what is taken away and added; nil is nothing.
	Extensions *Extensions
	// CheckScope says why an action that a field is to need can be granted to nobody. Where it is nil, actions need only name a
	// content-type that there is.
	CheckScope func(action string) error
}

// Build makes the schema of a Model. The error lists everything that cannot be: two definitions that need one name, options
// for what is not there, types of extensions that do not fit.
func Build(m *contenttypes.Model, o Options) (*Schema, error) {
	b := &builder{
		Schema: &Schema{
			Model: m, objects: map[string]*Object{}, interfaces: map[string]*Interface{}, unions: map[string]*Union{},
			enums: map[string]*Enum{}, scalars: map[string]*Scalar{}, filters: map[string]*Filters{},
			operators: map[string]*Operators{}, inputs: map[string]*Input{}, byUID: map[string]*Object{},
		},
		options: o, shadow: o.Extensions.shadowCRUD(), byName: map[string]*record{}, shapes: map[*contenttypes.Schema]*shapes{},
	}
	for _, s := range standardScalars {
		b.scalars[s.Name] = s
		b.byName[s.Name] = &record{name: s.Name, owner: "GraphQL itself", scalar: s}
	}
	b.errs = append(b.errs, b.shadow.check(m)...)
	b.generate(!o.WithoutShadowCRUD)
	b.extend(o.Extensions)
	if err := b.err(); err != nil {
		return nil, err
	}
	if err := b.seal(); err != nil {
		return nil, err
	}
	return b.Schema, nil
}

// generate makes all that the Model asks for. The order is that in which introspection shows the types. Without shadowCRUD
// there are the scalars, inputs and enums that definitions of extensions may name, and roots without fields.
func (b *builder) generate(shadowCRUD bool) {
	b.declareCommon()
	if shadowCRUD {
		b.declareTypes()
		b.declareUsers()
	}
	b.declarePagination()
	b.declareRoots()
	if shadowCRUD {
		b.fillTypes()
		b.fillQuery()
		b.fillMutation()
	}
}
