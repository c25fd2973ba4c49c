package store

import (
	"bytes"
	"slices"

	"lectern/contenttypes"
	"lectern/store/evolve"
	"lectern/store/internal/format"
)

// share carries out evolve.Share.
func (c *chunk) share(s *evolve.Share) (bool, error) {
	t, err := c.typ(s.Type)
	if err != nil {
		return false, err
	}
	a, err := c.attribute(s.Type, s.Attr)
	if err != nil {
		return false, err
	}
	first := c.numberOf(s.Locale)
	return c.eachRow(t, func(r Record) error {
		source := c.sharing(r, first)
		if c.same(a, source, r) {
			return nil
		}
		c.conversion.pending.Removed.Values++
		return c.shareValue(a, source, r)
	})
}

// numberOf returns the number of a locale code, 0 if the code is unknown.
func (s *Snapshot) numberOf(locale string) uint16 {
	return s.store.locales.current.Load().numbers[locale]
}

// sharing returns the localization of a document whose value all others get: the one in the locale first or, if there is none, the one
// whose locale has the least number.
func (s *Snapshot) sharing(r Record, first uint16) Record {
	b := r.table.bound
	if source := s.row(b, format.NewSlot(first, r.Status()), r.doc); first > 0 && source.Exists() {
		return source
	}
	for l := uint16(1); l < r.slot.Locale(); l++ {
		if source := s.row(b, format.NewSlot(l, r.Status()), r.doc); source.Exists() {
			return source
		}
	}
	return r
}

// shareValue copies the value of an attribute from one localization to another.
func (c *chunk) shareValue(a *contenttypes.Attribute, from, to Record) error {
	sets := linkSetsOf(a, to)
	if a.IsRelation() {
		for _, set := range sets {
			if err := c.copyLinks(a, set, from.Ref(), set, to.Ref(), ""); err != nil {
				return err
			}
		}
		return nil
	}
	row, value := to.Decode(), from.Decode().Values[a.Index]
	if err := c.deleteItemLinks(row.Values[a.Index:][:1]); err != nil {
		return err
	}
	row.Values[a.Index] = value
	err := c.renumber([]Value{value}, func(a *contenttypes.Attribute, old, new Ref) error {
		for _, set := range sets {
			if err := c.copyLinks(a, set, old, set, new, row.Locale); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return c.putRow(row)
}

// linkSetsOf returns the link sets in which a version has links, under an attribute or in the components of an attribute.
func linkSetsOf(a *contenttypes.Attribute, r Record) []LinkSet {
	return LinkSetsUnder(a, LinkSetsOf(r.Type(), r.Status()))
}

// same reports whether two versions of a document have the same value in an attribute. The ids of components are not compared. Each
// version is read with the links of its own link set.
func (s *Snapshot) same(a *contenttypes.Attribute, x, y Record) bool {
	if x.slot == y.slot {
		return true
	}
	if !a.IsRelation() {
		px, py := linkSetsOf(a, x), linkSetsOf(a, y)
		return s.sameStored(a, x, y, px[0], py[0])
	}
	return s.sameLinks(a, x, y, linkSetsOf(a, x)[0], linkSetsOf(a, y)[0])
}

func (s *Snapshot) sameStored(a *contenttypes.Attribute, x, y Record, setX, setY LinkSet) bool {
	if a.IsScalar() {
		return bytes.Equal(x.JSON(a), y.JSON(a))
	}
	var items []Record
	y.Each(a, func(item Record) bool { items = append(items, item); return true })
	same := true
	x.Each(a, func(item Record) bool {
		same = len(items) > 0 && s.sameItem(item, items[0], setX, setY)
		if same {
			items = items[1:]
		}
		return same
	})
	return same && len(items) == 0
}

func (s *Snapshot) sameItem(x, y Record, setX, setY LinkSet) bool {
	if x.Component() != y.Component() {
		return false
	}
	return !slices.ContainsFunc(x.Component().Attributes, func(a *contenttypes.Attribute) bool {
		switch {
		case a.Type == contenttypes.ID || a.Mapped:
			return false
		case a.IsRelation():
			return !s.sameLinks(a, x, y, setX, setY)
		}
		return !s.sameStored(a, x, y, setX, setY)
	})
}

// sameLinks reports whether two versions are linked to the same documents in the same order. The locales of these documents are not
// compared.
func (s *Snapshot) sameLinks(a *contenttypes.Attribute, x, y Record, setX, setY LinkSet) bool {
	owning, sd := a, format.FromSide
	if a.Mapped {
		owning, sd = a.Inverse, format.ToSide
	}
	list := func(r Record, set LinkSet) (refs []format.End) {
		s.eachLink(owning, sd, set, r.ref(), func(other format.End, _, _ uint64) bool {
			other.Locale = 0
			refs = append(refs, other)
			return true
		})
		return refs
	}
	return slices.Equal(list(x, setX), list(y, setY))
}
