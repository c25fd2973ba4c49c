// Package schema makes the GraphQL schema of a Model: for each content-type an object type, the inputs that write and
// filter its documents, pages of them, and the fields of Query, Mutation and Subscription that reach them; the same for
// components, dynamic zones, enumerations, files, locales, users and roles.
//
//	s, err := schema.Build(model, schema.Options{})
//	fmt.Print(s.SDL)
//
// Build assembles the types as types of graphql-go, which extensions supply and refer to. It also makes three other
// views of the same types: the FieldSpecs and the other types of fieldspec.go, which say which attribute a field shows,
// which operator a filter is and which stored value an enum name stands for; the SDL; and the syntax tree of the SDL,
// against which package language validates documents. Code that answers an operation looks up specs and never derives
// anything from a name:
//
//	spec := s.Query.Field("articles")    // spec.Kind == schema.RootList, spec.Type is api::article.article
//	author := spec.Object.Field("author") // author.Kind == schema.Relation, author.Attr is the attribute
//
// Extensions can remove generated parts of the schema, and add types and fields.
//
// Reading the source: fieldspec.go declares the result; types.go, inputs.go, roots.go, subscriptions.go and users.go
// generate its parts with the functions of builder.go; seal.go completes the schema and print.go prints it.
// shadowcrud.go holds the options that remove generated parts. extensions.go holds the additions of a program: types in
// SDL (typedefs.go) and in Go (gotypes.go), resolvers and permissions (resolvers.go, attach.go).
package schema

import (
	"lectern/contenttypes"
)

// Options change which parts the schema has. The zero value keeps everything that is generated from the Model, and adds
// nothing.
type Options struct {
	// WithoutShadowCRUD leaves out everything that is generated from the Model, so that only extensions make the
	// schema.
	WithoutShadowCRUD bool
	// DocumentActions adds the mutations publishX, unpublishX and discardDraftX of types with drafts.
	DocumentActions bool
	// Subscriptions adds the type Subscription, with a field for the changes of each type that can be queried.
	Subscriptions bool
	// Extensions are the changes of a program; nil is none.
	Extensions *Extensions
	// CheckScope returns an error if an action cannot be granted. If it is nil, any action on an existing content-type
	// is valid.
	CheckScope func(action string) error
}

// Build makes the schema of a Model. The error lists all mistakes, such as a name that two definitions claim, an option
// for an attribute that does not exist, or a type of an extension that does not fit the schema.
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

// generate declares and fills the types of the Model in the order of introspection. Without shadowCRUD it declares only
// the scalars, inputs and enums that definitions of extensions may name, and empty roots.
func (b *builder) generate(shadowCRUD bool) {
	b.declareBaseTypes()
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
		b.fillSubscription()
	}
}
