package store

// A memo records for which targets of a relation a condition holds, so that a target is tested once, although many rows and many paths
// through relations may lead to it.
type memo struct {
	asked int
	pages map[versionPage]memoPage // nil until something is recorded
}

// A versionPage names 64 documents of one type in one locale.
type versionPage struct {
	schema, locale uint16
	page           uint64
}

// A memoPage has a bit of each kind for each of the 64 documents of a versionPage.
type memoPage struct {
	known, shown, met uint64
}

// unremembered is how many tests are made before the memo records any: for fewer, recording costs more than it saves.
const unremembered = 8

// of returns what is recorded of a target: whether it has a version to show, and whether that meets the condition. known is false if
// nothing is recorded.
func (m *memo) of(r ref) (shown, met, known bool) {
	p, bit := m.pages[versionPage{r.schema, r.locale, r.doc / 64}], uint64(1)<<(r.doc%64)
	return p.shown&bit != 0, p.met&bit != 0, p.known&bit != 0
}

// remember records the result of a test, once there were more than unremembered.
func (m *memo) remember(r ref, shown, met bool) {
	if m.asked++; m.asked <= unremembered {
		return
	}
	if m.pages == nil {
		m.pages = map[versionPage]memoPage{}
	}
	at, bit := versionPage{r.schema, r.locale, r.doc / 64}, uint64(1)<<(r.doc%64)
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
