package store

// A memo records for which targets of a relation a condition holds. Many rows lead to one target, and where a condition follows
// several relations, which may lead in circles, each target would otherwise be tested once for each path that leads to it.
type memo struct {
	asked int
	pages map[versionPage]memoPage // nil until something is recorded
}

// A versionPage names 64 documents of one type in one locale.
type versionPage struct {
	schema, locale uint16
	page           uint64
}

// A memoPage has a bit for each of them.
type memoPage struct {
	known, shown, met uint64
}

// unremembered is how many tests of targets are not recorded: below that number the record costs more than it saves.
const unremembered = 8

// of returns what is recorded of a target: whether it has a version to show, and whether the condition holds for it.
func (m *memo) of(r ref) (shown, met, known bool) {
	p, bit := m.pages[versionPage{r.schema, r.locale, r.doc / 64}], uint64(1)<<(r.doc%64)
	return p.shown&bit != 0, p.met&bit != 0, p.known&bit != 0
}

// remember records the result of a test.
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
