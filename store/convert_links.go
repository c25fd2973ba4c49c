package store

import (
	"bytes"
	"slices"

	"lectern/contenttypes"
	"lectern/store/evolve"
	"lectern/store/internal/format"
	"lectern/store/internal/logentry"
)

// linksFrom returns the links of one end. It returns a list, because links must not be changed while a cursor walks
// over them.
func (s *Snapshot) linksFrom(a *contenttypes.Attribute, set LinkSet, from Ref) (list []Link) {
	s.LinksFrom(a, set, from, func(l Link) bool { list = append(list, l); return true })
	return list
}

// linksOf returns the links of one end in both link sets.
func (s *Snapshot) linksOf(a *contenttypes.Attribute, sd format.Side, ref Ref) (list []Link) {
	add := func(l Link) bool { list = append(list, l); return true }
	for _, set := range linkSets {
		if sd == format.FromSide {
			s.LinksFrom(a, set, ref, add)
		} else {
			s.LinksTo(a, set, ref, add)
		}
	}
	return list
}

// cutLinks removes links.
func (tx *Tx) cutLinks(list []Link) error {
	for _, l := range list {
		if err := tx.deleteLink(l); err != nil {
			return err
		}
	}
	return nil
}

// copyLinks replaces the links of one end by those of another, in the same order. If locale is not empty, links to
// localized documents are changed to lead to the localization in locale, and left out if there is none.
func (tx *Tx) copyLinks(a *contenttypes.Attribute, set LinkSet, from Ref, toSet LinkSet, to Ref, locale string) error {
	if err := tx.cutLinks(tx.linksFrom(a, toSet, to)); err != nil {
		return err
	}
	seen := map[Ref]bool{}
	for _, l := range tx.linksFrom(a, set, from) {
		l.Set, l.From = toSet, to
		if locale != "" && l.To.Locale != "" && l.To.Locale != locale {
			l.To.Locale = locale
			if b := tx.bound.byUID[l.To.Type]; b == nil || !tx.hasVersion(b, tx.number(l.To)) {
				continue
			}
		}
		if seen[l.To] {
			continue
		}
		seen[l.To] = true
		l.ToPos = tx.freePos(a, toSet, l.To, l.ToPos)
		if err := tx.putLink(l); err != nil {
			return err
		}
	}
	return nil
}

// freePos returns a position in the list of a target: the wanted one or, if that is taken, one behind the last.
func (tx *Tx) freePos(a *contenttypes.Attribute, set LinkSet, to Ref, wanted uint64) uint64 {
	list := tx.appendLinkList(nil, a, format.ToSide, set, tx.number(to))
	if tx.get(format.Links, be.AppendUint64(bytes.Clone(list), wanted)) == nil {
		return wanted
	}
	return tx.LastToPos(a, set, to) + PosStep
}

// dropLinks carries out evolve.DropLinks.
func (c *chunk) dropLinks(s *evolve.DropLinks) (bool, error) {
	done, err := c.deleteLinks(s.Type, s.Attr, &s.Gone, linkSets[:]...)
	if done {
		c.conversion.pending.Removed.Links += s.Gone.Links()
	}
	return done, err
}

// dropDraftLinks carries out evolve.DropDraftLinks.
func (c *chunk) dropDraftLinks(s *evolve.DropDraftLinks) (bool, error) {
	return c.deleteLinks(s.Type, s.Attr, &evolve.LinkCount{}, DraftLinks)
}

// deleteLinks removes the links of an attribute in some sets, adds their number to gone, and reports whether none is
// left.
func (c *chunk) deleteLinks(uid, name string, gone *evolve.LinkCount, sets ...LinkSet) (bool, error) {
	a, err := c.attribute(uid, name)
	if err != nil {
		return false, err
	}
	schema, field := c.bound.relation(a)
	for _, sd := range []format.Side{format.FromSide, format.ToSide} {
		for _, set := range sets {
			removed, last, err := c.deletePrefix(format.Links, format.LinkPrefix(schema, field, byte(sd), byte(set)))
			c.at.Done += removed
			if sd == format.FromSide {
				gone[set] += removed
			}
			if err != nil || !last {
				return false, err
			}
		}
	}
	return true, nil
}

// A step changes both ends of a link in one transaction, as whoever repeats the transaction does. So each state between
// two transactions of a conversion is the same at all nodes of a cluster, and any of them can go on from it.

// addDraftLinks carries out evolve.AddDraftLinks.
func (c *chunk) addDraftLinks(s *evolve.AddDraftLinks) (bool, error) {
	a, err := c.attribute(s.Type, s.Attr)
	if err != nil {
		return false, err
	}
	schema, field := c.bound.relation(a)
	keys, last := c.keys(format.Links, format.LinkPrefix(schema, field), c.limit())
	for _, k := range keys {
		if LinkSet(k[5]) != PublishedLinks {
			continue
		}
		v := c.get(format.Links, k)
		otherKey := format.OtherKey(k, v)
		for _, end := range [][]byte{k, otherKey} {
			draft := bytes.Clone(end)
			draft[5] = byte(DraftLinks)
			value := copied(c.get(format.Links, end))
			c.logLinkKey(logentry.PutLink, draft, value.data)
			c.put(format.Links, draft, value)
		}
	}
	c.forward(keys)
	return last, nil
}

// forward sets the position of the step behind the last of the keys.
func (c *chunk) forward(keys [][]byte) {
	if len(keys) > 0 {
		c.at.After = keys[len(keys)-1]
		c.at.Done += len(keys)
	}
}

