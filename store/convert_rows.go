package store

import (
	"bytes"
	"strconv"

	"lectern/contenttypes"
	"lectern/jsontree"
	"lectern/store/evolve"
	"lectern/store/internal/format"
)

// setSystem sets a system attribute of a row, if its type has that attribute.
func setSystem(r *Row, name string, value []byte) {
	if a := r.Type.Attribute(name); a != nil && a.System && a.IsStored() {
		r.Values[a.Index].JSON = value
	}
}

// eachItem calls f with each component among values, and with those inside them.
func eachItem(values []Value, f func(*Item) error) error {
	for _, v := range values {
		for _, item := range v.Items {
			if err := f(item); err != nil {
				return err
			}
			if err := eachItem(item.Values, f); err != nil {
				return err
			}
		}
	}
	return nil
}

// ref returns the Ref by which links name the component.
func (i *Item) ref() Ref { return Ref{Type: i.Component.UID, Doc: i.ID} }

// owningRelations returns the attributes of a schema under which links are stored: those that do not say mappedBy.
func owningRelations(s *contenttypes.Schema) (list []*contenttypes.Attribute) {
	for _, a := range s.Attributes {
		if a.IsRelation() && !a.System && !a.Mapped {
			list = append(list, a)
		}
	}
	return list
}

// deleteItemLinks removes the links of all components among values.
func (tx *Tx) deleteItemLinks(values []Value) error {
	return eachItem(values, func(item *Item) error {
		for _, a := range owningRelations(&item.Component.Schema) {
			if err := tx.cutLinks(tx.linksOf(a, format.FromSide, item.ref())); err != nil {
				return err
			}
		}
		return nil
	})
}

// moveLocale carries out evolve.MoveLocale.
func (c *chunk) moveLocale(s *evolve.MoveLocale) (bool, error) {
	t, err := c.typ(s.Type)
	if err != nil {
		return false, err
	}
	from, err := c.useLocale(s.From)
	if err != nil {
		return false, err
	}
	return c.eachRow(t, func(r Record) error {
		if r.slot.Locale() != from {
			return nil
		}
		row := r.Decode()
		row.Locale = s.To
		if s.To != "" {
			setSystem(row, "locale", quote(s.To))
		}
		if err := c.removeRow(r); err != nil {
			return err
		}
		return c.putRow(row)
	})
}

