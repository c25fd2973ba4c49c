package store

import (
	"bytes"

	"lectern/contenttypes"
	"lectern/store/internal/format"
)

// unlinked is the cond of Unlinked. When it is asked for the first time, it reads to which documents the links lead,
// with one search for each: the search for the next document passes over all other links to the last one.
type unlinked struct {
	attrs []*contenttypes.Attribute
	want  bool
	isSet bool
	set   map[uint64]struct{}
}

func (c *unlinked) holds(s *Snapshot, r Record) bool {
	if !r.Exists() {
		return c.want
	}
	if !c.isSet {
		c.isSet, c.set = true, map[uint64]struct{}{}
		for _, a := range c.attrs {
			for _, set := range linkSets {
				s.eachLinked(a, set, func(doc uint64) { c.set[doc] = struct{}{} })
			}
		}
	}
	_, linked := c.set[r.doc]
	return linked != c.want
}

// eachLinked calls yield with each document of a type without localizations to which links of an owning attribute lead,
// in the order of their numbers. A snapshot of the past does not know that.
func (s *Snapshot) eachLinked(a *contenttypes.Attribute, set LinkSet, yield func(doc uint64)) {
	c := s.takeCursor(format.Links)
	defer s.giveCursor(format.Links, c)
	list := s.appendLinkList(nil, a, format.ToSide, set, format.End{})
	all := bytes.Clone(list[:len(list)-8]) // without the number of the document
	for s.step() {
		s.stats.seeks++
		k, _ := c.Seek(list)
		if !bytes.HasPrefix(k, all) {
			return
		}
		doc := format.OwnEnd(k).Doc
		yield(doc)
		format.SetLinkOwner(list, format.End{Doc: doc + 1})
	}
}
