package config

import (
	"strings"

	"lectern/internal/yamlfile"
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
	Conditions int // comparisons of the filters of an operation
	SortKeys   int `yaml:"sortKeys"` // of a list
	Cost       int // objects that an answer may hold by the limits of its lists; 0: nothing is estimated
	Rows       int // objects that an answer may hold
	Bytes      int // of an answer
	Plans      int // operations that are remembered
	Persisted  int // queries that clients persist by their hash

	Introspections     int // fields __schema of an operation
	IntrospectionDepth int `yaml:"introspectionDepth"` // lists within lists of __schema and __type
}

// readMore fills g with what stands in parts of their own.
func (g *GraphQL) readMore(f *graphqlFile) (problems yamlfile.Problems) {
	if !f.Limits.IsNull() {
		problems = f.Limits.Decode(&g.Limits)
		for _, e := range f.Limits.Entries {
			if e.Value.Kind == yamlfile.Int && (strings.HasPrefix(e.Value.Text, "-") || e.Value.Text == "0") {
				problems = append(problems, e.Value.Problem("%s must be 1 or more; leave it out for what is usual", e.Key))
			}
		}
	}
	if f.PlaygroundAlways != nil {
		g.Warnings = append(g.Warnings, "graphql.config.playgroundAlways is deprecated: set landingPage")
		if g.LandingPage == nil {
			g.LandingPage = f.PlaygroundAlways
		}
	}
	return append(problems, g.readApollo(f.ApolloServer)...)
}

// elsewhere says, of settings of Apollo Server that mean nothing here, what there is in their place.
var elsewhere = map[string]string{
	"tracing":                  "answers hold no traces",
	"cache":                    "all that is kept is bounded: limits.plans and limits.persisted say by how much",
	"csrfPrevention":           "it is always on",
	"allowBatchedHttpRequests": "a request holds one operation",
	"persistedQueries":         "they are on, and limits.persisted bounds them",
	"playground":               "landingPage says what browsers see",
}

// readApollo takes what means something here from the settings of Apollo Server, and warns of the rest.
func (g *GraphQL) readApollo(n *yamlfile.Node) (problems yamlfile.Problems) {
	if n.IsNull() {
		return nil
	}
	if n.Kind != yamlfile.Map {
		return yamlfile.Problems{n.Problem("apolloServer must be a map, such as {introspection: true}")}
	}
	for _, e := range n.Entries {
		if e.Key == "introspection" {
			problems = append(problems, e.Value.Decode(&g.Introspection)...)
			continue
		}
		why := elsewhere[e.Key]
		if why == "" {
			why = "it is a setting of another server"
		}
		g.Warnings = append(g.Warnings, "graphql.config.apolloServer."+e.Key+" has no effect: "+why)
	}
	return problems
}
