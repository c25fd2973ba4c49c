package answers

import (
	"fmt"
	"io"
	"math/rand/v2"
	"sort"
	"strings"
)

// A Coverage counts which features operations have used. A counter is named "dimension: cell".
type Coverage struct {
	Hits     map[string]int
	required []string
}

// NewCoverage returns a Coverage with all counters that a run must reach, at 0.
func NewCoverage(quirk Quirks) *Coverage {
	c := &Coverage{Hits: map[string]int{}}
	for _, typ := range append(scalarTypes, "id", "documentId", "locale") {
		for _, op := range operatorsOf(typ, quirk) {
			c.Hits[testCell(op, typ)] = 0
		}
	}
	for _, s := range []string{"", published, draft, "junk"} {
		for _, l := range []string{"none", "default", "other", "all", "unknown", "several"} {
			c.Hits[versionCell(l, s)] = 0
		}
	}
	for dimension, cells := range fixedCells {
		for _, cell := range cells {
			c.Hits[dimension+": "+cell] = 0
		}
	}
	for _, kind := range relationKinds {
		for _, use := range []string{"populate", "write", "filter"} {
			c.Hits[use+" relation: "+kind] = 0
		}
	}
	if !quirk.NoActions {
		for _, kind := range []string{"publish", "unpublish", "discard-draft", "restart"} {
			c.Hits["operation: "+kind] = 0
		}
	}
	return c.requiring()
}

// NewPastCoverage returns a Coverage of what runs that remember must reach, with some more counters.
func NewPastCoverage(more ...string) *Coverage {
	c := &Coverage{Hits: map[string]int{}}
	for _, cell := range append(more, "200 of a seq", "200 of a time", "404 of a seq", "410 of a seq", "410 of a time",
		"restore 200", "restore 404",
		"attribute added", "attribute converted") {
		c.Hits["past: "+cell] = 0
	}
	return c.requiring()
}

// requiring makes all counters present required.
func (c *Coverage) requiring() *Coverage {
	c.required = nil
	for cell := range c.Hits {
		c.required = append(c.required, cell)
	}
	return c
}

// Batches makes counters required that a run reaches which sends batches.
func (c *Coverage) Batches() *Coverage {
	for _, atomic := range []bool{true, false} {
		for _, fails := range []bool{true, false} {
			c.Hits[batchCell(atomic, fails)] = 0
		}
	}
	return c.requiring()
}

func batchCell(atomic, fails bool) string {
	return fmt.Sprintf("batch: atomic %t, fails %t", atomic, fails)
}

var fixedCells = map[string][]string{
	"populate": {"star", "list", "indexed", "dotted", "true", "1", "false", "count", "fields", "filters", "sort",
		"nested",
		"on", "zone star", "localizations", "component", "repeatable", "dynamiczone", "media"},
	"logic": {"and", "or", "not", "keys", "not below field", "component", "relation", "null operand",
		"several operands", "several bounds"},
	"sort":      {"indexed", "object", "array of objects", "list", "desc", "through relation", "through component"},
	"fields":    {"list", "indexed", "repeated"},
	"page":      {"none", "page", "offset", "odd", "without count"},
	"read":      {"list", "one", "single type", "search", "publicationFilter", "hasPublishedVersion"},
	"operation": {"create", "update", "delete"},
	"edit":      {"bare", "list", "set", "connect", "disconnect", "null", "position", "by id"},
	"write": {"refused", "missing", "new localization", "draft", "published", "kept component", "new component",
		"zone"},
	"publication": {"never-published", "has-published-version", "modified", "unmodified", "never-published-document",
		"has-published-version-document", "published-without-draft", "published-with-draft"},
}

