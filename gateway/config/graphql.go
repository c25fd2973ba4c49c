package config

import (
	"strings"

	"lectern/internal/yamlfile"
)

// GraphQLLimits is the part graphql.config.limits of config/plugins.yaml. Zero means the default of execution.DefaultLimits or
// language.DefaultLimits.
type GraphQLLimits struct {
	Tokens     int // in a document
	Nesting    int // of brackets in a document
	Selections int // fields of an operation, those of its fragments included
	RootFields int `yaml:"rootFields"`
	Aliases    int
	Directives int
	Conditions int // comparisons in the filters of an operation
	SortKeys   int `yaml:"sortKeys"` // of a list
	Cost       int // objects of an answer, estimated from the limits of its lists; 0: no estimate
	Rows       int // objects of an answer
	Bytes      int // bytes of an answer
	Plans      int // compiled operations that are cached
	Persisted  int // persisted queries that are cached

	Introspections     int // fields __schema in an operation
	IntrospectionDepth int `yaml:"introspectionDepth"` // lists within lists of __schema and __type
}

// readMore reads the settings to which no pointer of graphqlFile leads: the limits, and settings of Strapi for Apollo Server.
func (g *GraphQL) readMore(f *graphqlFile) (problems yamlfile.Problems) {
	g.ShadowCRUDOptions = f.ShadowCRUDOptions
	if !f.Limits.IsNull() {
		problems = f.Limits.Decode(&g.Limits)
		for _, e := range f.Limits.Entries {
			if e.Value.Kind == yamlfile.Int && (strings.HasPrefix(e.Value.Text, "-") || e.Value.Text == "0") {
				problems.Add(e.Value, "%s must be 1 or more; leave it out for what is usual", e.Key)
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

// elsewhere are settings of Apollo Server that have no effect, with what Lectern does instead.
var elsewhere = map[string]string{
	"tracing":                  "answers hold no traces",
	"cache":                    "all that is kept is bounded: limits.plans and limits.persisted say by how much",
	"csrfPrevention":           "it is always on",
	"allowBatchedHttpRequests": "a request holds one operation",
	"persistedQueries":         "they are on, and limits.persisted bounds them",
	"playground":               "landingPage says what browsers see",
}

// readApollo reads the settings of Apollo Server that have a meaning here, and warns of the others.
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
