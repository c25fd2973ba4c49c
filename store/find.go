package store

import (
	"math"
	"slices"

	"lectern/contenttypes"
	"lectern/store/internal/format"
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
	size    int         // how many rows the slot has; negative: not counted yet
	memory  *sortMemory // for Each; nil: sorting takes what it needs

	conjunction // of the query's filter
}

func (s *Snapshot) finder(q *Query, sl format.Slot) *finder {
	f := &finder{}
	f.begin(s, q, sl)
	return f
}

func (f *finder) begin(s *Snapshot, q *Query, sl format.Slot) {
	f.snap, f.query, f.bound, f.slot, f.size = s, q, s.bound.of(&q.Type.Schema), sl, -1
}

func (f *finder) space(a *contenttypes.Attribute) []byte {
	return format.AppendSpace(make([]byte, 0, format.SpaceLen+format.MaxIndexed+16), f.bound.number,
		f.bound.fields[a.Index], f.slot)
}

// rows returns how many rows the slot has.
func (f *finder) rows() int {
	if f.size < 0 {
		f.size = f.snap.size(f.space(f.bound.system.id))
	}
	return f.size
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
