package store

import (
	"bytes"
	"fmt"
	"iter"
	"slices"

	"lectern/contenttypes"
	"lectern/store/evolve"
	"lectern/store/internal/format"
	"lectern/store/internal/query"
)

// A text index finds the rows whose text has a part. It has an entry for each trigram of the text of each row:
//
//	schema u16 · field u16 (evolve.TextField) · slot u16 · trigram · id u64 → document
//
// It lies among the other indexes, so its entries are counted like theirs. Which rows it finds is checked in the rows.
//
// A text of twenty letters has as many entries, all in different blocks. A write therefore only puts its row on a list,
// the bucket texts. Queries check each row on the list. A transaction that finds the list of a type too long indexes
// all rows on it: many texts share trigrams, so this changes far fewer blocks than the writes would have, one by one.
//
// The list says which texts the index has of a row, since these must be removed then:
//
//	schema u16 · slot u16 · doc u64 → new u8 · for each changed text: field u16 · id u64 · length u32 · stored JSON
//
// new is 1 if the index has no text of the row. Of a row that is not on the list, and of a field that its value does
// not have, the index has the present text. The list is not in the log: replicas make their own.

// An indexedText is a text as the index has it.
type indexedText struct {
	field uint16
	id    uint64 // of the row
	raw   []byte // stored JSON; nil: it has none
}

// An unindexed is a row on the list of texts to be indexed.
type unindexed struct {
	key   []byte
	slot  format.Slot
	doc   uint64
	isNew bool
	was   []indexedText
}

// of returns the text that the index has of a field. known is false if it is the present one.
func (u *unindexed) of(field uint16) (was indexedText, known bool) {
	for _, t := range u.was {
		if t.field == field {
			return t, true
		}
	}
	return indexedText{field: field}, u.isNew
}

func (u *unindexed) encode() []byte {
	b := []byte{0}
	if u.isNew {
		b[0] = 1
	}
	for _, t := range u.was {
		b = be.AppendUint64(be.AppendUint16(b, t.field), t.id)
		b = append(be.AppendUint32(b, uint32(len(t.raw))), t.raw...)
	}
	return b
}

// parseUnindexed reads a row on the list.
func parseUnindexed(k, v []byte) (u unindexed, err error) {
	v = format.WithoutChecksum(v)
	if len(k) != format.RowKeyLen || len(v) == 0 || v[0] > 1 {
		return u, format.ErrMalformed
	}
	u = unindexed{key: k, slot: format.Slot(be.Uint16(k[2:])), doc: be.Uint64(k[4:]), isNew: v[0] == 1}
	const head = 2 + 8 + 4
	for v = v[1:]; len(v) > 0; {
		if len(v) < head || uint64(len(v)-head) < uint64(be.Uint32(v[10:])) {
			return u, format.ErrMalformed
		}
		t := indexedText{field: be.Uint16(v), id: be.Uint64(v[2:])}
		if n := int(be.Uint32(v[10:])); n > 0 {
			t.raw = v[head : head+n]
		}
		u.was = append(u.was, t)
		v = v[head+len(t.raw):]
	}
	return u, nil
}

// unindexed returns the rows on the list whose keys have a prefix. What it yields is valid until the next write.
func (s *Snapshot) unindexed(prefix []byte) iter.Seq[unindexed] {
	return func(yield func(unindexed) bool) {
		s.eachListed(prefix, func(k, v []byte) bool {
			u, err := parseUnindexed(k, v)
			if err != nil {
				s.fail(format.Texts, fmt.Errorf("%x: %w", k, err))
			}
			return yield(u)
		})
	}
}

// eachListed calls yield with the keys and values of the list that begin with a prefix, until yield returns false.
func (s *Snapshot) eachListed(prefix []byte, yield func(k, v []byte) bool) {
	if t := s.bucket(format.Texts); t.pages == nil && t.bolt == nil {
		return // the store is from before there were text indexes
	}
	c := s.take(format.Texts)
	defer s.give(format.Texts, c)
	s.stats.seeks++
	for k, v := c.Seek(prefix); k != nil && bytes.HasPrefix(k, prefix) && yield(k, v); k, v = c.Next() {
	}
}

