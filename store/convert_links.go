package store

import (
	"bytes"

	"lectern/contenttypes"
)

// linksFrom gathers links, so that they can be changed while they are gone through.
func (s *Snapshot) linksFrom(a *contenttypes.Attribute, plane Status, from Ref) (list []Link) {
	s.LinksFrom(a, plane, from, func(l Link) bool { list = append(list, l); return true })
	return list
}

// linksOf gathers the links of one end in both planes.
func (s *Snapshot) linksOf(a *contenttypes.Attribute, sd side, ref Ref) (list []Link) {
	add := func(l Link) bool { list = append(list, l); return true }
	for _, plane := range []Status{Published, Draft} {
		if sd == fromSide {
			s.LinksFrom(a, plane, ref, add)
		} else {
			s.LinksTo(a, plane, ref, add)
		}
	}
	return list
}

func (tx *Tx) cutLinks(list []Link) error {
	for _, l := range list {
		if err := tx.deleteLink(l); err != nil {
			return err
		}
	}
	return nil
}

// copyLinks makes the links of one end in a plane those of another end, in the same order. Those to localized documents lead to
// their localization in locale, if that is not empty, and are left out where there is none.
func (tx *Tx) copyLinks(a *contenttypes.Attribute, plane Status, from Ref, toPlane Status, to Ref, locale string) error {
	if err := tx.cutLinks(tx.linksFrom(a, toPlane, to)); err != nil {
		return err
	}
	seen := map[Ref]bool{}
	for _, l := range tx.linksFrom(a, plane, from) {
		l.Plane, l.From = toPlane, to
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
		l.ToPos = tx.freePos(a, toPlane, l.To, l.ToPos)
		if err := tx.putLink(l); err != nil {
			return err
		}
	}
	return nil
}

// freePos is a position in the list of a target: the one that is wanted or, where that is taken, the one after the last.
func (tx *Tx) freePos(a *contenttypes.Attribute, plane Status, to Ref, wanted uint64) uint64 {
	list := tx.appendLinkList(nil, a, toSide, plane, tx.number(to))
	if tx.get(links, be.AppendUint64(bytes.Clone(list), wanted)) == nil {
		return wanted
	}
	return tx.LastToPos(a, plane, to) + PosStep
}

// linkPrefix begins the keys of all links of an attribute, or of one side and plane of them.
func linkPrefix(schema, field uint16, more ...byte) []byte {
	return append(be.AppendUint16(be.AppendUint16(nil, schema), field), more...)
}

// twin is the key under which a link stands at its other end.
func linkTwin(k, v []byte) []byte {
	other, pos := parseLinkEnd(v)
	twin := append(bytes.Clone(k[:4]), 1-k[4], k[5])
	twin = be.AppendUint16(twin, other.locale)
	return be.AppendUint64(be.AppendUint64(twin, other.doc), pos)
}

// dropLinksStep removes the links of an attribute.
type dropLinksStep struct {
	Type string   `json:"type"`
	Attr string   `json:"attr"`
	Gone cutCount `json:"gone"`
}

// cutCount counts links that are gone, by plane. Most links are in both.
type cutCount [2]int

func (n cutCount) links() int { return max(n[Published], n[Draft]) }

func (s *dropLinksStep) kind() string { return "dropLinks" }
func (s *dropLinksStep) what() string { return "removing links of " + s.Type + "." + s.Attr }

func (s *dropLinksStep) run(c *chunk) (bool, error) {
	a, err := c.attribute(s.Type, s.Attr)
	if err != nil {
		return false, err
	}
	schema, field := c.bound.relation(a)
	for _, sd := range []side{fromSide, toSide} {
		for _, plane := range []Status{Published, Draft} {
			removed, last, err := c.deletePrefix(links, linkPrefix(schema, field, byte(sd), byte(plane)))
			c.at.Done += removed
			if sd == fromSide {
				s.Gone[plane] += removed
			}
			if err != nil || !last {
				return false, err
			}
		}
	}
	c.conversion.pending.Removed.Links += s.Gone.links()
	return true, nil
}

// dropPlaneStep removes the draft plane of a relation whose planes do not differ any more.
type dropPlaneStep struct {
	Type string `json:"type"`
	Attr string `json:"attr"`
}

func (s *dropPlaneStep) kind() string { return "dropPlane" }
func (s *dropPlaneStep) what() string { return "removing draft links of " + s.Type + "." + s.Attr }

func (s *dropPlaneStep) run(c *chunk) (bool, error) {
	a, err := c.attribute(s.Type, s.Attr)
	if err != nil {
		return false, err
	}
	schema, field := c.bound.relation(a)
	for _, sd := range []side{fromSide, toSide} {
		removed, last, err := c.deletePrefix(links, linkPrefix(schema, field, byte(sd), byte(Draft)))
		c.at.Done += removed
		if err != nil || !last {
			return false, err
		}
	}
	return true, nil
}

// copyPlaneStep gives a relation whose planes did not differ a draft plane: a copy of the published one.
type copyPlaneStep struct {
	Type string `json:"type"`
	Attr string `json:"attr"`
}

func (s *copyPlaneStep) kind() string { return "copyPlane" }
func (s *copyPlaneStep) what() string { return "copying links of " + s.Type + "." + s.Attr }

