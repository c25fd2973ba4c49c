package config

import (
	"strings"

	"lectern/internal/yamlfile"
)

// GraphQLLimits holds the settings graphql.config.limits of config/plugins.yaml. Zero is the default in execution.DefaultLimits or
// language.DefaultLimits.
type GraphQLLimits struct {
	// words and signs of a document, and separately its comments
	Tokens int
	// brackets within brackets
	Nesting int
	// fields and fragments of an operation, each fragment counted wherever it is spread
	Selections int
	// top-level fields of an operation
	RootFields int `yaml:"rootFields"`
	// aliases in a document
	Aliases int
	// directives in a document
	Directives int
	// comparisons in all filters of an operation: each value of a list counts as one, each relation that is followed as forty. A filter
	// follows at most 100 relations in any case
	Conditions int
	// keys of a sort
	SortKeys int `yaml:"sortKeys"`
	// fields `__schema` of an operation
	Introspections int
	// lists of fields or types within one another in `__schema` and `__type`
	IntrospectionDepth int `yaml:"introspectionDepth"`
	// objects of an answer, counted after they are read and before they are printed; a tenth of it for the answer of a generated mutation,
	// since that is read in its transaction
	Rows int
	// objects that an answer could hold by the limits of its lists, whatever is stored; a tenth of it for mutations. A `__schema` counts
	// for 20000. The server estimates only if you set it
	// Default: none
	Cost int
	// length of an answer
	// Default: `limits.answer`, 16 MiB
	Bytes int
	// compiled operations that the server keeps
	Plans int
	// persisted queries that the server keeps: the last used ones, of at most 8 MiB together
	// Default: `1000`
	Persisted int
}

// readMore checks the limits, and reads Strapi's settings for Apollo Server, which decoding f has not set. config is the Node of f.
func (g *GraphQL) readMore(f *graphqlFile, config *yamlfile.Node) (problems yamlfile.Problems) {
	if limits := config.Get("limits"); limits != nil {
		for _, e := range limits.Entries {
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
