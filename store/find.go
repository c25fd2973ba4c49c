package store

import (
	"bytes"
	"slices"

	"lectern/contenttypes"
	"lectern/store/evolve"
)

// A Page is the answer to a Query.
type Page struct {
	Rows  []Record
	Total int // rows that match, when Query.Count; otherwise -1
}

// Find answers a query. How it goes about it is decided by what it would cost: see plan.
func (s *Snapshot) Find(q *Query) (Page, error) {
	if !s.bound.has(q.Type) {
		return Page{}, ErrRedefined
	}
	slots := s.querySlots(q)
	var page Page
	if len(slots) == 1 {
		page = s.finder(q, slots[0]).page()
	} else {
		page = s.findAcross(q, slots)
	}
	if !q.Count {
		page.Total = -1
	}
	return page, s.failed
}

// querySlots lists where the rows lie that a query looks at.
func (s *Snapshot) querySlots(q *Query) []slot {
	if !q.Type.Localized || !q.Locales.All && len(q.Locales.Codes) == 1 {
		code := ""
		if q.Type.Localized {
			code = q.Locales.Codes[0]
		}
		if sl, ok := s.slot(q.Type, q.Status, code); ok {
			return []slot{sl}
		}
		return nil
	}
	codes := q.Locales.Codes
	if q.Locales.All {
		codes = s.store.locales.current.Load().codes[1:]
	}
	var list []slot
	for _, code := range codes {
		if sl, ok := s.slot(q.Type, q.Status, code); ok && !slices.Contains(list, sl) {
			list = append(list, sl)
		}
	}
	return list
}

// findAcross answers a query over several localizations: each gives as many rows as the page may show of it, and these are put in
// order together.
func (s *Snapshot) findAcross(q *Query, slots []slot) Page {
	each := *q
	if each.Offset = 0; q.Limit >= 0 {
		each.Limit = min(max(0, q.Offset), maxOffset) + q.Limit
	}
	var page Page
	for _, sl := range slots {
		p := s.finder(&each, sl).page()
		page.Rows, page.Total = append(page.Rows, p.Rows...), page.Total+p.Total
	}
	s.sorter(q.Sort, q.Status).sort(page.Rows)
	page.Rows = cut(page.Rows, q.Offset, q.Limit)
	return page
}

// maxOffset keeps the end of a page from overflowing. Nothing has so many rows.
const maxOffset = 1 << 48

// cut is the part of a list that a page shows.
func cut[T any](list []T, offset, limit int) []T {
	if offset >= len(list) {
		return nil
	}
	list = list[max(0, offset):]
	if limit >= 0 && limit < len(list) {
		list = list[:limit]
	}
	return list
}

func (f *finder) fetch(hits []hit) []Record {
	list := make([]Record, len(hits))
	for i, h := range hits {
		list[i] = f.record(h)
	}
	return list
}

// A finder answers a query within one slot.
type finder struct {
	snap    *Snapshot
	query   *Query
	bound   *boundSchema
	slot    slot
	sources []*source
	records []Record // those of hits that were read
	planned bool
	rows    int // of the slot; negative: not counted yet

	conjunction // of the query's filter
}

func (s *Snapshot) finder(q *Query, sl slot) *finder {
	return &finder{snap: s, query: q, bound: s.bound.of(&q.Type.Schema), slot: sl, rows: -1}
}

func (f *finder) space(a *contenttypes.Attribute) []byte {
	return appendSpace(make([]byte, 0, spaceLen+maxIndexed+16), f.bound.number, f.bound.fields[a.Index], f.slot)
}

// size is how many rows the slot has.
func (f *finder) size() int {
	if f.rows < 0 {
		f.rows = f.snap.size(f.space(f.bound.system.id))
	}
	return f.rows
}

// plan compiles the filter, unless that was done already, and finds the sources of its conjuncts.
func (f *finder) plan() {
	if f.planned {
		return
	}
	f.planned = true
	if f.conds == nil {
		f.conjunction = compileConjuncts(f.query.Filter, f.query.Status)
	}
	for i := range f.filters {
		if src := f.source(i); src != nil {
			f.sources = append(f.sources, src)
		}
	}
	slices.SortStableFunc(f.sources, func(x, y *source) int { return x.cost - y.cost })
}

