// Package schema makes the GraphQL schema of a Model: for each content-type an object type, the inputs that write and
// filter its documents, pages of them, and the fields of Query and Mutation that reach them; the same for components,
// dynamic zones, enumerations, files, locales, users and roles.
//
//	s, err := schema.Build(model, schema.Options{})
//	fmt.Print(s.SDL)
//
// The types are assembled as types of graphql-go, which is what extensions give and get. Three views of the same types are made while
// they are assembled, and nothing makes them anywhere else: the FieldSpecs and the other types of fieldspec.go, which say which
// attribute a field shows, which operator a filter is and which stored value an enum name stands for; the SDL; and the SDL's syntax
// tree, which package language validates documents against. Code that answers an operation looks up specs and never derives anything
// from a name:
//
//	spec := s.Query.Field("articles")    // spec.Kind == schema.RootList, spec.Type is api::article.article
//	author := spec.Object.Field("author") // author.Kind == schema.Relation, author.Attr is the attribute
//
// Extensions remove parts of what a type shows and add types and fields; see Extensions.
//
// Reading the source: fieldspec.go declares the result; types.go, inputs.go, roots.go and users.go make it with the tools of
// builder.go; seal.go finishes it and print.go prints it. shadowcrud.go is what a program can remove; extensions.go is what it can
// add: types in SDL (typedefs.go) and in Go (custom.go), resolvers and permissions (resolvers.go, customise.go).
package schema

import (
	"lectern/contenttypes"
)

// Options change what the schema holds. The zero value keeps everything that the Model makes, and adds nothing.
type Options struct {
	// WithoutShadowCRUD leaves out everything that is generated from the Model, so that only extensions make the schema.
	WithoutShadowCRUD bool
	// DocumentActions adds the mutations publishX, unpublishX and discardDraftX of types with drafts.
	DocumentActions bool
	// Extensions are the changes of a program; nil is none.
	Extensions *Extensions
	// CheckScope returns an error if an action cannot be granted. If it is nil, any action on an existing content-type is valid.
	CheckScope func(action string) error
}

// Build makes the schema of a Model. The error lists everything that is wrong: names that two definitions need, options for what does not
// exist, types of extensions that do not fit.
func Build(m *contenttypes.Model, o Options) (*Schema, error) {
	b := &builder{
		Schema: &Schema{
			Model: m, types: map[string]*namedType{}, byUID: map[string]*Object{},
		},
		options: o, shadow: o.Extensions.shadowCRUD(), shapes: map[*contenttypes.Schema]*shapes{},
	}
	for _, s := range standardScalars {
		b.types[s.Name] = &namedType{name: s.Name, owner: "GraphQL itself", scalar: s}
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

// generate declares and fills the types of the Model in the order of introspection. Without shadowCRUD it declares only the scalars, inputs
// and enums that definitions of extensions may name, and empty roots.
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
