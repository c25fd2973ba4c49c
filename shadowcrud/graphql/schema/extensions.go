package schema

import (
	"maps"

	"github.com/graphql-go/graphql"
)

// Extensions are the changes that a program makes to the schema: it may remove generated parts, and add parts of its
// own.
//
//	var e schema.Extensions
//	e.ShadowCRUD("api::article.article").DisableMutations().Field("notes").DisableOutput()
//	e.Use(schema.Extension{TypeDefs: `extend type Query { hello: String }`, Resolvers: schema.Resolvers{"Query": {"hello": hello}}})
//
// The zero value changes nothing. An Extensions may serve any number of Models, one after the other.
type Extensions struct {
	shadow      ShadowCRUD
	sources     []Source
	policies    map[string]Policy
	middlewares map[string]MiddlewareMaker
}

// ShadowCRUD returns the options of a content-type or component.
func (e *Extensions) ShadowCRUD(uid string) *TypeOptions { return e.shadow.Of(uid) }

// Shadow returns the options of all types, so that a configuration can be read into them.
func (e *Extensions) Shadow() *ShadowCRUD { return &e.shadow }

// Use adds extensions, or functions that each make one.
func (e *Extensions) Use(sources ...Source) { e.sources = append(e.sources, sources...) }

// Clone returns an independent copy. A clone of nil is empty.
func (e *Extensions) Clone() *Extensions {
	if e == nil {
		return &Extensions{}
	}
	return &Extensions{shadow: *e.shadow.clone(), sources: append([]Source(nil), e.sources...),
		policies: maps.Clone(e.policies), middlewares: maps.Clone(e.middlewares)}
}

func (e *Extensions) shadowCRUD() *ShadowCRUD {
	if e == nil {
		return nil
	}
	return &e.shadow
}

// A Source is an Extension, or an ExtensionFunc that makes one.
type Source interface {
	extension(*Builder) (Extension, error)
}

// An Extension adds to the schema.
type Extension struct {
	// Types are types of graphql-go. One that has the name of a type of the schema adds its fields, members or values
	// to it.
	Types []graphql.Type
	// TypeDefs are definitions in the schema definition language: new types, and extensions of types of the schema
	// (extend type Query, extend input ArticleInput). A definition of a type that the schema has already extends that
	// type. Definitions may refer to generated types and to each other, in any order.
	TypeDefs string
	// Resolvers answer fields, those of Types and TypeDefs and generated ones.
	Resolvers Resolvers
	// ResolversConfig sets permissions, policies and middlewares of fields, by "Type.field".
	ResolversConfig map[string]FieldConfig
	// Plugins are called when all Types and TypeDefs are in the schema. They may look at it and add to it.
	Plugins []func(*Builder) error
}

func (e Extension) extension(*Builder) (Extension, error) { return e, nil }

// An ExtensionFunc makes an Extension for the schema that is being built. It is called for each Model that is served.
type ExtensionFunc func(*Builder) (Extension, error)

func (f ExtensionFunc) extension(b *Builder) (Extension, error) { return f(b) }

var (
	_ Source = Extension{}
	_ Source = ExtensionFunc(nil)
)

// A Builder gives an extension access to the schema while it is built. It must not be kept.
type Builder struct{ b *builder }

// Schema returns the schema so far. Its GraphQL, SDL, Tree and TypeNames are empty.
func (b *Builder) Schema() *Schema { return b.b.Schema }

// Type returns the graphql-go type of that name, for fields of Types to refer to; nil when there is none.
func (b *Builder) Type(name string) graphql.Type {
	if r := b.b.types[name]; r != nil {
		return r.graphql()
	}
	return nil
}

// AddTypes adds types as Extension.Types does.
func (b *Builder) AddTypes(types ...graphql.Type) error {
	return b.b.try(func() { b.b.addTypes(types) })
}

// AddTypeDefs adds definitions as Extension.TypeDefs does.
func (b *Builder) AddTypeDefs(source string) error {
	return b.b.try(func() { b.b.addTypeDefs(source) })
}

// AddResolvers adds resolvers and configs as Extension.Resolvers and Extension.ResolversConfig do. Their fields are
// looked up when all plugins have run.
func (b *Builder) AddResolvers(r Resolvers, c map[string]FieldConfig) {
	b.b.added = append(b.b.added, Extension{Resolvers: r, ResolversConfig: c})
}

// extend adds extensions: first all Types, then all TypeDefs, which may name them, then the additions of plugins.
func (b *builder) extend(e *Extensions) {
	if e == nil {
		return
	}
	for _, source := range e.sources {
		x, err := source.extension(&Builder{b})
		if err != nil {
			b.errs = append(b.errs, err)
			continue
		}
		b.added = append(b.added, x)
	}
	for _, x := range b.added {
		b.addTypes(x.Types)
	}
	var sources []string
	for _, x := range b.added {
		sources = append(sources, x.TypeDefs)
	}
	b.addTypeDefs(sources...)
	for _, x := range b.added {
		for _, plugin := range x.Plugins {
			if err := plugin(&Builder{b}); err != nil {
				b.errs = append(b.errs, err)
			}
		}
	}
}

// try runs f and returns the errors that f added, which the builder then forgets.
func (b *builder) try(f func()) error {
	kept := b.errs
	b.errs = nil
	f()
	err := b.err()
	b.errs = kept
	return err
}
