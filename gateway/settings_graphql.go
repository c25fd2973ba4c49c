package gateway

import (
	"lectern/contenttypes"
)

// GraphQLLimits are the part graphql.config.limits of config/plugins.yaml; 0 is what execution.DefaultLimits and
// language.DefaultLimits say.
type GraphQLLimits struct {
	Tokens     int // of a document
	Nesting    int // brackets within brackets
	Selections int // of an operation, its fragments put in place
	RootFields int `yaml:"rootFields"`
	Aliases    int
	Directives int
	Cost       int // objects that an answer may hold by the limits of its lists
	Rows       int // objects that an answer may hold
	Bytes      int // of an answer
	Plans      int // operations that are remembered
	Persisted  int // queries that clients persist by their hash
}

// apolloFile is the part apolloServer of graphql.config, as far as it means something here.
type apolloFile struct {
	Introspection *bool
}

// readMore fills g with what stands in parts of their own.
func (g *GraphQLSettings) readMore(f *graphqlFile) (problems contenttypes.Problems) {
	if !f.Limits.IsNull() {
		problems = f.Limits.Decode(&g.Limits)
	}
	if !f.ApolloServer.IsNull() {
		var a apolloFile
		if n := f.ApolloServer.Get("introspection"); n != nil {
			problems = append(problems, n.Decode(&a.Introspection)...)
		}
		g.Introspection = a.Introspection
	}
	return problems
}
