package answers

import (
	"fmt"
	"slices"
)

// unlinkable returns a message about a target in data that does not exist in the localization to link, or "".
func (w *World) unlinkable(data []Field, t *Type, locale string) string {
	for _, f := range data {
		switch v := f.Value.(type) {
		case *NewItem:
			if problem := w.unlinkable(v.Fields, t, locale); problem != "" {
				return problem
			}
		case []*NewItem:
			for _, it := range v {
				if problem := w.unlinkable(it.Fields, t, locale); problem != "" {
					return problem
				}
			}
		case *Edit:
			for _, target := range append(append(append([]Target{}, v.Set...), v.Connect...), v.Disconnect...) {
				if _, ok := w.end(target, t, locale); !ok || target.Next != 0 && w.Document(target.Next) == nil {
					return fmt.Sprintf("document %d, a target of %s, is not there", target.Number, f.Attr.Name)
				}
			}
		}
	}
	return ""
}

// end returns what a target refers to when it is written in a document of type t and locale.
func (w *World) end(target Target, t *Type, locale string) (End, bool) {
	d := w.Document(target.Number)
	if d == nil {
		return End{}, false
	}
	e := End{Doc: d}
	if d.Type.Localized {
		e.Locale = locale
		if !t.Localized {
			e.Locale = w.locale(d.Type, target.Locale)
		}
		if d.Row(e.Locale, draft) == nil {
			return End{}, false
		}
	}
	return e, true
}

// relate applies the relations in data to row and its components.
func (w *World) relate(row *Row, data []Field) {
	for _, f := range data {
		if f.Attr.Type == "relation" {
			w.relateField(row, f)
		}
	}
	w.relateItems(row, row.Items, data)
}

func (w *World) relateField(row *Row, f Field) {
	for _, p := range linkSetsOf(f.Attr, row.Doc.Type, row.Status) {
		before := w.Ends(f.Attr, row.end(), p)
		w.SetEnds(f.Attr, row.end(), p, w.edited(f, before, row))
	}
}

// unplaceable returns a message about a target that is to be connected beside a document which is not linked, or "".
// Relations are written one after another: if a type is linked to itself, that of one side may remove the document from
// the list of the other side.
func (w *World) unplaceable(row *Row, data []Field) string {
	links := w.Links
	defer func() { w.Links = links }()
	w.Links = nil
	for _, l := range links {
		c := *l
		w.Links = append(w.Links, &c)
	}
	for _, f := range data {
		if f.Attr.Type != "relation" {
			continue
		}
		if w.lacksNeighbour(row, f) {
			return "a neighbour in " + f.Attr.Name + " is not linked"
		}
		w.relateField(row, f)
	}
	return ""
}

// lacksNeighbour reports whether a relation names a neighbour that no list of row has.
func (w *World) lacksNeighbour(row *Row, f Field) bool {
	edit, _ := f.Value.(*Edit)
	if edit == nil {
		return false
	}
	sets := linkSetsOf(f.Attr, row.Doc.Type, row.Status)
	return !slices.ContainsFunc(sets, func(set string) bool {
		ends := w.Ends(f.Attr, row.end(), set)
		return !slices.ContainsFunc(edit.Connect, func(t Target) bool {
			next, _ := w.end(Target{Number: t.Next, Locale: t.Locale}, row.Doc.Type, row.Locale)
			return t.Next != 0 && indexOf(ends, next) < 0
		})
	})
}

func (w *World) relateItems(row *Row, all map[string][]*Item, data []Field) {
	for _, f := range data {
		var wanted []*NewItem
		switch v := f.Value.(type) {
		case *NewItem:
			wanted = []*NewItem{v}
		case []*NewItem:
			wanted = v
		}
		for i, n := range wanted {
			it := all[f.Attr.Name][i]
			for _, g := range n.Fields {
				if g.Attr.Type == "relation" {
					it.Ends[g.Attr.Name] = w.edited(g, it.Ends[g.Attr.Name], row)
				}
			}
			w.relateItems(row, it.Items, n.Fields)
		}
	}
}

// edited returns the targets after an edit. If a to-one relation gets several targets, the last counts.
func (w *World) edited(f Field, before []End, row *Row) []End {
	list := w.editedList(f, before, row)
	if !f.Attr.toMany() && len(list) > 1 && f.Value.(*Edit).Connect == nil && f.Value.(*Edit).Form == "change" {
		return list
	}
	if !f.Attr.toMany() && len(list) > 1 {
		return list[len(list)-1:]
	}
	return list
}

func (w *World) editedList(f Field, before []End, row *Row) []End {
	end := func(t Target) End {
		e, _ := w.end(t, row.Doc.Type, row.Locale)
		return e
	}
	edit, _ := f.Value.(*Edit)
	if edit == nil { // null removes all links
		return nil
	}
	if edit.Form != "change" {
		var list []End
		for _, t := range edit.Set {
			if e := end(t); indexOf(list, e) < 0 {
				list = append(list, e)
			}
		}
		return list
	}
	list := append([]End(nil), before...)
	for _, t := range edit.Disconnect {
		list = without(list, end(t))
	}
	for _, t := range edit.Connect {
		e := end(t)
		list = without(list, e)
		at := len(list)
		switch t.Position {
		case "start":
			at = 0
		case "before", "after":
			next := end(Target{Number: t.Next, Locale: t.Locale})
			if at = indexOf(list, next); at < 0 {
				at = len(list)
			} else if t.Position == "after" {
				at++
			}
		}
		list = append(list[:at:at], append([]End{e}, list[at:]...)...)
	}
	return list
}
