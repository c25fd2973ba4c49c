package store

import (
	"bytes"
	"math"
	"slices"

	"lectern/contenttypes"
	"lectern/store/evolve"
	"lectern/store/internal/format"
	"lectern/store/internal/query"
)

// A Page is the answer to a Query.
type Page struct {
	Rows  []Record
	Total int // rows that match, when Query.Count; otherwise -1
}

// Find returns the rows that match q, in order: those from q.Offset on, at most q.Limit of them. The rows are valid
// until the snapshot ends. It chooses the cheapest way to find them: see finder.page.
func (s *Snapshot) Find(q *Query) (Page, error) {
	if !s.bound.has(q.Type) {
		return Page{}, ErrRedefined
	}
	slots := s.querySlots(q)
	var page Page
	if len(slots) == 1 {
		page = s.finder(q, slots[0]).answer()
	} else {
		page = s.findAcross(q, slots)
	}
	if !q.Count {
		page.Total = -1
	}
	return page, s.failed
}

// querySlots returns the slots whose rows a query looks at.
func (s *Snapshot) querySlots(q *Query) []format.Slot {
	if !q.Type.Localized || !q.Locales.All && len(q.Locales.Codes) == 1 {
		code := ""
		if q.Type.Localized {
			code = q.Locales.Codes[0]
		}
		if sl, ok := s.slot(q.Type, q.Status, code); ok {
			return []format.Slot{sl}
		}
		return nil
	}
	codes := q.Locales.Codes
	if q.Locales.All {
		codes = s.store.locales.current.Load().codes[1:]
	}
	var list []format.Slot
	for _, code := range codes {
		if sl, ok := s.slot(q.Type, q.Status, code); ok && !slices.Contains(list, sl) {
			list = append(list, sl)
		}
	}
	return list
}

// findAcross answers a query over several localizations. It finds in each as many rows as the page can show, sorts all
// of them together, and cuts the page out.
func (s *Snapshot) findAcross(q *Query, slots []format.Slot) Page {
	each := *q
	if each.Offset = 0; q.Limit >= 0 {
		each.Limit = add(max(0, q.Offset), q.Limit)
	}
	var page Page
	for _, sl := range slots {
		p := s.finder(&each, sl).answer()
		page.Rows, page.Total = append(page.Rows, p.Rows...), page.Total+p.Total
	}
	s.sorter(q, q.Status).sort(page.Rows)
	page.Rows = cut(page.Rows, q.Offset, q.Limit)
	return page
}

// add returns a + b for numbers that are not negative, or the greatest int if the sum does not fit one.
func add(a, b int) int {
	if a > math.MaxInt-b {
		return math.MaxInt
	}
	return a + b
}

// cut returns the elements of list from offset on, at most limit of them unless limit is negative.
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

// A finder answers a query over the rows of one slot.
type finder struct {
	snap    *Snapshot
	query   *Query
	bound   *boundSchema
	slot    format.Slot
	sources []*source
	records []Record // rows that were read, for hit.loaded
	planned bool
	main    bool        // the finder is that of a query which is explained, and not of a condition of it
	rows    int         // how many the slot has; negative: not counted yet
	memory  *sortMemory // for Each; nil: sorting takes what it needs

	conjunction // of the query's filter
}

func (s *Snapshot) finder(q *Query, sl format.Slot) *finder {
	return &finder{snap: s, query: q, bound: s.bound.of(&q.Type.Schema), slot: sl, rows: -1}
}

func (f *finder) space(a *contenttypes.Attribute) []byte {
	return format.AppendSpace(make([]byte, 0, format.SpaceLen+format.MaxIndexed+16), f.bound.number,
		f.bound.fields[a.Index], f.slot)
}

// size returns how many rows the slot has.
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

// best returns the cheapest source, nil if there is none.
func (f *finder) best() *source {
	f.plan()
	if len(f.sources) == 0 {
		return nil
	}
	return f.sources[0]
}

// rowCost is the cost of reading a row, in index entries walked over. It was measured on rows of about a kilobyte.
const rowCost = 8

