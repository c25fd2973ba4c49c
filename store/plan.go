package store

import (
	"bytes"

	"lectern/store/evolve"
	"lectern/store/internal/format"
	"lectern/store/internal/query"
)

// rowCost is the cost of reading and testing a row, in index entries walked over. It was measured on rows of about a
// kilobyte. throughCost is the further cost of a test that follows a relation.
const (
	rowCost     = 8
	throughCost = 24
)

// page answers the query by the first of these ways that applies: a page of an index that has the requested order; a
// walk in that order that tests rows and ends when the page is full, if the total is known or not wanted; or the rows
// that match, which are found first. Their page is then picked out in a walk, or they are sorted.
func (f *finder) page() Page {
	f.plan()
	q := f.query
	order, inOrder := f.order()
	if inOrder {
		if len(f.conds) == 0 {
			f.took(RangeInOrder)
			return Page{Rows: f.walk(order, q.Offset, q.Limit, nil), Total: f.rows()}
		}
		if p, ok := f.fromOneSource(order); ok {
			f.took(RangeInOrder)
			return p
		}
		if total, known := f.total(); known {
			if rows, full := f.walkMatching(order, f.testedAtMost()); full {
				f.took(IndexWalk)
				return Page{Rows: rows, Total: total}
			}
		}
	}
	found := f.match()
	total := found.size()
	if inOrder && f.walkIsCheaper(order, found, total) {
		return Page{Rows: f.walk(order, q.Offset, q.Limit, found.members()), Total: total}
	}
	hits := f.hits(found)
	f.sortHits(hits)
	return Page{Rows: f.fetch(cut(hits, q.Offset, q.Limit)), Total: total}
}

// order returns the index whose entries are in the requested order; ok is false if there is none.
func (f *finder) order() (indexOrder, bool) {
	o := indexOrder{attr: f.bound.system.id}
	switch keys := f.query.Sort; {
	case len(keys) == 0:
	case len(keys) == 1 && len(keys[0].Path) == 1 && evolve.HasIndex(keys[0].Path[0]):
		o.attr, o.desc = keys[0].Path[0], keys[0].Desc
	default:
		return o, false
	}
	o.space = f.space(o.attr)
	b := query.RangeBuilder{Space: o.space}
	o.Range = query.Range{Low: o.space, High: b.End()}
	return o, true
}

// fromOneSource answers a query whose whole filter is one range of an index in the requested order; ok is false for
// other queries.
func (f *finder) fromOneSource(order indexOrder) (Page, bool) {
	order, ok := f.oneRange(order)
	if !ok {
		return Page{}, false
	}
	return Page{Rows: f.walk(order, f.query.Offset, f.query.Limit, nil), Total: f.best().rows}, true
}

// oneRange narrows an order to the entries that match the filter; ok is false if they are not one range of the index.
func (f *finder) oneRange(order indexOrder) (narrowed indexOrder, ok bool) {
	src := f.best()
	if src == nil || len(f.conds) != 1 || !src.counted() || len(src.ranges) != 1 {
		return order, false
	}
	sameIndex := bytes.HasPrefix(src.ranges[0].Low, order.space)
	byID := order.attr == f.bound.system.id && !order.desc && src.sorted
	switch {
	case sameIndex:
		order.Range = src.ranges[0]
	case byID:
		order = indexOrder{attr: order.attr, space: src.ranges[0].Low[:format.SpaceLen], Range: src.ranges[0]}
	default:
		return order, false
	}
	return order, true
}

// total returns how many rows match, if that is known without finding them. It is also known if nobody wants to know.
func (f *finder) total() (total int, known bool) {
	switch src := f.best(); {
	case !f.query.Count:
		return -1, true
	case src != nil && len(f.conds) == 1 && src.counted():
		return src.rows, true
	}
	return 0, false
}

// testedAtMost returns how many rows a walk in the requested order may test, before it would have been cheaper to find
// all that match. It returns 0 if the walk is expected to test more than that.
func (f *finder) testedAtMost() int {
	size, q := f.rows(), f.query
	switch {
	case q.Limit < 0:
		return 0
	case size == 0:
		return 1
	}
	share := 1.0
	for _, src := range f.sources {
		share *= float64(min(src.rows, size)) / float64(size)
	}
	steps := size
	if wanted := float64(add(q.Offset, q.Limit)); wanted < share*float64(size) {
		steps = int(wanted / share)
	}
	if most := f.matchCost() / f.testCost(); steps <= most {
		return most + 1
	}
	return 0
}

// testCost estimates what it costs to test a row, in index entries walked over.
func (f *finder) testCost() int {
	cost := rowCost
	for _, c := range f.conds {
		if _, ok := c.(*someTarget); ok {
			cost += throughCost
		}
	}
	return cost
}

// matchCost estimates what it costs to find all rows that match and the page among them, in index entries walked over.
func (f *finder) matchCost() int {
	cost, rows, ids := f.matching()
	if ids && len(f.query.Sort) == 0 {
		return cost
	}
	walk := float64(add(f.query.Offset, max(0, f.query.Limit))) * float64(f.rows()) / float64(max(1, rows))
	return cost + int(min(float64(rows*rowCost), walk))
}

// setCost estimates what it costs to find the set of all documents that match.
func (f *finder) setCost() int {
	cost, _, _ := f.matching()
	return cost
}

// matching estimates how many rows match and what it costs to find them. ids says that their ids are found with them.
func (f *finder) matching() (cost, rows int, ids bool) {
	size := f.rows()
	best := f.best()
	if best == nil || best.cost > size*rowCost {
		return size * rowCost, size, true
	}
	rows, undecided := min(best.rows, size), len(f.conds)
	for i, src := range f.sources {
		if i > 0 && src.cost > rows*rowCost {
			break
		}
		if i > 0 {
			rows = int(float64(rows) * float64(min(src.rows, size)) / float64(max(1, size)))
		}
		if cost += src.cost; src.exact {
			undecided--
		}
	}
	if undecided > 0 {
		cost += rows * rowCost
	}
	return cost, rows, best.find == nil && best.set == nil && undecided == 0
}

// walkIsCheaper reports whether it is cheaper to walk the index of the requested order, picking out the rows that
// match, than to read these rows and sort them.
func (f *finder) walkIsCheaper(order indexOrder, found found, matches int) bool {
	q := f.query
	if matches == 0 || q.Limit < 0 {
		return false
	}
	sort := rowCost
	if found.sets == nil && order.attr == f.bound.system.id {
		sort = 1 // the hits have their ids
	}
	steps := min(float64(f.rows()), float64(add(q.Offset, q.Limit))*float64(f.rows())/float64(matches))
	return steps < float64(matches*sort)
}

func (f *finder) fetch(hits []hit) []Record {
	list := make([]Record, len(hits))
	for i, h := range hits {
		list[i] = f.record(h)
	}
	return list
}
