package store

import "lectern/store/internal/format"

// A memo records for which targets of a relation a condition holds, so that each target is tested once even if many rows lead to it.
type memo struct {
	asked int
	pages map[versionPage]memoPage // nil until something is recorded
}

// A versionPage identifies 64 documents of one type in one locale.
type versionPage struct {
	schema, locale uint16
	page           uint64
}

// A memoPage holds the results for the 64 documents of a versionPage, as one bit of each field per document.
type memoPage struct {
	known, shown, met uint64
}

// unremembered is the number of tests after which the memo begins to record. For fewer tests, recording costs more than it saves.
const unremembered = 8

// of returns the recorded result for a target: whether it has a version to show, and whether that version meets the condition. known is
// false if nothing is recorded.
func (m *memo) of(r format.End) (shown, met, known bool) {
	p, bit := m.pages[versionPage{r.Schema, r.Locale, r.Doc / 64}], uint64(1)<<(r.Doc%64)
	return p.shown&bit != 0, p.met&bit != 0, p.known&bit != 0
}

// remember records the result of a test, unless it is one of the first few (see unremembered).
func (m *memo) remember(r format.End, shown, met bool) {
	if m.asked++; m.asked <= unremembered {
		return
	}
	if m.pages == nil {
		m.pages = map[versionPage]memoPage{}
	}
	at, bit := versionPage{r.Schema, r.Locale, r.Doc / 64}, uint64(1)<<(r.Doc%64)
	p := m.pages[at]
	p.known |= bit
	if shown {
		p.shown |= bit
	}
	if met {
		p.met |= bit
	}
	m.pages[at] = p
}