// page answers the query by the first of these ways that applies: a page of an index that has the requested order, a
// walk in that order which ends when the page is full, or all matching rows, sorted.
func (f *finder) page() Page {
	f.plan()
	q := f.query
	order, inOrder := f.order()
	if len(f.conds) == 0 && inOrder {
		f.took(RangeInOrder)
		return Page{Rows: f.walk(order, q.Offset, q.Limit, nil), Total: f.size()}
	}
	if inOrder {
		if p, ok := f.fromOneSource(order); ok {
			f.took(RangeInOrder)
			return p
		}
		if f.stopsEarly() {
			f.took(IndexWalk)
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
	return Page{Rows: f.walk(order, f.query.Offset, f.query.Limit, nil), Total: f.best().cost}, true
}

// oneRange narrows an order to the entries that match the filter; ok is false if they are not one range of the index.
func (f *finder) oneRange(order indexOrder) (narrowed indexOrder, ok bool) {
	src := f.best()
	if src == nil || len(f.conds) != 1 || !src.exact || src.test != nil || len(src.ranges) != 1 {
		return order, false
	}
	sameIndex := bytes.HasPrefix(src.ranges[0].Low, order.space)
	byID := order.attr.Type == contenttypes.ID && !order.desc && src.sorted
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

// stopsEarly reports whether it is cheaper to read rows in the requested order until the page is full than to find all
// that match.
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

// walkIsCheaper reports whether it is cheaper to walk the index of the requested order, picking out the rows that
// match, than to read these rows and sort them.
func (f *finder) walkIsCheaper(matches int) bool {
	q := f.query
	if matches == 0 || q.Limit < 0 {
		return false
	}
	size := f.size()
	steps := min(size, (q.Offset+q.Limit)*size/matches)
	return steps < matches*rowCost
}

// gather returns all rows of the slot that match, in no particular order.
func (f *finder) gather() []hit {
	f.plan()
	src := f.best()
	if src == nil || src.cost > f.size() {
		f.took(FullScan)
		return f.scan()
	}
	kind := CheapestSource
	hits := f.list(src)
	decided := map[int]bool{src.conjunct: src.exact && !slices.ContainsFunc(hits, func(h hit) bool { return h.unsure })}
	for _, other := range f.sources[1:] {
		if len(hits) > 0 && other.cost <= len(hits)*rowCost {
			hits, kind = f.intersect(hits, other, decided), Intersection
		}
	}
	f.took(kind)
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

// intersect removes the hits that another source does not list, and marks its conjunct as decided. It does nothing if
// that source cannot decide its conjunct for every row.
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

// keep reads the rows of hits and returns the hits whose row meets all conditions.
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

// maxLoaded is how many rows a finder keeps at most, so that they need not be read twice.
const maxLoaded = 4096

// load keeps the row of a hit for record, if there is room, and returns the hit with its position.
func (f *finder) load(h hit, r Record) hit {
	if h.loaded == 0 && len(f.records) < maxLoaded {
		f.records = append(f.records, r)
		h.loaded = int32(len(f.records))
	}
	return h
}

// record returns the row of a hit, from the kept rows if it is among them.
func (f *finder) record(h hit) Record {
	if h.loaded > 0 {
		return f.records[h.loaded-1]
	}
	return f.snap.row(f.bound, h.slot, h.doc)
}

// list returns the hits of a source.
func (f *finder) list(src *source) []hit {
	if src.load != nil {
		return src.load()
	}
	var hits []hit
	if src.test == nil { // a test may leave few of the entries
		hits = make([]hit, 0, min(src.cost, 1<<16))
	}
	f.eachEntry(src, func(h hit) { hits = append(hits, h) })
	return hits
}

// eachEntry calls yield with the entries in the ranges of a source that pass its test.
func (f *finder) eachEntry(src *source, yield func(hit)) {
	c := f.snap.takeIndex()
	defer f.snap.give(format.Index, c.c)
	for _, r := range src.ranges {
		f.snap.stats.seeks++
		f.snap.stats.entries += uint64(r.Entries)
		c.Each(r.Low, r.Entries, func(k, doc []byte) bool {
			ord := k[format.SpaceLen : len(k)-8]
			unsure := format.IsCut(ord)
			if src.test == nil || unsure || src.test(format.OrderedText(ord)) {
				unsure = unsure && (src.test != nil || !src.exact)
				yield(hit{id: be.Uint64(k[len(k)-8:]), doc: be.Uint64(doc), slot: f.slot, unsure: unsure})
			}
			return f.snap.step()
		})
	}
}

// scan reads all rows of the slot and returns those that meet all conditions.
func (f *finder) scan() []hit {
	var hits []hit
	all := f.conds
	prefix := be.AppendUint16(be.AppendUint16(nil, f.bound.number), uint16(f.slot))
	c := f.snap.take(format.Rows)
	defer f.snap.give(format.Rows, c)
	f.snap.stats.seeks++
	for k, v := c.Seek(prefix); bytes.HasPrefix(k, prefix) && f.snap.step(); k, v = c.Next() {
		r := f.snap.record(f.slot, be.Uint64(k[len(k)-8:]), v)
		if all.holds(f.snap, r) {
			hits = append(hits, hit{id: r.ID(), doc: r.doc, slot: f.slot})
		}
	}
	return hits
}

// Matches reports whether a row meets a filter. status says which versions the filter sees behind relations.
func (s *Snapshot) Matches(r Record, f Filter, status Status) bool {
	return compile(f, status, false).holds(s, r)
}

var withoutLocale = []string{""}

// FindVersion returns the version of a document that a query finds, the zero Record if it finds none. Of several
// localizations it returns the one with the least id.
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
		if r.Exists() && (!first.Exists() || r.ID() < first.ID()) &&
			(q.Filter == nil || s.Matches(r, q.Filter, q.Status)) {
			first = r
		}
	}
	return first
}
