package store

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"lectern/internal/span"
)

// An Explanation tells how a store found what the reads of a context asked for. See Explain.
type Explanation struct {
	// Queries are those that were answered, in order; at most maxExplained.
	Queries []ExplainedQuery `json:"queries"`
	// Omitted says how many further queries there were.
	Omitted int `json:"omitted,omitempty"`
	// Work is that of all reads, with what they read by documentIds and along relations.
	Work Work `json:"work"`
}

// Work counts what the store has touched.
type Work struct {
	Seeks   uint64 `json:"seeks"`   // searches from the root of a tree
	Entries uint64 `json:"entries"` // index entries walked over
	Rows    uint64 `json:"rows"`    // rows read
	Links   uint64 `json:"links"`   // links walked over
	Kept    uint64 `json:"kept"`    // sets of documents that were known from former queries
}

// An ExplainedQuery tells how the rows of one localization that match a query were found.
type ExplainedQuery struct {
	Type   string `json:"type"`
	Locale string `json:"locale,omitempty"`
	Plan   string `json:"plan"` // a PlanKind
	// Order has the attributes that the query is sorted by, such as name:desc.
	Order      []string             `json:"order"`
	Conditions []ExplainedCondition `json:"conditions,omitempty"` // all of them must hold
	Searches   []ExplainedSearch    `json:"searches,omitempty"`   // for conditions: of targets, and of each branch of $or
	// Total says how many rows match. It is absent where the query did not ask for it.
	Total *int `json:"total,omitempty"`
	// Counted says how the total was found: by index, without visiting the rows that match, or by matches.
	Counted string  `json:"counted,omitempty"`
	Found   int     `json:"found"` // rows of the page
	Took    float64 `json:"took"`  // milliseconds
	Work    Work    `json:"work"`
}

// An ExplainedCondition is a condition of a query. It has no values.
type ExplainedCondition struct {
	Attribute string `json:"attribute,omitempty"` // with the relations that lead to it, such as owner.town.name
	Operator  string `json:"operator"`
	// Cost estimates how many index entries must be walked over to find all rows that meet the condition. It is absent
	// where no index finds them, so that the condition is tested on rows.
	Cost *int `json:"cost,omitempty"`
}

// An ExplainedSearch is a search that was made to answer another.
type ExplainedSearch struct {
	Type string `json:"type"`
	Plan string `json:"plan"`
}

// maxExplained is how many queries and how many searches of a query are recorded at most.
const maxExplained = 64

// Explain returns a context whose reads are recorded, and a function that returns what was recorded so far. Reads of
// other contexts pay nothing for it. Whoever sees the counts can tell how many rows there are beyond those that a
// caller may see.
func Explain(ctx context.Context) (context.Context, func() Explanation) {
	e := &explaining{parent: span.From(ctx)}
	return span.With(ctx, e), e.explanation
}

// An explaining records the reads of a context. It takes the place of the context's span and hands on to it what
// belongs there, so that reads which are neither traced nor explained look for one thing.
type explaining struct {
	parent span.Span // nil: the request is not traced

	mu       sync.Mutex
	recorded Explanation
}

func (e *explaining) explanation() Explanation {
	e.mu.Lock()
	defer e.mu.Unlock()
	recorded := e.recorded
	recorded.Queries = append([]ExplainedQuery{}, recorded.Queries...)
	return recorded
}

// Child implements span.Span.
func (e *explaining) Child(name string, began time.Time) span.Span {
	if e.parent == nil {
		return &explaining{}
	}
	return e.parent.Child(name, began)
}

// SetInt implements span.Span.
func (e *explaining) SetInt(key string, value int64) {
	if e.parent != nil {
		e.parent.SetInt(key, value)
	}
}

// SetText implements span.Span.
func (e *explaining) SetText(key, value string) {
	if e.parent != nil {
		e.parent.SetText(key, value)
	}
}

// End implements span.Span.
func (e *explaining) End(at time.Time, err error) {
	if e.parent != nil {
		e.parent.End(at, err)
	}
}

// viewed adds the work of a view that has ended.
func (e *explaining) viewed(s *snapshotStats) {
	e.mu.Lock()
	defer e.mu.Unlock()
	w := &e.recorded.Work
	w.Seeks += s.seeks
	w.Entries += s.entries
	w.Rows += s.rows
	w.Links += s.links
	w.Kept += s.keptSets
}

