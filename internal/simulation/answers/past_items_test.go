package answers

import (
	"reflect"
	"slices"
)

// A PastItem says what a write did to one version of a document.
type PastItem struct {
	Action         string
	Locale, Status string
	Changed        []string // names of the attributes that the write changed, sorted
	Moment         *Moment  // behind the write
}

// record adds what has changed between two moments to the histories of the documents. If there were several writes in
// between, it cannot say what each of them did.
func (p *Past) record(former, m *Moment, several bool) {
	for _, d := range m.World.Docs {
		before := former.World.numbered(d.Number)
		items := p.itemsBetween(former, m, before, d)
		if several && len(items) > 0 {
			p.Unclear[d.Number] = true
		}
		p.Items[d.Number] = append(p.Items[d.Number], items...)
	}
}

// numbered returns the document with a number, without versions if it is gone or not there yet.
func (w *World) numbered(number int) *Document {
	for _, d := range w.Docs {
		if d.Number == number {
			return d
		}
	}
	return &Document{Number: number}
}

// itemsBetween compares the versions of a document at two moments.
func (p *Past) itemsBetween(former, m *Moment, before, after *Document) (items []*PastItem) {
	for _, row := range after.Rows {
		was := before.version(row.Locale, row.Status)
		changed := p.changedBetween(former.World, m.World, [2]*Document{before, after}, was, row)
		if was != nil && was.ID == row.ID && (was.Updated == row.Updated || was.Updated.text() == row.Updated.text() &&
			!rewritten(was, row, changed)) {
			continue
		}
		action := "update"
		switch {
		case row.Status == published && after.Type.Drafts &&
			(was == nil || was.ID != row.ID): // a publication makes a new row
			action = "publish"
		case was == nil:
			action = "create"
		}
		items = append(items, &PastItem{action, row.Locale, row.Status, changed, m})
	}
	for _, was := range before.Rows {
		if after.version(was.Locale, was.Status) != nil {
			continue
		}
		action := "delete"
		if was.Status == published && after.version(was.Locale, draft) != nil {
			action = "unpublish"
		}
		items = append(items, &PastItem{action, was.Locale, was.Status,
			p.changedBetween(former.World, m.World, [2]*Document{before, after}, was, nil), m})
	}
	return items
}

// rewritten reports whether a write has changed a version that keeps its updatedAt: a publication changes what the
// published versions of other localizations share with it, and those with a modified draft keep their times. Values
// that nobody may see count too. Relations do not count, since other documents of the same batch may have changed their
// links to a version that was not written itself.
func rewritten(was, is *Row, changed []string) bool {
	return slices.ContainsFunc(is.Doc.Type.Attributes, func(a *Attribute) bool {
		switch {
		case a.System || a.Type == "relation":
			return false
		case a.isNested():
			return !reflect.DeepEqual(itemsContent(was.Items[a.Name], ofRow), itemsContent(is.Items[a.Name], ofRow))
		case a.Type == "media":
			return slices.Contains(changed, a.Name)
		}
		return was.Fields[a.Name] != is.Fields[a.Name]
	})
}

// version returns the version in a locale with a status, or nil.
func (d *Document) version(locale, status string) *Row {
	for _, r := range d.Rows {
		if r.Locale == locale && r.Status == status {
			return r
		}
	}
	return nil
}

// changedBetween returns the names of the attributes whose values differ between two versions at two moments. Either
// may be nil for one that is not there, which has no values but keeps its links until its document is deleted.
func (p *Past) changedBetween(before, after *World, doc [2]*Document, was, is *Row) []string {
	names := []string{}
	row := is
	if is == nil {
		row = was
	}
	for _, a := range row.Doc.Type.Attributes {
		if a.System || a.Private || a.Type == "password" {
			continue
		}
		switch {
		case a.Type == "media":
			if !slices.Equal(p.files(before, doc[0], row, a), p.files(after, doc[1], row, a)) {
				names = append(names, a.Name)
			}
		case a.Type == "relation":
			set := linkSetOf(a, row.Status)
			if !slices.Equal(endsContent(before.Ends(a, End{doc[0], row.Locale}, set)),
				endsContent(after.Ends(a, End{doc[1], row.Locale}, set))) {
				names = append(names, a.Name)
			}
		case !reflect.DeepEqual(valueOf(was, a), valueOf(is, a)):
			names = append(names, a.Name)
		}
	}
	slices.Sort(names)
	return names
}

// files returns the files of a version of a document, which is given by a row of it at any moment. A version that was
// unpublished keeps its files until its localization is deleted.
func (p *Past) files(w *World, doc *Document, version *Row, a *Attribute) []*File {
	for {
		if r := doc.version(version.Locale, version.Status); r != nil {
			return w.files(r, a)
		}
		i := slices.IndexFunc(p.Moments, func(m *Moment) bool { return m.World == w })
		if i < 1 || doc.version(version.Locale, draft) == nil {
			return nil
		}
		w = p.Moments[i-1].World
		doc = w.numbered(version.Doc.Number)
	}
}

// valueOf returns the value of an attribute that is no relation and no file, without the ids of components.
func valueOf(r *Row, a *Attribute) any {
	switch {
	case a.isNested() && r == nil:
		return []any{}
	case a.isNested():
		return itemsContent(r.Items[a.Name], visible)
	case r == nil:
		return nil
	}
	return r.Fields[a.Name]
}

func endsContent(ends []End) [][2]any {
	list := [][2]any{}
	for _, e := range ends {
		list = append(list, [2]any{e.Doc.Number, e.Locale})
	}
	return list
}

// A contentPart says what itemsContent returns of components.
type contentPart int

const (
	visible contentPart = iota // values that a response may show, and relations
	ofRow                      // the row itself: ids and all values, without relations
)

// itemsContent returns a part of what components hold.
func itemsContent(items []*Item, part contentPart) []any {
	list := []any{}
	for _, it := range items {
		content := []any{it.Component.UID}
		if part == ofRow {
			content = append(content, it.ID.Value)
		}
		for _, a := range it.Component.Attributes {
			switch {
			case a.System || part == visible && !a.shown():
			case a.Type == "relation":
				if part == visible {
					content = append(content, endsContent(it.Ends[a.Name]))
				}
			case a.isNested():
				content = append(content, itemsContent(it.Items[a.Name], part))
			default:
				content = append(content, it.Fields[a.Name])
			}
		}
		list = append(list, content)
	}
	return list
}