// best is the cheapest source, nil when there is none.
func (f *finder) best() *source {
	f.plan()
	if len(f.sources) == 0 {
		return nil
	}
	return f.sources[0]
}

// Costs, in index entries walked over: measured on rows of about a kilobyte.
const rowCost = 8

// page answers the query.
func (f *finder) page() Page {
	f.plan()
	q := f.query
	order, inOrder := f.order()
	if len(f.conds) == 0 && inOrder {
		return Page{Rows: f.walk(order, q.Offset, q.Limit, nil), Total: f.size()}
	}
	if inOrder {
		if p, ok := f.fromOneSource(order); ok {
			return p
		}
		if f.stopsEarly() {
			return Page{Rows: f.walkMatching(order), Total: -1}
		}
	}
	hits := f.gather()
	total := len(hits)
	if inOrder && order.attr.Type != contenttypes.ID && f.walkIsCheaper(total) {
		return Page{Rows: f.walk(order, q.Offset, q.Limit, newDocSet(hits)), Total: total}
	}
	f.sortHits(hits)
	return Page{Rows: f.fetch(cut(hits, q.Offset, q.Limit)), Total: total}
}

// order is the index that has the rows in the order asked for, if one has.
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
	b := rangeBuilder{space: o.space}
	o.keyRange = keyRange{low: o.space, high: b.end()}
	return o, true
}

// fromOneSource answers when the whole filter is one range of an index that has the rows in the order asked for.
func (f *finder) fromOneSource(order indexOrder) (Page, bool) {
	src := f.best()
	if src == nil || len(f.conds) != 1 || !src.exact || src.test != nil || len(src.ranges) != 1 {
		return Page{}, false
	}
	sameIndex := bytes.HasPrefix(src.ranges[0].low, order.space)
	byID := order.attr.Type == contenttypes.ID && !order.desc && src.sorted
	switch {
	case sameIndex:
		order.keyRange = src.ranges[0]
	case byID:
		order = indexOrder{attr: order.attr, space: src.ranges[0].low[:spaceLen], keyRange: src.ranges[0]}
	default:
		return Page{}, false
	}
	return Page{Rows: f.walk(order, f.query.Offset, f.query.Limit, nil), Total: src.cost}, true
}

// stopsEarly reports whether to read rows in the order asked for until the page is full, rather than to find all that match.
func (f *finder) stopsEarly() bool {
	q := f.query
	if q.Count || q.Limit < 0 {
		return false
	}
	size := f.size()
	if size == 0 {
		return true
	}
	share := 1.0
	for _, src := range f.sources {
		share *= float64(min(src.cost, size)) / float64(size)
	}
	steps := float64(size)
	if share > 0 {
		steps = min(steps, float64(q.Offset+q.Limit)/share)
	}
	gather := float64(size) * rowCost
	if best := f.best(); best != nil {
		gather = float64(best.cost)
		if len(f.conds) > 1 || !best.exact {
			gather *= rowCost
		}
	}
	return steps*rowCost < gather
}

// walkIsCheaper compares walking the sort's index, looking for known rows, with reading the rows to sort them.
func (f *finder) walkIsCheaper(matches int) bool {
	q := f.query
	if matches == 0 || q.Limit < 0 {
		return false
	}
	size := f.size()
	steps := min(size, (q.Offset+q.Limit)*size/matches)
	return steps < matches*rowCost
}

// gather returns every row of the slot that matches, in no order.
func (f *finder) gather() []hit {
	f.plan()
	src := f.best()
	if src == nil || src.cost > f.size() {
		return f.scan()
	}
	hits := f.list(src)
	decided := map[int]bool{src.conjunct: src.exact && !slices.ContainsFunc(hits, func(h hit) bool { return h.unsure })}
	for _, other := range f.sources[1:] {
		if len(hits) > 0 && other.cost <= len(hits)*rowCost {
			hits = f.intersect(hits, other, decided)
		}
	}
	var rest allOf
	for i, c := range f.conds {
		if !decided[i] {
			rest = append(rest, c)
		}
	}
	if len(rest) == 0 {
		return hits
	}
	return f.keep(hits, rest)
}