// reindexTexts puts a row on the list of texts to be indexed if a text was changed. Either row may be the zero Record.
func (tx *Tx) reindexTexts(b *boundSchema, old, next Record) error {
	var changed []indexedText
	for _, a := range b.texts {
		was, is := textOf(b, a, old), textOf(b, a, next)
		if was.id != is.id || !bytes.Equal(was.raw, is.raw) {
			changed = append(changed, was)
		}
	}
	if len(changed) == 0 {
		return nil
	}
	if tx.texts[b.number] >= maxUnindexedInTx {
		if err := tx.indexTexts(b); err != nil {
			return err
		}
	}
	tx.texts[b.number]++
	r := next
	if !r.Exists() {
		r = old
	}
	key := format.AppendRowKey(nil, b.number, r.slot, r.doc)
	u := unindexed{isNew: !old.Exists()}
	if v := tx.bucket(format.Texts).Get(key); v != nil {
		listed, err := parseUnindexed(key, v)
		if err != nil {
			return err
		}
		u.isNew = listed.isNew
		u.was = listed.was
		changed = slices.DeleteFunc(changed, func(t indexedText) bool {
			_, known := listed.of(t.field)
			return known
		})
		if u.isNew && !next.Exists() {
			return tx.bucket(format.Texts).Delete(key)
		}
		if len(changed) == 0 {
			return nil
		}
	}
	if !u.isNew {
		u.was = append(u.was, changed...)
	}
	return tx.bucket(format.Texts).Put(key, freshValue{u.encode()})
}

// textOf returns the text that an index has of a row once it is indexed. The row may be the zero Record.
func textOf(b *boundSchema, a *contenttypes.Attribute, r Record) indexedText {
	t := indexedText{field: b.fields[a.Index]}
	if r.Exists() {
		t.id, t.raw = r.ID(), r.JSON(a)
	}
	return t
}

var (
	// maxUnindexed is how many rows of a type may be on the list when a transaction commits. Only tests change it.
	maxUnindexed = 256
	// maxUnindexedInTx is how many a transaction puts on it before it indexes them.
	maxUnindexedInTx = 4096
)

// boundTexts indexes the texts of types that have too many rows on the list.
func (tx *Tx) boundTexts() error {
	for schema := range tx.texts {
		b := tx.bound.numbered(schema)
		n := 0
		tx.eachListed(be.AppendUint16(nil, schema), func(_, _ []byte) bool { n++; return true })
		if b != nil && n > maxUnindexed {
			if err := tx.indexTexts(b); err != nil {
				return err
			}
		}
	}
	return nil
}

// indexTexts indexes all rows of a type that are on the list, and takes them from it.
func (tx *Tx) indexTexts(b *boundSchema) error {
	var keys [][]byte
	for u := range tx.unindexed(be.AppendUint16(nil, b.number)) {
		keys = append(keys, bytes.Clone(u.key))
		r := tx.row(b, u.slot, u.doc)
		for _, a := range b.texts {
			was, known := u.of(b.fields[a.Index])
			if !known {
				continue
			}
			eachTextKey(b, u.slot, was, tx.indexer.remove)
			tx.addText(b, u.slot, u.doc, textOf(b, a, r))
		}
	}
	for _, k := range keys {
		if err := tx.bucket(format.Texts).Delete(k); err != nil {
			return err
		}
	}
	tx.texts[b.number] = 0
	return tx.failed
}

// addText adds the entries of a text to the index.
func (tx *Tx) addText(b *boundSchema, sl format.Slot, doc uint64, is indexedText) {
	eachTextKey(b, sl, is, func(key []byte) { tx.indexer.add(key, doc) })
}

// eachTextKey calls f with the keys that a text has in the index, each in memory of its own.
func eachTextKey(b *boundSchema, sl format.Slot, t indexedText, f func(key []byte)) {
	if t.raw == nil {
		return
	}
	trigrams := query.Trigrams(format.Unquote(t.raw))
	const size = textKeyLen
	space, keys := textSpace(b.number, t.field, sl), make([]byte, 0, size*len(trigrams))
	for _, g := range trigrams {
		at := len(keys)
		keys = be.AppendUint64(append(append(keys, space...), g[:]...), t.id)
		f(keys[at:len(keys):len(keys)])
	}
}

// textKeyLen is the length of the keys of text indexes.
const textKeyLen = format.SpaceLen + 3 + 8

// textSpace returns the prefix of the keys of a text index.
func textSpace(schema, field uint16, sl format.Slot) []byte {
	return format.AppendSpace(make([]byte, 0, format.SpaceLen+3), schema, evolve.TextField(field), sl)
}
