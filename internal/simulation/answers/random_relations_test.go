package answers

// common returns the targets that are linked in every link set that a write changes.
func (o *operationGenerator) common(a *Attribute, row *Row) []End {
	var ends []End
	for i, p := range linkSetsOf(a, row.Doc.Type, row.Status) {
		now := o.world.Ends(a, row.end(), p)
		if i == 0 {
			ends = now
			continue
		}
		for _, e := range append([]End(nil), ends...) {
			if indexOf(now, e) < 0 {
				ends = without(ends, e)
			}
		}
	}
	return ends
}

// relation returns a random edit of the links to ends.
func (o *operationGenerator) relation(a *Attribute, at writeContext, ends []End) (Field, bool) {
	f := Field{Attr: a}
	if o.chance(.06) {
		return f, true
	}
	targets := o.targetsFor(a, at)
	if o.graphql {
		return o.graphqlEdit(a, at, targets)
	}
	if o.quirk.OrderMixesVersions && !a.toMany() && len(ends) > 0 {
		targets = otherThan(targets, ends)
	}
	if len(targets) == 0 {
		return f, false
	}
	e := &Edit{Form: pick(o.rng, []string{"bare", "list", "set", "change", "change"})}
	f.Value = e
	some := func() []Target {
		var list []Target
		for _, i := range o.rng.Perm(len(targets))[:min(len(targets), 1+o.rng.IntN(3))] {
			list = append(list, targets[i])
		}
		return list
	}
	switch e.Form {
	case "bare":
		e.Set = some()[:1]
	case "list", "set":
		e.Set = some()
		if o.chance(.1) {
			e.Set = nil
		}
		if !a.toMany() {
			e.Set = o.linkable(at, e.Set)
		}
	case "change":
		if o.quirk.OrderMixesVersions && !at.op.Type.Localized && a.Target.Localized && !a.toMany() {
			e.Form, e.Set = "set", some()[:1]
			break
		}
		if o.chance(.7) {
			e.Connect = some()
		}
		if e.Connect == nil || o.chance(.4) {
			e.Disconnect = o.present(targets, ends)
		}
		if a.toMany() && !(o.quirk.OrderMixesVersions && !at.op.Type.Drafts && a.Target.Drafts) {
			o.positions(e, at, ends)
		} else if !a.toMany() && len(e.Connect) > 1 {
			e.Connect = e.Connect[:1]
		}
	}
	return f, true
}

// otherThan returns the targets that are not linked now.
func otherThan(targets []Target, ends []End) []Target {
	var list []Target
	for _, t := range targets {
		linked := false
		for _, e := range ends {
			linked = linked || e.Doc.Number == t.Number
		}
		if !linked {
			list = append(list, t)
		}
	}
	return list
}

// linkable returns the targets that exist. If a to-one relation names several targets, the server is certain to check
// only the last.
func (o *operationGenerator) linkable(at writeContext, targets []Target) []Target {
	var list []Target
	for _, t := range targets {
		if _, ok := o.world.end(t, at.op.Type, at.locale); ok {
			list = append(list, t)
		}
	}
	return list
}

// present returns a target that is linked now, if there is one.
func (o *operationGenerator) present(targets []Target, ends []End) []Target {
	for _, i := range o.rng.Perm(len(targets)) {
		for _, e := range ends {
			if e.Doc.Number == targets[i].Number && (targets[i].Locale == "" || targets[i].Locale == e.Locale) {
				return []Target{targets[i]}
			}
		}
	}
	return []Target{pick(o.rng, targets)}
}

// positions chooses positions for some of the connected documents.
func (o *operationGenerator) positions(e *Edit, at writeContext, ends []End) {
	for i := range e.Connect {
		t := &e.Connect[i]
		t.Wrapped, t.ByID = true, false
		switch o.rng.IntN(5) {
		case 0:
			t.Position = "start"
		case 1:
			t.Position = "end"
		case 2:
			o.beside(e, t, at, ends)
		}
	}
}

// beside chooses a position for t next to a document that keeps its own position.
func (o *operationGenerator) beside(e *Edit, t *Target, at writeContext, ends []End) {
	for _, i := range o.rng.Perm(len(ends)) {
		next := ends[i]
		moved := !at.op.Type.Localized && next.Locale != "" && next.Locale != o.world.Model.Locales[0]
		for _, x := range append(append([]Target{}, e.Connect...), e.Disconnect...) {
			moved = moved || x.Number == next.Doc.Number
		}
		if !moved && t.Locale == "" {
			t.Position, t.Next = pick(o.rng, []string{"before", "after"}), next.Doc.Number
			return
		}
	}
}

// targetsFor returns the documents that a may link to in this write, and rarely one that it may not link to.
func (o *operationGenerator) targetsFor(a *Attribute, at writeContext) []Target {
	var list []Target
	for _, d := range o.world.Docs {
		if d.Type != a.Target || len(d.Rows) == 0 {
			continue
		}
		if d.Number == at.op.Number && o.quirk.SelfLinksLost {
			continue
		}
		t := Target{Number: d.Number, Wrapped: o.chance(.3)}
		switch {
		case !d.Type.Localized:
			t.ByID = !d.Type.Drafts && o.chance(.2)
		case !at.op.Type.Localized:
			t.Locale = pick(o.rng, d.Rows).Locale
			if t.Locale == o.world.Model.Locales[0] && o.chance(.5) {
				t.Locale = ""
			}
		case d.Row(at.locale, draft) == nil && o.chance(.98):
			continue
		}
		list = append(list, t)
	}
	return list
}