func (s *copyPlaneStep) run(c *chunk) (bool, error) {
	a, err := c.attribute(s.Type, s.Attr)
	if err != nil {
		return false, err
	}
	schema, field := c.bound.relation(a)
	keys, last := c.keys(links, linkPrefix(schema, field), c.limit())
	for _, k := range keys {
		if Status(k[5]) != Published {
			continue
		}
		v := bytes.Clone(c.get(links, k))
		draft := bytes.Clone(k)
		draft[5] = byte(Draft)
		c.put(links, draft, v)
	}
	c.forward(keys)
	return last, nil
}

// forward notes the keys that were gone through.
func (c *chunk) forward(keys [][]byte) {
	if len(keys) > 0 {
		c.at.After = keys[len(keys)-1]
		c.at.Done += len(keys)
	}
}

// trimLinksStep leaves each end but the first of its links.
type trimLinksStep struct {
	Type string   `json:"type"`
	Attr string   `json:"attr"` // of either side
	Gone cutCount `json:"gone"`
}

func (s *trimLinksStep) kind() string { return "trimLinks" }
func (s *trimLinksStep) what() string {
	return "removing all but the first links of " + s.Type + "." + s.Attr
}

func (s *trimLinksStep) run(c *chunk) (bool, error) {
	a, err := c.attribute(s.Type, s.Attr)
	if err != nil {
		return false, err
	}
	sd := fromSide
	if a.Mapped {
		a, sd = a.Inverse, toSide
	}
	schema, field := c.bound.relation(a)
	var list []byte
	if c.at.After != nil {
		list = c.at.After[:linkListLen]
	}
	keys, last := c.keys(links, linkPrefix(schema, field, byte(sd)), c.limit())
	for _, k := range keys {
		if !bytes.Equal(k[:linkListLen], list) {
			list = k[:linkListLen]
			continue
		}
		twin := linkTwin(k, c.get(links, k))
		c.delete(links, k)
		c.delete(links, twin)
		s.Gone[k[5]]++
	}
	c.forward(keys)
	if last {
		c.conversion.pending.Removed.Links += s.Gone.links()
	}
	return last, nil
}

// flipLinksStep moves the links of a two-way relation to the attribute of the other side, which says inversedBy now.
type flipLinksStep struct {
	Schema uint16 `json:"schema"`
	Field  uint16 `json:"field"`
	Type   string `json:"type"`
	Attr   string `json:"attr"`
}

func (s *flipLinksStep) kind() string { return "flipLinks" }
func (s *flipLinksStep) what() string { return "moving links to " + s.Type + "." + s.Attr }

func (s *flipLinksStep) run(c *chunk) (bool, error) {
	a, err := c.attribute(s.Type, s.Attr)
	if err != nil {
		return false, err
	}
	schema, field := c.bound.relation(a)
	keys, last := c.keys(links, linkPrefix(s.Schema, s.Field), c.limit())
	for _, k := range keys {
		v := bytes.Clone(c.get(links, k))
		c.delete(links, k)
		to := append(linkPrefix(schema, field, 1-k[4]), k[5:]...)
		c.put(links, to, v)
	}
	c.at.Done += len(keys) // and After stays: what was gone through is gone
	return last, nil
}

// moveRefsStep makes the links to and from documents of a type follow them to another locale.
type moveRefsStep struct {
	Type string `json:"type"`
	From string `json:"from"`
	To   string `json:"to"`
}

func (s *moveRefsStep) kind() string { return "moveRefs" }
func (s *moveRefsStep) what() string { return "moving links of " + s.Type }

func (s *moveRefsStep) run(c *chunk) (bool, error) {
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
	moved := func(r ref) ref {
		if r.schema == schema && r.locale == from {
			r.locale = to
		}
		return r
	}
	keys, last := c.keys(links, nil, 4*c.limit())
	for _, k := range keys {
		if side(k[4]) != fromSide {
			continue
		}
		v := c.get(links, k)
		if v == nil {
			continue
		}
		c.moveLink(k, bytes.Clone(v), moved)
	}
	c.forward(keys)
	return last, nil
}

// moveLink writes a link, given as it stands at its owner's end, under other ends.
func (c *chunk) moveLink(k, v []byte, moved func(ref) ref) {
	from, pos := ref{be.Uint16(k), be.Uint16(k[6:]), be.Uint64(k[8:])}, be.Uint64(k[linkListLen:])
	to, toPos := parseLinkEnd(v)
	newFrom, newTo := moved(from), moved(to)
	if newFrom == from && newTo == to {
		return
	}
	c.delete(links, k)
	c.delete(links, linkTwin(k, v))
	key := func(sd side, r ref, pos uint64) []byte {
		key := append(bytes.Clone(k[:4]), byte(sd), k[5])
		key = be.AppendUint64(be.AppendUint16(key, r.locale), r.doc)
		return be.AppendUint64(key, pos)
	}
	c.put(links, key(fromSide, newFrom, pos), appendLinkEnd(nil, newTo, toPos))
	c.put(links, key(toSide, newTo, toPos), appendLinkEnd(nil, newFrom, pos))
}
