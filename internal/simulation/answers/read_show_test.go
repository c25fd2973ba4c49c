package answers

import "sort"

// show returns a row as a response prints it. Values that the server chooses appear as *Generated.
func (w *World) show(r *Row, v view, fields []string, p *Populate) map[string]any {
	out := map[string]any{"id": r.ID, "documentId": r.Doc.ID}
	for _, a := range r.Doc.Type.Attributes {
		if !a.isScalar() || !a.shown() || !named(fields, a.Name) {
			continue
		}
		switch a.Name {
		case "createdAt":
			out[a.Name] = r.Created
		case "updatedAt":
			out[a.Name] = r.Updated
		case "publishedAt":
			out[a.Name] = nil
			if r.Published != nil {
				out[a.Name] = r.Published
			}
		case "id", "documentId":
		default:
			out[a.Name] = r.value(a.Name)
		}
	}
	w.populate(out, instance{row: r, status: v.status}, v, r.Doc.Type.Attributes, p)
	return out
}

func (w *World) showItem(p instance, v view, fields []string, zone bool, sub *Populate) map[string]any {
	out := map[string]any{"id": p.item.ID}
	for _, a := range p.item.Component.Attributes {
		if a.isScalar() && a.shown() && named(fields, a.Name) && a.Type != "id" {
			out[a.Name] = p.item.Fields[a.Name]
		}
	}
	if zone {
		out["__component"] = p.item.Component.UID
	}
	w.populate(out, p, v, p.item.Component.Attributes, sub)
	return out
}

func named(fields []string, name string) bool {
	return len(fields) == 0 || indexOf(fields, name) >= 0 || indexOf(fields, "*") >= 0
}

// populate adds the attributes that p selects to out.
func (w *World) populate(out map[string]any, at instance, v view, attrs []*Attribute, p *Populate) {
	if p == nil {
		return
	}
	if p.Form == "star" {
		for _, a := range attrs {
			if !a.isScalar() && !a.Private {
				out[a.Name] = w.below(at, v, &Populated{Attr: a, Form: "true"})
			}
		}
		return
	}
	for _, it := range p.Items {
		if it.Form != "false" && indexOf(attrs, it.Attr) >= 0 {
			out[it.Attr.Name] = w.below(at, v, it)
		}
	}
}

// below returns the value of one populated attribute.
func (w *World) below(at instance, v view, it *Populated) any {
	var targets []instance
	for _, t := range w.targets(at, it.Attr) {
		if it.Attr.isLink() && t.row != nil && t.row.Doc.Type.Drafts && !t.row.inPublication(v.publication) {
			continue
		}
		if it.Filter == nil || w.holds(it.Filter, t, false) {
			targets = append(targets, t)
		}
	}
	if it.Sort != nil && it.Attr.isLink() {
		sort.Slice(targets, func(i, j int) bool { return targets[i].row.id() < targets[j].row.id() })
	}
	w.orderInstances(targets, it.Sort)
	if it.Form == "count" && it.Attr.Type != "media" && it.Attr.Type != "dynamiczone" {
		return map[string]any{"count": float64(len(targets))}
	}
	list := []any{}
	for _, t := range targets {
		switch it.Attr.Type {
		case "dynamiczone":
			fields, sub, shown := it.variant(t.item.Component)
			if shown {
				list = append(list, w.showItem(t, v, fields, true, sub))
			}
		case "component":
			list = append(list, w.showItem(t, v, it.Fields, false, it.Populate))
		case "media":
			list = append(list, t.file.shown())
		default:
			list = append(list, w.show(t.row, v, it.Fields, it.Populate))
		}
	}
	if it.Attr.toMany() || it.Attr.Repeatable || it.Attr.Type == "dynamiczone" {
		return list
	}
	if len(list) == 0 {
		return nil
	}
	return list[0]
}

// variant returns what to show of a component of a zone.
func (it *Populated) variant(c *Component) (fields []string, sub *Populate, shown bool) {
	if it.On == nil {
		return nil, it.Populate, true
	}
	for _, v := range it.On {
		if v.Component == c {
			return v.Fields, v.Populate, true
		}
	}
	return nil, nil, false
}

// orderInstances sorts targets by keys without relations.
func (w *World) orderInstances(list []instance, keys []SortKey) {
	for i := len(keys) - 1; i >= 0; i-- {
		k := keys[i]
		name := k.Path[0].Name
		stable(list, func(a, b instance) bool {
			c := nullsFirst(a.value(name), b.value(name))
			if k.Desc {
				c = -c
			}
			return c < 0
		})
	}
}

// stable is an insertion sort, which keeps the order of equal instances.
func stable(list []instance, less func(a, b instance) bool) {
	for i := range list {
		for j := i; j > 0 && less(list[j], list[j-1]); j-- {
			list[j], list[j-1] = list[j-1], list[j]
		}
	}
}