var relationKinds = []string{
	"oneToOne one-way", "oneToMany one-way", "manyToOne one-way", "manyToMany one-way", "manyToMany one-way self",
	"oneToOne two-way owning", "oneToOne two-way mapped", "manyToOne two-way owning", "oneToMany two-way mapped",
	"manyToMany two-way owning", "manyToMany two-way mapped", "manyToOne two-way owning self",
	"oneToMany two-way mapped self",
	"oneToOne in component", "oneToMany in component", "manyToOne in component", "manyToMany in component",
}

func testCell(op, typ string) string { return "test: " + op + " × " + typ }

func versionCell(locale, status string) string {
	if status == "" {
		status = "no status"
	}
	return "version: locale " + locale + " × " + status
}

// Hit adds 1 to a counter.
func (c *Coverage) Hit(dimension, cell string) { c.Hits[dimension+": "+cell]++ }

// Least returns one of the options that were used least, and sometimes any option.
func Least[T any](c *Coverage, rng *rand.Rand, options []T, cell func(T) string) T {
	if rng.IntN(4) == 0 {
		return pick(rng, options)
	}
	order := rng.Perm(len(options))
	best := order[0]
	for _, i := range order {
		if c.Hits[cell(options[i])] < c.Hits[cell(options[best])] {
			best = i
		}
	}
	return options[best]
}

// Add adds the counts of another run.
func (c *Coverage) Add(other *Coverage) {
	for cell, n := range other.Hits {
		c.Hits[cell] += n
	}
}

// Below returns the required counters that are below n.
func (c *Coverage) Below(n int) []string {
	var cells []string
	for _, cell := range c.required {
		if hits := c.Hits[cell]; hits < n {
			cells = append(cells, fmt.Sprintf("%s (%d)", cell, hits))
		}
	}
	sort.Strings(cells)
	return cells
}

// Untouched returns what a short run has missed: counters at 0, operators that were used with no type, and types that
// were used with no operator.
func (c *Coverage) Untouched() []string {
	tests := map[string]int{}
	var cells []string
	for _, cell := range c.required {
		if name, ok := strings.CutPrefix(cell, "test: "); ok {
			op, typ, _ := strings.Cut(name, " × ")
			tests["operator "+op] += c.Hits[cell]
			tests["type "+typ] += c.Hits[cell]
		} else if c.Hits[cell] == 0 {
			cells = append(cells, cell)
		}
	}
	for name, hits := range tests {
		if hits == 0 {
			cells = append(cells, name)
		}
	}
	sort.Strings(cells)
	return cells
}

// Print writes all counters, grouped by dimension.
func (c *Coverage) Print(out io.Writer) {
	by := map[string][]string{}
	for cell, hits := range c.Hits {
		dimension, name, _ := strings.Cut(cell, ": ")
		by[dimension] = append(by[dimension], fmt.Sprintf("%s %d", name, hits))
	}
	var dimensions []string
	for d := range by {
		dimensions = append(dimensions, d)
	}
	sort.Strings(dimensions)
	for _, d := range dimensions {
		sort.Strings(by[d])
		fmt.Fprintf(out, "%s (%d cells): %s\n", d, len(by[d]), strings.Join(by[d], ", "))
	}
}

var (
	orderOperators = []string{"", "$eq", "$ne", "$in", "$notIn", "$lt", "$lte", "$gt", "$gte", "$between", "$null",
		"$notNull"}
	caseOperators = []string{"$eqi", "$nei"}
	likeOperators = []string{
		"$contains", "$containsi", "$notContains", "$notContainsi", "$startsWith", "$startsWithi", "$endsWith",
		"$endsWithi",
	}
)

// operatorsOf returns the operators that REST filters may use on a type.
func operatorsOf(typ string, quirk Quirks) []string {
	switch typ {
	case "password":
		return nil
	case "blocks":
		return []string{"$null", "$notNull"}
	case "boolean", "datetime":
		if quirk.NumbersAsSQL {
			return orderOperators
		}
	case "id":
		return orderOperators
	}
	all := append(append([]string{}, orderOperators...), caseOperators...)
	return append(all, likeOperators...)
}