// intersect leaves out the hits that another source does not list, where that source lists exactly what meets its conjunct.
func (f *finder) intersect(hits []hit, other *source, decided map[int]bool) []hit {
	if other.load != nil || !other.exact {
		return hits
	}
	low, high := hits[0].doc, hits[0].doc
	for _, h := range hits {
		low, high = min(low, h.doc), max(high, h.doc)
	}
	set, sure := emptyDocSet(low, high), true
	f.eachEntry(other, func(h hit) { set.add(h.doc); sure = sure && !h.unsure })
	if !sure {
		return hits
	}
	decided[other.conjunct] = true
	return slices.DeleteFunc(hits, func(h hit) bool { return !set.has(h.doc) })
}

// keep reads the rows of hits and leaves those that meet all conditions.
func (f *finder) keep(hits []hit, conds allOf) []hit {
	kept := hits[:0]
	for _, h := range hits {
		if !f.snap.step() {
			break
		}
		r := f.record(h)
		if conds.holds(f.snap, r) {
			kept = append(kept, f.load(h, r))
		}
	}
	return kept
}

// maxLoaded bounds how many rows a finder keeps at hand.
const maxLoaded = 4096

// load remembers the row of a hit.
func (f *finder) load(h hit, r Record) hit {
	if h.loaded == 0 && len(f.records) < maxLoaded {
		f.records = append(f.records, r)
		h.loaded = int32(len(f.records))
	}
	return h
}

// record returns the row of a hit.
func (f *finder) record(h hit) Record {
	if h.loaded > 0 {
		return f.records[h.loaded-1]
	}
	return f.snap.row(f.bound, h.slot, h.doc)
}

// list walks over a source.
func (f *finder) list(src *source) []hit {
	if src.load != nil {
		return src.load()
	}
	var hits []hit
	if src.test == nil { // otherwise few of the entries may pass
		hits = make([]hit, 0, min(src.cost, 1<<16))
	}
	f.eachEntry(src, func(h hit) { hits = append(hits, h) })
	return hits
}

// eachEntry calls yield with the entries of a source that is in the index.
func (f *finder) eachEntry(src *source, yield func(hit)) {
	c := f.snap.takeIndex()
	defer f.snap.give(index, c.c)
	for _, r := range src.ranges {
		f.snap.stats.seeks++
		f.snap.stats.entries += uint64(r.entries)
		c.Each(r.low, r.entries, func(k, doc []byte) bool {
			ord := k[spaceLen : len(k)-8]
			unsure := isCut(ord)
			if src.test == nil || unsure || src.test(orderedText(ord)) {
				unsure = unsure && (src.test != nil || !src.exact)
				yield(hit{id: be.Uint64(k[len(k)-8:]), doc: be.Uint64(doc), slot: f.slot, unsure: unsure})
			}
			return f.snap.step()
		})
	}
}

// scan reads all rows of the slot.
func (f *finder) scan() []hit {
	var hits []hit
	all := f.conds
	prefix := be.AppendUint16(be.AppendUint16(nil, f.bound.number), uint16(f.slot))
	c := f.snap.take(rows)
	defer f.snap.give(rows, c)
	f.snap.stats.seeks++
	for k, v := c.Seek(prefix); bytes.HasPrefix(k, prefix) && f.snap.step(); k, v = c.Next() {
		r := f.snap.record(f.slot, be.Uint64(k[len(k)-8:]), v)
		if all.holds(f.snap, r) {
			hits = append(hits, hit{id: r.ID(), doc: r.doc, slot: f.slot})
		}
	}
	return hits
}

// Matches reports whether a row meets a filter. status is the request's.
func (s *Snapshot) Matches(r Record, f Filter, status Status) bool {
	return compile(f, status, false).holds(s, r)
}

var withoutLocale = []string{""}

// FindVersion returns the version of one document that a query finds: of several localizations the one with the least id.
func (s *Snapshot) FindVersion(doc uint64, q *Query) (first Record) {
	locales := q.Locales.Codes
	switch {
	case !q.Type.Localized:
		locales = withoutLocale
	case q.Locales.All:
		locales = nil
		s.Versions(q.Type, doc, func(r Record) bool {
			locales = append(locales, r.Locale())
			return true
		})
	}
	for _, locale := range locales {
		r := s.Version(q.Type, doc, q.Status, locale)
		if r.Exists() && (!first.Exists() || r.ID() < first.ID()) && (q.Filter == nil || s.Matches(r, q.Filter, q.Status)) {
			first = r
		}
	}
	return first
}
