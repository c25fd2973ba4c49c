package moveout

import (
	"lectern/contenttypes"
	"lectern/store"
	"lectern/strapi/archive"
)

// setsOf returns the sets of links that a row shows, and the components in it: that of its status, or both if the type
// has no drafts. Strapi keeps a link of the latter for each status of the target.
func setsOf(t *contenttypes.ContentType, status store.Status) []store.LinkSet {
	if t.DraftAndPublish {
		return []store.LinkSet{status.Links()}
	}
	return []store.LinkSet{store.DraftLinks, store.PublishedLinks}
}

// links writes the links that a document or component owns, and those of the components inside.
func (e *exporter) links(schema *contenttypes.Schema, r store.Record, sets []store.LinkSet) (err error) {
	for _, a := range schema.Attributes {
		switch {
		case err != nil:
			return err
		case a.System || a.Mapped || a.IsScalar():
		case a.IsRelation():
			err = e.relation(a, r, sets)
		default:
			r.Each(a, func(item store.Record) bool {
				err = e.links(&item.Component().Schema, item, sets)
				return err == nil
			})
		}
	}
	return err
}

// relation writes the links of one attribute. Polymorphic links of a type without drafts are written once, to the
// published version if there is one: Strapi does not choose among them by status.
func (e *exporter) relation(a *contenttypes.Attribute, r store.Record, sets []store.LinkSet) (err error) {
	if !a.HasDraftLinks() || a.IsMorph() && len(sets) > 1 {
		sets = []store.LinkSet{store.PublishedLinks}
	}
	for _, set := range sets {
		pos := 0.0
		e.s.LinksFrom(a, set, r.Ref(), func(l store.Link) bool {
			target := e.target(l, len(sets) > 1)
			if target.Exists() {
				pos++
				err = e.w.WriteLink(linkOf(a, r, target, l, pos))
			}
			return err == nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// target returns the row that a link leads to, or the zero Record if there is none. A type without drafts has the same
// links in both sets: if both are written, those in the set of drafts are left out.
func (e *exporter) target(l store.Link, both bool) store.Record {
	t := e.Model.Type(l.To.Type)
	switch {
	case t == nil || !isMoved(t) || both && l.Set == store.DraftLinks && !t.DraftAndPublish:
		return store.Record{}
	case t.DraftAndPublish && l.Set == store.DraftLinks:
		return e.s.Version(t, l.To.Doc, store.Draft, l.To.Locale)
	}
	r := e.s.Version(t, l.To.Doc, store.Published, l.To.Locale)
	if !r.Exists() && l.Attr.IsMorph() {
		return e.s.Version(t, l.To.Doc, store.Draft, l.To.Locale)
	}
	return r
}

// linkOf returns the link from r to target as Strapi writes it. pos is its position in the list of r.
func linkOf(a *contenttypes.Attribute, r, target store.Record, l store.Link, pos float64) archive.Link {
	from := archive.End{Type: r.Schema().UID, Field: a.Name, ID: r.ID()}
	to := archive.End{Type: target.Type().UID, ID: target.ID()}
	switch {
	case a.Type == contenttypes.Media: // a relation of the file to what uses it
		from.Pos, to.Field = pos, "related"
		return archive.Link{Kind: "relation.morph", Relation: contenttypes.MorphToMany.String(), Left: to, Right: from}
	case a.IsMorph():
		if a.ToMany() {
			to.Field, to.Pos = morphField(a, target.Type()), pos
		}
		return archive.Link{Kind: "relation.morph", Relation: a.Relation.String(), Left: from, Right: to}
	}
	link := archive.Link{Kind: "relation.basic", Relation: a.Relation.String()}
	if from.Type == to.Type {
		link.Kind = "relation.circular"
	}
	if a.ToMany() {
		from.Pos = pos
	}
	if a.Inverse != nil {
		if to.Field = a.Inverse.Name; a.Inverse.ToMany() {
			to.Pos = float64(l.ToPos) / store.PosStep
		}
	}
	link.Left, link.Right = from, to
	return link
}

// morphField returns the attribute of a target that shows the links of the morph relation a from the other side, "" if
// there is none.
func morphField(a *contenttypes.Attribute, target *contenttypes.ContentType) string {
	for _, other := range target.Attributes {
		if other.Mapped && other.Inverse == a {
			return other.Name
		}
	}
	return ""
}

// localizations writes the link by which Strapi joins the versions of a document: to the documentId instead of a row.
func (e *exporter) localizations(t *contenttypes.ContentType, r store.Record) error {
	documentID, err := textOf(t, r, "documentId")
	if err != nil {
		return err
	}
	return e.w.WriteLink(archive.Link{
		Kind: "relation.circular", Relation: contenttypes.OneToMany.String(),
		Left:  archive.End{Type: t.UID, Field: "localizations", ID: r.ID()},
		Right: archive.End{Type: t.UID, DocumentID: documentID},
	})
}
