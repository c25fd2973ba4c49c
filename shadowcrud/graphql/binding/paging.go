package binding

import (
	"net/http"

	"lectern/documents/apierror"
	"lectern/jsontree"
)

// A Paging is the requested part of a list.
type Paging struct {
	start int
	limit int // negative: all
	// unlimited says that all items were requested; limit is then the most that the list may have.
	unlimited bool
}

// longest returns how many items a list of documents may have. It does not apply to lists of components: a client that
// reads one with limit: -1 and writes it back must get all items, so only MaxLimit limits these.
func (b *Binder) longest() int { return atMost(b.limits.AmountLimit, b.limits.MaxLimit) }

// atMost returns the smaller of n and most, or n if most is negative.
func atMost(n, most int) int {
	if most < 0 {
		return n
	}
	return min(n, most)
}

// paging reads the argument pagination of a list that may have at most most items; a negative number is unlimited. A
// null member is ignored.
func (b *Binder) paging(given *jsontree.Object, most int) (Paging, error) {
	p := Paging{limit: atMost(b.limits.DefaultLimit, most)}
	if given == nil {
		return p, nil
	}
	page, byPage := integerField(given, "page")
	size, bySize := integerField(given, "pageSize")
	start, byStart := integerField(given, "start")
	limit, byLimit := integerField(given, "limit")
	if (byPage || bySize) && (byStart || byLimit) {
		return p, &apierror.Error{Status: http.StatusBadRequest, Name: "PaginationError",
			Message: "Cannot use both page & offset pagination in the same query"}
	}
	switch {
	case bySize:
		p.limit = atMost(max(size, 1), most)
	case byLimit && limit == -1:
		p.limit, p.unlimited = most, b.limits.MaxLimit < 0
	case byLimit:
		p.limit = atMost(max(limit, 1), most)
	}
	if byPage {
		p.start = (max(page, 1) - 1) * p.limit
	} else {
		p.start = max(start, 0)
	}
	return p, nil
}

// integerField returns an integer member of the argument; ok is false if it is absent or null.
func integerField(o *jsontree.Object, name string) (n int, ok bool) {
	v, ok := o.Value(name).(jsontree.Number)
	if !ok {
		return 0, false
	}
	return int(v.Float()), true
}

// Size returns pageInfo.pageSize for a list of total items.
func (p Paging) Size(total int) int {
	if p.all(total) {
		return max(total-p.start, 0)
	}
	return p.limit
}

// Number returns pageInfo.page for a list of total items.
func (p Paging) Number(total int) int {
	if p.all(total) {
		return 1
	}
	return p.start/p.limit + 1
}

// Count returns pageInfo.pageCount for a list of total items.
func (p Paging) Count(total int) int {
	if p.all(total) {
		return 1
	}
	return (total + p.limit - 1) / p.limit
}

// all reports whether the request is for all items from start on, and the list is short enough to return them.
func (p Paging) all(total int) bool { return p.unlimited && total-p.start <= p.limit }
