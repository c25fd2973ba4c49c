package simulation

import "fmt"

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
		if f.Attr.Type != "relation" {
			continue
		}
		for _, p := range linkSetsOf(f.Attr, row.Doc.Type, row.Status) {
			before := w.Ends(f.Attr, row.end(), p)
			w.SetEnds(f.Attr, row.end(), p, w.edited(f, before, row))
		}
	}
	w.relateItems(row, row.Items, data)
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