// addDrafts carries out evolve.AddDrafts.
func (c *chunk) addDrafts(s *evolve.AddDrafts) (bool, error) {
	t, err := c.typ(s.Type)
	if err != nil {
		return false, err
	}
	b := c.bound.of(&t.Schema)
	return c.eachRow(t, func(r Record) error {
		if r.Status() == Draft || c.row(b, format.NewSlot(r.slot.Locale(), Draft), r.doc).Exists() {
			return nil
		}
		row := r.Decode()
		row.Status = Draft
		setSystem(row, "id", strconv.AppendUint(nil, c.NewRowID(t), 10))
		setSystem(row, "publishedAt", nil)
		err := c.renumber(row.Values, func(a *contenttypes.Attribute, from, to Ref) error {
			for _, l := range c.linksFrom(a, DraftLinks, from) {
				moved := l
				moved.From = to
				if err := c.deleteLink(l); err != nil {
					return err
				}
				if err := c.putLink(moved); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		return c.putRow(row)
	})
}

// renumber gives all components among values new ids. It calls moved for each relation attribute of each component,
// with the old and the new Ref of the component, to move or copy the links.
func (tx *Tx) renumber(values []Value, moved func(a *contenttypes.Attribute, from, to Ref) error) error {
	return eachItem(values, func(item *Item) error {
		from := item.ref()
		item.ID = tx.NewComponentID()
		for _, a := range owningRelations(&item.Component.Schema) {
			if err := moved(a, from, item.ref()); err != nil {
				return err
			}
		}
		return nil
	})
}

// dropDrafts carries out evolve.DropDrafts.
func (c *chunk) dropDrafts(s *evolve.DropDrafts) (bool, error) {
	t, err := c.typ(s.Type)
	if err != nil {
		return false, err
	}
	return c.eachRow(t, func(r Record) error {
		row := r.Decode()
		if r.Status() == Published {
			return c.copyItemLinks(row.Values)
		}
		if err := c.deleteItemLinks(row.Values); err != nil {
			return err
		}
		return c.removeRow(r)
	})
}

// copyItemLinks copies the published links of all components among values to their draft links, because requests for
// drafts read the same rows once drafts are switched off.
func (tx *Tx) copyItemLinks(values []Value) error {
	return eachItem(values, func(item *Item) error {
		for _, a := range owningRelations(&item.Component.Schema) {
			if err := tx.copyLinks(a, PublishedLinks, item.ref(), DraftLinks, item.ref(), ""); err != nil {
				return err
			}
		}
		return nil
	})
}

// prune carries out evolve.Prune.
func (c *chunk) prune(s *evolve.Prune) (bool, error) {
	t, err := c.typ(s.Type)
	if err != nil {
		return false, err
	}
	b := c.bound.of(&t.Schema)
	owning := owningAttributes(c.bound.model, t)
	return c.eachRow(t, func(r Record) error {
		if !c.prunes(s, b, r) {
			return nil
		}
		ref, other := r.Ref(), format.NewSlot(r.slot.Locale(), 1-r.Status())
		documentID := bytes.Clone(format.Unquote(r.JSON(b.system.documentID)))
		if err := c.deleteItemLinks(r.Decode().Values); err != nil {
			return err
		}
		if err := c.removeRow(r); err != nil {
			return err
		}
		removed := &c.conversion.pending.Removed
		removed.Versions++
		if c.document(b, string(documentID)) == nil {
			removed.Documents++
		}
		if c.row(b, other, ref.Doc).Exists() {
			return nil
		}
		return c.forgetDocument(t, owning, ref)
	})
}

// prunes reports whether the rule of the step removes a version.
func (c *chunk) prunes(s *evolve.Prune, b *boundSchema, r Record) bool {
	switch s.Rule {
	case evolve.PruneAll:
		return true
	case evolve.PruneNeverPublished:
		return r.Status() == Draft && !c.row(b, format.NewSlot(r.slot.Locale(), Published), r.doc).Exists()
	case evolve.PruneLocale:
		return r.Locale() == s.Locale
	case evolve.PruneOtherLocales:
		return r.Locale() != s.Locale
	case evolve.PruneOtherDocuments:
		return r.doc != s.Document
	}
	return false
}

// forgetDocument removes all links from and to a document in a localization.
func (tx *Tx) forgetDocument(t *contenttypes.ContentType, owning []*contenttypes.Attribute, ref Ref) error {
	for _, a := range owningRelations(&t.Schema) {
		if err := tx.cutLinks(tx.linksOf(a, format.FromSide, ref)); err != nil {
			return err
		}
	}
	for _, a := range owning {
		if err := tx.cutLinks(tx.linksOf(a, format.ToSide, ref)); err != nil {
			return err
		}
	}
	return nil
}

// owningAttributes returns the attributes of all types and components whose links may lead to documents of a type.
func owningAttributes(m *contenttypes.Model, t *contenttypes.ContentType) (list []*contenttypes.Attribute) {
	add := func(s *contenttypes.Schema) {
		for _, a := range owningRelations(s) {
			if a.Target == nil || a.Target == t {
				list = append(list, a)
			}
		}
	}
	for _, t := range m.Types {
		add(&t.Schema)
	}
	for _, c := range m.Components {
		add(&c.Schema)
	}
	return list
}

// editValues carries out evolve.EditValues.
func (c *chunk) editValues(s *evolve.EditValues) (bool, error) {
	t, err := c.typ(s.Type)
	if err != nil {
		return false, err
	}
	edits := map[*contenttypes.Attribute]evolve.ValueEdit{}
	for _, e := range s.Edits {
		a, err := c.attribute(e.Schema, e.Attr)
		if err != nil {
			return false, err
		}
		edits[a] = e
	}
	return c.eachRow(t, func(r Record) error {
		row := r.Decode()
		lost, changed, err := c.edit(edits, &t.Schema, row.Values)
		if err != nil || !changed {
			return err
		}
		if lost {
			c.conversion.pending.Removed.Values++
		}
		return c.putRow(row)
	})
}

// edit changes the values of a row or component, and those of the components inside it. lost reports whether a value
// was removed.
func (c *chunk) edit(edits map[*contenttypes.Attribute]evolve.ValueEdit, s *contenttypes.Schema,
	values []Value) (lost, changed bool, err error) {
	for i, a := range s.Attributes {
		v := &values[i]
		if e, ok := edits[a]; ok {
			switch {
			case e.Retype != nil:
				if v.JSON != nil {
					v.JSON, _ = evolve.Retype(e.Retype.From, e.Retype.To,
						v.JSON) // a value that cannot be converted was refused
					changed = true
				}
			case e.Replace != nil:
				if v.JSON != nil && string(format.Unquote(v.JSON)) == e.Replace.Old {
					changed = true
					if v.JSON = nil; e.Replace.New != nil {
						v.JSON = quote(*e.Replace.New)
					} else {
						lost = true
					}
				}
			case e.Clear != nil:
				gone, err := c.clear(v, e.Clear)
				if err != nil {
					return false, false, err
				}
				lost, changed = lost || gone, changed || gone
			}
		}
		for _, item := range v.Items {
			l, ch, err := c.edit(edits, &item.Component.Schema, item.Values)
			if err != nil {
				return false, false, err
			}
			lost, changed = lost || l, changed || ch
		}
	}
	return lost, changed, nil
}

// clear removes the components that a Clearing selects, or a scalar, from a value; it reports whether there were any.
func (c *chunk) clear(v *Value, by *evolve.Clearing) (bool, error) {
	if len(v.Items) == 0 {
		gone := v.JSON != nil
		v.JSON = nil
		return gone, nil
	}
	var kept []*Item
	for i, item := range v.Items {
		if by.Component != "" && item.Component.UID != by.Component || by.KeepFirst && i == 0 {
			kept = append(kept, item)
		} else if err := c.deleteItemLinks([]Value{{Items: []*Item{item}}}); err != nil {
			return false, err
		}
	}
	gone := len(kept) < len(v.Items)
	v.Items = kept
	return gone, nil
}

// quote returns a text as a JSON string.
func quote(s string) []byte { return jsontree.AppendString(nil, s) }
