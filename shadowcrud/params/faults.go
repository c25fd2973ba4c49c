package params

import (
	"cmp"
	"strings"

	"lectern/documents/apierror"
	"lectern/jsontree"
)

// A rank is the place of a check in the order of all checks: of everything that is wrong with a request the fault of the
// lowest rank is told, and among equals the first.
type rank uint8

const (
	rankPublicationFilter rank = iota
	rankFilterKey              // keys of filters: first those that do not exist, then the others by kind
	rankFilterZone
	rankFilterPassword
	rankFilterHidden
	rankSortKey
	rankSortZone
	rankSortPassword
	rankSortHidden
	rankSortLeaf
	rankFieldKey
	rankFieldHidden
	rankFieldPassword
	rankPopulateKey
	rankPopulateHidden
	rankMixedPaging
	rankLookup
	rankLocale
	rankSortShape
	rankFilterShape
	rankFieldShape
	rankPopulateShape
	rankTopLevelPage
	rankPage
	rankHasPublished
	rankFilterValue
	rankSearch
	rankWithCount
	ranks
)

// A rankSet says which checks a request is held to.
type rankSet uint64

const everyRank rankSet = 1<<ranks - 1

// writeRanks are the checks of the query of a write: names, and what says how to write and what to print.
const writeRanks rankSet = 1<<rankPublicationFilter |
	1<<rankFilterKey | 1<<rankFilterZone | 1<<rankFilterPassword | 1<<rankFilterHidden |
	1<<rankSortKey | 1<<rankSortZone | 1<<rankSortPassword | 1<<rankSortHidden | 1<<rankSortLeaf |
	1<<rankFieldKey | 1<<rankFieldHidden | 1<<rankFieldPassword | 1<<rankPopulateKey | 1<<rankPopulateHidden |
	1<<rankLookup | 1<<rankLocale | 1<<rankFieldShape | 1<<rankPopulateShape

// faults keeps the one fault that a client is told.
type faults struct {
	heeded rankSet
	rank   rank
	err    error // an *apierror.Error, or nil
}

func (f *faults) add(r rank, err *apierror.Error) {
	if f.heeded&(1<<r) != 0 && (f.err == nil || r < f.rank) {
		f.rank, f.err = r, err
	}
}

// A parameter says what errors call a place where filters, a sort or fields are given, and how its faults rank.
type parameter struct {
	name                              string
	key, zone, password, hidden, leaf rank
	shape, value                      rank
}

var (
	filtersParameter = &parameter{name: "filters", key: rankFilterKey, zone: rankFilterZone, password: rankFilterPassword,
		hidden: rankFilterHidden, shape: rankFilterShape, value: rankFilterValue}
	sortParameter = &parameter{name: "sort", key: rankSortKey, zone: rankSortZone, password: rankSortPassword,
		hidden: rankSortHidden, leaf: rankSortLeaf, shape: rankSortShape}
	fieldsParameter = &parameter{name: "fields", key: rankFieldKey, password: rankFieldPassword, hidden: rankFieldHidden,
		shape: rankFieldShape}

	filtersWithin = filtersParameter.within()
	sortWithin    = sortParameter.within()
	fieldsWithin  = fieldsParameter.within()
)

// within is the same parameter inside a populate.
func (p *parameter) within() *parameter {
	inner := *p
	inner.name = "populate"
	return &inner
}

// within returns a request for what a parameter inside a populate asks; its faults rank among themselves until they are
// adopted.
func (r *request) within() *request {
	return &request{Parser: r.Parser, typ: r.typ, access: r.access, faults: faults{heeded: everyRank}, whole: cmp.Or(r.whole, r)}
}

// adopt takes over the fault of a parameter inside a populate.
func (r *request) adopt(inner *faults) {
	err, ok := inner.err.(*apierror.Error)
	switch {
	case !ok:
	case inner.rank < rankMixedPaging:
		r.faults.add(rankPopulateKey, err)
	default:
		r.faults.add(rankPopulateShape, err)
	}
}

// unknown tells of a key that does not exist below parent, a dotted path.
func (r *request) unknown(k rank, key, parent, param string) {
	r.faults.add(k, apierror.UnknownKey(key, parent, "query", param))
}

// forbidden tells of a key that exists but may not be used; path includes it.
func (r *request) forbidden(k rank, key, path, param string) {
	r.faults.add(k, apierror.ForbiddenKey(key, path, "query", param))
}

func (r *request) invalid(k rank, message string) {
	r.faults.add(k, apierror.Validation(message))
}

func paginationError(message string) *apierror.Error {
	return &apierror.Error{Status: 400, Name: "PaginationError", Message: message}
}

// invalidLocale tells that a value of the parameter locale names no single locale.
func invalidLocale(v any) *apierror.Error {
	return apierror.Validation("Invalid locale param " + printed(v) + " provided. Document locales must be strings.")
}

// printed is a value as JavaScript turns it into a string.
func printed(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case []any:
		parts := make([]string, len(v))
		for i, x := range v {
			parts[i] = printed(x)
		}
		return strings.Join(parts, ",")
	case *jsontree.Object:
		return "[object Object]"
	}
	return ""
}

// join appends a key to a dotted path.
func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// texts returns the elements of a list when all are strings.
func texts(list []any) ([]string, bool) {
	out := make([]string, len(list))
	for i, v := range list {
		s, ok := v.(string)
		if !ok {
			return nil, false
		}
		out[i] = s
	}
	return out, len(out) > 0
}
