package store

// Verdicts remember of which targets of a relation a condition holds. Many rows lead to one target, and where conditions follow
// relation after relation, as far as relations lead in circles, each target would else be asked once for each way that leads to it.
type verdicts struct {
	asked int
	pages map[versionPage]verdictPage // made once a few were asked
}

// A versionPage names 64 documents of one type in one locale.
type versionPage struct {
	schema, locale uint16
	page           uint64
}

// A verdictPage has a bit for each of them.
type verdictPage struct {
	known, shown, met uint64
}

// unremembered is how many targets are asked before it is worth while to remember any.
const unremembered = 8

// of returns what is known of a target: that it has a version to show, and that the condition holds of it.
func (v *verdicts) of(r ref) (shown, met, known bool) {
	p, bit := v.pages[versionPage{r.schema, r.locale, r.doc / 64}], uint64(1)<<(r.doc%64)
	return p.shown&bit != 0, p.met&bit != 0, p.known&bit != 0
}

func (v *verdicts) remember(r ref, shown, met bool) {
	if v.asked++; v.asked <= unremembered {
		return
	}
	if v.pages == nil {
		v.pages = map[versionPage]verdictPage{}
	}
	at, bit := versionPage{r.schema, r.locale, r.doc / 64}, uint64(1)<<(r.doc%64)
	p := v.pages[at]
	p.known |= bit
	if shown {
		p.shown |= bit
	}
	if met {
		p.met |= bit
	}
	v.pages[at] = p
}
