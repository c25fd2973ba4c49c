package answers

// populate chooses what to show below a document or component of schema s.
func (a *generator) populate(s *Schema, drafts bool, depth int) *Populate {
	var attrs []*Attribute
	for _, x := range s.Attributes {
		if !x.isScalar() && !x.Private && !(x.Type == "localizations" && a.quirk.LocalizationsFilter && depth < 2) {
			attrs = append(attrs, x)
		}
	}
	if len(attrs) == 0 {
		return nil
	}
	forms := []string{"star", "list", "indexed", "dotted", "object", "object", "object"}
	if a.quirk.LocalizationsFilter && depth < 2 {
		forms = forms[1:]
	}
	p := &Populate{Form: pick(a.rng, forms)}
	if p.Form == "star" {
		return p
	}
	if p.Form == "list" && depth < 2 && a.quirk.NoNestedLists {
		p.Form = "indexed"
	}
	for _, x := range attrs {
		if !a.chance(.5) && len(attrs) > 1 {
			continue
		}
		p.Items = append(p.Items, a.populated(p.Form, x, drafts, depth))
	}
	if len(p.Items) == 0 {
		p.Items = append(p.Items, a.populated(p.Form, attrs[0], drafts, depth))
	}
	return p
}

func (a *generator) populated(form string, x *Attribute, drafts bool, depth int) *Populated {
	it := &Populated{Attr: x, Form: "true"}
	switch form {
	case "dotted":
		if x.Type == "relation" || x.Type == "component" {
			in, _ := a.inside(x, drafts)
			it.Populate = a.dotted(in)
		}
	case "object":
		it.Form = pick(a.rng, []string{"true", "1", "false", "options", "options", "options", "count"})
		if it.Form == "count" && (x.Type == "media" || a.quirk.LocalizationsFilter && x.Type == "localizations") {
			it.Form = "true"
		}
		if it.Form == "options" {
			a.options(it, drafts, depth)
		}
	}
	return it
}

// dotted returns a populate that is a single name, one level down.
func (a *generator) dotted(s *Schema) *Populate {
	for _, i := range a.rng.Perm(len(s.Attributes)) {
		if x := s.Attributes[i]; !x.Private && (x.Type == "relation" || x.Type == "component") {
			return &Populate{Form: "dotted", Items: []*Populated{{Attr: x, Form: "true"}}}
		}
	}
	return nil
}

// options chooses the options for one populated attribute.
func (a *generator) options(it *Populated, drafts bool, depth int) {
	x := it.Attr
	switch x.Type {
	case "media":
		it.Form = "true"
		return
	case "dynamiczone":
		a.zone(it, drafts, depth)
		return
	}
	in, d := a.insideAny(x, drafts)
	if a.chance(.5) {
		it.Fields = a.fields(in.Attributes)
	}
	if x.Type == "relation" && a.chance(.35) {
		it.Filter = a.filter(in, d, 1)
	}
	if x.toMany() && a.chance(.4) &&
		!(a.quirk.LocalizationsFilter && x.Type == "localizations") { // the reference orders equal keys as it likes
		if path := a.path(in, d, 0); path != nil {
			it.Sort = []SortKey{{path, a.chance(.5)}}
			if a.quirk.NumbersAsSQL && it.Fields != nil {
				it.Fields = append(it.Fields, path[0].Name)
			}
		}
	}
	if depth > 0 && a.chance(.5) {
		it.Populate = a.populate(in, d, depth-1)
	}
	if it.Fields == nil && it.Filter == nil && it.Sort == nil && it.Populate == nil {
		it.Form = "true"
	}
}

func (a *generator) insideAny(x *Attribute, drafts bool) (*Schema, bool) {
	if x.Type == "localizations" {
		return &x.Target.Schema, x.Target.Drafts
	}
	return a.inside(x, drafts)
}

func (a *generator) zone(it *Populated, drafts bool, depth int) {
	if a.chance(.3) {
		it.Populate = &Populate{Form: "star"}
		return
	}
	for _, c := range it.Attr.Components {
		if a.chance(.3) {
			continue
		}
		v := &Variant{Component: c}
		if a.chance(.4) {
			v.Fields = a.fields(c.Attributes)
		}
		if depth > 0 && a.chance(.5) {
			v.Populate = a.populate(&c.Schema, drafts, depth-1)
		}
		it.On = append(it.On, v)
	}
	if it.On == nil {
		it.Form = "true"
	}
}

// withoutLocalizations removes the localizations of the root rows from a populate.
func withoutLocalizations(p *Populate, t *Type) *Populate {
	if p == nil || !t.Localized {
		return p
	}
	if p.Form == "star" {
		return nil
	}
	kept := &Populate{Form: p.Form}
	for _, it := range p.Items {
		if it.Attr.Type != "localizations" {
			kept.Items = append(kept.Items, it)
		}
	}
	if len(kept.Items) == 0 {
		return nil
	}
	return kept
}

func (a *generator) countPopulate(p *Populate) {
	if p == nil {
		return
	}
	if p.Form != "object" {
		a.cover.Hit("populate", p.Form)
	}
	for _, it := range p.Items {
		a.countPopulated(it)
	}
}

func (a *generator) countPopulated(it *Populated) {
	if it.Form != "options" {
		a.cover.Hit("populate", it.Form)
	}
	for word, on := range map[string]bool{"fields": it.Fields != nil, "filters": it.Filter != nil,
		"sort":   it.Sort != nil,
		"nested": it.Populate != nil, "on": it.On != nil, "zone star": it.Attr.Type == "dynamiczone" &&
			it.Populate != nil} {
		if on {
			a.cover.Hit("populate", word)
		}
	}
	switch {
	case it.Attr.Type == "relation":
		a.cover.Hit("populate relation", it.Attr.kind())
	case it.Attr.Repeatable:
		a.cover.Hit("populate", "repeatable")
	default:
		a.cover.Hit("populate", it.Attr.Type)
	}
	if it.Filter != nil {
		a.countFilter(it.Filter)
	}
	a.countPopulate(it.Populate)
	for _, v := range it.On {
		a.countPopulate(v.Populate)
	}
}