// trimLinks carries out evolve.TrimLinks.
func (c *chunk) trimLinks(s *evolve.TrimLinks) (bool, error) {
	a, err := c.attribute(s.Type, s.Attr)
	if err != nil {
		return false, err
	}
	sd := format.FromSide
	if a.Mapped {
		a, sd = a.Inverse, format.ToSide
	}
	schema, field := c.bound.relation(a)
	var list []byte
	if c.at.After != nil {
		list = c.at.After[:format.LinkListLen]
	}
	keys, last := c.keys(format.Links, format.LinkPrefix(schema, field, byte(sd)), c.limit())
	for _, k := range keys {
		if !bytes.Equal(k[:format.LinkListLen], list) {
			list = k[:format.LinkListLen]
			continue
		}
		v := c.get(format.Links, k)
		otherKey := format.OtherKey(k, v)
		c.logLinkKey(logentry.DeleteLink, k, v)
		c.logLinkKey(logentry.DeleteLink, otherKey, c.get(format.Links, otherKey))
		c.delete(format.Links, k)
		c.delete(format.Links, otherKey)
		s.Gone[k[5]]++
	}
	c.forward(keys)
	if last {
		c.conversion.pending.Removed.Links += s.Gone.Links()
	}
	return last, nil
}

// flipLinks carries out evolve.FlipLinks.
func (c *chunk) flipLinks(s *evolve.FlipLinks) (bool, error) {
	a, err := c.attribute(s.Type, s.Attr)
	if err != nil {
		return false, err
	}
	schema, field := c.bound.relation(a)
	keys, last := c.keys(format.Links, format.LinkPrefix(s.Schema, s.Field), c.limit())
	for _, k := range keys {
		v := c.get(format.Links, k)
		if v == nil {
			continue // flipped with its other end
		}
		for _, end := range [][]byte{k, format.OtherKey(k, v)} {
			value := copied(c.get(format.Links, end))
			c.delete(format.Links, end)
			to := append(format.LinkPrefix(schema, field, 1-end[4]), end[5:]...)
			c.logFlip(end, to, value.data)
			c.put(format.Links, to, value)
		}
	}
	c.at.Done += len(keys) // After stays, since these keys are removed
	return last, nil
}

// logFlip records that a link with the key k and the value v now has the key to. The end that had the attribute has it
// no longer, so the new link is recorded with the key of its other end.
func (c *chunk) logFlip(k, to, v []byte) {
	if format.Side(k[4]) != format.FromSide {
		return
	}
	c.logLinkKey(logentry.DeleteLink, k, v)
	c.logLinkKey(logentry.PutLink, format.OtherKey(to, v),
		format.NewLink(format.OwnEnd(k), be.Uint64(k[format.LinkListLen:])))
}

// moveRefs carries out evolve.MoveRefs.
func (c *chunk) moveRefs(s *evolve.MoveRefs) (bool, error) {
	t, err := c.typ(s.Type)
	if err != nil {
		return false, err
	}
	from, err := c.useLocale(s.From)
	if err != nil {
		return false, err
	}
	to, err := c.useLocale(s.To)
	if err != nil {
		return false, err
	}
	schema := c.bound.of(&t.Schema).number
	moved := func(r format.End) format.End {
		if r.Schema == schema && r.Locale == from {
			r.Locale = to
		}
		return r
	}
	keys, last := c.keys(format.Links, nil, 4*c.limit())
	for _, k := range keys {
		if format.Side(k[4]) != format.FromSide {
			continue
		}
		v := c.get(format.Links, k)
		if v == nil {
			continue
		}
		c.moveLink(k, bytes.Clone(v), moved)
	}
	c.forward(keys)
	return last, nil
}

// moveLink replaces both ends of a link by what moved returns for them. k and v are the link as its owner lists it.
func (c *chunk) moveLink(k, v []byte, moved func(format.End) format.End) {
	from, pos := format.OwnEnd(k), be.Uint64(k[format.LinkListLen:])
	to, toPos := format.ParseLink(v)
	newFrom, newTo := moved(from), moved(to)
	if newFrom == from && newTo == to {
		return
	}
	c.logLinkKey(logentry.DeleteLink, k, v)
	c.delete(format.Links, k)
	c.delete(format.Links, format.OtherKey(k, v))
	key := func(sd format.Side, r format.End, pos uint64) []byte {
		key := append(bytes.Clone(k[:4]), byte(sd), k[5])
		key = be.AppendUint64(be.AppendUint16(key, r.Locale), r.Doc)
		return be.AppendUint64(key, pos)
	}
	c.logLinkKey(logentry.PutLink, key(format.FromSide, newFrom, pos), format.NewLink(newTo, toPos))
	c.put(format.Links, key(format.FromSide, newFrom, pos), freshValue{format.NewLink(newTo, toPos)})
	c.put(format.Links, key(format.ToSide, newTo, toPos), freshValue{format.NewLink(newFrom, pos)})
}

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

// sharing returns the localization of a document whose value all others get: the one in the locale first or, if there
// is none, the one whose locale has the least number.
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

// linkSetsOf returns the link sets in which a version has links, under an attribute or in the components of an
// attribute.
func linkSetsOf(a *contenttypes.Attribute, r Record) []LinkSet {
	return LinkSetsUnder(a, LinkSetsOf(r.Type(), r.Status()))
}

// same reports whether two versions of a document have the same value in an attribute. The ids of components are not
// compared. Each version is read with the links of its own link set.
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

// sameLinks reports whether two versions are linked to the same documents in the same order. The locales of these
// documents are not compared.
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
