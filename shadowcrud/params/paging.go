package params

import (
	"math"

	"lectern/jsontree"
)

// paging reads the parameter pagination.
func (r *request) paging() Paging {
	limit := r.limits.DefaultLimit
	if r.limits.MaxLimit > 0 {
		limit = min(limit, r.limits.MaxLimit)
	}
	g := Paging{Page: 1, PageSize: limit, Limit: limit, WithCount: r.limits.WithCount}
	o, ok := r.given.pagination.(*jsontree.Object)
	if !ok {
		return g
	}
	page, size, start, most := o.Value("page"), o.Value("pageSize"), o.Value("start"), o.Value("limit")
	g.ByOffset = start != nil || most != nil
	if g.ByOffset && (page != nil || size != nil) {
		r.faults.add(rankMixedPaging, paginationError("Cannot use both page & offset pagination in the same query"))
	}
	if size != nil || most != nil {
		if size == nil {
			size = most
		}
		limit = r.limit(number(size))
	}
	offset := 0.0
	if page != nil {
		n := max(number(page), 1)
		g.Page = whole(n)
		offset = (n - 1) * float64(limit)
	} else if start != nil {
		offset = max(number(start), 0)
	}
	g.Limit, g.PageSize, g.Start = limit, limit, r.offset(offset)
	if v, ok := o.Get("withCount"); ok {
		g.WithCount = r.withCount(v)
	}
	return g
}

// plainPaging reads start and limit where they stand at the top level.
func (r *request) plainPaging() Paging {
	g := Paging{ByOffset: true, Limit: -1}
	if r.given.start != nil {
		g.Start = r.offset(max(number(r.given.start), 0))
	}
	if r.given.limit != nil {
		switch n := number(r.given.limit); {
		case n != math.Trunc(n): // or not a number
			r.badNumber("convertLimitQueryParams", n)
		case n > 0:
			g.Limit = whole(n)
		}
	}
	return g
}

// limit is a length of a page, held to the greatest that is allowed.
func (r *request) limit(n float64) int {
	if most := float64(r.limits.MaxLimit); most > 0 && !(n <= most) {
		return r.limits.MaxLimit
	}
	if n < 1 {
		return 1
	}
	if n != math.Trunc(n) || math.IsInf(n, 0) {
		r.badNumber("convertLimitQueryParams", n)
		return 1
	}
	return whole(n)
}

func (r *request) offset(n float64) int {
	if n != math.Trunc(n) || math.IsInf(n, 0) {
		r.badNumber("convertStartQueryParams", n)
		return 0
	}
	return whole(n)
}

// badNumber tells of a position that is none; who is the name that clients know the check by.
func (r *request) badNumber(who string, n float64) {
	r.invalid(rankPage, who+" expected a positive integer got "+jsontree.FormatNumber(n))
}

func (r *request) withCount(v any) bool {
	switch v {
	case "t", "1", "true":
		return true
	case "f", "0", "false":
		return false
	}
	r.invalid(rankWithCount, `Invalid withCount parameter. Expected "t","1","true","false","0","f"`)
	return false
}

// number is a value as JavaScript turns it into a number, NaN when it is none.
func number(v any) float64 {
	switch v := v.(type) {
	case string:
		if f, ok := jsontree.ParseNumber(v); ok {
			return f
		}
	case []any:
		if len(v) == 1 {
			return number(v[0])
		}
	}
	return math.NaN()
}

// whole turns a number into an int, the greatest there is in JSON when it is beyond.
func whole(n float64) int {
	if !(n < jsontree.MaxSafeInteger) {
		return jsontree.MaxSafeInteger
	}
	return int(n)
}

func isFinite(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }
