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

// readMore fills g with what stands in parts of their own.
func (g *GraphQLSettings) readMore(f *graphqlFile) (problems contenttypes.Problems) {
	if !f.Limits.IsNull() {
		problems = f.Limits.Decode(&g.Limits)
	}
	if f.PlaygroundAlways != nil {
		g.Warnings = append(g.Warnings, "graphql.config.playgroundAlways is deprecated: set landingPage")
		if g.LandingPage == nil {
			g.LandingPage = f.PlaygroundAlways
		}
	}
	if f.ApolloServer.IsNull() {
		return problems
	}
	for _, e := range f.ApolloServer.Entries {
		if e.Key == "introspection" {
			problems = append(problems, e.Value.Decode(&g.Introspection)...)
			continue
		}
		g.Warnings = append(g.Warnings, "graphql.config.apolloServer."+e.Key+" has no effect: it is a setting of another server")
	}
	return problems
}
