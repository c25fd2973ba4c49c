package store

import (
	"hash/maphash"

	"lectern/store/internal/format"
)

// A textSum stands for the entries of a text index: how many there are, and the sum of their hashes. There are many
// times more entries than rows, so a check keeps no list of them.
type textSum struct {
	entries int
	hashes  uint64
}

var textSeed = maphash.MakeSeed()

func (s textSum) plus(key []byte, doc uint64) textSum {
	var h maphash.Hash
	h.SetSeed(textSeed)
	h.Write(key)
	h.Write(be.AppendUint64(nil, doc))
	return textSum{s.entries + 1, s.hashes + h.Sum64()}
}

// unindexedTexts adds what text indexes have of the rows on the lists.
func (c *checker) unindexedTexts() {
	for u := range c.snap.unindexed(nil) {
		b := c.snap.bound.numbered(be.Uint16(u.key))
		if b == nil || b.typ == nil {
			continue
		}
		for _, a := range b.texts {
			if was, known := u.of(b.fields[a.Index]); known {
				c.expectText(b, u.slot, u.doc, was)
			}
		}
	}
}

// rowTexts adds what text indexes have of a row, beside what unindexedTexts adds.
func (c *checker) rowTexts(b *boundSchema, r Record) {
	if len(b.texts) == 0 {
		return
	}
	var listed unindexed
	for u := range c.snap.unindexed(format.AppendRowKey(nil, b.number, r.slot, r.doc)) {
		listed = u
	}
	for _, a := range b.texts {
		if _, known := listed.of(b.fields[a.Index]); !known {
			c.expectText(b, r.slot, r.doc, textOf(b, a, r))
		}
	}
}

// expectText adds entries that a text index must have.
func (c *checker) expectText(b *boundSchema, sl format.Slot, doc uint64, t indexedText) {
	space := [format.SpaceLen]byte(textSpace(b.number, t.field, sl))
	sum := c.texts[space]
	eachTextKey(b, sl, t, func(key []byte) { sum = sum.plus(key, doc) })
	c.texts[space] = sum
}

// textEntry takes away an entry that a text index has.
func (c *checker) textEntry(key []byte, doc uint64) {
	space := [format.SpaceLen]byte(key)
	has := textSum{}.plus(key, doc)
	sum := c.texts[space]
	c.texts[space] = textSum{sum.entries - 1, sum.hashes - has.hashes}
}

// compareTexts reports the text indexes whose entries are not those that they must have.
func (c *checker) compareTexts() {
	for space, left := range c.texts {
		if left == (textSum{}) {
			continue
		}
		b := c.snap.bound.numbered(be.Uint16(space[:]))
		if b == nil || b.typ == nil {
			continue // nothing reads the index of a removed type
		}
		for _, a := range b.texts {
			if own := textSpace(b.number, b.fields[a.Index], format.Slot(be.Uint16(space[4:]))); string(own) == string(space[:]) {
				c.report("index %x of the text of %s.%s: its entries are not those of the rows (%d missing)", space[:],
					b.schema.UID, a.Name, left.entries)
			}
		}
	}
}
