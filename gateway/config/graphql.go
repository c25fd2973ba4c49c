package config

import (
	"strings"

	"lectern/internal/yamlfile"
)

// GraphQLLimits holds the settings graphql.config.limits of config/plugins.yaml. Zero is the default in execution.DefaultLimits or
// language.DefaultLimits.
type GraphQLLimits struct {
	Tokens     int // in a document
	Nesting    int // levels of brackets in a document
	Selections int // fields in an operation, including those in its fragments
	RootFields int `yaml:"rootFields"`
	Aliases    int
	Directives int
	Conditions int // comparisons in the filters of an operation
	SortKeys   int `yaml:"sortKeys"` // of a list
	Cost       int // objects in an answer, as estimated before execution from the limits of its lists; 0: no estimate
	Rows       int // objects in an answer
	Bytes      int // bytes of an answer
	Plans      int // compiled operations that are cached
	Persisted  int // persisted queries that are cached

	Introspections     int // fields __schema in an operation
	IntrospectionDepth int `yaml:"introspectionDepth"` // levels of lists in __schema and __type
}

// readMore reads the settings that decoding f has not set: the limits, and Strapi's settings for Apollo Server.
func (g *GraphQL) readMore(f *graphqlFile) (problems yamlfile.Problems) {
	g.ShadowCRUDOptions = f.ShadowCRUDOptions
	if !f.Limits.IsNull() {
		problems = f.Limits.Decode(&g.Limits)
		for _, e := range f.Limits.Entries {
			if e.Value.Kind == yamlfile.Int && (strings.HasPrefix(e.Value.Text, "-") || e.Value.Text == "0") {
				problems.Add(e.Value, "%s must be 1 or more; leave it out for the default", e.Key)
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

// elsewhere maps settings of Apollo Server that have no effect to what Lectern does instead.
var elsewhere = map[string]string{
	"tracing":                  "answers hold no traces",
	"cache":                    "limits.plans and limits.persisted limit the caches",
	"csrfPrevention":           "it is always on",
	"allowBatchedHttpRequests": "a request holds one operation",
	"persistedQueries":         "they are on; limits.persisted limits how many are cached",
	"playground":               "landingPage says what browsers see",
}

// readApollo reads introspection from the settings of Apollo Server, and warns that the other settings have no effect.
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
