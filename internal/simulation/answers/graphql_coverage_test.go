package answers

import "strings"

// NewGraphQLCoverage returns a Coverage with all counters that a GraphQL run must reach, at 0.
func NewGraphQLCoverage(quirk Quirks) *Coverage {
	c := &Coverage{Hits: map[string]int{}}
	for _, typ := range append(scalarTypes, "documentId", "locale") {
		for _, op := range graphqlOperators(typ, quirk) {
			c.Hits[testCell(op, typ)] = 0
		}
	}
	for _, s := range []string{"", published, draft} {
		for _, l := range graphqlLocales {
			c.Hits[versionCell(l, s)] = 0
		}
	}
	for dimension, cells := range graphqlCells {
		for _, cell := range cells {
			c.Hits[dimension+": "+cell] = 0
		}
	}
	for _, cell := range fixedCells["publication"] {
		c.Hits["publication: "+cell] = 0
	}
	for _, kind := range relationKinds {
		for _, use := range []string{"show", "write", "filter"} {
			c.Hits[use+" relation: "+kind] = 0
		}
		if strings.HasPrefix(kind, "oneToMany") || strings.HasPrefix(kind, "manyToMany") {
			c.Hits["show connection: "+kind] = 0
		}
	}
	if !quirk.NoActions {
		for _, kind := range []string{"publish", "unpublish", "discard-draft", "restart"} {
			c.Hits["operation: "+kind] = 0
		}
	}
	return c.requiring()
}

var graphqlCells = map[string][]string{
	"root": {"one", "list", "connection", "single", "filters", "sort", "pagination"},
	"list": {"filters", "sort", "pagination"},
	"request": {"one root field", "several root fields", "limited principal", "hasPublishedVersion", "one mutation",
		"several mutations", "limited mutation", "counted reads"},
	"argument": {"variable", "null", "variable without a value"},
	"logic": {"and", "or", "not", "keys", "not below field", "component", "relation", "null operand",
		"several operands", "a null that asks nothing", "an empty object"},
	"sort": {"through relation", "through component"},
	"page": {"page", "offset", "odd", "none", "both"},
	"fault": {"both paginations", "FORBIDDEN", "invalid key", "BAD_USER_INPUT", "INTERNAL_SERVER_ERROR",
		"STRAPI_PAGINATION_ERROR"},
	"operation": {"create", "update", "delete"},
	"edit":      {"bare", "list", "null"},
	"write": {"refused", "missing", "new localization", "draft", "published", "kept component", "new component",
		"zone", "media", "status null"},
	"select": {"alias", "__typename", "pageInfo", "media", "component", "repeatable", "dynamiczone", "localizations",
		"repeated",
		"skip", "include", "named fragment", "inline fragment", "bare fragment"},
}
