package answers

// Restore writes a former version as the draft, or as the only version of a type without drafts. It returns the
// expected outcome, and the write that it amounts to.
func (w *World) Restore(op *Operation, then *World) (Outcome, *Operation) {
	write := &Operation{Kind: "restore", Type: op.Type, Number: op.Number, Locale: op.Locale, Status: draft}
	former := then.Document(op.Number)
	if op.Type.Single {
		former = then.Single(op.Type)
	}
	if former == nil {
		return missing, write
	}
	doc := w.Document(op.Number)
	if op.Type.Single {
		write.Number = former.Number
		if doc = w.Single(op.Type); doc != nil {
			write.Number = doc.Number
		}
	}
	locale, status := w.locale(op.Type, op.Locale), op.Status
	if status == "" {
		status = draft
	}
	row := former.Row(locale, status)
	if row == nil {
		return missing, write
	}
	ends := w.formerEnds(then, row)
	write.Data = w.formerFields(row.Added, op.Type.Attributes, row.Fields, row.Items, nil)
	out := w.save(write, doc, locale)
	if out.Row == nil {
		return out, write
	}
	for _, x := range ends {
		w.SetEnds(x.attr, out.Row.end(), x.linkSet, x.ends)
	}
	out.Status = 200
	return out, write
}

// A formerList is the targets of a relation in one link set, as far as they are still there.
type formerList struct {
	attr    *Attribute
	linkSet string
	ends    []End
}

// formerEnds returns the links that a version had. Those to documents that are gone are left out.
func (w *World) formerEnds(then *World, row *Row) (lists []formerList) {
	version := published
	if row.Doc.Type.Drafts {
		version = draft
	}
	for _, a := range row.Doc.Type.Attributes {
		if a.Type != "relation" {
			continue
		}
		for _, set := range linkSetsOf(a, row.Doc.Type, version) {
			from := set
			if row.Doc.Type.Drafts {
				from = linkSetOf(a, row.Status)
			}
			lists = append(lists, formerList{a, set, w.present(then.Ends(a, row.end(), from))})
		}
	}
	return lists
}

// present returns the ends of a former World that are still there, as ends of this one.
func (w *World) present(former []End) (ends []End) {
	for _, e := range former {
		if d := w.Document(e.Doc.Number); d != nil &&
			(d.version(e.Locale, draft) != nil || d.version(e.Locale, published) != nil) {
			ends = append(ends, End{d, e.Locale})
		}
	}
	return ends
}

// known reports whether an attribute was defined when so many had been added.
func (w *World) known(added int, a *Attribute) bool { return indexOf(w.Added, a) < added }

// formerFields returns the values of a former version or component as a body. Left out are the relations of a version
// itself, and attributes that were added after the version was written.
func (w *World) formerFields(added int, attrs []*Attribute, fields map[string]any, items map[string][]*Item,
	ends map[string][]End) (data []Field) {
	for _, a := range attrs {
		f := Field{Attr: a}
		switch v := fields[a.Name].(type) {
		case nil:
		case *Attached:
			f.Value = v
		default:
			f.Value = Literal{Keep: v}
		}
		switch {
		case a.System || !w.known(added, a):
			continue
		case a.Type == "relation" && ends == nil:
			continue
		case a.Type == "relation":
			edit := &Edit{Form: "set"}
			for _, e := range w.present(ends[a.Name]) {
				edit.Set = append(edit.Set, Target{Number: e.Doc.Number, Locale: e.Locale})
			}
			f.Value = edit
		case a.isNested():
			f.Value = w.formerItems(added, a, items[a.Name])
		}
		data = append(data, f)
	}
	return data
}

// formerItems returns the components of a former version as new ones.
func (w *World) formerItems(added int, a *Attribute, items []*Item) any {
	list := []*NewItem{}
	for _, it := range items {
		list = append(list, &NewItem{Component: it.Component, Zone: a.Type == "dynamiczone",
			Fields: w.formerFields(added, it.Component.Attributes, it.Fields, it.Items, it.Ends)})
	}
	switch {
	case a.Repeatable || a.Type == "dynamiczone":
		return list
	case len(list) == 0:
		return nil
	}
	return list[0]
}
