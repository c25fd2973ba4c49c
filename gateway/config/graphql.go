package config

import (
	"strings"

	"lectern/internal/yamlfile"
)

// GraphQLLimits holds the settings graphql.config.limits of config/plugins.yaml. Zero is the default in limits.Default
// or language.DefaultDocumentLimits.
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
	// comparisons in all filters of an operation: each value of a list counts as one, each relation that is followed as
	// forty. A filter follows at most 100 relations in any case
	Conditions int
	// keys of a sort
	SortKeys int `yaml:"sortKeys"`
	// fields `__schema` of an operation
	Introspections int
	// lists of fields or types within one another in `__schema` and `__type`
	IntrospectionDepth int `yaml:"introspectionDepth"`
	// objects of an answer, counted after they are read and before they are printed; a tenth of it for the answer of a
	// generated mutation, since that is read in its transaction
	Rows int
	// objects that an answer could hold by the limits of its lists, whatever is stored; a tenth of it for mutations. A
	// `__schema` counts for 20000. The server estimates only if you set it
	// Default: none
	Cost int
	// length of an answer
	// Default: `limits.answer`, 16 MiB
	Bytes int
	// operations of a request, if `apolloServer.allowBatchedHttpRequests` allows more than one
	// Default: `10`
	Batch int
	// compiled operations that the server keeps
	Plans int
	// persisted queries that the server keeps: the last used ones, of at most 8 MiB together
	// Default: `1000`
	Persisted int
}

// readMore checks the limits, and reads Strapi's settings for Apollo Server, which decoding f has not set. config is
// the Node of f.
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
		if *f.PlaygroundAlways {
			g.LandingPage = f.PlaygroundAlways
		}
	}
	return append(problems, g.readApollo(f.ApolloServer)...)
}

// elsewhere maps settings of Apollo Server that have no effect to what Lectern does instead. docs/graphql.md lists
// them.
var elsewhere = map[string]string{
	"bodyParserConfig":                   "limits of config/server.yaml bound bodies",
	"cache":                              "limits.plans and limits.persisted limit the caches",
	"cors":                               "cors of config/server.yaml applies",
	"dangerouslyDisableValidation":       "every operation is validated",
	"documentStore":                      "limits.plans limits the cache of operations",
	"formatError":                        "errors have one form, and tell nothing internal",
	"includeStacktraceInErrorResponses":  "stack traces stay in the log",
	"logger":                             "log of config/server.yaml applies",
	"maxRecursiveSelections":             "limits.selections limits them",
	"nodeEnv":                            "lectern serve --env says it",
	"playground":                         "landingPage says what browsers see",
	"plugins":                            "a program that extends Lectern adds middlewares and policies to fields",
	"status400ForVariableCoercionErrors": "such errors are always answered 400",
	"stopOnTerminationSignals":           "the server always ends its requests and stops",
	"subscriptions":                      "graphql.config.subscriptions turns them on",
	"tracing":                            "answers hold no traces",
	"uploads":                            "files are sent to /api/upload",
	"validationRules":                    "limits bound operations",
}

// readApollo reads the settings of Apollo Server that Lectern has too, and warns that the others have no effect.
func (g *GraphQL) readApollo(n *yamlfile.Node) (problems yamlfile.Problems) {
	if n.IsNull() {
		return nil
	}
	if n.Kind != yamlfile.Map {
		return yamlfile.Problems{n.Problem("apolloServer must be a map, such as {introspection: true}")}
	}
	for _, e := range n.Entries {
		switch e.Key {
		case "introspection":
			problems = append(problems, e.Value.Decode(&g.Introspection)...)
		case "allowBatchedHttpRequests":
			problems = append(problems, e.Value.Decode(&g.Batches)...)
		case "hideSchemaDetailsFromClientErrors":
			problems = append(problems, e.Value.Decode(&g.HideSchemaDetails)...)
		case "csrfPrevention":
			problems = append(problems, g.readPreflight(e.Value)...)
		case "persistedQueries":
			problems = append(problems, g.readPersisted(e.Value)...)
		default:
			why := elsewhere[e.Key]
			if why == "" {
				why = "it is a setting of another server"
			}
			g.Warnings = append(g.Warnings, "graphql.config.apolloServer."+e.Key+" has no effect: "+why)
		}
	}
	return problems
}

// readPreflight reads csrfPrevention: true, false or {requestHeaders: [names]}.
func (g *GraphQL) readPreflight(n *yamlfile.Node) yamlfile.Problems {
	if n.Kind == yamlfile.Map {
		var f struct {
			RequestHeaders []string `yaml:"requestHeaders"`
		}
		problems := n.Decode(&f)
		if len(f.RequestHeaders) > 0 {
			g.PreflightHeaders = f.RequestHeaders
		}
		return problems
	}
	on := true
	problems := n.Decode(&on)
	if !on {
		g.PreflightHeaders = nil
	}
	return problems
}

// readPersisted reads persistedQueries: false, or a map whose keys have no effect.
func (g *GraphQL) readPersisted(n *yamlfile.Node) yamlfile.Problems {
	if n.Kind == yamlfile.Map {
		for _, e := range n.Entries {
			g.Warnings = append(g.Warnings, "graphql.config.apolloServer.persistedQueries."+e.Key+
				" has no effect: limits.persisted limits how many queries are kept")
		}
		return nil
	}
	on := true
	problems := n.Decode(&on)
	g.WithoutPersisted = !on
	return problems
}
