package execution

import (
	"lectern/documents/apierror"
	"lectern/jsontree"
)

// A paging is a part of a list.
type paging struct {
	start int
	limit int // negative: all
	// unlimited says that all items were asked for; limit is then the most that such a list may have.
	unlimited bool
}

// most is the longest that a list of documents may be. Lists of components are bounded by MaxLimit alone: a client that reads one with
// limit: -1 and writes it back must get all of it.
func (l *Limits) most() int { return atMost(l.AmountLimit, l.MaxLimit) }

// atMost returns the smaller of n and most; a negative most is no bound.
func atMost(n, most int) int {
	if most < 0 {
		return n
	}
	return min(n, most)
}

// paging reads the argument pagination of a list of at most so many items; a negative number is unlimited. A null in it counts as not
// given.
func (l *Limits) paging(given *jsontree.Object, most int) (paging, *apierror.Error) {
	p := paging{limit: atMost(l.DefaultLimit, most)}
	if given == nil {
		return p, nil
	}
	page, byPage := whole(given, "page")
	size, bySize := whole(given, "pageSize")
	start, byStart := whole(given, "start")
	limit, byLimit := whole(given, "limit")
	if (byPage || bySize) && (byStart || byLimit) {
		return p, &apierror.Error{Status: 400, Name: "PaginationError", Message: "Cannot use both page & offset pagination in the same query"}
	}
	switch {
	case bySize:
		p.limit = atMost(max(size, 1), most)
	case byLimit && limit == -1:
		p.limit, p.unlimited = most, l.MaxLimit < 0
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

func whole(o *jsontree.Object, name string) (n int, ok bool) {
	v, ok := o.Value(name).(jsontree.Number)
	if !ok {
		return 0, false
	}
	return int(v.Float()), true
}

// size, number and count return the values of pageInfo for a list of so many items.
func (p paging) size(total int) int {
	if p.all(total) {
		return max(total-p.start, 0)
	}
	return p.limit
}

func (p paging) number(total int) int {
	if p.all(total) {
		return 1
	}
	return p.start/p.limit + 1
}

func (p paging) count(total int) int {
	if p.all(total) {
		return 1
	}
	return (total + p.limit - 1) / p.limit
}

// all reports whether the part is the rest of the list, as was asked.
func (p paging) all(total int) bool { return p.unlimited && total-p.start <= p.limit }