// answered adds a query.
func (e *explaining) answered(q *ExplainedQuery) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.recorded.Queries) == maxExplained {
		e.recorded.Omitted++
		return
	}
	e.recorded.Queries = append(e.recorded.Queries, *q)
}

// took counts a search by how its rows were found.
func (f *finder) took(kind PlanKind) {
	f.snap.stats.plans[kind]++
	q := f.snap.explained
	switch {
	case q == nil:
	case f.main:
		q.Plan = kind.String()
	case len(q.Searches) < maxExplained:
		q.Searches = append(q.Searches, ExplainedSearch{Type: f.query.Type.UID, Plan: kind.String()})
	}
}

// answer is page, and records how it was found where that is asked for.
func (f *finder) answer() Page {
	if f.snap.explains == nil {
		return f.page()
	}
	q := &ExplainedQuery{Type: f.query.Type.UID, Locale: f.snap.localeCode(f.slot.Locale()), Order: []string{}}
	before, began := f.snap.stats, time.Now()
	f.main, f.snap.explained = true, q
	page := f.page()
	f.snap.explained = nil
	q.Took = float64(time.Since(began).Microseconds()) / 1000
	after := &f.snap.stats
	q.Work = Work{Seeks: after.seeks - before.seeks, Entries: after.entries - before.entries,
		Rows: after.rows - before.rows, Links: after.links - before.links, Kept: after.keptSets - before.keptSets}
	q.Found = len(page.Rows)
	if f.query.Count {
		q.Total, q.Counted = &page.Total, "matches"
		if q.Plan == RangeInOrder.String() || q.Plan == IndexWalk.String() {
			q.Counted = "index"
		}
	}
	for _, k := range f.query.Sort {
		q.Order = append(q.Order, k.Name())
	}
	q.Conditions = f.explainConditions()
	f.snap.explains.answered(q)
	return page
}

// explainConditions describes the conditions of the finder's query.
func (f *finder) explainConditions() []ExplainedCondition {
	list := make([]ExplainedCondition, len(f.filters))
	for i, filter := range f.filters {
		list[i].Attribute, list[i].Operator = describe(filter)
	}
	for _, src := range f.sources {
		list[src.conjunct].Cost = &src.cost
	}
	return list
}

// describe returns the attributes and the operator of a filter.
func describe(f Filter) (attribute, operator string) {
	switch f := f.(type) {
	case Compare:
		return f.Attr.Name, opNames[f.Op]
	case Through:
		attribute, operator = describe(f.Filter)
		return strings.TrimSuffix(f.Attr.Name+"."+attribute, "."), operator
	case Seen:
		return describe(f.Filter)
	case Not:
		attribute, operator = describe(f.Filter)
		return attribute, "$not " + operator
	case And:
		return describeAll(f, "$and")
	case Or:
		return describeAll(f, "$or")
	case Search:
		return "", "_q"
	case Publication:
		return "", "publicationFilter"
	}
	return "", "unused"
}

// describeAll describes a list of filters: by the attributes of all of them, each once, or as its only one.
func describeAll(list []Filter, operator string) (string, string) {
	if len(list) == 1 {
		return describe(list[0])
	}
	var names []string
	for _, f := range list {
		name, op := describe(f)
		if name = cmp.Or(name, op); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	const most = 8
	if len(names) > most {
		names = append(names[:most], "...")
	}
	return strings.Join(names, ","), operator
}

// opNames are the operators as queries write them.
var opNames = [...]string{
	Eq: "$eq", EqI: "$eqi", Ne: "$ne", NeI: "$nei", In: "$in", NotIn: "$notIn", Lt: "$lt", Lte: "$lte", Gt: "$gt",
	Gte: "$gte", Between: "$between", Contains: "$contains", ContainsI: "$containsi", NotContains: "$notContains",
	NotContainsI: "$notContainsi", StartsWith: "$startsWith", StartsWithI: "$startsWithi", EndsWith: "$endsWith",
	EndsWithI: "$endsWithi", Null: "$null", NotNull: "$notNull",
}
