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
	o, ok := r.params.pagination.(*jsontree.Object)
	if !ok {
		return g
	}
	page, size, start, most := o.Value("page"), o.Value("pageSize"), o.Value("start"), o.Value("limit")
	g.ByOffset = start != nil || most != nil
	if g.ByOffset && (page != nil || size != nil) {
		r.issues.add(issueMixedPaging, paginationError("Cannot use both page & offset pagination in the same query"))
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
		g.Page = toInt(n)
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

// plainPaging reads the top-level parameters start and limit.
func (r *request) plainPaging() Paging {
	g := Paging{ByOffset: true, Limit: -1}
	if r.params.start != nil {
		g.Start = r.offset(max(number(r.params.start), 0))
	}
	if r.params.limit != nil {
		switch n := number(r.params.limit); {
		case n != math.Trunc(n): // a fraction or NaN
			r.badNumber("convertLimitQueryParams", n)
		case n > 0:
			g.Limit = toInt(n)
		}
	}
	return g
}

// limit returns the length of a page, at most the allowed maximum.
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
	return toInt(n)
}

func (r *request) offset(n float64) int {
	if n != math.Trunc(n) || math.IsInf(n, 0) {
		r.badNumber("convertStartQueryParams", n)
		return 0
	}
	return toInt(n)
}

// badNumber adds the issue that n is not a valid position. who is the name of the check in Strapi's message.
func (r *request) badNumber(who string, n float64) {
	r.invalid(issuePage, who+" expected a positive integer got "+jsontree.FormatNumber(n))
}

func (r *request) withCount(v any) bool {
	switch v {
	case "t", "1", "true":
		return true
	case "f", "0", "false":
		return false
	}
	r.invalid(issueWithCount, `Invalid withCount parameter. Expected "t","1","true","false","0","f"`)
	return false
}

// number converts a value to a number as JavaScript does. It returns NaN if the value is not a number.
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

// toInt converts a number to an int, at most the greatest integer that is exact in JSON and fits an int.
func toInt(n float64) int {
	const greatest = min(jsontree.MaxSafeInteger, math.MaxInt)
	if !(n < greatest) {
		return greatest
	}
	return int(n)
}

func isFinite(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }
