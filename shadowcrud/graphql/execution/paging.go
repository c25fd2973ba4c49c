package execution

import (
	"lectern/documents"
	"lectern/jsontree"
)

// A paging says which part of a list is asked for.
type paging struct {
	start, limit int
	// unlimited says that all was asked for: limit is then as many as any list may have.
	unlimited bool
}

// most is how many items any list has at most.
func (l *Limits) most() int {
	if l.MaxLimit > 0 {
		return min(l.MaxLimit, l.AmountLimit)
	}
	return l.AmountLimit
}

// paging reads the argument pagination; what is null in it is as if it were not given.
func (l *Limits) paging(given *jsontree.Object) (paging, *documents.Error) {
	p := paging{limit: min(l.DefaultLimit, l.most())}
	if given == nil {
		return p, nil
	}
	page, byPage := whole(given, "page")
	size, bySize := whole(given, "pageSize")
	start, byStart := whole(given, "start")
	limit, byLimit := whole(given, "limit")
	if (byPage || bySize) && (byStart || byLimit) {
		return p, &documents.Error{Status: 400, Name: "PaginationError", Message: "Cannot use both page & offset pagination in the same query"}
	}
	switch {
	case bySize:
		p.limit = min(max(size, 1), l.most())
	case byLimit && limit == -1:
		p.limit, p.unlimited = l.most(), l.MaxLimit <= 0
	case byLimit:
		p.limit = min(max(limit, 1), l.most())
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
