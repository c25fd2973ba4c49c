package answers

import "slices"

// shown are the attributes that a rule of find shows: those listed, or all others that are not private.
type shown struct {
	except bool
	listed []*Attribute
}

// hides reports whether an asker does not read an attribute.
func (s *shown) hides(x *Attribute) bool {
	switch {
	case x.Type == "id", x.Type == "documentId":
		return false
	case s.except:
		return x.Private || slices.Contains(s.listed, x)
	}
	return !slices.Contains(s.listed, x)
}

// rule returns the rule of find with a condition, which may be nil.
func (s *shown) rule(where *Filter) any {
	rule := map[string]any{"fields": s.names()}
	if where != nil {
		rule["where"] = where.rule()
	}
	return rule
}

// names returns the part fields of a rule.
func (s *shown) names() any {
	var names []string
	for _, x := range s.listed {
		names = append(names, x.Name)
	}
	if s.except {
		return map[string]any{"except": names}
	}
	return names
}

// ruleOf returns a rule that has a condition or, if that is nil, true.
func ruleOf(where *Filter) any {
	if where == nil {
		return true
	}
	return map[string]any{"where": where.rule()}
}

// ownRules adds rules of a type that take the place of its rule of find for one document and for drafts, and says which
// attributes are read.
func (g *ruleGenerator) ownRules(t *Type, a *Asker) {
	if _, may := a.Find[t]; !may {
		return
	}
	if !t.Single && g.chance(.25) {
		a.One[t] = g.where(t, a)
		g.made.Hit("rule", "findOne")
	}
	if t.Drafts && g.chance(.3) {
		a.Drafts[t] = g.where(t, a)
		g.made.Hit("rule", "findDrafts")
	}
	if g.chance(.35) {
		a.Shown[t] = g.shown(t)
	}
	if a.Does {
		a.Update[t] = g.writeRule(t, a)
		if !t.Single {
			a.Create[t] = g.writeRule(t, a)
		}
	}
}

// shown returns a random choice of the attributes of a type.
func (g *ruleGenerator) shown(t *Type) *shown {
	s := &shown{except: g.chance(.5)}
	g.made.Hit("rule", map[bool]string{true: "fields except", false: "fields"}[s.except])
	for _, x := range t.Attributes {
		switch {
		case x.Type == "id", x.Type == "documentId", x.Type == "password", x.Type == "localizations":
		case g.chance(map[bool]float64{true: .3, false: .7}[s.except]):
			s.listed = append(s.listed, x)
			if x.Private && !s.except {
				g.made.Hit("rule", "private attribute shown")
			}
		}
	}
	if len(s.listed) == 0 {
		s.listed = append(s.listed, t.Find("createdAt"))
	}
	return s
}

// look makes the attributes that an asker does not read private in the model, and those private ones that they read by
// REST not, until what it returns is called.
func (a *Asker) look(graphql bool) (done func()) {
	former := map[*Attribute]bool{}
	for t, s := range a.Shown {
		for _, x := range t.Attributes {
			former[x] = x.Private
			x.Private = s.hides(x) || graphql && x.Private
		}
	}
	return func() {
		for x, private := range former {
			x.Private = private
		}
	}
}
