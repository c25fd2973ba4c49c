package execution

import (
	"lectern/documents/apierror"
	"lectern/jsontree"
)

// A paging says which part of a list is asked for.
type paging struct {
	start int
	limit int // negative: all
	// unlimited says that all was asked for: limit is then as many as such a list may have.
	unlimited bool
}

// most is how many items a list of documents has at most. A list of components is held to MaxLimit alone: it lies in its document
// whole, and whoever reads it by limit: -1 to write it back must not lose what is beyond.
func (l *Limits) most() int { return atMost(l.AmountLimit, l.MaxLimit) }

// atMost is n, or most where that is less; a negative most is no bound.
func atMost(n, most int) int {
	if most < 0 {
		return n
	}
	return min(n, most)
}

// paging reads the argument pagination of a list that has so many items at most; negative: any number. What is null in it is as
// if it were not given.
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

// size, number and count are what pageInfo tells of a list of so many items.
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

// all reports whether the part is all that remains of the list, as was asked.
func (p paging) all(total int) bool { return p.unlimited && total-p.start <= p.limit }
